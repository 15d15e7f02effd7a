//! Two builds in one run: the other one is asked what it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use fleethold_bench::definition::Definition;
use fleethold_bench_model::matrix::{COMPARED, Matrix};
use serde::Deserialize;

/// Facts that belong to the build, not to the machine.
const OF_THE_BUILD: [&str; 5] = ["fleethold", "revision", "dirty", "parent", "tag"];

/// Another build of this program.
pub(super) struct Older {
    pub(super) binary: PathBuf,
    label: String,
    facts: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Machine {
    facts: BTreeMap<String, String>,
}

impl Older {
    /// Asks `binary`. Blocking.
    pub(super) fn ask(binary: &Path) -> anyhow::Result<Self> {
        let said = output(binary, &["--version"])?;
        let version = said.trim().trim_start_matches("fleethold ").to_owned();
        let text = output(binary, &["bench", "machine", "--json"])
            .with_context(|| format!("{} ({version}) cannot be compared with", binary.display()))?;
        let machine: Machine = serde_json::from_str(&text)
            .with_context(|| format!("`{} bench machine --json`", binary.display()))?;
        Ok(Self {
            binary: binary.to_owned(),
            label: version,
            facts: machine.facts,
        })
    }

    /// The sides are two builds now, not two ideas.
    pub(super) fn name_sides(&self, definition: &mut Definition) {
        definition.before.clone_from(&self.label);
        definition.after.clone_from(&crate::build::VERSION);
    }

    /// Says in the record what was compared.
    pub(super) fn note(&self, matrix: &mut Matrix) {
        let text = "the after code of two builds";
        matrix.parameters.insert(COMPARED.to_owned(), text.to_owned());
        let environment = &mut matrix.before.environment;
        for fact in OF_THE_BUILD {
            match self.facts.get(fact) {
                Some(value) => environment.insert(fact.to_owned(), value.clone()),
                None => environment.remove(fact),
            };
        }
    }
}

fn output(binary: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(binary)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting {}", binary.display()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let first = words.lines().next().unwrap_or_default();
        bail!(
            "`{} {}`: {}: {first}",
            binary.display(),
            arguments.join(" "),
            output.status
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}
