DROP INDEX bench_alert_untold;
ALTER TABLE bench_alert DROP COLUMN told;
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
WHERE run.complete
    AND NOT EXISTS (
        SELECT FROM bench_annotation AS said
        WHERE said.series = summary.series AND said.run = summary.run
            AND said.kind = 'outlier' AND said.withdrawn_at IS NULL
    );
DROP FUNCTION bench_counts(boolean, jsonb, boolean, text);
