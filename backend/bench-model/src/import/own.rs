//! Our own three formats, read back whole.

use serde::Deserialize;

use crate::comparison;
use crate::export::{
    CSV_COLUMNS, CSV_MAGIC, GO_MAGIC, JSON_FORMAT, JSON_VERSION, benchmark_name, unit_token,
};
use crate::matrix::{Cell, Matrix};
use crate::sample::{MAX_SAMPLES, Side};
use crate::text::quote;

use super::{Content, Found, ImportError, Place, Source};

/// What an import takes from own JSON: `results` are judged again, never believed.
#[derive(Deserialize)]
struct Document {
    format: String,
    version: u64,
    run: Matrix,
    #[serde(default)]
    run_id: Option<String>,
    #[serde(default)]
    started_at: Option<String>,
}

/// Longest id or date, in bytes.
const MAX_ORIGIN: usize = 100;

fn json_error(source: &Source<'_>, error: &serde_json::Error, line: usize) -> ImportError {
    let expected = if error.is_eof() {
        "the rest of the JSON document"
    } else {
        "a run of fleethold-bench"
    };
    source.error(Place::Line(line), expected, &error.to_string())
}

/// Commas of a document at most: more values than the samples of any file of 128 MiB that was measured.
const MAX_COMMAS: usize = 4 * MAX_SAMPLES;

/// The matrix; its origin becomes facts.
pub(super) fn json(found: &mut Found<'_>) -> Result<Content, ImportError> {
    let source = found.source;
    let commas = source.text.bytes().filter(|byte| *byte == b',').count();
    if commas > MAX_COMMAS {
        let expected = format!("at most {MAX_COMMAS} values in a JSON document");
        return Err(source.error(Place::Start, expected, &commas.to_string()));
    }
    let document: Document =
        serde_json::from_str(source.text).map_err(|error| json_error(source, &error, error.line()))?;
    if document.format != JSON_FORMAT {
        let place = Place::Field("format".to_owned());
        return Err(source.error(place, JSON_FORMAT, &document.format));
    }
    if document.version != JSON_VERSION {
        let place = Place::Field("version".to_owned());
        return Err(source.error(place, JSON_VERSION.to_string(), &document.version.to_string()));
    }
    for (name, value) in [("run_id", document.run_id), ("started_at", document.started_at)] {
        let Some(value) = value else { continue };
        if value.len() > MAX_ORIGIN || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            let place = Place::Field(name.to_owned());
            return Err(source.error(place, "at most 100 printable ASCII characters", &value));
        }
        found.fact(name, value)?;
    }
    whole(source, document.run)
}

fn whole(source: &Source<'_>, matrix: Matrix) -> Result<Content, ImportError> {
    // What is taken can be judged: nothing is kept that nobody could look at.
    comparison::check(&matrix).map_err(|error| ImportError {
        file: quote(source.name),
        place: Place::Field("run".to_owned()),
        expected: "a matrix that can be judged".to_owned(),
        found: error.to_string(),
    })?;
    Ok(Content::Matrix(Box::new(matrix)))
}

/// The two comment lines: how many samples follow, and the matrix without them.
fn frame(source: &Source<'_>, magic: &str) -> Result<(usize, Matrix), ImportError> {
    let mut lines = source.text.lines();
    let first = lines.next().unwrap_or_default();
    let count = first
        .strip_prefix(magic)
        .and_then(|rest| rest.strip_prefix(" samples="))
        .and_then(|count| count.parse().ok())
        .ok_or_else(|| source.error(Place::Line(1), format!("{magic} samples=N"), first))?;
    let second = lines.next().unwrap_or_default();
    let text = second
        .strip_prefix("# ")
        .ok_or_else(|| source.error(Place::Line(2), "# and the matrix as JSON", second))?;
    let matrix: Matrix = serde_json::from_str(text).map_err(|error| json_error(source, &error, 2))?;
    matrix
        .validate_frame()
        .map_err(|error| source.error(Place::Line(2), "a matrix that makes sense", &error.to_string()))?;
    if let Some(cell) = matrix
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .find(|cell| !cell.samples.is_empty())
    {
        return Err(source.error(Place::Line(2), "no samples in the head", &cell.metric));
    }
    Ok((count, matrix))
}

/// The lines come in the order of rows and cells; a cell goes on as long as they are its own.
struct Filler<'a> {
    source: &'a Source<'a>,
    matrix: Matrix,
    row: usize,
    cell: usize,
    samples: usize,
}

impl Filler<'_> {
    /// Adds a sample to the first cell from the current one on that `is_it`.
    fn add(
        &mut self,
        line: usize,
        text: &str,
        is_it: impl Fn(&Matrix, usize, &Cell) -> bool,
        side: &str,
        value: &str,
    ) -> Result<(), ImportError> {
        let fail = |expected: &str, found: &str| self.source.error(Place::Line(line), expected, found);
        let side = Side::from_name(side).ok_or_else(|| fail("side `before` or `after`", side))?;
        let number: f64 = value.parse().map_err(|_| fail("a number", value))?;
        let (row, cell) = (self.row..self.matrix.rows.len())
            .flat_map(|row| {
                let first = if row == self.row { self.cell } else { 0 };
                let cells = self.matrix.rows.get(row).map_or(0, |row| row.cells.len());
                (first..cells).map(move |cell| (row, cell))
            })
            // The cell at hand or the very next one: nothing is skipped.
            .take(2)
            .find(|(row, cell)| {
                let found = self.matrix.rows.get(*row).and_then(|of| of.cells.get(*cell));
                found.is_some_and(|found| is_it(&self.matrix, *row, found))
            })
            .ok_or_else(|| {
                fail(
                    "a sample of the cell at hand or of the next one in the head's order",
                    text,
                )
            })?;
        let slot = self
            .matrix
            .rows
            .get_mut(row)
            .and_then(|of| of.cells.get_mut(cell));
        if let Some(slot) = slot {
            slot.samples.push(side, number).map_err(|error| {
                self.source.error(
                    Place::Line(line),
                    "a finite number of at least 0",
                    &error.to_string(),
                )
            })?;
        }
        (self.row, self.cell) = (row, cell);
        self.samples += 1;
        Ok(())
    }

    fn finish(self, count: usize) -> Result<Content, ImportError> {
        if self.samples != count {
            return Err(self.source.error(
                Place::End,
                format!("{count} samples"),
                &format!("{} samples", self.samples),
            ));
        }
        whole(self.source, self.matrix)
    }
}

pub(super) fn csv(source: &Source<'_>) -> Result<Content, ImportError> {
    let (count, matrix) = frame(source, CSV_MAGIC)?;
    let mut filler = Filler {
        source,
        matrix,
        row: 0,
        cell: 0,
        samples: 0,
    };
    let mut head = false;
    for (number, line) in source.lines().skip(2) {
        if !head {
            // A comment for people may stand before the columns: that the machine was busy.
            if line != CSV_COLUMNS && !(number == 3 && line.starts_with("# ")) {
                return Err(source.error(Place::Line(number), CSV_COLUMNS, line));
            }
            head = line == CSV_COLUMNS;
            continue;
        }
        let fields = split(line);
        let [scenario, value, control, metric, unit, side, sample] = fields.as_slice() else {
            return Err(source.error(Place::Line(number), "7 fields", line));
        };
        let is_it = |matrix: &Matrix, row: usize, cell: &Cell| {
            matrix.rows.get(row).is_some_and(|row| {
                row.scenario == *scenario
                    && row.value == *value
                    && control == if row.control { "yes" } else { "no" }
                    && cell.metric == *metric
            }) && matrix
                .metric(&cell.metric)
                .is_some_and(|of| of.unit.name() == unit)
        };
        filler.add(number, line, is_it, side, sample)?;
    }
    filler.finish(count)
}

/// Fields of a line; quoted ones may hold commas and doubled quotes (RFC 4180, without line ends inside).
fn split(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let wanted = CSV_COLUMNS.split(',').count();
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        // One too many is enough to be refused.
        if fields.len() > wanted {
            break;
        }
        let Some(field) = fields.last_mut() else { break };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted || field.is_empty() => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    fields
}

pub(super) fn is_own_go(text: &str) -> bool {
    text.starts_with(GO_MAGIC)
}

pub(super) fn go(source: &Source<'_>) -> Result<Content, ImportError> {
    let (count, matrix) = frame(source, GO_MAGIC)?;
    let names: Vec<String> = matrix
        .rows
        .iter()
        .map(|row| benchmark_name(&matrix, row))
        .collect();
    let mut filler = Filler {
        source,
        matrix,
        row: 0,
        cell: 0,
        samples: 0,
    };
    let mut side = "";
    for (number, line) in source.lines().skip(2) {
        if let Some(of) = line.strip_prefix("side: ") {
            side = of;
            continue;
        }
        if line.starts_with("Unit ") || line.starts_with("# ") || line.is_empty() {
            continue;
        }
        let words: Vec<&str> = line.split(' ').take(5).collect();
        let [name, "1", value, unit] = words.as_slice() else {
            return Err(source.error(Place::Line(number), "Benchmark… 1 VALUE UNIT", line));
        };
        let is_it = |matrix: &Matrix, row: usize, cell: &Cell| {
            names.get(row).is_some_and(|of| of == name)
                && matrix
                    .metric(&cell.metric)
                    .is_some_and(|metric| unit_token(metric) == *unit)
        };
        filler.add(number, line, is_it, side, value)?;
    }
    filler.finish(count)
}
