-- The curve of one restore, at most one row a second and the last one. Times count from the start of the job.
CREATE TABLE job_sample (
    job_id uuid NOT NULL REFERENCES job (id),
    t_ns bigint NOT NULL,
    bytes_done bigint NOT NULL,
    bytes_written bigint NOT NULL,
    encoded_bytes_read bigint NOT NULL,
    chunks_done bigint NOT NULL,
    in_flight integer NOT NULL,
    budget_used_bytes bigint NOT NULL,
    PRIMARY KEY (job_id, t_ns)
);
