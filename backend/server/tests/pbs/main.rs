//! The PBS face against the real server, as reference clients use it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod access;
mod client;
mod downloads;
mod lists;
mod rights;
mod server;
mod tasks;
mod users;
