//! Our numbers against those of scipy and numpy, kept as data (`tests/data/scipy.py` writes them).
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use fleethold_bench_model::holm;
use fleethold_bench_model::quantile::Sorted;
use fleethold_bench_model::rank::{Method, Used, mann_whitney, shift};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("data/scipy.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

fn rows(name: &str) -> Vec<Value> {
    reference()[name].as_array().unwrap().clone()
}

#[track_caller]
fn near(found: f64, expected: f64, what: &str) {
    // The normal distribution of statrs is good to about 1e-10; everything counted agrees to the last digits.
    let error = (found - expected).abs();
    assert!(
        error <= 1e-9 * expected.abs() + 1e-14,
        "{what}: found {found}, expected {expected}"
    );
}

#[test]
fn mann_whitney_p() {
    let mut exact = 0;
    for row in rows("mann_whitney") {
        let (x, y) = (numbers(&row["x"]), numbers(&row["y"]));
        let what = format!("{} against {}", x.len(), y.len());
        let auto = mann_whitney(&x, &y, Method::Scipy).unwrap();
        near(auto.u, row["u"].as_f64().unwrap(), &what);
        near(auto.p, row["auto"].as_f64().unwrap(), &what);
        let approximate = mann_whitney(&x, &y, Method::Approximate).unwrap();
        near(approximate.p, row["asymptotic"].as_f64().unwrap(), &what);
        let own = mann_whitney(&x, &y, Method::Auto).unwrap();
        match row["exact"].as_f64() {
            Some(p) if own.used != Used::Approximate => {
                near(own.p, p, &what);
                exact += 1;
            }
            // Beyond the sizes of the exact distribution, and ties that scipy would need hours to permute.
            _ => assert!(x.len().max(y.len()) > 6, "{what}: {own:?}"),
        }
    }
    assert!(exact > 25, "only {exact} exact rows were compared");
}

#[test]
fn hodges_lehmann() {
    for row in rows("hodges_lehmann") {
        let (x, y) = (numbers(&row["x"]), numbers(&row["y"]));
        let confidence = row["confidence"].as_f64().unwrap();
        let what = format!("{} against {} at {confidence}", x.len(), y.len());
        let found = shift(&x, &y, confidence).unwrap();
        for (name, value) in [
            ("estimate", found.estimate),
            ("low", found.low),
            ("high", found.high),
            ("attained", found.attained),
        ] {
            near(value, row[name].as_f64().unwrap(), &format!("{what}: {name}"));
        }
    }
}

#[test]
fn medians_quantiles_and_mad() {
    for row in rows("descriptive") {
        let sorted = Sorted::new(numbers(&row["x"]));
        near(
            sorted.median().unwrap(),
            row["median"].as_f64().unwrap(),
            "median",
        );
        near(sorted.mad().unwrap(), row["mad"].as_f64().unwrap(), "mad");
        for pair in row["quantiles"].as_array().unwrap() {
            let pair = numbers(pair);
            near(sorted.quantile(pair[0]).unwrap(), pair[1], "quantile");
        }
    }
}

#[test]
fn holm_correction() {
    let row = &reference()["holm"];
    let found = holm::adjust(&numbers(&row["p"]));
    for (found, expected) in found.into_iter().zip(numbers(&row["adjusted"])) {
        near(found, expected, "holm");
    }
}
