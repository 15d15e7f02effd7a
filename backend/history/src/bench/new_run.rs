//! A run as it arrives: measured here, uploaded later, or read from a file.

use std::collections::BTreeMap;

use fleethold_bench_model::flame::Folded;
use fleethold_bench_model::import::{Content, Format, Imported, ImportedSeries};
use fleethold_bench_model::matrix::{Matrix, Version};
use fleethold_bench_model::sample::Side;
use fleethold_bench_model::series::SeriesKey;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::attachment::{AttachmentKind, NewAttachment};
use super::machine::BenchMachine;

/// Where a run comes from that was measured, not imported.
pub(super) const MEASURED: &str = "run";

/// A state of the code; empty text where it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Revision {
    /// Address or name of the repository.
    pub repository: String,
    /// The commit, hex.
    pub commit: String,
    /// The tree had changes that are in no commit.
    pub dirty: bool,
    /// The commit before it.
    pub parent: Option<String>,
}

impl Revision {
    /// The build that measured one side of a matrix, when it knew its commit.
    pub fn of_version(version: &Version) -> Option<Self> {
        let fact = |name: &str| version.environment.get(name);
        Some(Self {
            repository: "fleethold".to_owned(),
            commit: fact("revision")?.clone(),
            dirty: fact("dirty").is_some_and(|dirty| dirty == "yes"),
            parent: fact("parent").cloned(),
        })
    }

    /// The builds of both sides; that of the before side only when it is another one.
    pub fn of_sides(matrix: &Matrix) -> (Option<Self>, Option<Self>) {
        let (before, after) = (Self::of_version(&matrix.before), Self::of_version(&matrix.after));
        (before.filter(|before| after.as_ref() != Some(before)), after)
    }
}

/// How busy the machine was with other things; shares of 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BenchLoad {
    /// Share of the processors that others used.
    pub others: Option<f64>,
    /// Share that the host took away.
    pub steal: Option<f64>,
    /// Quiet enough for times on the wall.
    pub quiet: bool,
}

/// What was measured. Empty hashes: not ours (imported files).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkloadFile {
    /// Name of the workload.
    pub name: String,
    /// SHA-256 of the workload file, hex.
    pub file_sha256: String,
    /// SHA-256 of the data, hex.
    pub data_sha256: String,
    /// The workload file.
    pub text: String,
}

/// Everything about a run but its numbers. Times are kept to the microsecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchMeta {
    /// UUIDv7.
    pub id: Uuid,
    /// `run`, or the name of the format of an imported file.
    pub source: String,
    /// When it was asked for or imported.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When measuring began; of an import only when its file says so.
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub started_at: Option<OffsetDateTime>,
    /// When it ended.
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub finished_at: Option<OffsetDateTime>,
    /// The workload.
    pub workload: WorkloadFile,
    /// Code of the before side, when it is another build.
    #[serde(default)]
    pub before: Option<Revision>,
    /// Code of the after side.
    #[serde(default)]
    pub after: Option<Revision>,
    /// The machine, when it is known.
    #[serde(default)]
    pub machine: Option<BenchMachine>,
    /// Page cache emptied before each sample.
    pub cold: bool,
    /// A short version.
    pub quick: bool,
    /// All of it was measured.
    pub complete: bool,
    /// Seed of the order.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Samples a side.
    pub samples: u32,
    /// Who asked for it.
    pub operator: String,
    /// Why.
    pub reason: String,
    /// How busy the machine was.
    #[serde(default)]
    pub load: Option<BenchLoad>,
    /// Version of the tool that measured.
    pub tool_version: String,
    /// Facts for people.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// What became of the workload's floors: a list as the REST interface answers it.
    #[serde(default)]
    pub floors: Option<serde_json::Value>,
    /// Kept for good: somebody may link to it.
    #[serde(default)]
    pub pinned: bool,
}

/// The numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum NewContent {
    /// Both sides of a sweep.
    Matrix(Box<Matrix>),
    /// Series of one side from a file.
    Series(Vec<ImportedSeries>),
    /// None: folded stacks, kept as an attachment.
    Stacks,
}

/// A run to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBenchRun {
    /// About it.
    pub meta: BenchMeta,
    /// Its numbers.
    pub content: NewContent,
    /// What makes it the same thing when it comes again: 64 hex digits.
    pub digest: String,
    /// Files kept with it.
    pub attachments: Vec<NewAttachment>,
}

/// What is kept of facts: the rest stands in the original, which is an attachment.
const MAX_FACTS: usize = 256;
const MAX_FACT: usize = 1024;
const MAX_FACTS_BYTES: usize = 64 << 10;
/// Name of the fact that says so.
const FACTS_CUT: &str = "facts_left_out";

/// Cuts facts to what a row can hold.
fn cut_facts(facts: &mut BTreeMap<String, String>) {
    let (mut bytes, mut left_out, mut kept) = (0, 0_usize, BTreeMap::new());
    for (mut name, mut value) in std::mem::take(facts) {
        let whole = name.len().max(value.len()) <= MAX_FACT;
        for text in [&mut name, &mut value] {
            text.truncate(text.floor_char_boundary(MAX_FACT));
            text.retain(|c| c != '\0');
        }
        // Room for the fact that says so.
        if kept.len() + 1 >= MAX_FACTS || bytes + name.len() + value.len() > MAX_FACTS_BYTES - MAX_FACT {
            left_out += 1;
            continue;
        }
        left_out += usize::from(!whole);
        bytes += name.len() + value.len();
        kept.insert(name, value);
    }
    if left_out > 0 {
        kept.insert(
            FACTS_CUT.to_owned(),
            format!("{left_out} left out or cut: the original has all"),
        );
    }
    *facts = kept;
}

impl NewBenchRun {
    /// A matrix with what is known about it. One of a tagged revision is kept for good.
    pub fn measured(mut meta: BenchMeta, matrix: Matrix, attachments: Vec<NewAttachment>) -> Self {
        meta.pinned |= is_tagged(&matrix);
        Self {
            meta,
            digest: matrix.digest(),
            content: NewContent::Matrix(Box::new(matrix)),
            attachments,
        }
    }

    /// An imported file with its original. What a file says is what makes it the same thing: a matrix of ours in whatever
    /// format it comes, any other file however its lines are broken. Takes the processor for a while.
    pub fn imported(
        id: Uuid,
        created_at: OffsetDateTime,
        operator: &str,
        name: &str,
        bytes: Vec<u8>,
        imported: Imported,
    ) -> Self {
        let Imported {
            format,
            content,
            facts,
        } = imported;
        let file = std::path::Path::new(name)
            .file_name()
            .map_or_else(|| name.to_owned(), |name| name.to_string_lossy().into_owned());
        let mut meta = BenchMeta {
            id,
            source: format.name().to_owned(),
            created_at,
            started_at: None,
            finished_at: None,
            workload: WorkloadFile::default(),
            before: None,
            after: None,
            machine: None,
            cold: false,
            quick: false,
            complete: true,
            seed: None,
            samples: 0,
            operator: operator.to_owned(),
            reason: String::new(),
            load: None,
            tool_version: String::new(),
            facts,
            floors: None,
            pinned: false,
        };
        let (content, digest) = match content {
            Content::Matrix(matrix) => {
                meta.of_matrix(&matrix);
                // What was measured elsewhere is not of today; what claims to be of tomorrow is.
                let said = meta.facts.get("started_at");
                meta.started_at = said
                    .and_then(|said| OffsetDateTime::parse(said, &Rfc3339).ok())
                    .filter(|at| *at <= created_at);
                let digest = matrix.digest();
                (NewContent::Matrix(matrix), digest)
            }
            Content::Series(series) => {
                meta.workload.name = common_workload(&series).unwrap_or_else(|| file.clone());
                meta.samples = longest(series.iter().map(|series| series.values.len()));
                let digest = digest_of(format, &meta.facts, &series);
                (NewContent::Series(series), digest)
            }
            Content::Stacks(stacks) => {
                let digest = hex_sha256(format!("{format}\n{stacks}").as_bytes());
                meta.workload.name = file.clone();
                meta.facts
                    .insert("stacks".to_owned(), Folded::len(&stacks).to_string());
                meta.facts
                    .insert("stack_samples".to_owned(), stacks.total().to_string());
                (NewContent::Stacks, digest)
            }
        };
        let kind = match format {
            Format::Folded => AttachmentKind::FlameGraph,
            Format::PerfStat => AttachmentKind::PerfStat,
            _ => AttachmentKind::Original,
        };
        cut_facts(&mut meta.facts);
        Self {
            meta,
            content,
            digest,
            attachments: vec![NewAttachment {
                kind,
                side: None,
                name: file,
                bytes,
            }],
        }
    }
}

impl BenchMeta {
    /// Takes over what a matrix knows about its run: the parameters that the runner wrote.
    fn of_matrix(&mut self, matrix: &Matrix) {
        let parameter = |name: &str| matrix.parameters.get(name).map(String::as_str);
        self.workload.name.clone_from(&matrix.workload);
        self.workload.data_sha256.clone_from(&matrix.data_sha256);
        self.machine = BenchMachine::of_version(&matrix.after);
        (self.before, self.after) = Revision::of_sides(matrix);
        self.cold = parameter("cache") == Some("cold");
        self.quick = matrix.quick;
        self.complete = parameter("complete") != Some("no");
        self.seed = parameter("seed").and_then(|seed| seed.parse().ok());
        let sides = matrix.rows.iter().flat_map(|row| &row.cells).map(|cell| {
            cell.samples
                .iter()
                .filter(|(side, _)| *side == Side::After)
                .count()
        });
        self.samples = longest(sides);
        self.load = parameter("quiet").map(|quiet| BenchLoad {
            others: parameter("load_of_others").and_then(percent),
            steal: parameter("steal").and_then(percent),
            quiet: quiet == "yes",
        });
        self.pinned |= is_tagged(matrix);
        let version = matrix.after.environment.get("fleethold");
        self.tool_version = version.cloned().unwrap_or_default();
    }
}

/// Whether it measures a build of a tagged commit. What a tag is compared with does not matter: every run against the last
/// release would stay for ever.
fn is_tagged(matrix: &Matrix) -> bool {
    matrix.after.environment.contains_key("tag")
}

/// `12.5 %` as 0.125.
fn percent(text: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix(" %")?.parse().ok()?;
    number.is_finite().then_some(number / 100.0)
}

fn longest(lengths: impl Iterator<Item = usize>) -> u32 {
    u32::try_from(lengths.max().unwrap_or(0)).unwrap_or(u32::MAX)
}

/// The workload of all series, when it is one.
fn common_workload(series: &[ImportedSeries]) -> Option<String> {
    let (first, rest) = series.split_first()?;
    rest.iter()
        .all(|one| one.key.workload == first.key.workload)
        .then(|| first.key.workload.clone())
}

/// SHA-256 in lower-case hex.
pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

/// SHA-256 over all that a file says, in lower-case hex: how its lines are broken does not matter.
fn digest_of(format: Format, facts: &BTreeMap<String, String>, series: &[ImportedSeries]) -> String {
    /// Hashes what is written to it: the text of a large file is never there as a whole.
    struct Hashing<'h>(&'h mut Sha256);

    impl std::io::Write for Hashing<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let numbers: Vec<(&SeriesKey, &[f64])> = series.iter().map(|of| (&of.key, &*of.values)).collect();
    let mut hash = Sha256::new();
    let pieces = std::io::BufWriter::new(Hashing(&mut hash));
    let written = serde_json::to_writer(pieces, &(format.name(), facts, numbers));
    debug_assert!(
        written.is_ok(),
        "names and numbers have a text, and hashing takes every byte"
    );
    hex(hash)
}

/// In lower-case hex.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
