DROP TABLE bench_attachment;
