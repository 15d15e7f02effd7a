//! Who is asking and what they may do: users, tickets, CSRF tokens, limits on failed log-ins, permissions.

pub mod acl;
mod changes;
pub mod csrf;
mod gate;
pub mod key_file;
pub mod limit;
pub mod session;
pub mod ticket;
mod token_cache;
pub mod users;
mod watched;
