//! `fio --output-format=json` and `json+`: a job's directions, each with bandwidth, operations and latencies.

use crate::series::SeriesKey;
use crate::unit::Unit;

use super::node::{Node, parse};
use super::{Found, ImportError, Place, Source};

/// What a direction has one value of.
const DIRECTION: [(&str, Unit); 4] = [
    ("io_bytes", Unit::Bytes),
    ("bw_bytes", Unit::BytesPerSecond),
    ("iops", Unit::OperationsPerSecond),
    ("runtime", Unit::Milliseconds),
];

/// What a job has one value of.
const JOB: [(&str, Unit); 5] = [
    ("usr_cpu", Unit::Percent),
    ("sys_cpu", Unit::Percent),
    ("ctx", Unit::Count),
    ("majf", Unit::Count),
    ("minf", Unit::Count),
];

pub(super) fn read(found: &mut Found<'_>) -> Result<(), ImportError> {
    let source = found.source;
    let (notes, text) = split(source)?;
    for (number, note) in (1..).zip(notes.lines()) {
        found.fact(format!("line {number}"), note)?;
    }
    let document = parse(source, text, None)?;
    let root = Node::root(source, &document, None);
    root.field("fio version")?.str()?;
    for job in root.field("jobs")?.elements()? {
        read_job(found, &job)?;
    }
    // With --client the jobs of each server stand here, and `jobs` is empty.
    if let Some(clients) = root.get("client_stats") {
        for job in clients.elements()? {
            read_job(found, &job)?;
        }
    }
    root.keep_facts(found, &[])
}

/// Notes on the terminal may stand before the document.
fn split<'a>(source: &Source<'a>) -> Result<(&'a str, &'a str), ImportError> {
    let text = source.text;
    let start = if text.starts_with('{') {
        Some(0)
    } else {
        text.find("\n{").map(|at| at + 1)
    };
    start
        .and_then(|at| text.split_at_checked(at))
        .ok_or_else(|| source.error(Place::Start, "a JSON document", text.get(..40).unwrap_or(text)))
}

fn read_job(found: &mut Found<'_>, job: &Node<'_>) -> Result<(), ImportError> {
    let name = job.field("jobname")?.str()?;
    // A job of a client and its servers names the host that did it.
    let host = match job.get("hostname") {
        Some(host) => host.str()?.to_owned(),
        None => String::new(),
    };
    let key = |metric: &str, unit| {
        let mut key = SeriesKey::new(name, metric, unit);
        key.machine_class.clone_from(&host);
        key
    };
    for (field, unit) in JOB {
        if let Some(node) = job.get(field) {
            found.sample(key(field, unit), node.number()?, || node.place())?;
        }
    }
    for direction in ["read", "write", "trim", "sync"] {
        let Some(node) = job.get(direction) else { continue };
        // A direction in which nothing was done measured nothing; its zeros stay facts.
        if node.field("total_ios")?.number()? == 0.0 {
            continue;
        }
        let of = |metric: &str, unit| key(metric, unit).with("direction", direction);
        for (field, unit) in DIRECTION {
            if let Some(value) = node.get(field) {
                found.sample(of(field, unit), value.number()?, || value.place())?;
            }
        }
        for latency in ["slat_ns", "clat_ns", "lat_ns"] {
            let Some(group) = node.get(latency) else { continue };
            // Zero values were recorded: there is no latency to speak of.
            if group
                .get("N")
                .is_some_and(|count| count.value.as_f64() == Some(0.0))
            {
                continue;
            }
            let short = latency.trim_end_matches("_ns");
            for field in ["min", "max", "mean", "stddev"] {
                if let Some(value) = group.get(field) {
                    let key = of(&format!("{short}-{field}"), Unit::Nanoseconds);
                    found.sample(key, value.number()?, || value.place())?;
                }
            }
            if let Some(percentiles) = group.get("percentile") {
                for (percent, value) in percentiles.fields()? {
                    let key = of(&format!("{short}-p{percent}"), Unit::Nanoseconds);
                    found.sample(key, value.number()?, || value.place())?;
                }
            }
        }
    }
    Ok(())
}
