-- Files kept with a run, compressed with zstd. `size` and `sha256` are of the bytes as they came.
CREATE TABLE bench_attachment (
    id uuid PRIMARY KEY,
    run uuid NOT NULL REFERENCES bench_run (id) ON DELETE CASCADE,
    side text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    size bigint NOT NULL,
    zstd bytea NOT NULL,
    CONSTRAINT bench_attachment_kind_known CHECK (kind IN ('flame-graph', 'perf-stat', 'log', 'original')),
    CONSTRAINT bench_attachment_side_known CHECK (side IN ('', 'before', 'after')),
    CONSTRAINT bench_attachment_size_bounded CHECK (size BETWEEN 0 AND 134217728),
    UNIQUE (run, kind, side, name, sha256)
);

-- It is compressed already.
ALTER TABLE bench_attachment ALTER COLUMN zstd SET STORAGE EXTERNAL;
