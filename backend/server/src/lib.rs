//! Actors, HTTP, sign-in, TLS, live feed and the command line
