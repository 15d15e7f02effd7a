//! The dip against the reference implementation, and the rate of false alarms.

mod common;

use common::Normal;
use fleethold_bench_model::modes::{dip, two_peaks};
use fleethold_bench_model::quantile::Sorted;
use serde_json::Value;

#[test]
fn the_dip_is_that_of_the_reference() {
    let rows: Value = serde_json::from_str(include_str!("data/dip.json")).unwrap();
    for row in rows.as_array().unwrap() {
        let values = row["x"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap());
        let (found, expected) = (dip(&values.collect::<Sorted>()), row["dip"].as_f64().unwrap());
        assert!((found - expected).abs() < 1e-12, "{found} {expected} {row}");
    }
}

#[test]
fn one_peak_is_flagged_once_in_a_hundred_at_most() {
    for n in [6, 8, 11, 40] {
        let mut random = Normal::new(n);
        let mut alarms = (0, 0);
        for _ in 0..2000 {
            let normal = (0..n).map(|_| 100.0 + 10.0 * random.next()).collect::<Sorted>();
            let uniform = (0..n).map(|_| 1.0 + random.uniform()).collect::<Sorted>();
            alarms.0 += u32::from(two_peaks(&normal).is_some());
            alarms.1 += u32::from(two_peaks(&uniform).is_some());
        }
        assert!(alarms.0 <= 20 && alarms.1 <= 32, "{n} values: {alarms:?} of 2000");
    }
}

#[test]
fn two_peaks_of_a_bimodal_cache_are_found() {
    let mut random = Normal::new(3);
    let found = (0..200).filter(|_| {
        let values = (0..20).map(|i| (if i % 2 == 0 { 10.0 } else { 14.0 }) + 0.4 * random.next());
        two_peaks(&values.collect::<Sorted>()).is_some()
    });
    assert!(found.count() >= 195);
}
