//! Imports are lossless: no number that a tool wrote is lost.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use fleethold_bench_model::import::{Content, Format, import};

/// The files of the corpus that the tools themselves wrote.
const REAL: [(&str, Format); 8] = [
    ("hyperfine-1.20.0.json", Format::Hyperfine),
    ("fio-3.33.json", Format::Fio),
    ("fio-3.33.json-plus.json", Format::Fio),
    ("gnu-time-1.9.txt", Format::GnuTime),
    ("perf-stat-6.1.187.json", Format::PerfStat),
    ("perf-stat-6.1.187-per-cpu.json", Format::PerfStat),
    ("go-test-1.26.8.txt", Format::GoBench),
    ("cargo-criterion-1.1.0.jsonl", Format::Criterion),
];

/// Every number of a document, with the name of the field it stands in.
fn numbers(name: &str, value: &serde_json::Value, found: &mut Vec<(String, f64)>) {
    match value {
        serde_json::Value::Number(number) => found.push((name.to_owned(), number.as_f64().unwrap())),
        serde_json::Value::Array(items) => items.iter().for_each(|item| numbers(name, item, found)),
        serde_json::Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(name, field)| numbers(name, field, found));
        }
        serde_json::Value::String(text) => {
            found.extend(text.parse().ok().map(|number| (name.to_owned(), number)))
        }
        _ => {}
    }
}

/// Numbers in a text that is no JSON: words, without what stands around them.
fn words(text: &str) -> Vec<(String, f64)> {
    text.split(|c: char| c.is_whitespace() || c == '%')
        .filter_map(|word| Some((word.to_owned(), word.parse().ok()?)))
        .collect()
}

#[test]
fn every_number_of_a_real_file_is_a_sample_or_a_fact() {
    for (name, format) in REAL {
        let text =
            std::fs::read_to_string(format!("{}/tests/corpus/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let documents: Vec<&str> = match format {
            Format::Hyperfine | Format::Fio => vec![&text],
            // perf writes a line of comment and an empty one first.
            Format::PerfStat | Format::Criterion => {
                text.lines().filter(|line| line.starts_with('{')).collect()
            }
            _ => Vec::new(),
        };
        let mut expected = Vec::new();
        for document in &documents {
            let value = serde_json::from_str(document).unwrap();
            numbers("", &value, &mut expected);
        }
        if documents.is_empty() {
            expected = words(&text);
        }
        assert!(expected.len() > 10, "{name}: {}", expected.len());
        let imported = import(name, text.as_bytes(), Some(format)).unwrap();
        let Content::Series(series) = &imported.content else {
            panic!("{name}");
        };
        let mut kept: BTreeSet<u64> = series
            .iter()
            .flat_map(|one| one.values.iter().map(|value| value.to_bits()))
            .collect();
        let of_text = |text: &str| -> Vec<u64> {
            let parts = text.split(|c: char| c.is_whitespace() || "[],:%\"".contains(c));
            parts
                .filter_map(|part| part.parse::<f64>().ok())
                .map(f64::to_bits)
                .collect()
        };
        let texts = series.iter().flat_map(|one| {
            let key = one.key.parameters.values().chain([&one.key.workload]);
            key.chain([&one.key.machine_class])
        });
        for text in texts.chain(imported.facts.values()) {
            kept.extend(of_text(text));
        }
        let missing: Vec<_> = expected
            .iter()
            .filter(|(_, number)| !kept.contains(&number.to_bits()))
            .collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
    }
}
