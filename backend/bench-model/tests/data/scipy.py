"""Writes scipy.json, the reference results of tests/scipy.rs.

Run in a virtual environment with `pip install scipy==1.17.1 numpy==2.4.6`:

    python -I scipy.py > scipy.json

(-I, because this file has the name of the package.)

Everything is drawn from fixed seeds; the same versions write the same bytes.
"""

import itertools
import json

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20261121)


def samples(n, m, kind):
    if kind == "normal":
        x, y = rng.normal(10, 1, n), rng.normal(10.8, 1.3, m)
    elif kind == "lognormal":
        x, y = rng.lognormal(0, 0.4, n), rng.lognormal(0.2, 0.4, m)
    elif kind == "ties":
        x, y = rng.integers(0, 6, n).astype(float), rng.integers(1, 8, m).astype(float)
    else:
        x, y = np.round(rng.normal(5, 1, n), 1), np.round(rng.normal(5.5, 1, m), 1)
    return [float(v) for v in x], [float(v) for v in y]


def has_ties(x, y):
    return len(set(x) | set(y)) < len(x) + len(y)


def mann_whitney(x, y):
    row = {"x": x, "y": y}
    for name, method in [("auto", "auto"), ("asymptotic", "asymptotic")]:
        found = stats.mannwhitneyu(x, y, alternative="two-sided", method=method)
        row["u"] = float(found.statistic)
        row[name] = float(found.pvalue)
    if not has_ties(x, y):
        row["exact"] = float(stats.mannwhitneyu(x, y, alternative="two-sided", method="exact").pvalue)
    elif len(x) + len(y) <= 14:
        every = stats.PermutationMethod(n_resamples=np.inf)
        row["exact"] = float(stats.mannwhitneyu(x, y, alternative="two-sided", method=every).pvalue)
    return row


def hodges_lehmann(x, y, confidence):
    """The shift from x to y, written down by its definition; the ranks of its ends from scipy's exact U."""
    n, m = len(x), len(y)
    differences = sorted(b - a for a, b in itertools.product(x, y))
    # Counts of U without ties, by the recurrence of Mann & Whitney.
    counts = {(0, j): [1] for j in range(m + 1)} | {(i, 0): [1] for i in range(n + 1)}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            row = [0] * (i * j + 1)
            for u, c in enumerate(counts[i - 1, j]):
                row[u + j] += c
            for u, c in enumerate(counts[i, j - 1]):
                row[u] += c
            counts[i, j] = row
    below = np.cumsum(np.array(counts[n, m], dtype=float)) / sum(counts[n, m])
    rank = max(1, int(np.sum(2 * below <= 1 - confidence)))
    return {
        "x": x,
        "y": y,
        "confidence": confidence,
        "estimate": float(np.median(differences)),
        "low": differences[rank - 1],
        "high": differences[len(differences) - rank],
        "attained": float(1 - 2 * below[rank - 1]),
    }


def descriptive(x):
    return {
        "x": x,
        "median": float(np.median(x)),
        "mad": float(stats.median_abs_deviation(x)),
        "quantiles": [[p, float(np.quantile(x, p, method="linear"))] for p in (0, 0.01, 0.25, 0.5, 0.9, 0.99, 1)],
    }


def t_test(x, y):
    found = stats.ttest_ind(x, y, equal_var=True)
    return {"x": x, "y": y, "p": float(found.pvalue)}


sizes = [(3, 3), (3, 9), (5, 5), (6, 6), (7, 8), (8, 8), (8, 30), (9, 9), (12, 10), (20, 20), (40, 50), (100, 90)]
kinds = ["normal", "lognormal", "ties", "rounded"]
tests = [mann_whitney(*samples(n, m, kind)) for n, m in sizes for kind in kinds]
tests.append(mann_whitney([1.0] * 5, [1.0] * 6))
shifts = [
    hodges_lehmann(*samples(n, m, "normal"), confidence)
    for n, m in [(3, 3), (4, 5), (6, 6), (7, 7), (8, 12), (15, 11)]
    for confidence in (0.9, 0.95, 0.99)
]
describes = [descriptive(samples(n, 1, kind)[0]) for n in (1, 2, 5, 6, 31) for kind in kinds]
t_tests = [t_test(*samples(n, m, "normal")) for n, m in [(3, 3), (3, 57), (30, 30), (6, 54)]]
holm_p = [float(p) for p in rng.uniform(0, 0.2, 12)]
holm = {
    "p": holm_p,
    # scipy has no Holm; this is its definition with plain loops.
    "adjusted": [
        min(1.0, max((len(holm_p) - k) * q for k, q in enumerate(sorted(holm_p)) if q <= p)) for p in holm_p
    ],
}
print(
    json.dumps(
        {
            "scipy": scipy.__version__,
            "numpy": np.__version__,
            "mann_whitney": tests,
            "hodges_lehmann": shifts,
            "descriptive": describes,
            "t_test": t_tests,
            "holm": holm,
        }
    )
)
