//! The code of the workloads. One more is a file here and a line in [`sample`].

pub(crate) mod lookup;
mod restore;
pub(crate) mod status;

use crate::definition::Kind;
use crate::error::BenchError;
use crate::measured::Measured;
use crate::worker::SampleRequest;

/// Takes one sample in this process.
pub(crate) fn sample(request: &SampleRequest) -> Result<Measured, BenchError> {
    match request.kind {
        Kind::Lookup => lookup::sample(request),
        Kind::Status => status::sample(request),
        Kind::Restore => restore::sample(request),
    }
}

/// Whether what is measured runs in another process than the sample's, which takes the stacks there.
pub(crate) fn profiles_itself(kind: Kind) -> bool {
    matches!(kind, Kind::Status)
}
