DROP TABLE bench_histogram;
DROP TABLE bench_summary;
DROP TABLE bench_sample;
DROP TABLE bench_series;
