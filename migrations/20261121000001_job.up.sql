-- What a measurement was made on. `fingerprint` names one exact set-up; rows are never changed into another one.
CREATE TABLE machine (
    fingerprint text PRIMARY KEY,
    cpu_model text,
    cores integer,
    ram_bytes bigint,
    kernel text,
    file_system text,
    first_seen timestamptz NOT NULL DEFAULT now()
);

-- One restore. Ids are UUIDv7: their order is the order of creation, so they are the page cursor too.
-- `outcome` is null while the job runs.
CREATE TABLE job (
    id uuid PRIMARY KEY,
    instance uuid NOT NULL,
    upid text NOT NULL UNIQUE,
    store text NOT NULL,
    ns text NOT NULL,
    snapshot text NOT NULL,
    archive text NOT NULL,
    target text NOT NULL,
    parallel integer,
    memory_bytes bigint NOT NULL,
    params jsonb NOT NULL,
    authid text NOT NULL,
    machine text NOT NULL REFERENCES machine (fingerprint),
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    outcome text,
    error jsonb,
    bytes_total bigint,
    bytes_done bigint,
    bytes_written bigint,
    zero_bytes bigint,
    chunks_total bigint,
    chunks_distinct bigint,
    chunks_fetched bigint,
    refetched bigint,
    encoded_bytes_read bigint,
    duration_ns bigint,
    cpu_ns bigint,
    index_csum text,
    sha256 text,
    CONSTRAINT job_outcome_known CHECK (outcome IN ('ok', 'failed', 'cancelled', 'incomplete', 'interrupted')),
    CONSTRAINT job_finished_has_outcome CHECK ((outcome IS NULL) = (finished_at IS NULL))
);

CREATE INDEX job_store_id ON job (store, id DESC);
CREATE INDEX job_outcome_id ON job (outcome, id DESC);
CREATE INDEX job_unfinished ON job (instance) WHERE outcome IS NULL;
