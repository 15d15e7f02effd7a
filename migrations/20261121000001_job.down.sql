DROP TABLE job;
DROP TABLE machine;
