DROP TABLE access_audit;
