DROP TABLE bench_alert;
DROP TABLE bench_annotation;
