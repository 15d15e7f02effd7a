//! Mann–Whitney against the published table of critical values: the largest U that is significant at 5 % two-sided
//! (Mann & Whitney 1947; Siegel 1956, table K; the same in any textbook).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use fleethold_bench_model::rank::{Method, mann_whitney, smallest_p};

/// Critical values of U at a two-sided 5 % for n = m = 4 … 20.
const EQUAL_SIZES: [(usize, usize); 17] = [
    (4, 0),
    (5, 2),
    (6, 5),
    (7, 8),
    (8, 13),
    (9, 17),
    (10, 23),
    (11, 30),
    (12, 37),
    (13, 45),
    (14, 55),
    (15, 64),
    (16, 75),
    (17, 87),
    (18, 99),
    (19, 113),
    (20, 127),
];

/// The same for unequal sizes.
const UNEQUAL: [(usize, usize, usize); 8] = [
    (3, 5, 0),
    (3, 10, 3),
    (4, 8, 4),
    (5, 9, 7),
    (6, 10, 11),
    (7, 12, 18),
    (8, 20, 41),
    (10, 15, 39),
];

/// Two samples without ties whose U (of the first) is `u`.
fn with_u(n: usize, m: usize, u: usize) -> (Vec<f64>, Vec<f64>) {
    // The last u / m values of the first sample lie above all of the second, one more above u % m of them.
    let second: Vec<f64> = (1..=m).map(|j| j as f64 * 1000.0).collect();
    let first = (0..n)
        .map(|i| {
            let above = u.saturating_sub((n - 1 - i) * m).min(m);
            above as f64 * 1000.0 + 1.0 + i as f64
        })
        .collect();
    (first, second)
}

fn p_of(n: usize, m: usize, u: usize) -> f64 {
    let (first, second) = with_u(n, m, u);
    let test = mann_whitney(&first, &second, Method::Auto).unwrap();
    assert_eq!(test.u, u as f64);
    test.p
}

#[test]
fn critical_values() {
    let equal = EQUAL_SIZES.into_iter().map(|(n, u)| (n, n, u));
    for (n, m, critical) in equal.chain(UNEQUAL) {
        assert!(p_of(n, m, critical) <= 0.05, "{n} {m} {critical}");
        assert!(p_of(n, m, critical + 1) > 0.05, "{n} {m} {critical}");
    }
}

#[test]
fn three_against_three_has_no_critical_value() {
    assert!((p_of(3, 3, 0) - 0.1).abs() < 1e-12);
    for (n, p) in [(3, 0.1), (4, 0.029), (5, 0.008), (6, 0.002)] {
        assert!((smallest_p(n, n) - p).abs() < 6e-4, "{n}");
    }
}
