//! Stores as a CSV file: what is filtered, in the order shown, figures in bytes.

use std::{fmt::Write as _, rc::Rc};

use fleethold_api_types::StoreRow;
use time::format_description::well_known::Rfc3339;

use crate::model::search::state_word;

/// RFC 4180, with a header line.
pub fn stores(rows: &[Rc<StoreRow>]) -> String {
    let mut out = String::from(
        "name,state,reason,path,comment,maintenance,used_bytes,total_bytes,groups,snapshots,verify_failed,last_backup\r\n",
    );
    let number = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    for row in rows {
        let last = row
            .last_backup
            .and_then(|t| t.format(&Rfc3339).ok())
            .unwrap_or_default();
        let cells = [
            row.name.clone(),
            state_word(row.state).to_owned(),
            row.reason.clone().unwrap_or_default(),
            row.path.clone(),
            row.comment.clone().unwrap_or_default(),
            row.maintenance
                .as_ref()
                .map(|m| m.mode.clone())
                .unwrap_or_default(),
            number(row.usage.map(|u| u.used_bytes)),
            number(row.usage.map(|u| u.total_bytes)),
            number(row.groups),
            number(row.snapshots),
            number(row.verify_failed),
            last,
        ];
        let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
        // writing to a String cannot fail
        let _ = write!(out, "{}\r\n", cells.join(","));
    }
    out
}

/// Quotes what needs it; a leading sign is kept from being read as a formula.
pub(super) fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t']);
    if formula || cell.contains([',', '"', '\n', '\r']) {
        let guard = if formula { "'" } else { "" };
        return format!("\"{guard}{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::search::tests::row;
    use fleethold_api_types::StoreState;

    #[test]
    fn cells_are_quoted_and_formulas_defused() {
        let mut store = row("a", StoreState::Ok, 1);
        store.reason = Some("=1+1".into());
        store.comment = Some("say \"hi\", twice".into());
        let text = stores(&[Rc::new(store)]);
        assert_eq!(text.lines().count(), 2);
        assert!(
            text.contains("\"'=1+1\"") && text.contains("\"say \"\"hi\"\", twice\""),
            "{text}"
        );
    }
}
