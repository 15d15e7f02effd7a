//! From a request to what will be measured.

use fleethold_api_types::bench::CreateBenchRun;
use fleethold_bench::runner::RunOptions;
use rand::Rng as _;

use super::workloads::{self, Offered};
use crate::services::error::{ServiceError, ServiceResult};

/// Samples a side at most.
const MAX_SAMPLES: u16 = 1000;
/// Characters of a reason at most.
pub const MAX_REASON: usize = 400;

/// A run that can be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The workload.
    pub workload: Offered,
    /// How it is run; the number of samples is settled.
    pub options: RunOptions,
    /// Why.
    pub reason: String,
}

impl Plan {
    /// Checks a request. Only offered workloads run: a path from far away is nobody's to read.
    ///
    /// # Errors
    /// When the workload is none, or a number or a text is out of bounds.
    pub fn of(request: CreateBenchRun, offered: &[Offered]) -> ServiceResult<Self> {
        if let Some(samples) = request.samples
            && !(1..=MAX_SAMPLES).contains(&samples)
        {
            let text = format!("samples: expected 1 to {MAX_SAMPLES}, found {samples}");
            return Err(ServiceError::bad_request("invalid-samples", text));
        }
        check_reason(&request.reason)?;
        let workload = workloads::find(offered, &request.workload)?.clone();
        let options = RunOptions {
            samples: request.samples.map_or(0, usize::from),
            cold: request.cold,
            flamegraph: request.flamegraph,
            ..RunOptions::new(
                request.quick,
                request
                    .seed
                    .unwrap_or_else(|| rand::rng().random_range(0..1 << 32)),
            )
        }
        .settled(&workload.definition);
        Ok(Self {
            workload,
            options,
            reason: request.reason,
        })
    }

    /// The command that measures the same again.
    #[must_use]
    pub fn command(&self) -> String {
        let options = &self.options;
        let flag = |is: bool, flag: &str| if is { flag.to_owned() } else { String::new() };
        format!(
            "fleethold bench run {}{} --samples {} --seed {}{}{}",
            self.workload.argument,
            flag(options.quick, " --quick"),
            options.samples,
            options.seed,
            flag(options.cold, " --cold"),
            flag(options.flamegraph, " --flamegraph"),
        )
    }
}

/// A text of a person for other people.
///
/// # Errors
/// When it is too long or holds control characters.
pub fn check_reason(reason: &str) -> ServiceResult<()> {
    let length = reason.chars().count();
    if length > MAX_REASON {
        let text = format!("reason: expected at most {MAX_REASON} characters, found {length}");
        return Err(ServiceError::bad_request("invalid-reason", text));
    }
    if reason.chars().any(|c| c.is_control() && c != '\n') {
        let text = "reason: expected text, found control characters";
        return Err(ServiceError::bad_request("invalid-reason", text));
    }
    Ok(())
}
