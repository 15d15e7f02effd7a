//! The machines that measured.

use std::collections::BTreeMap;

use fleethold_bench_model::matrix::Version;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::new_run::hex_sha256;
use crate::database::Database;
use crate::error::HistoryError;

/// Facts that make one machine; versions of tools do not.
const IDENTITY: [&str; 9] = [
    "cpu",
    "cores",
    "memory",
    "kernel",
    "file_system",
    "disk",
    "governor",
    "virtual",
    "hash_instructions",
];

/// One exact set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchMachine {
    /// 64 hex digits over class and identity.
    pub fingerprint: String,
    /// Machines of one class are expected to measure the same.
    pub class: String,
    /// Facts by name: `cpu`, `cores`, `memory`, `kernel`, `file_system`, `disk`, `governor`, …
    pub facts: BTreeMap<String, String>,
}

/// A machine with what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchMachineRow {
    /// The machine.
    pub machine: BenchMachine,
    /// When it was first seen.
    pub first_seen: OffsetDateTime,
    /// Benchmark runs it made.
    pub runs: u64,
    /// When the newest of them was measured.
    pub last_run_at: Option<OffsetDateTime>,
}

impl BenchMachine {
    /// Puts a machine together; the fingerprint follows from its class and those facts that a change of hardware,
    /// kernel or disk changes.
    pub fn new(class: String, facts: BTreeMap<String, String>) -> Self {
        let mut text = class.clone();
        for name in IDENTITY {
            let value = facts.get(name).map_or("", String::as_str);
            let value = if name == "memory" {
                whole_mebibytes(value)
            } else {
                value.to_owned()
            };
            text.push('\0');
            text.push_str(&value);
        }
        Self {
            fingerprint: hex_sha256(text.as_bytes()),
            class,
            facts,
        }
    }

    /// The machine of one side of a matrix; `None` when nothing is known about it.
    pub fn of_version(version: &Version) -> Option<Self> {
        (!version.machine_class.is_empty() && !version.environment.is_empty())
            .then(|| Self::new(version.machine_class.clone(), version.environment.clone()))
    }
}

/// `24689104 kB` without what varies from boot to boot: the kernel's own share.
fn whole_mebibytes(text: &str) -> String {
    match text.strip_suffix(" kB").and_then(|kib| kib.parse::<u64>().ok()) {
        Some(kib) => format!("{} MiB", kib / 1024),
        None => text.to_owned(),
    }
}

impl Database {
    /// The machines that made benchmark runs, the one with the newest run first.
    pub async fn machines(&self) -> Result<Vec<BenchMachineRow>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT machine.fingerprint, coalesce(machine.class, '') AS "class!",
                   coalesce(machine.facts::text, '{}') AS "facts!", machine.first_seen,
                   runs.count AS "runs!", runs.last_run_at AS "last_run_at?"
               FROM machine
               CROSS JOIN LATERAL (
                   SELECT count(*) AS count, max(measured_at) AS last_run_at FROM bench_run
                   WHERE bench_run.machine = machine.fingerprint
               ) AS runs
               WHERE runs.count > 0
               ORDER BY runs.last_run_at DESC, machine.fingerprint"#
        );
        let records = self.bounded("list machines", query.fetch_all(&pool)).await?;
        let row = |record| Self::machine_row(record);
        records
            .into_iter()
            .map(|record| {
                row((
                    record.fingerprint,
                    record.class,
                    record.facts,
                    record.first_seen,
                    record.runs,
                    record.last_run_at,
                ))
            })
            .collect()
    }

    fn machine_row(
        (fingerprint, class, facts, first_seen, runs, last_run_at): (
            String,
            String,
            String,
            OffsetDateTime,
            i64,
            Option<OffsetDateTime>,
        ),
    ) -> Result<BenchMachineRow, HistoryError> {
        let facts = super::run::stored_json("machine", &fingerprint, "facts", &facts)?;
        Ok(BenchMachineRow {
            machine: BenchMachine {
                fingerprint,
                class,
                facts,
            },
            first_seen,
            runs: u64::try_from(runs).unwrap_or_default(),
            last_run_at,
        })
    }
}

/// Keeps the machine; one that is known stays as it is, but for what was not known.
pub(super) async fn write(connection: &mut PgConnection, machine: &BenchMachine) -> Result<(), sqlx::Error> {
    let fact = |name: &str| machine.facts.get(name).cloned();
    let facts = serde_json::to_string(&machine.facts).unwrap_or_else(|_| "{}".to_owned());
    let cores: Option<i32> = fact("cores").and_then(|cores| cores.parse().ok());
    let ram: Option<i64> = fact("memory")
        .and_then(|memory| memory.strip_suffix(" kB")?.parse::<i64>().ok())
        .map(|kib| kib.saturating_mul(1024));
    sqlx::query!(
        "INSERT INTO machine (fingerprint, cpu_model, cores, ram_bytes, kernel, file_system, disk, governor, class, facts)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::json)
         ON CONFLICT (fingerprint) DO UPDATE
         SET class = coalesce(machine.class, EXCLUDED.class), facts = coalesce(machine.facts, EXCLUDED.facts)",
        machine.fingerprint,
        fact("cpu"),
        cores,
        ram,
        fact("kernel"),
        fact("file_system"),
        fact("disk"),
        fact("governor"),
        machine.class,
        facts,
    )
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(memory: &str, version: &str) -> BenchMachine {
        let facts = [("cpu", "Fast 9000"), ("memory", memory), ("fleethold", version)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        BenchMachine::new("Fast 9000, 2 cores".to_owned(), facts.into())
    }

    #[test]
    fn a_new_tool_or_a_boot_makes_no_new_machine() {
        let here = machine("24689104 kB", "0.1.0");
        assert_eq!(here.fingerprint, machine("24689110 kB", "0.2.0").fingerprint);
        assert_ne!(here.fingerprint, machine("50331648 kB", "0.1.0").fingerprint);
        assert_eq!(here.fingerprint.len(), 64);
    }
}
