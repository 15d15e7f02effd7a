DROP VIEW bench_otava;
