-- Whether a run's figure counts for the noise, the levels and the change points of its series: the run was measured to
-- the end, and nothing else kept the machine busy, unless the unit does not mind. Of an imported file it is not known
-- whether the machine was busy: then it counts.
CREATE FUNCTION bench_counts(complete boolean, load jsonb, quiet boolean, unit text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT complete AND (load IS NULL OR quiet
        OR unit IN ('cpu-s', 'cpu-ms', 'B', 'KiB', 'MiB', 'cycles', 'instructions', 'count', 'allocs')) $$;

CREATE OR REPLACE VIEW bench_otava AS
SELECT summary.measured_at AS "time",
    series.id AS series,
    series.workload,
    series.parameters::text AS parameters,
    series.metric,
    series.unit,
    CASE series.better WHEN 'higher' THEN 1 ELSE -1 END AS direction,
    series.machine_class,
    series.side,
    run.id::text AS run,
    coalesce(revision.repository, '') AS repository,
    coalesce(revision.commit, '') AS commit,
    summary.n,
    summary.min,
    summary.lower_quartile,
    summary.median,
    summary.upper_quartile,
    summary.max
FROM bench_summary AS summary
JOIN bench_series AS series ON series.id = summary.series
JOIN bench_run AS run ON run.id = summary.run
LEFT JOIN bench_revision AS revision
    ON revision.id = CASE series.side WHEN 'before' THEN run.revision_before ELSE run.revision_after END
WHERE bench_counts(run.complete, run.load, run.quiet, series.unit)
    AND NOT EXISTS (
        SELECT FROM bench_annotation AS said
        WHERE said.series = summary.series AND said.run = summary.run
            AND said.kind = 'outlier' AND said.withdrawn_at IS NULL
    );

-- The state that people were told of last: an alert that was opened or confirmed and is not told yet waits here. What
-- stood before this column was told by the server that saw it.
ALTER TABLE bench_alert ADD COLUMN told text;
UPDATE bench_alert SET told = state;
CREATE INDEX bench_alert_untold ON bench_alert (id)
    WHERE state IN ('open', 'confirmed') AND told IS DISTINCT FROM state;
