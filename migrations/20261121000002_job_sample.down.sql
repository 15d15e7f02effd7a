DROP TABLE job_sample;
