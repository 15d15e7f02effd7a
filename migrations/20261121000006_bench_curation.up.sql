-- What people say of a series or of a run in it. Nothing is deleted: it is withdrawn.
CREATE TABLE bench_annotation (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    series bigint NOT NULL REFERENCES bench_series (id),
    run uuid REFERENCES bench_run (id) ON DELETE CASCADE,
    kind text NOT NULL,
    reason text NOT NULL,
    author text NOT NULL,
    created_at timestamptz NOT NULL,
    withdrawn_at timestamptz,
    withdrawn_by text,
    CONSTRAINT bench_annotation_kind_known CHECK (kind IN ('outlier', 'level-shift', 'note')),
    CONSTRAINT bench_annotation_of_a_run CHECK (kind = 'note' OR run IS NOT NULL),
    CONSTRAINT bench_annotation_withdrawn_by CHECK ((withdrawn_at IS NULL) = (withdrawn_by IS NULL))
);

CREATE INDEX bench_annotation_series ON bench_annotation (series, id);

-- A series got worse: `run` against `against`. At most one stands for a series until it is gone.
CREATE TABLE bench_alert (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    series bigint NOT NULL REFERENCES bench_series (id),
    run uuid NOT NULL REFERENCES bench_run (id),
    against uuid NOT NULL REFERENCES bench_run (id),
    ratio float8 NOT NULL,
    p float8 NOT NULL,
    state text NOT NULL,
    confirmed_by uuid REFERENCES bench_run (id),
    opened_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL,
    reason text NOT NULL,
    CONSTRAINT bench_alert_state_known CHECK (state IN ('open', 'confirmed', 'acknowledged', 'muted', 'gone'))
);

CREATE UNIQUE INDEX bench_alert_standing ON bench_alert (series) WHERE state <> 'gone';
CREATE INDEX bench_alert_state_id ON bench_alert (state, id DESC);
