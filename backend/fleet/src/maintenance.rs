//! Maintenance modes and what they refuse (CONFIG.md §2.3).

use std::fmt;

use fleethold_format::property_string;

/// What somebody wants to do with a datastore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Look at the entry in memory; does no I/O.
    Lookup,
    /// Restore, list, count.
    Read,
    /// Back up, prune, collect garbage, store a verification result.
    Write,
}

/// The modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MaintenanceMode {
    /// Reads only.
    ReadOnly,
    /// Neither reads nor writes.
    Offline,
    /// Being deleted: not even looked up.
    Delete,
    /// Being unmounted.
    Unmount,
    /// Its cache is being rebuilt from object storage.
    S3Refresh,
}

impl MaintenanceMode {
    const ALL: [Self; 5] = [
        Self::ReadOnly,
        Self::Offline,
        Self::Delete,
        Self::Unmount,
        Self::S3Refresh,
    ];

    /// The word in the configuration file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Offline => "offline",
            Self::Delete => "delete",
            Self::Unmount => "unmount",
            Self::S3Refresh => "s3-refresh",
        }
    }

    /// Whether open handles and caches of the datastore are dropped after the last use.
    #[must_use]
    pub fn clears_cache(self) -> bool {
        matches!(self, Self::Offline | Self::Delete | Self::Unmount)
    }
}

impl fmt::Display for MaintenanceMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A datastore's maintenance mode and what the operator wrote about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maintenance {
    /// The mode.
    pub kind: MaintenanceMode,
    /// The operator's words, decoded.
    pub message: Option<String>,
}

/// An operation that the maintenance mode does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{mode} maintenance mode: {}", message.as_deref().unwrap_or("no reason given"))]
pub struct MaintenanceRefusal {
    /// The mode.
    pub mode: MaintenanceMode,
    /// The operator's words.
    pub message: Option<String>,
}

impl Maintenance {
    /// Parses `[type=]<mode>[,message=<text>]`; the message may be percent-encoded.
    ///
    /// # Errors
    /// Expected and found, as text for a [`crate::ConfigProblem`].
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let pairs = property_string::parse(text, Some("type")).map_err(|error| error.to_string())?;
        let mut kind = None;
        let mut message = None;
        for (key, value) in pairs {
            match key.as_str() {
                "type" => {
                    let mode = MaintenanceMode::ALL
                        .into_iter()
                        .find(|mode| mode.as_str() == value);
                    kind = Some(mode.ok_or_else(|| {
                        format!("expected read-only, offline, delete, unmount or s3-refresh, found {value:?}")
                    })?);
                }
                "message" => message = Some(percent_decode(&value)?),
                other => return Err(format!("expected type or message, found key {other:?}")),
            }
        }
        let kind = kind.ok_or_else(|| format!("expected a maintenance mode, found {text:?}"))?;
        Ok(Self { kind, message })
    }

    /// Whether this mode lets an operation pass.
    #[must_use]
    pub fn allows(&self, operation: Operation) -> bool {
        match (self.kind, operation) {
            (MaintenanceMode::Delete, Operation::Lookup) => false,
            (_, Operation::Lookup) | (MaintenanceMode::ReadOnly, Operation::Read) => true,
            (_, Operation::Read | Operation::Write) => false,
        }
    }

    /// As [`Maintenance::allows`], with the reason.
    ///
    /// # Errors
    /// [`MaintenanceRefusal`] when the operation does not pass.
    pub fn check(&self, operation: Operation) -> Result<(), MaintenanceRefusal> {
        if self.allows(operation) {
            return Ok(());
        }
        Err(MaintenanceRefusal {
            mode: self.kind,
            message: self.message.clone(),
        })
    }
}

/// Decodes `%XX`; a `%` without two hex digits stands for itself, as operators write "80% full".
fn percent_decode(text: &str) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let pair = tail
            .first_chunk::<2>()
            .filter(|pair| byte == b'%' && pair.iter().all(u8::is_ascii_hexdigit));
        match pair
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        {
            Some(decoded) => {
                out.push(decoded);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(out).map_err(|_| format!("expected a percent-encoded UTF-8 message, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_reference() {
        use Operation::{Lookup, Read, Write};
        for (text, allowed, clears) in [
            ("read-only", &[Lookup, Read][..], false),
            ("offline", &[Lookup][..], true),
            ("type=delete", &[][..], true),
            ("type=unmount", &[Lookup][..], true),
            ("s3-refresh", &[Lookup][..], false),
        ] {
            let maintenance = Maintenance::parse(text).unwrap();
            for operation in [Lookup, Read, Write] {
                assert_eq!(
                    maintenance.allows(operation),
                    allowed.contains(&operation),
                    "{text} {operation:?}"
                );
                assert_eq!(maintenance.check(operation).is_ok(), allowed.contains(&operation));
            }
            assert_eq!(maintenance.kind.clears_cache(), clears, "{text}");
        }
    }

    #[test]
    fn messages() {
        let parsed = Maintenance::parse("read-only,message=disk%20swap%2C 80% done").unwrap();
        assert_eq!(parsed.message.as_deref(), Some("disk swap, 80% done"));
        assert_eq!(
            parsed.check(Operation::Write).unwrap_err().to_string(),
            "read-only maintenance mode: disk swap, 80% done"
        );
        assert_eq!(
            Maintenance::parse("offline,message=\"a, b\"")
                .unwrap()
                .message
                .as_deref(),
            Some("a, b")
        );
        for (bad, expected) in [
            ("sleeping", "found \"sleeping\""),
            ("message=x", "expected a maintenance mode"),
            ("offline,colour=red", "found key \"colour\""),
            ("offline,message=%ff", "UTF-8"),
        ] {
            let error = Maintenance::parse(bad).unwrap_err();
            assert!(error.contains(expected), "{bad}: {error}");
        }
    }
}
