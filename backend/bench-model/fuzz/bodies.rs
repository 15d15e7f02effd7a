//! What is fuzzed, in one place: `fuzz_targets/` runs these under cargo-fuzz, `tests/no_panic.rs` on a stable
//! compiler. Each takes arbitrary bytes and must not panic; what it accepts must survive being written again.

use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, MAIL_COLUMNS, export};
use fleethold_bench_model::flame::{Limits, Orientation, layout};
use fleethold_bench_model::import::{Content, Format, Imported, import};
use fleethold_bench_model::pair::pair;
use fleethold_bench_model::verdict::Rules;

/// Formats whose parsers are fuzzed one by one.
fn one(data: &[u8], format: Format) {
    if let Ok(imported) = import("fuzz", data, Some(format)) {
        check(&imported);
    }
}

fn check(imported: &Imported) {
    match &imported.content {
        Content::Series(series) => {
            assert!(!series.is_empty());
            for of in series {
                assert!(!of.values.is_empty());
                assert!(of.values.iter().all(|value| value.is_finite() && *value >= 0.0));
            }
            // Comparing ten thousand values is enough for a fuzzer.
            let small = series.iter().map(|of| of.values.len()).sum::<usize>() < 10_000;
            if small
                && let Ok(matrix) = pair(
                    (Default::default(), series),
                    (Default::default(), series),
                    Rules::default(),
                )
            {
                prints(&matrix);
            }
        }
        Content::Matrix(matrix) => {
            prints(matrix);
            let comparison = Comparison::judge(matrix).expect("what is taken can be judged");
            for format in [ExportFormat::Json, ExportFormat::Csv, ExportFormat::GoBench] {
                let text = export(&comparison, format);
                let back = import("fuzz", text.as_bytes(), None).expect("what was written can be read");
                assert_eq!(back.content, imported.content);
            }
        }
        Content::Stacks(folded) => {
            let all = layout(folded, Some(folded), Orientation::Flame, Limits::NONE);
            assert_eq!(all.scale, 0.0);
            assert!(all.search("a").share <= 1.0 + 1e-9);
        }
    }
}

fn prints(matrix: &fleethold_bench_model::matrix::Matrix) {
    if let Ok(comparison) = Comparison::judge(matrix) {
        let mail = export(&comparison, ExportFormat::Mail);
        for line in mail.lines() {
            assert!(line.len() <= MAIL_COLUMNS && line.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        }
        for format in [ExportFormat::Markdown, ExportFormat::Html] {
            assert!(!export(&comparison, format).is_empty());
        }
    }
}

/// Whatever the bytes look like.
pub(crate) fn sniffed(data: &[u8]) {
    if let Ok(imported) = import("fuzz", data, None) {
        check(&imported);
    }
}

pub(crate) fn own(data: &[u8]) {
    one(data, Format::OwnJson);
    one(data, Format::OwnCsv);
    one(data, Format::GoBench);
}

pub(crate) fn json(data: &[u8]) {
    for format in [
        Format::Hyperfine,
        Format::Criterion,
        Format::Fio,
        Format::CustomSmallerIsBetter,
        Format::CustomBiggerIsBetter,
        Format::Bencher,
        Format::PerfStat,
        Format::PbsClient,
    ] {
        one(data, format);
    }
}

pub(crate) fn lines(data: &[u8]) {
    for format in [
        Format::GoBench,
        Format::GnuTime,
        Format::Qmrestore,
        Format::Folded,
    ] {
        one(data, format);
    }
}
