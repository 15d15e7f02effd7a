-- The same measurement at all times. `key_sha256` is the identity: the hash of all other columns as canonical JSON,
-- since names may be longer than an index entry.
CREATE TABLE bench_series (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key_sha256 text NOT NULL UNIQUE,
    workload text NOT NULL,
    parameters jsonb NOT NULL,
    metric text NOT NULL,
    unit text NOT NULL,
    better text NOT NULL,
    machine_class text NOT NULL,
    side text NOT NULL,
    CONSTRAINT bench_series_better_known CHECK (better IN ('lower', 'higher')),
    CONSTRAINT bench_series_side_known CHECK (side IN ('before', 'after'))
);

CREATE INDEX bench_series_workload ON bench_series (workload, id);

-- Raw samples. `position` counts the samples of a cell in measured order, both sides together. The key holds the
-- value, too: a comparison reads the index alone.
CREATE TABLE bench_sample (
    series bigint NOT NULL REFERENCES bench_series (id),
    run uuid NOT NULL REFERENCES bench_run (id) ON DELETE CASCADE,
    position integer NOT NULL,
    value float8 NOT NULL,
    CONSTRAINT bench_sample_is_a_measurement CHECK (value >= 0 AND value < 'infinity'),
    PRIMARY KEY (series, run, position) INCLUDE (value)
);

-- Figures of the samples of one series in one run, made when they arrive; they stay when the samples roll up.
-- `ordinal` is 2 x the number of the cell in its run, plus 1 for the after side. `bins` are powers of two of the
-- values in the smallest unit (nanoseconds, bytes, …): {"bit length": count}. `measured_at` is that of the run.
CREATE TABLE bench_summary (
    series bigint NOT NULL REFERENCES bench_series (id),
    run uuid NOT NULL REFERENCES bench_run (id) ON DELETE CASCADE,
    ordinal integer NOT NULL,
    judged boolean NOT NULL,
    measured_at timestamptz NOT NULL,
    n bigint NOT NULL,
    min float8 NOT NULL,
    lower_quartile float8 NOT NULL,
    median float8 NOT NULL,
    upper_quartile float8 NOT NULL,
    max float8 NOT NULL,
    mad float8 NOT NULL,
    bins jsonb NOT NULL,
    PRIMARY KEY (series, run),
    UNIQUE (run, ordinal)
);

CREATE INDEX bench_summary_history ON bench_summary (series, measured_at DESC, run DESC)
    INCLUDE (n, min, lower_quartile, median, upper_quartile, max);

-- Counts by powers of two that were made while measuring: write sizes, latencies. `cell` is the row of the matrix.
CREATE TABLE bench_histogram (
    run uuid NOT NULL REFERENCES bench_run (id) ON DELETE CASCADE,
    cell integer NOT NULL,
    side text NOT NULL,
    kind text NOT NULL,
    bins jsonb NOT NULL,
    PRIMARY KEY (run, cell, side, kind)
);
