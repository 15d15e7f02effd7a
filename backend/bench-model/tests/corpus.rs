//! Files of the tools, real ones where the tool was at hand (`tests/corpus/README.md`).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use fleethold_bench_model::import::{Content, Format, ImportedSeries, import, sniff};
use fleethold_bench_model::unit::{Direction, Unit};

macro_rules! corpus {
    ($($name:literal => $format:expr),+ $(,)?) => {
        /// Every file with its format.
        const CORPUS: &[(&str, &[u8], Format)] = &[$(
            ($name, include_bytes!(concat!("corpus/", $name)), $format),
        )+];
    };
}

corpus! {
    "hyperfine-1.20.0.json" => Format::Hyperfine,
    "fio-3.33.json" => Format::Fio,
    "fio-3.33.json-plus.json" => Format::Fio,
    "gnu-time-1.9.txt" => Format::GnuTime,
    "perf-stat-6.1.187.json" => Format::PerfStat,
    "perf-stat-6.1.187-per-cpu.json" => Format::PerfStat,
    "go-test-1.26.8.txt" => Format::GoBench,
    "cargo-criterion-1.1.0.jsonl" => Format::Criterion,
    "custom-smaller.json" => Format::CustomSmallerIsBetter,
    "custom-bigger.json" => Format::CustomBiggerIsBetter,
    "bencher-bmf.json" => Format::Bencher,
    "pbs-client-benchmark.json" => Format::PbsClient,
    "qmrestore.log" => Format::Qmrestore,
    "qmrestore-parallel.log" => Format::Qmrestore,
    "stacks.folded" => Format::Folded,
}

fn bytes(name: &str) -> &'static [u8] {
    CORPUS.iter().find(|(known, ..)| *known == name).unwrap().1
}

fn series(name: &str) -> Vec<ImportedSeries> {
    let (_, bytes, format) = CORPUS.iter().find(|(known, ..)| *known == name).unwrap();
    match import(name, bytes, Some(*format)).unwrap().content {
        Content::Series(series) => series,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn one<'a>(series: &'a [ImportedSeries], metric: &str) -> &'a ImportedSeries {
    series.iter().find(|of| of.key.metric == metric).unwrap()
}

#[test]
fn the_folder_holds_what_is_tested() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    let tested: BTreeSet<String> = CORPUS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(there, tested);
    let readme = include_str!("corpus/README.md");
    for name in tested {
        assert!(
            readme.contains(&format!("`{name}`")),
            "{name} has no line in the README"
        );
    }
}

#[test]
fn formats_are_recognised_where_they_can_be() {
    for (name, bytes, format) in CORPUS {
        let expected = match format {
            // They do not say which way is better.
            Format::CustomSmallerIsBetter | Format::CustomBiggerIsBetter => None,
            known => Some(*known),
        };
        assert_eq!(sniff(bytes), expected, "{name}");
        if expected.is_some() {
            assert_eq!(
                import(name, bytes, None).unwrap(),
                import(name, bytes, Some(*format)).unwrap()
            );
        } else {
            assert!(import(name, bytes, None).is_err());
        }
    }
}

#[test]
fn cut_files_are_refused_or_whole() {
    for (name, bytes, format) in CORPUS {
        let whole = import(name, bytes, Some(*format)).unwrap();
        for share in 1..20 {
            let cut = &bytes[..bytes.len() * share / 20];
            match import(name, cut, Some(*format)) {
                Err(error) => assert!(
                    error.to_string().starts_with(&format!("import {name}, ")),
                    "{error}"
                ),
                // Formats of independent lines may end after any line.
                Ok(part) => {
                    assert!(
                        matches!(
                            format,
                            Format::GoBench
                                | Format::PerfStat
                                | Format::Criterion
                                | Format::Folded
                                | Format::GnuTime
                                | Format::Qmrestore
                        ),
                        "{name} cut at {share}/20 was taken"
                    );
                    assert_ne!(part, whole);
                }
            }
        }
    }
}

#[test]
fn hyperfine() {
    let found = series("hyperfine-1.20.0.json");
    assert_eq!(found.len(), 8);
    let time = one(&found, "time");
    assert_eq!((time.values.len(), time.key.unit), (8, Unit::Seconds));
    assert_eq!(time.values[0], 0.000_228_284_480_000_000_07);
    assert_eq!(time.key.parameters["n"], "10000");
    assert_eq!(one(&found, "memory").values, [3_338_240.0; 8]);
    assert_eq!(one(&found, "user").key.unit, Unit::CpuSeconds);
    let facts = import("h", bytes("hyperfine-1.20.0.json"), None).unwrap().facts;
    assert_eq!(facts["results[0].exit_codes"], "[0,0,0,0,0,0,0,0]");
}

#[test]
fn fio() {
    let found = series("fio-3.33.json");
    let read = |metric: &str| {
        let of = |series: &&ImportedSeries| {
            series.key.metric == metric
                && series
                    .key
                    .parameters
                    .get("direction")
                    .is_some_and(|d| d == "read")
        };
        found.iter().find(of).unwrap()
    };
    assert_eq!(read("bw_bytes").values, [66_645_502.0]);
    assert_eq!(read("bw_bytes").key.better, Direction::Higher);
    assert_eq!(read("iops").values, [16_270.874_751]);
    assert_eq!(read("clat-p99.000000").key.unit, Unit::Nanoseconds);
    assert!(
        found
            .iter()
            .any(|of| of.key.parameters.get("direction").is_some_and(|d| d == "write"))
    );
    assert!(
        found
            .iter()
            .all(|of| of.key.parameters.get("direction").is_none_or(|d| d != "trim"))
    );
    let plus = import("f", bytes("fio-3.33.json-plus.json"), None).unwrap();
    assert!(
        plus.facts
            .keys()
            .any(|name| name.starts_with("jobs[0].read.clat_ns.bins."))
    );
}

#[test]
fn gnu_time() {
    let found = series("gnu-time-1.9.txt");
    let of = |command: &str, metric: &str| {
        let is_it = |of: &&ImportedSeries| of.key.workload == command && of.key.metric == metric;
        found.iter().find(is_it).unwrap().values.clone()
    };
    assert_eq!(of("seq 100000", "max-rss"), [1576.0]);
    assert_eq!(of("sh -c echo noise >&2; sleep 0.02; exit 3", "time"), [0.02]);
    assert_eq!(
        of("sh -c echo noise >&2; sleep 0.02; exit 3", "minor-faults"),
        [165.0]
    );
    let text = "\tCommand being timed: \"x\"\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03\n\tExit status: 0\n";
    let Content::Series(found) = import("t", text.as_bytes(), None).unwrap().content else {
        panic!("series");
    };
    assert_eq!(found[0].values, [3723.0]);
    let short = text.replace("\tElapsed", "\tPercent of CPU this job got: ?%\n\tElapsed");
    assert!(
        import("t", short.as_bytes(), None)
            .unwrap()
            .facts
            .values()
            .any(|fact| fact.ends_with("?%"))
    );
    let back = text.replace("1:02:03", "-1:02:03");
    assert!(
        import("t", back.as_bytes(), None)
            .unwrap_err()
            .to_string()
            .contains("line 2")
    );
}

#[test]
fn perf_stat() {
    let found = series("perf-stat-6.1.187.json");
    assert_eq!(one(&found, "task-clock").values, [1.346_292]);
    assert_eq!(one(&found, "task-clock").key.unit, Unit::CpuMilliseconds);
    assert_eq!(one(&found, "page-faults").values, [77.0]);
    assert_eq!(one(&found, "duration_time").key.unit, Unit::Nanoseconds);
    // What the machine cannot count is told, never zero.
    assert!(found.iter().all(|of| of.key.metric != "cycles"));
    let facts = import("p", bytes("perf-stat-6.1.187.json"), None).unwrap().facts;
    assert!(facts.values().any(|value| value == "<not supported>"));
    let per_cpu = series("perf-stat-6.1.187-per-cpu.json");
    assert_eq!(per_cpu[1].key.parameters["cpu"], "1");
}

#[test]
fn go_test() {
    let found = series("go-test-1.26.8.txt");
    assert_eq!(found.len(), 10);
    let time = one(&found, "time");
    assert_eq!(time.values, [735.4, 438.2, 445.6, 704.8]);
    assert_eq!(time.key.workload, "BenchmarkSum");
    assert_eq!(time.key.parameters["size"], "64");
    assert_eq!(time.key.parameters["gomaxprocs"], "2");
    assert_eq!(one(&found, "throughput").key.better, Direction::Higher);
    assert_eq!(one(&found, "p99").key.unit, Unit::Nanoseconds);
}

#[test]
fn the_others() {
    let criterion = series("cargo-criterion-1.1.0.jsonl");
    assert_eq!(criterion.len(), 2);
    assert_eq!(criterion[0].key.workload, "lookup/sum/64");
    assert_eq!(criterion[0].values.len(), 12);
    assert_eq!(criterion[0].values[0], 1_314_590.0 / 65_560.0);
    let smaller = series("custom-smaller.json");
    assert_eq!((smaller[0].key.unit, smaller[0].values[0]), (Unit::Percent, 50.0));
    let bigger = series("custom-bigger.json");
    assert!(bigger.iter().all(|of| of.key.better == Direction::Higher));
    let bencher = series("bencher-bmf.json");
    assert_eq!(one(&bencher, "build-time").values, [87.0]);
    let pbs = series("pbs-client-benchmark.json");
    assert_eq!(pbs.len(), 5, "tls was not measured");
    let restore = series("qmrestore.log");
    assert_eq!(one(&restore, "time").values, [15.45]);
    assert_eq!(
        one(&restore, "time").key.parameters["image"],
        "drive-scsi0.img.fidx"
    );
    assert_eq!(
        one(&restore, "progress-zeroes").values,
        [0.0, 71_303_168.0, 1_514_143_744.0]
    );
    assert_eq!(
        restore.iter().filter(|of| of.key.metric == "throughput").count(),
        2
    );
    let parallel = series("qmrestore-parallel.log");
    assert_eq!(one(&parallel, "fetch-time").values, [16.3572]);
    assert_eq!(one(&parallel, "progress-chunks").values, [663.0]);
    let stacks = import("s", bytes("stacks.folded"), None).unwrap();
    assert!(matches!(&stacks.content, Content::Stacks(folded) if folded.total() == 436));
}

#[test]
fn what_is_refused_says_where_and_why() {
    for (format, text, place, expected) in [
        (
            Format::Hyperfine,
            r#"{"results":[{"command":"a","times":[1,"x"]}]}"#,
            "results[0].times[1]",
            "a number",
        ),
        (
            Format::Hyperfine,
            r#"{"results":[{"command":"a","times":[-1]}]}"#,
            "results[0].times[0]",
            "at least 0",
        ),
        (
            Format::Hyperfine,
            r#"{"results":[{"command":"a","mean":1}]}"#,
            "results[0].times",
            "a value",
        ),
        (
            Format::Hyperfine,
            r#"{"results":[]}"#,
            "end",
            "at least one measurement",
        ),
        (Format::Hyperfine, r#"{"results":["#, "line 1", "the rest"),
        (
            Format::CustomSmallerIsBetter,
            r#"[{"name":"a","unit":"furlong","value":1}]"#,
            "[0].unit",
            "a unit of the closed list",
        ),
        (
            Format::Bencher,
            r#"{"a":{"mood":{"value":1}}}"#,
            "a.mood",
            "a built-in measure",
        ),
        (
            Format::GoBench,
            "BenchmarkA 1 NaN ns/op\n",
            "line 1",
            "a finite number",
        ),
        (Format::GoBench, "x\nBenchmarkA 1 2 ns/op 3\n", "line 2", "pairs"),
        (Format::GoBench, "BenchmarkA 1 2 parsec/op\n", "line 1", "a unit"),
        (
            Format::PerfStat,
            "{\"event\":\"a\",\"counter-value\":\"x\"}\n",
            "line 1, field `counter-value`",
            "a number",
        ),
        (
            Format::Criterion,
            r#"{"reason":"benchmark-complete","id":"a","unit":"ns","iteration_count":[0],"measured_values":[1]}"#,
            "iteration_count[0]",
            "at least one iteration",
        ),
        (
            Format::GnuTime,
            "\tCommand being timed: \"x\"\n",
            "end",
            "Exit status",
        ),
        (
            Format::Qmrestore,
            "progress 1% (read 5 bytes, duration 0 sec)\n",
            "end",
            "restore image complete",
        ),
        (Format::Folded, "main;a x\n", "line 1", "a whole number"),
        (
            Format::OwnJson,
            r#"{"format":"other","version":1}"#,
            "line 1",
            "a run",
        ),
        (
            Format::OwnCsv,
            "scenario,value\n",
            "line 1",
            "# fleethold-bench csv 1",
        ),
        (Format::Fio, "fio: nothing\n", "beginning", "a JSON document"),
    ] {
        let error = import("file.txt", text.as_bytes(), Some(format)).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("import file.txt, "), "{message}");
        assert!(message.contains(place), "{message}: {place}");
        assert!(error.expected.contains(expected), "{message}: {expected}");
    }
    let error = import("x", b"\xff\xfe", None).unwrap_err();
    assert!(error.to_string().contains("byte 0"), "{error}");
    assert!(import("x", b"", None).is_err());
}

#[test]
fn the_machine_is_what_the_file_says() {
    let class = |text: &str, format| match import("f", text.as_bytes(), Some(format)).unwrap().content {
        Content::Series(series) => series[0].key.machine_class.clone(),
        other => panic!("{other:?}"),
    };
    let line = "BenchmarkRead-8 10 5 ns/op\n";
    let go = |head: &str| class(&format!("{head}{line}"), Format::GoBench);
    assert_eq!(
        go("goos: linux\ngoarch: amd64\ncpu: AMD EPYC 7B13\n"),
        "AMD EPYC 7B13, linux/amd64"
    );
    assert_eq!(go("goos: linux\ngoarch: arm64\n"), "linux/arm64");
    assert_eq!(go(""), "");
    let fio = r#"{"fio version":"fio-3.33","jobs":[],"client_stats":[
        {"jobname":"j","hostname":"pve1","read":{"total_ios":1,"iops":5.0}}]}"#;
    assert_eq!(class(fio, Format::Fio), "pve1");
}

#[test]
fn a_file_made_to_take_memory_is_refused() {
    let ones = format!(
        r#"{{"results":[{{"command":"x","times":[{}1]}}]}}"#,
        "1,".repeat(10_000_000)
    );
    let deep = format!("{{\"{}\":[{}[]]}}", "k".repeat(1 << 20), "1,".repeat(1000));
    let wide: String = (0..=250_000)
        .map(|n| format!("BenchmarkR{n} 1 5 ns/op\n"))
        .collect();
    let samples = format!(
        r#"{{"results":[{{"command":"x","times":[{}1]}}]}}"#,
        "1,".repeat(4_000_000)
    );
    for (text, format, place, expected, found) in [
        (
            ones,
            Format::Hyperfine,
            "line 1",
            "at most 8000000 values in a JSON document",
            "more",
        ),
        (
            samples,
            Format::Hyperfine,
            "field `results[0].times[4000000]`",
            "at most 4000000 samples",
            "more",
        ),
        (
            format!(r#"[{{"name":"x","unit":"s","value":1,"extra":{deep}}}]"#),
            Format::CustomSmallerIsBetter,
            "field `[0].extra.kkk",
            "at most 1000000 facts beside the samples, with 134217728 bytes",
            "more",
        ),
        (
            format!(r#"{{"{}":{{"latency":{{"value":1}}}}}}"#, "k".repeat(9000)),
            Format::Bencher,
            "field `kkk",
            "at most 8192 bytes of workload, parameters and metric",
            "9007",
        ),
        (
            wide,
            Format::GoBench,
            "line 250001",
            "at most 250000 series, with 67108864 bytes of names",
            "more",
        ),
        (
            format!("BenchmarkR 1 {}\n", "5 ns/op ".repeat(1000)),
            Format::GoBench,
            "line 1",
            "at most 1000 words",
            "more",
        ),
        (
            format!("{{{}}}", ",".repeat(16_000_001)),
            Format::OwnJson,
            "beginning",
            "at most 16000000 values in a JSON document",
            "16000001",
        ),
    ] {
        let error = import("file.txt", text.as_bytes(), Some(format)).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("import file.txt, {place}")),
            "{}",
            &message[..message.len().min(200)]
        );
        assert_eq!((error.expected.as_str(), error.found.as_str()), (expected, found));
    }
}
