//! `fleethold bench sample`: one sample in a process of its own, asked for on stdin, answered on stdout.

use std::io::Read;

use anyhow::Context;
use fleethold_bench::worker::SampleRequest;

use super::super::exit::{CliResult, Exit, Failure};
use super::super::output;

/// Longest request, in bytes.
const MAX_REQUEST_BYTES: u64 = 1 << 20;

pub(super) fn run() -> CliResult {
    let mut text = Vec::new();
    std::io::stdin()
        .take(MAX_REQUEST_BYTES)
        .read_to_end(&mut text)
        .context("reading the request from stdin")?;
    let request: SampleRequest = serde_json::from_slice(&text).map_err(|error| {
        Failure::usage(format!(
            "bench sample: expected a request on stdin as bench run writes it: {error}"
        ))
    })?;
    output::json(&request.take())?;
    Ok(Exit::Done)
}
