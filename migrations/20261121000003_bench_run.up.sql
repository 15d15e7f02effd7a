-- The benchmark lab. What it was measured on: more about a machine; rows of before stay as they are.
ALTER TABLE machine
    ADD COLUMN disk text,
    ADD COLUMN governor text,
    ADD COLUMN class text,
    ADD COLUMN facts json;

-- A state of the code. Empty text: not known.
CREATE TABLE bench_revision (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repository text NOT NULL,
    commit text NOT NULL,
    dirty boolean NOT NULL,
    parent text,
    UNIQUE (repository, commit, dirty)
);

-- What was measured: the workload file, and the data that it worked on. Empty hashes: not ours (imported files).
CREATE TABLE bench_workload (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    file_sha256 text NOT NULL,
    data_sha256 text NOT NULL,
    text text NOT NULL,
    UNIQUE (name, file_sha256, data_sha256)
);

-- One run, or one imported file. Ids are UUIDv7: their order is the order of creation, so they are the page cursor.
-- `digest` tells the same thing imported twice. `frame` is everything of the matrix but the numbers, as text that is
-- read back bit by bit (hence json, not jsonb). `measured_at` orders the runs of a series.
CREATE TABLE bench_run (
    id uuid PRIMARY KEY,
    workload bigint NOT NULL REFERENCES bench_workload (id),
    source text NOT NULL,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    measured_at timestamptz NOT NULL GENERATED ALWAYS AS (coalesce(started_at, created_at)) STORED,
    revision_before bigint REFERENCES bench_revision (id),
    revision_after bigint REFERENCES bench_revision (id),
    machine text REFERENCES machine (fingerprint),
    machine_class text NOT NULL,
    cold boolean NOT NULL,
    quick boolean NOT NULL,
    complete boolean NOT NULL,
    quiet boolean NOT NULL,
    seed bigint,
    samples integer NOT NULL,
    operator text NOT NULL,
    reason text NOT NULL,
    load jsonb,
    tool_version text NOT NULL,
    digest text NOT NULL UNIQUE,
    content text NOT NULL,
    frame json,
    facts json NOT NULL,
    floors json,
    verdicts integer[],
    pinned boolean NOT NULL DEFAULT false,
    rolled_up_at timestamptz,
    alerts_judged_at timestamptz,
    CONSTRAINT bench_run_content_known CHECK (content IN ('matrix', 'series', 'stacks')),
    CONSTRAINT bench_run_frame_of_matrix CHECK ((content = 'matrix') = (frame IS NOT NULL)),
    CONSTRAINT bench_run_four_verdicts CHECK (cardinality(verdicts) = 4)
);

CREATE INDEX bench_run_workload_id ON bench_run (workload, id DESC);
CREATE INDEX bench_run_raw ON bench_run (measured_at) WHERE rolled_up_at IS NULL;
CREATE INDEX bench_run_unjudged ON bench_run (measured_at) WHERE alerts_judged_at IS NULL;
CREATE INDEX bench_run_machine ON bench_run (machine, id DESC);
