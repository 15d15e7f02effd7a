//! Every SQL statement; the private PostgreSQL cluster; the spool for when it is away
