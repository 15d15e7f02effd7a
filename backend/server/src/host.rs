//! What the server needs to know and to have of its host.

/// The short host name, as task ids and certificates want it.
pub(crate) fn node_name() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    let short: String = name
        .split('.')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    let short = short.trim_matches('-');
    if short.is_empty() {
        "localhost".to_owned()
    } else {
        short.to_owned()
    }
}

/// Each browser and each fetch in flight takes a descriptor; the soft limit is often 1,024.
pub(crate) fn raise_fd_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}
