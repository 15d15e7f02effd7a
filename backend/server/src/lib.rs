//! Actors, HTTP, sign-in, TLS, live feed and the command line

pub mod cli;
pub mod settings;
