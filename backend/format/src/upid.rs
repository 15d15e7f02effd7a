//! The identifier of a task, as the API and the task files write it (API.md §3.2).
//!
//! `UPID:<node>:<pid>:<pstart>:<task id>:<starttime>:<type>:<escaped id>:<authid>:`, numbers in hex.

use std::fmt;
use std::str::FromStr;

use crate::escape::{UnescapeError, escape, unescape};
use crate::names::{Authid, NameError};
use crate::text::{quote, via_text};

/// One run of a worker: where, when, what and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Upid {
    /// Short host name.
    pub node: String,
    /// Process id of the server.
    pub pid: u32,
    /// Start of that process in clock ticks since boot; at most 9 hex digits.
    pub pstart: u64,
    /// Number of the task within the process.
    pub task_id: u32,
    /// Start of the task, seconds since 1970.
    pub starttime: i64,
    /// Kind of work, such as `reader`.
    pub worker_type: String,
    /// What it works on, unescaped; `None` is written as the empty text.
    pub worker_id: Option<String>,
    /// Who started it.
    pub authid: Authid,
}

/// A text that is not a task identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpidError {
    /// Too few or too many fields, or the frame is missing.
    #[error("task id `{found}`: expected `UPID:node:pid:pstart:task:start:type:id:user:`")]
    Form {
        /// What stood there, shortened.
        found: String,
    },
    /// One field is wrong.
    #[error("{field} of a task id `{found}`: expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Its rule.
        expected: &'static str,
        /// What stood there, shortened.
        found: String,
    },
    /// The worker id cannot be unescaped.
    #[error("worker id of a task id: {source}")]
    WorkerId {
        /// Why.
        #[from]
        source: UnescapeError,
    },
    /// The user is not one.
    #[error("user of a task id: {source}")]
    Authid {
        /// Why.
        #[from]
        source: NameError,
    },
}

fn field_error(field: &'static str, expected: &'static str, found: &str) -> UpidError {
    UpidError::Field {
        field,
        expected,
        found: quote(found),
    }
}

fn hex_field(
    field: &'static str,
    text: &str,
    digits: std::ops::RangeInclusive<usize>,
) -> Result<u64, UpidError> {
    let well_formed = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16)
        .ok()
        .filter(|_| well_formed)
        .ok_or_else(|| field_error(field, "hex digits in the field's width", text))
}

fn hex_u32(field: &'static str, text: &str) -> Result<u32, UpidError> {
    u32::try_from(hex_field(field, text, 8..=8)?).map_err(|_| field_error(field, "8 hex digits", text))
}

/// Host names: letters, digits and inner hyphens, dots between labels are not part of a short name.
fn is_node(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 63
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl Upid {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`UpidError`] with the field that is wrong.
    pub fn parse(text: &str) -> Result<Self, UpidError> {
        let form = || UpidError::Form { found: quote(text) };
        // Worker ids are escaped, users hold no colon: the number of fields is fixed.
        let fields: Vec<&str> = text.splitn(11, ':').collect();
        let &[
            frame,
            node,
            pid,
            pstart,
            task_id,
            starttime,
            worker_type,
            worker_id,
            authid,
            end,
        ] = &*fields
        else {
            return Err(form());
        };
        if frame != "UPID" || !end.is_empty() {
            return Err(form());
        }
        if !is_node(node) {
            return Err(field_error("node", "a short host name", node));
        }
        if worker_type.is_empty()
            || worker_type
                .chars()
                .any(|c| c.is_whitespace() || c == '/' || c.is_control())
        {
            return Err(field_error("worker type", "a word", worker_type));
        }
        if worker_id.chars().any(char::is_whitespace) {
            return Err(field_error("worker id", "no white space", worker_id));
        }
        let start = hex_field("start time", starttime, 8..=16)?;
        Ok(Self {
            node: node.to_owned(),
            pid: hex_u32("pid", pid)?,
            pstart: hex_field("process start", pstart, 8..=9)?,
            task_id: hex_u32("task number", task_id)?,
            starttime: i64::try_from(start)
                .map_err(|_| field_error("start time", "seconds since 1970", starttime))?,
            worker_type: worker_type.to_owned(),
            worker_id: if worker_id.is_empty() {
                None
            } else {
                Some(unescape(worker_id)?)
            },
            authid: Authid::parse(authid)?,
        })
    }
}

impl fmt::Display for Upid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "UPID:{}:{:08X}:{:08X}:{:08X}:{:08X}:{}:{}:{}:",
            self.node,
            self.pid,
            self.pstart,
            self.task_id,
            self.starttime,
            self.worker_type,
            escape(self.worker_id.as_deref().unwrap_or_default()),
            self.authid
        )
    }
}

impl FromStr for Upid {
    type Err = UpidError;

    fn from_str(text: &str) -> Result<Self, UpidError> {
        Self::parse(text)
    }
}

via_text!(Upid);
