//! Paths that rules may name (CONFIG.md §3.4).

use std::fmt;

use fleethold_format::names::{DatastoreName, Namespace};

use super::MAX_PATH;

/// A path that something here or in PBS asks for: `/`, `/datastore/store1/prod`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AclPath(String);

impl AclPath {
    /// Checks a path; slashes at the end count for nothing.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = |what: &str| format!("expected {what}, found {:?}", shortened(text));
        if text.len() > MAX_PATH {
            return Err(expected("a path of at most 128 characters"));
        }
        let below = text
            .strip_prefix('/')
            .ok_or_else(|| expected("a path that begins with `/`"))?;
        let parts: Vec<&str> = below.trim_end_matches('/').split('/').collect();
        if parts == [""] {
            return Ok(Self("/".to_owned()));
        }
        if !parts.iter().all(|part| is_safe(part)) {
            return Err(expected(
                "names of letters, digits, `_`, `.` and `-` between single `/`",
            ));
        }
        if !is_known(&parts) {
            return Err(expected(
                "`/`, or a path below /access, /datastore, /remote, /system or /tape that something asks for",
            ));
        }
        Ok(Self(format!("/{}", parts.join("/"))))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its components: none for `/`.
    #[must_use]
    pub fn components(&self) -> Vec<&str> {
        components(&self.0)
    }
}

impl fmt::Display for AclPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The components of any path.
pub(super) fn components(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

fn shortened(text: &str) -> String {
    text.chars().take(140).collect()
}

fn is_safe(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && part
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

fn is_known(parts: &[&str]) -> bool {
    match parts {
        ["access" | "datastore" | "remote" | "system" | "tape"] => true,
        ["access", "acl" | "users" | "domains" | "openid"] | ["access", "openid", "endpoint"] => true,
        ["datastore", store, ns @ ..] => {
            DatastoreName::parse(store).is_ok() && (ns.is_empty() || Namespace::parse(&ns.join("/")).is_ok())
        }
        ["remote", _] | ["remote", _, _] => true,
        ["remote", _, _, ns @ ..] => Namespace::parse(&ns.join("/")).is_ok(),
        ["system", part] => matches!(
            *part,
            "certificates"
                | "disks"
                | "log"
                | "network"
                | "notifications"
                | "services"
                | "status"
                | "tasks"
                | "time"
                | "s3-endpoint"
                | "encryption-keys"
        ),
        ["system", "services" | "s3-endpoint" | "encryption-keys", _] => true,
        ["system", "network", "dns"] | ["system", "network", "interfaces"] => true,
        ["system", "network", "interfaces", _] => true,
        ["tape", "device" | "pool" | "job"] | ["tape", "device" | "pool" | "job", _] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_asked_for_and_others() {
        for (text, normal) in [
            ("/", "/"),
            ("/datastore/", "/datastore"),
            ("/datastore/store1/prod/db", "/datastore/store1/prod/db"),
            ("/access/users", "/access/users"),
            (
                "/system/network/interfaces/eth0",
                "/system/network/interfaces/eth0",
            ),
            ("/remote/r1/store1/a/b", "/remote/r1/store1/a/b"),
            ("/tape/pool/weekly", "/tape/pool/weekly"),
        ] {
            assert_eq!(AclPath::parse(text).unwrap().as_str(), normal);
        }
        let deep = format!("/datastore/store1{}", "/n".repeat(8));
        let long = format!("/datastore/{}", "s".repeat(128));
        for text in [
            "",
            "datastore",
            "/nowhere",
            "//",
            "/datastore//x",
            "/datastore/../etc",
            "/datastore/a:b",
            "/access/king",
            "/system/status/x",
            &deep,
            &long,
        ] {
            let parsed = AclPath::parse(text);
            assert!(parsed.is_err() || text == "//", "{text}: {parsed:?}");
        }
    }
}
