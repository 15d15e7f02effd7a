//! What a matrix may not be.

#[path = "common/sweep.rs"]
mod sweep;

use fleethold_bench_model::interval::IntervalMethod;
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::{Samples, Side};
use sweep::restore;

#[track_caller]
fn refused(change: impl FnOnce(&mut Matrix), message: &str) {
    let mut matrix = restore();
    assert_eq!(matrix.validate(), Ok(()));
    change(&mut matrix);
    let error = matrix
        .validate()
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(error.contains(message), "{error}: expected {message}");
}

#[test]
fn names_stand_once_and_are_declared() {
    refused(|matrix| matrix.workload.clear(), "workload ``");
    refused(
        |matrix| matrix.scenarios[0].name = "a\tb".to_owned(),
        "scenario `a\\tb`",
    );
    refused(
        |matrix| matrix.metrics[1].name = "time".to_owned(),
        "metric `time` stands twice",
    );
    refused(
        |matrix| matrix.rows[2].value = "1".to_owned(),
        "row `1` stands twice",
    );
    refused(
        |matrix| matrix.rows[0].scenario = "tape".to_owned(),
        "scenario `tape` is not declared",
    );
    refused(
        |matrix| matrix.rows[0].cells[0].metric = "joy".to_owned(),
        "metric `joy` is not declared",
    );
    refused(
        |matrix| matrix.rows[0].cells[1].metric = "time".to_owned(),
        "cell of metric `time` stands twice",
    );
}

#[test]
fn nothing_is_empty() {
    refused(|matrix| matrix.rows.clear(), "0 rows");
    refused(|matrix| matrix.rows[0].cells.clear(), "0 cells in a row");
    refused(
        |matrix| matrix.rows[0].cells[0].samples = Samples::default(),
        "0 samples in a cell",
    );
}

#[test]
fn fields_are_in_range() {
    refused(
        |matrix| matrix.data_sha256 = "ABC".to_owned(),
        "data_sha256 is ABC",
    );
    refused(
        |matrix| matrix.permalink = Some("https://a b".to_owned()),
        "permalink is",
    );
    refused(|matrix| matrix.rules.alpha = 0.0, "alpha is 0");
    refused(|matrix| matrix.rules.confidence = f64::NAN, "confidence is NaN");
    refused(
        |matrix| matrix.rules.min_effect_ratio = -0.1,
        "min_effect_ratio is -0.1",
    );
    refused(
        |matrix| matrix.rows[0].cells[0].noise_ratio = Some(f64::INFINITY),
        "noise_ratio is inf",
    );
    // A file of a stranger cannot ask for hours of work.
    refused(
        |matrix| {
            matrix.rules.interval = IntervalMethod::Bootstrap {
                seed: 1,
                pairs: u32::MAX,
            }
        },
        "pairs is 4294967295",
    );
}

#[test]
fn the_digest_is_that_of_the_content() {
    let matrix = restore();
    assert_eq!(matrix.digest(), restore().digest());
    assert_eq!(matrix.digest().len(), 64);
    let mut exported = matrix.clone();
    exported.permalink = Some("https://pbs/bench/runs/1".to_owned());
    exported.rows[0].cells[0].noise_ratio = Some(0.02);
    assert_eq!(
        exported.digest(),
        matrix.digest(),
        "what an export fills in is not measured"
    );
    exported.rows[0].cells[0].samples.push(Side::After, 1.0).unwrap();
    assert_ne!(exported.digest(), matrix.digest());
    assert_ne!(matrix.digest(), matrix.clone().swapped().digest());
    assert_eq!(matrix.clone().swapped().swapped(), matrix);
}

#[test]
fn a_name_of_a_map_stands_once() {
    let text = serde_json::to_string(&restore()).unwrap();
    for (map, first) in [("parameters", "\"seed\":\"7\""), ("environment", "\"cpu\":\"x\"")] {
        let at = text.find(&format!("\"{map}\":{{")).unwrap() + map.len() + 4;
        let comma = if text[at..].starts_with('}') { "" } else { "," };
        let with = |fields: &str| format!("{}{fields}{comma}{}", &text[..at], &text[at..]);
        let (once, twice) = (with("\"a\":\"1\""), with(&format!("{first},{first}")));
        assert!(serde_json::from_str::<Matrix>(&once).is_ok(), "{once}");
        let error = serde_json::from_str::<Matrix>(&twice).unwrap_err().to_string();
        assert!(error.contains("duplicate field `"), "{error}");
    }
    let bins = r#"{"3":1,"3":2}"#;
    let error = serde_json::from_str::<fleethold_bench_model::histogram::Log2Histogram>(bins).unwrap_err();
    assert!(error.to_string().contains("duplicate field `3`"), "{error}");
}
