//! Whether a run makes sense: one place for what is imported, waits in the outbox or was measured here.

use std::borrow::Cow;

use fleethold_bench_model::comparison;
use fleethold_bench_model::import::{ImportError, ImportedSeries, Place};

use super::attachment;
use super::new_run::{MEASURED, NewBenchRun, NewContent};
use crate::error::HistoryError;

/// Longest text of a field, in bytes; a workload file may be longer.
const MAX_TEXT: usize = 4096;
/// Longest name that the database looks things up by, in bytes: more does not fit into a row of its index.
const MAX_KEY: usize = 2048;
/// Longest workload file, in bytes.
const MAX_WORKLOAD_TEXT: usize = 1 << 20;
/// Longest hash, in bytes: 64 hex digits.
const MAX_HASH: usize = 64;
/// Longest text of a revision, in bytes; both of them are one key.
const MAX_REVISION: usize = 1024;

impl NewBenchRun {
    /// Checks what the database would refuse, what no query could work with, and what nobody could look at afterwards:
    /// what passes here can be stored and judged. Of a file the error says its name. Takes the processor for a while.
    ///
    /// # Errors
    /// One of which [`HistoryError::is_refusal`] is true.
    pub fn check(&self) -> Result<(), HistoryError> {
        self.check_fields().map_err(|error| match error {
            HistoryError::Refused {
                field,
                found,
                expected,
            } if self.meta.source != MEASURED => ImportError {
                file: self
                    .attachments
                    .first()
                    .map_or(&*self.meta.source, |file| &file.name)
                    .to_owned(),
                place: Place::Field(field.into_owned()),
                expected: expected.into_owned(),
                found,
            }
            .into(),
            other => other,
        })
    }

    fn check_fields(&self) -> Result<(), HistoryError> {
        let meta = &self.meta;
        let workload = &meta.workload;
        for (field, text, max) in [
            ("source", &meta.source, MAX_TEXT),
            ("workload", &workload.name, MAX_KEY),
            ("file_sha256", &workload.file_sha256, MAX_HASH),
            ("data_sha256", &workload.data_sha256, MAX_HASH),
            ("operator", &meta.operator, MAX_TEXT),
            ("reason", &meta.reason, MAX_TEXT),
            ("tool_version", &meta.tool_version, MAX_TEXT),
            ("digest", &self.digest, MAX_HASH),
        ] {
            check_text(field, text, max)?;
        }
        check_text("workload text", &workload.text, MAX_WORKLOAD_TEXT)?;
        for revision in [&meta.before, &meta.after].into_iter().flatten() {
            for text in [&revision.repository, &revision.commit] {
                check_text("revision", text, MAX_REVISION)?;
            }
        }
        for (name, fact) in meta.machine.iter().flat_map(|machine| &machine.facts) {
            check_text("name of a fact of the machine", name, MAX_TEXT)?;
            check_text(format!("machine.{name}"), fact, MAX_TEXT)?;
        }
        match &self.content {
            NewContent::Matrix(matrix) => comparison::check(matrix)?,
            NewContent::Series(list) => {
                for (number, series) in list.iter().enumerate() {
                    check_series(number, series)?;
                }
            }
            NewContent::Stacks => {}
        }
        attachment::check_all(&meta.source, &self.attachments)
    }
}

pub(crate) fn check_text(
    field: impl Into<Cow<'static, str>>,
    text: &str,
    max: usize,
) -> Result<(), HistoryError> {
    if text.len() <= max && !text.contains('\0') {
        return Ok(());
    }
    let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    Err(HistoryError::refused(
        field,
        format!("{shown} ({} bytes)", text.len()),
        format!("text of at most {max} bytes without NUL"),
    ))
}

/// A series of a file, which is its `number`-th.
fn check_series(number: usize, series: &ImportedSeries) -> Result<(), HistoryError> {
    let key = &series.key;
    let of = |part: &str| format!("{part} of series {number}");
    for (part, text, max) in [
        ("workload", &key.workload, MAX_KEY),
        ("metric", &key.metric, MAX_TEXT),
        ("machine", &key.machine_class, MAX_TEXT),
    ] {
        check_text(of(part), text, max)?;
    }
    for text in key.parameters.iter().flat_map(|(name, value)| [name, value]) {
        check_text(of("parameters"), text, MAX_TEXT)?;
    }
    let is_none = |value: &&f64| !(value.is_finite() && **value >= 0.0);
    match series.values.iter().find(is_none) {
        None => Ok(()),
        Some(found) => Err(HistoryError::refused(
            of("samples"),
            found.to_string(),
            "a finite number of at least 0",
        )),
    }
}
