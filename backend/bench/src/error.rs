//! Why nothing could be measured.

use std::path::PathBuf;

/// Why a benchmark did not run, or did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Neither a built-in workload nor a file.
    #[error("workload `{found}`: expected one of {known}, or a file such as ./mine.toml")]
    UnknownWorkload {
        /// What was asked for.
        found: String,
        /// The built-in ones.
        known: String,
    },
    /// A workload file that cannot be used.
    #[error("workload file {file}: {reason}")]
    Workload {
        /// Its name or path.
        file: String,
        /// Where and why.
        reason: String,
    },
    /// The data is not what the workload file says.
    #[error("data of workload {workload} in {}: expected SHA-256 {expected}, found {found}; its numbers could not be compared", dir.display())]
    Data {
        /// Which workload.
        workload: String,
        /// Where the data lies.
        dir: PathBuf,
        /// What the file says.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The data could not be made.
    #[error("making the data in {}: {reason}", dir.display())]
    Fixture {
        /// Where.
        dir: PathBuf,
        /// Why.
        reason: String,
    },
    /// The page cache could not be emptied.
    #[error("a cold run on {}: {reason}", dir.display())]
    Cold {
        /// The data.
        dir: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A parameter that the workload's code does not understand.
    #[error("parameter {name} of scenario {scenario}: expected {expected}, found `{found}`")]
    Parameter {
        /// Which scenario.
        scenario: String,
        /// Which parameter.
        name: String,
        /// What it can be.
        expected: &'static str,
        /// What stood there.
        found: String,
    },
    /// A sample's own process failed.
    #[error("a sample of {cell}, {side} side, failed: {reason}")]
    Sample {
        /// Scenario and value.
        cell: String,
        /// Before or after.
        side: &'static str,
        /// Its last words.
        reason: String,
    },
    /// What was measured failed.
    #[error("{what}: {reason}")]
    Measured {
        /// The operation.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Stopped by its user; what was measured so far is kept.
    #[error("cancelled")]
    Cancelled,
}
