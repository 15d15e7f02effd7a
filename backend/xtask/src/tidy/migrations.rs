//! Migrations come in pairs: what goes up can come down.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Finding;

/// Each `NUMBER_name.up.sql` has its `.down.sql`, and no number is used twice.
pub(crate) fn check(files: &[PathBuf]) -> Vec<Finding> {
    let mut directions: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut findings = Vec::new();
    for path in files
        .iter()
        .filter(|path| path.starts_with("migrations") && path.extension().is_some_and(|e| e == "sql"))
    {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        match [".up.sql", ".down.sql"]
            .into_iter()
            .find_map(|end| Some((name.strip_suffix(end)?, end)))
        {
            Some((stem, end)) => directions.entry(stem.to_owned()).or_default().push(end),
            None => findings.push(Finding::new(
                path.display(),
                "a migration is named NUMBER_name.up.sql or .down.sql",
            )),
        }
    }
    let place = |stem: &str| Path::new("migrations").join(stem).display().to_string();
    let mut numbers: BTreeMap<&str, &str> = BTreeMap::new();
    for (stem, ends) in &directions {
        for missing in [".up.sql", ".down.sql"].iter().filter(|end| !ends.contains(end)) {
            findings.push(Finding::new(
                place(stem),
                format!("has no {missing}: every change can be taken back"),
            ));
        }
        let number = stem.split('_').next().unwrap_or(stem);
        if let Some(other) = numbers.insert(number, stem) {
            findings.push(Finding::new(
                place(stem),
                format!("has the same number as {other}"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_names(names: &[&str]) -> Vec<String> {
        let files: Vec<_> = names.iter().map(PathBuf::from).collect();
        check(&files).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_whole_pair_is_fine_and_other_folders_are_not_looked_at() {
        let names = [
            "migrations/0001_jobs.up.sql",
            "migrations/0001_jobs.down.sql",
            "backend/history/one.sql",
        ];
        assert_eq!(check_names(&names), Vec::<String>::new());
    }

    #[test]
    fn half_a_pair_a_shared_number_and_an_odd_name_are_found() {
        assert_eq!(check_names(&["migrations/0001_jobs.up.sql"]).len(), 1);
        assert_eq!(check_names(&["migrations/0002.down.sql"]).len(), 1);
        assert_eq!(check_names(&["migrations/0001_jobs.sql"]).len(), 1);
        let twice = [
            "0001_a.up.sql",
            "0001_a.down.sql",
            "0001_b.up.sql",
            "0001_b.down.sql",
        ]
        .map(|n| format!("migrations/{n}"));
        assert_eq!(check_names(&twice.each_ref().map(String::as_str)).len(), 1);
    }
}
