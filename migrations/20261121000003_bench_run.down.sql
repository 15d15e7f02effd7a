DROP TABLE bench_run;
DROP TABLE bench_workload;
DROP TABLE bench_revision;
ALTER TABLE machine
    DROP COLUMN facts,
    DROP COLUMN class,
    DROP COLUMN governor,
    DROP COLUMN disk;
