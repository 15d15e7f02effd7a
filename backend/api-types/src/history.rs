use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Job, JobSample, JobState};

/// Query of `GET /api/v1/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryQuery {
    /// Only this datastore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// Only this outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// Text in store, snapshot, archive, target or user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows a page, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A past restore; the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryItem {
    /// The job as it ended.
    pub job: Job,
    /// Machine it ran on: fingerprint.
    pub machine: String,
    /// Machine in words: CPU, cores, memory, kernel.
    pub machine_text: String,
    /// Samples kept.
    pub samples: u64,
}

/// A kept sample.
pub type HistorySample = JobSample;

/// `GET /api/v1/history/{id}/samples?points=N`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistorySamples {
    /// Job.
    pub id: Uuid,
    /// In order of time.
    pub samples: Vec<HistorySample>,
    /// Samples kept; more than sent when thinned.
    pub total: u64,
}
