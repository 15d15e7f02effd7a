//! Files of other tools and our own: bytes in, samples out.
//!
//! Every parser takes bytes from a stranger: it answers with a typed error that names file, line or field, what was
//! expected and what was found, and never panics. Nothing is guessed: an unknown unit, a number that is no
//! measurement or a file that ends too early is refused as a whole. Nothing is lost: what is no sample is a fact.
//! Whatever the file, reading it takes less than a gigabyte: values, samples, series and facts are counted, and
//! refused before they are kept.
//!
//! | file | format | made by |
//! |---|---|---|
//! | `own` | own JSON, CSV, Go text | [`mod@crate::export`] |
//! | `hyperfine` | JSON | `hyperfine --export-json` |
//! | `criterion` | JSON lines | `cargo criterion --message-format=json` |
//! | `go_bench` | text | `go test -bench` |
//! | `fio` | JSON | `fio --output-format=json`, `json+` |
//! | `action` | JSON | github-action-benchmark, `customSmallerIsBetter` and `customBiggerIsBetter` |
//! | `bencher` | JSON | Bencher Metric Format |
//! | `gnu_time` | text | `/usr/bin/time -v` |
//! | `perf_stat` | JSON lines | `perf stat -j` |
//! | `pbs_client` | JSON | `proxmox-backup-client benchmark --output-format json` |
//! | `qmrestore` | text | the log of `qmrestore` |
//! | `folded` | text | folded stacks |

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::flame::Folded;
use crate::matrix::Matrix;
use crate::sample::{MAX_SAMPLES, check_value};
use crate::series::SeriesKey;
use crate::text::quote;
use crate::unit::{Direction, Unit};

mod action;
mod bencher;
mod criterion;
mod document;
mod error;
mod fio;
mod folded;
mod gnu_time;
mod go_bench;
mod hyperfine;
mod node;
mod own;
mod pbs_client;
mod perf_stat;
mod qmrestore;
mod sniff;

pub use error::{ImportError, Place};
pub use sniff::sniff;

/// Largest file that is read: 128 MiB, more than a million samples in any format.
pub const MAX_BYTES: usize = 128 << 20;
/// Series of a file at most.
pub const MAX_SERIES: usize = 250_000;
/// Bytes of a series' workload, parameters and metric at most.
pub const MAX_KEY_BYTES: usize = 8 << 10;
/// Bytes of the same over all series of a file at most.
const MAX_KEYS_BYTES: usize = 64 << 20;
/// Facts of a file at most.
pub const MAX_FACTS: usize = 1_000_000;
/// Bytes of names and texts of all facts at most: more than any file has that is not made for it.
const MAX_FACT_BYTES: usize = MAX_BYTES;

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// Own JSON.
    OwnJson,
    /// Own CSV.
    OwnCsv,
    /// Go benchmark text; our own is recognised and read back whole.
    GoBench,
    /// hyperfine's JSON.
    Hyperfine,
    /// cargo-criterion's JSON lines.
    Criterion,
    /// fio's JSON, `json` and `json+`.
    Fio,
    /// github-action-benchmark where smaller is better.
    CustomSmallerIsBetter,
    /// github-action-benchmark where bigger is better.
    CustomBiggerIsBetter,
    /// Bencher Metric Format.
    Bencher,
    /// GNU time with `-v`.
    GnuTime,
    /// perf stat with `-j`.
    PerfStat,
    /// The benchmark of proxmox-backup-client.
    PbsClient,
    /// The log of a restore.
    Qmrestore,
    /// Folded stacks.
    Folded,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 14] = [
        Self::OwnJson,
        Self::OwnCsv,
        Self::GoBench,
        Self::Hyperfine,
        Self::Criterion,
        Self::Fio,
        Self::CustomSmallerIsBetter,
        Self::CustomBiggerIsBetter,
        Self::Bencher,
        Self::GnuTime,
        Self::PerfStat,
        Self::PbsClient,
        Self::Qmrestore,
        Self::Folded,
    ];

    /// The name on the command line and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::OwnJson => "json",
            Self::OwnCsv => "csv",
            Self::GoBench => "gobench",
            Self::Hyperfine => "hyperfine",
            Self::Criterion => "criterion",
            Self::Fio => "fio",
            Self::CustomSmallerIsBetter => "customSmallerIsBetter",
            Self::CustomBiggerIsBetter => "customBiggerIsBetter",
            Self::Bencher => "bencher",
            Self::GnuTime => "gnu-time",
            Self::PerfStat => "perf-stat",
            Self::PbsClient => "pbs-client",
            Self::Qmrestore => "qmrestore",
            Self::Folded => "folded",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no import format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("import format `{found}`: expected one of json, csv, gobench, hyperfine, criterion, fio, …")]
pub struct UnknownFormat {
    /// What stood there, shortened.
    pub found: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat { found: quote(text) })
    }
}

/// What a file held.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// How it was read.
    pub format: Format,
    /// The measurements.
    pub content: Content,
    /// Everything else, by its place in the file.
    pub facts: BTreeMap<String, String>,
}

/// The measurements of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A whole comparison of ours, both sides.
    Matrix(Box<Matrix>),
    /// Series of one side.
    Series(Vec<ImportedSeries>),
    /// Folded stacks.
    Stacks(Folded),
}

/// Samples of one series in the order of the file, in the unit of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSeries {
    /// What they measure. The machine class is what the file says about its machine; most say nothing.
    pub key: SeriesKey,
    /// The samples: finite, not below zero.
    pub values: Vec<f64>,
}

/// Reads `bytes` of the file `name` as `format`, or as what they look like.
///
/// # Errors
/// [`ImportError`] with the file, the place in it, what was expected and what was found.
pub fn import(name: &str, bytes: &[u8], format: Option<Format>) -> Result<Imported, ImportError> {
    let source = Source::new(name, bytes)?;
    let format = match format {
        Some(format) => format,
        None => sniff(bytes).ok_or_else(|| {
            source.error(
                Place::Start,
                "a known benchmark format",
                source.text.get(..40).unwrap_or(source.text),
            )
        })?,
    };
    let mut found = Found::new(&source);
    let content = match format {
        Format::OwnJson => own::json(&mut found)?,
        Format::OwnCsv => own::csv(&source)?,
        Format::GoBench if own::is_own_go(source.text) => own::go(&source)?,
        Format::GoBench => go_bench::read(&mut found).map(|()| found.series())?,
        Format::Hyperfine => hyperfine::read(&mut found).map(|()| found.series())?,
        Format::Criterion => criterion::read(&mut found).map(|()| found.series())?,
        Format::Fio => fio::read(&mut found).map(|()| found.series())?,
        Format::CustomSmallerIsBetter => {
            action::read(&mut found, Direction::Lower).map(|()| found.series())?
        }
        Format::CustomBiggerIsBetter => {
            action::read(&mut found, Direction::Higher).map(|()| found.series())?
        }
        Format::Bencher => bencher::read(&mut found).map(|()| found.series())?,
        Format::GnuTime => gnu_time::read(&mut found).map(|()| found.series())?,
        Format::PerfStat => perf_stat::read(&mut found).map(|()| found.series())?,
        Format::PbsClient => pbs_client::read(&mut found).map(|()| found.series())?,
        Format::Qmrestore => qmrestore::read(&mut found).map(|()| found.series())?,
        Format::Folded => folded::read(&source)?,
    };
    if matches!(&content, Content::Series(series) if series.is_empty()) {
        return Err(source.error(Place::End, "at least one measurement", "none"));
    }
    Ok(Imported {
        format,
        content,
        facts: found.facts,
    })
}

/// A file's name and text.
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'a> Source<'a> {
    fn new(name: &'a str, bytes: &'a [u8]) -> Result<Self, ImportError> {
        let file = || quote(name);
        if bytes.len() > MAX_BYTES {
            return Err(ImportError {
                file: file(),
                place: Place::Start,
                expected: format!("at most {MAX_BYTES} bytes"),
                found: format!("{} bytes", bytes.len()),
            });
        }
        // Windows tools begin a file with the mark of UTF-8.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| ImportError {
            file: file(),
            place: Place::Byte(error.valid_up_to()),
            expected: "UTF-8 text".to_owned(),
            found: "another byte".to_owned(),
        })?;
        Ok(Self { name, text })
    }

    fn error(&self, place: Place, expected: impl Into<String>, found: &str) -> ImportError {
        ImportError {
            file: quote(self.name),
            place,
            expected: expected.into(),
            found: quote(found),
        }
    }

    /// The lines with their numbers, counted from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        (1..).zip(self.text.lines())
    }
}

/// What a parser has found so far.
struct Found<'a> {
    source: &'a Source<'a>,
    keys: BTreeMap<SeriesKey, usize>,
    list: Vec<ImportedSeries>,
    samples: usize,
    key_bytes: usize,
    facts: BTreeMap<String, String>,
    fact_bytes: usize,
}

impl<'a> Found<'a> {
    fn new(source: &'a Source<'a>) -> Self {
        Self {
            source,
            keys: BTreeMap::new(),
            list: Vec::new(),
            samples: 0,
            key_bytes: 0,
            facts: BTreeMap::new(),
            fact_bytes: 0,
        }
    }

    /// Adds a sample; series keep the order in which they first appear.
    fn sample(&mut self, key: SeriesKey, value: f64, place: impl Fn() -> Place) -> Result<(), ImportError> {
        let at = self.series_at(key, &place)?;
        self.sample_of(at, value, place)
    }

    /// The number of a series, for many samples of it.
    fn series_at(&mut self, key: SeriesKey, place: impl Fn() -> Place) -> Result<usize, ImportError> {
        if let Some(known) = self.keys.get(&key) {
            return Ok(*known);
        }
        let parameters = key
            .parameters
            .iter()
            .map(|(name, value)| name.len() + value.len());
        let bytes =
            key.workload.len() + key.metric.len() + key.machine_class.len() + parameters.sum::<usize>();
        if bytes > MAX_KEY_BYTES {
            let expected = format!("at most {MAX_KEY_BYTES} bytes of workload, parameters and metric");
            return Err(self.source.error(place(), expected, &bytes.to_string()));
        }
        self.key_bytes += bytes;
        if self.list.len() >= MAX_SERIES || self.key_bytes > MAX_KEYS_BYTES {
            let expected = format!("at most {MAX_SERIES} series, with {MAX_KEYS_BYTES} bytes of names");
            return Err(self.source.error(place(), expected, "more"));
        }
        let at = self.list.len();
        self.keys.insert(key.clone(), at);
        self.list.push(ImportedSeries {
            key,
            values: Vec::new(),
        });
        Ok(at)
    }

    /// Adds a sample to the series of [`Found::series_at`].
    fn sample_of(&mut self, at: usize, value: f64, place: impl Fn() -> Place) -> Result<(), ImportError> {
        let checked = check_value(value, self.samples).map_err(|_| {
            self.source
                .error(place(), "a finite number of at least 0", &value.to_string())
        })?;
        self.samples += 1;
        if self.samples > MAX_SAMPLES {
            let expected = format!("at most {MAX_SAMPLES} samples");
            return Err(self.source.error(place(), expected, "more"));
        }
        if let Some(series) = self.list.get_mut(at) {
            series.values.push(checked);
        }
        Ok(())
    }

    /// Refuses a fact for which there is no room.
    fn room_for_fact(&self, bytes: usize, place: impl Fn() -> Place) -> Result<(), ImportError> {
        if self.facts.len() < MAX_FACTS && self.fact_bytes + bytes <= MAX_FACT_BYTES {
            return Ok(());
        }
        let expected = format!("at most {MAX_FACTS} facts beside the samples, with {MAX_FACT_BYTES} bytes");
        Err(self.source.error(place(), expected, "more"))
    }

    /// Keeps something that is no sample.
    fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) -> Result<(), ImportError> {
        let (name, value) = (name.into(), value.into());
        let bytes = name.len() + value.len();
        self.room_for_fact(bytes, || Place::Field(name.clone()))?;
        self.fact_bytes += bytes;
        self.facts.insert(name, value);
        Ok(())
    }

    /// A unit as another tool writes it.
    fn unit(&self, text: &str, place: &Place) -> Result<Unit, ImportError> {
        Unit::from_foreign(text).map_err(|_| {
            self.source.error(
                place.clone(),
                "a unit of the closed list (s, ms, us, ns, B, MiB/s, req/s, …)",
                text,
            )
        })
    }

    fn series(&mut self) -> Content {
        let mut list = std::mem::take(&mut self.list);
        list.retain(|series| !series.values.is_empty());
        Content::Series(list)
    }
}
