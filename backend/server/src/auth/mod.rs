//! Who is asking: users, tickets, CSRF tokens, limits on failed log-ins.

pub mod csrf;
pub mod key_file;
pub mod limit;
pub mod session;
pub mod ticket;
pub mod users;
