//! One file or folder a page.

pub mod bench;
pub mod fleet;
pub mod history;
pub mod jobs;
pub mod login;
pub mod not_found;
pub mod restore;
pub mod settings;
pub mod store;
