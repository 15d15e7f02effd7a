"""Writes dip.json: dip statistics of fixed samples for tests/modes.rs. With --table: the quantiles behind CRITICAL in
src/modes.rs, each as n and the 95, 99 and 99.5 % quantile of the dip of n uniform values.

Run in a virtual environment with `pip install diptest==0.12.0 numpy==2.4.6`:

    python dip.py > dip.json
"""

import json
import sys

import diptest
import numpy as np

SIZES = [6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 2000]


def table():
    rng = np.random.default_rng(7)
    for n in SIZES:
        draws = 200000 if n <= 100 else (40000 if n <= 500 else 10000)
        dips = [diptest.dipstat(rng.random(n)) for _ in range(draws)]
        print(n, *(round(float(np.quantile(dips, q)), 5) for q in (0.95, 0.99, 0.995)), flush=True)


def corpus():
    rng = np.random.default_rng(11)
    rows = []
    for n in (4, 6, 7, 10, 25, 60):
        for x in (
            rng.random(n),
            rng.normal(10, 1, n),
            np.concatenate([rng.normal(5, 1, n // 2), rng.normal(9, 1, n - n // 2)]),
            np.concatenate([rng.normal(5, 0.1, n // 3), rng.normal(9, 0.1, n - n // 3)]),
            rng.integers(0, 5, n).astype(float),
            rng.exponential(1.0, n),
        ):
            rows.append({"x": [float(v) for v in x], "dip": float(diptest.dipstat(x))})
    print(json.dumps(rows))


if __name__ == "__main__":
    table() if "--table" in sys.argv else corpus()
