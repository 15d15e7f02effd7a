//! What the server can do, for both HTTP faces. Nothing here knows HTTP.

pub mod accounts;
pub mod audit;
pub mod bench;
pub mod content;
pub mod convert;
pub mod error;
pub mod health;
pub mod history;
pub mod keys;
pub mod paging;
pub mod plans;
pub mod restores;
pub mod rights;
pub mod scan;
pub mod scanner;
pub mod secrets;
pub mod sessions;
pub mod stores;
pub mod targets;
pub mod tasks;
