//! Markdown: one table a scenario, one line a knob value and metric.

use crate::comparison::{Comparison, JudgedCell, Summary};
use crate::export::show;
use crate::unit::Unit;

pub(super) fn export(comparison: &Comparison<'_>) -> String {
    let matrix = comparison.matrix;
    let mut out = format!(
        "## {} by {}: {} (before) against {} (after){}\n\n",
        text(&matrix.workload),
        text(&matrix.knob),
        text(&matrix.before.label),
        text(&matrix.after.label),
        if matrix.quick { " (quick)" } else { "" }
    );
    let list = |lines: &[String]| -> String { lines.iter().map(|line| format!("- {line}\n")).collect() };
    if !matrix.parameters.is_empty() {
        let parameters: Vec<String> = matrix
            .parameters
            .iter()
            .map(|(name, value)| text(&format!("{name}={value}")))
            .collect();
        out.push_str(&format!("With {}.\n\n", parameters.join(", ")));
    }
    out.push_str(&list(
        &show::notes(comparison)
            .iter()
            .map(|note| text(note))
            .collect::<Vec<_>>(),
    ));
    for scenario in &matrix.scenarios {
        let rows = comparison
            .rows
            .iter()
            .filter(|judged| judged.row.scenario == scenario.name);
        out.push_str(&format!(
            "\n### {}\n\n{}\n\n",
            text(&scenario.name),
            text(&scenario.legend)
        ));
        out.push_str(&format!(
            "| {} | metric | before | after | change | p | verdict |\n|---|---|---:|---:|---:|---:|---|\n",
            text(&matrix.knob)
        ));
        for judged in rows {
            let control = if judged.row.control { " (control)" } else { "" };
            for cell in &judged.cells {
                out.push_str(&format!(
                    "| {}{control} | {} | {} | {} | {} | {} | {} |\n",
                    text(&judged.row.value),
                    text(&cell.metric.name),
                    side(cell.before, cell.metric.unit),
                    side(cell.after, cell.metric.unit),
                    text(&show::change(cell)),
                    p_value(cell),
                    cell.verdict.map_or("", |verdict| verdict.word()),
                ));
            }
        }
    }
    let lines: Vec<String> = show::findings(comparison)
        .iter()
        .chain(&show::warnings(comparison))
        .map(|line| text(line))
        .collect();
    if !lines.is_empty() {
        out.push_str(&format!("\n{}", list(&lines)));
    }
    out.push_str(&format!("\ndata `{}`", matrix.data_sha256));
    if let Some(link) = &matrix.permalink {
        out.push_str(&format!(", <{}>", link.replace(['<', '>'], "")));
    }
    out.push('\n');
    out
}

fn side(summary: Option<Summary>, unit: Unit) -> String {
    summary.map_or_else(|| "-".to_owned(), |summary| text(&unit.human(summary.median)))
}

fn p_value(cell: &JudgedCell<'_>) -> String {
    cell.adjusted_p.map_or_else(String::new, |p| format!("{p:.4}"))
}

/// Text without meaning for Markdown or for HTML inside it.
fn text(plain: &str) -> String {
    let mut out = String::new();
    for c in plain.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '|' | '[' | ']' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
