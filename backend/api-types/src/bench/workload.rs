use serde::{Deserialize, Serialize};

use super::Scenario;

/// One workload that the server can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Where the question comes from.
    pub source: String,
    /// What the before side is.
    pub before: String,
    /// What the after side is.
    pub after: String,
    /// The swept parameter.
    pub knob: String,
    /// Its values.
    pub values: Vec<String>,
    /// What surrounds it.
    pub scenarios: Vec<Scenario>,
    /// Fields of the matrix, all and in the quick version.
    pub fields: u32,
    /// Fields of the quick version.
    pub quick_fields: u32,
    /// Floors it has.
    pub floors: u32,
    /// Its newest run that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<uuid::Uuid>,
}
