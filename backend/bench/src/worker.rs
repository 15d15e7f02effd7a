//! Every sample is taken in a process of its own, so that none inherits the memory, the caches or the threads of another.
//!
//! The parent starts its own binary with [`WORKER_ARGUMENTS`], writes a [`SampleRequest`] to its stdin and reads a
//! [`SampleReply`] from its stdout.

use std::path::PathBuf;
use std::process::Stdio;

use fleethold_bench_model::sample::Side;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::cell::Cell;
use crate::counters;
use crate::error::BenchError;
use crate::measured::Measured;
use crate::profile::Profile;
use crate::workloads::Kind;

/// What makes the binary take one sample.
pub const WORKER_ARGUMENTS: [&str; 2] = ["bench", "sample"];

/// Longest reply taken from a child, in bytes.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// What a child is to measure.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleRequest {
    /// Which code.
    pub kind: Kind,
    /// Which field of the matrix.
    pub cell: Cell,
    /// Which side.
    pub side: Side,
    /// Where the data lies.
    pub data: PathBuf,
    /// Whether stacks are wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flamegraph: bool,
}

/// What a child measured, or why not.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleReply {
    /// The figures.
    Measured(Measured),
    /// Why there are none.
    Failed(String),
}

impl SampleRequest {
    /// Takes the sample in this process.
    pub fn take(&self) -> SampleReply {
        // Before any other thread is there.
        counters::open();
        match self.measure() {
            Ok(measured) => SampleReply::Measured(measured),
            Err(error) => SampleReply::Failed(error.to_string()),
        }
    }
}

impl SampleRequest {
    fn measure(&self) -> Result<Measured, BenchError> {
        // What a workload starts in a process of its own is its own to profile.
        let workload = self.kind.workload();
        // A newer build may ask for what this one does not know: then both would measure different things.
        let mut asked = self.cell.parameters.iter();
        if let Some((name, value)) = asked.find(|(name, _)| !workload.parameters.contains(&name.as_str())) {
            return Err(BenchError::Parameter {
                scenario: self.cell.scenario.clone(),
                name: name.clone(),
                expected: "no such parameter in this build",
                found: value.clone(),
            });
        }
        if !self.flamegraph || workload.profiles_itself {
            return (workload.sample)(self);
        }
        let profile = Profile::start()?;
        let mut measured = (workload.sample)(self)?;
        measured.stacks = profile.finish()?.to_string();
        Ok(measured)
    }
}

/// Takes samples in child processes.
#[derive(Debug, Clone)]
pub struct Workers {
    binary: PathBuf,
    older: Option<PathBuf>,
}

impl Workers {
    /// Children are processes of `binary`, which has to understand [`WORKER_ARGUMENTS`].
    pub fn new(binary: PathBuf) -> Self {
        Self { binary, older: None }
    }

    /// The before side is the *after* code of another build instead of the older idea: two revisions, interleaved in one
    /// run.
    #[must_use]
    pub fn against(mut self, older: PathBuf) -> Self {
        self.older = Some(older);
        self
    }

    /// Who measures a side, and which code of it.
    fn who(&self, side: Side) -> (&PathBuf, Side) {
        match (&self.older, side) {
            (Some(older), Side::Before) => (older, Side::After),
            _ => (&self.binary, side),
        }
    }

    /// Takes one sample in a child, which does not outlive this call.
    ///
    /// # Errors
    /// [`BenchError::Sample`] with the child's last words; [`BenchError::Cancelled`].
    pub async fn sample(
        &self,
        request: &SampleRequest,
        cancel: &CancellationToken,
    ) -> Result<Measured, BenchError> {
        let failed = |reason: String| BenchError::Sample {
            cell: request.cell.to_string(),
            side: request.side.name(),
            reason,
        };
        let (binary, code) = self.who(request.side);
        let mut child = Command::new(binary)
            .args(WORKER_ARGUMENTS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // The terminal's Ctrl-C is for who measures, who then ends the sample; it is not for the sample to fail of.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| BenchError::Io {
                path: binary.clone(),
                source,
            })?;
        let mut group = Group::of(&child);
        let mut stdin = child
            .stdin
            .take()
            .ok_or_else(|| failed("its stdin is gone".to_owned()))?;
        let asked = SampleRequest {
            side: code,
            ..request.clone()
        };
        let text = serde_json::to_vec(&asked).map_err(|error| failed(error.to_string()))?;
        let talk = async {
            stdin
                .write_all(&text)
                .await
                .map_err(|error| failed(error.to_string()))?;
            drop(stdin);
            child
                .wait_with_output()
                .await
                .map_err(|error| failed(error.to_string()))
        };
        let output = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(BenchError::Cancelled),
            output = talk => output?,
        };
        // It ended by itself and was waited for; its number may be another's by now.
        group.0 = None;
        if output.stdout.len() > MAX_REPLY_BYTES {
            return Err(failed(format!("a reply of {} bytes", output.stdout.len())));
        }
        match serde_json::from_slice(&output.stdout) {
            Ok(SampleReply::Measured(measured)) => Ok(measured),
            Ok(SampleReply::Failed(reason)) => Err(failed(reason)),
            Err(_) => {
                let last_words: String = String::from_utf8_lossy(&output.stderr)
                    .chars()
                    .take(2000)
                    .collect();
                Err(failed(format!("{}: {}", output.status, last_words.trim())))
            }
        }
    }
}

/// A sample with all that it started, such as servers: none outlives a run that was stopped.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(
            child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .map(Pid::from_raw),
        )
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(group) = self.0 else { return };
        match killpg(group, Signal::SIGKILL) {
            // It ended at the same moment.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => tracing::warn!(%error, "a sample did not end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_builds_both_run_their_after_code() {
        let (new, old) = (PathBuf::from("new"), PathBuf::from("old"));
        let one = Workers::new(new.clone());
        assert_eq!(one.who(Side::Before), (&new, Side::Before));
        assert_eq!(one.who(Side::After), (&new, Side::After));
        let two = one.against(old.clone());
        assert_eq!(two.who(Side::Before), (&old, Side::After));
        assert_eq!(two.who(Side::After), (&new, Side::After));
    }

    #[test]
    fn what_this_build_does_not_know_is_refused() {
        let request = SampleRequest {
            kind: Kind::find("lookup").unwrap(),
            cell: Cell {
                scenario: "far".to_owned(),
                knob: ("MxN".to_owned(), "1x1".to_owned()),
                parameters: [("warp".to_owned(), "9".to_owned())].into(),
            },
            side: Side::After,
            data: PathBuf::from("/nowhere"),
            flamegraph: false,
        };
        let SampleReply::Failed(reason) = request.take() else {
            panic!("measured");
        };
        assert_eq!(
            reason,
            "parameter warp of scenario far: expected no such parameter in this build, found `9`"
        );
    }
}
