//! `GET /api2/json/admin/datastore/{store}/status` for every store of a fleet, over TLS (pbs-devel, 24 Nov 2025).
//!
//! The thread's own loop: of each store five requests, the first of them cold, 16 under way at once. Both sides are this
//! binary's server in a process of its own over the same fleet; before, it also reads, hashes and parses `datastore.cfg` for
//! every request and again when the store's last user is done. Scenarios differ in how a request gets there:
//!
//! | parameter | says |
//! |---|---|
//! | `connection` | `kept`: 16 connections for all requests; `each`: a TLS connection for each, as the thread's curl |
//! | `login` | `cookie` or `token` |
//! | `asked` | how many of the stores are asked, evenly spread; all when it is absent |
//! | `requests` | at least so many: the loop is repeated in whole passes; one pass when it is absent |
//! | `before_requests` | about so many before: as many passes over fewer of the stores |
//! | `compare` | `login`: before is not the older lookup but a log-in with the cookie, after one with the token |
//!
//! Both sides make as many passes, so that the first request of a store is the same share of all on either: 1 in 5 × passes.
//! `time` is that of one pass over all asked stores; `cpu` what the server used for one request; `cold` and `warm` what 16
//! connections carry when every request is as slow as the first, or as the other four, of a store.

mod load;
mod server;

use std::collections::BTreeMap;

use fleethold_bench_model::quantile::Sorted;
use fleethold_bench_model::sample::Side;
use fleethold_bench_model::unit::Unit;

use crate::error::BenchError;
use crate::measured::Measured;
use crate::worker::SampleRequest;
use crate::workloads::Workload;
use load::{Connections, Load, Login, Loop};
use server::Server;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "status",
    file: include_str!("../../../../fixtures/workloads/status.toml"),
    parameters: &[
        "connection",
        "login",
        "requests",
        "before_requests",
        "asked",
        "compare",
    ],
    metrics: &["time", "rate", "cpu", "p50", "p99", "cold", "warm", "rss_peak"],
    sample,
    profiles_itself: true,
};

/// Which way of finding datastores a server has: the value of its hidden flag `--bench-lookup`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerLookup {
    /// The published generation.
    Cached,
    /// The file, every time.
    Reparse,
}

/// What a cell asks for.
struct Shape {
    stores: usize,
    asked: usize,
    /// Stores of a pass; the figures are those of a pass over all of them.
    of_a_pass: usize,
    passes: usize,
    lookup: ServerLookup,
    login: Login,
    connections: Connections,
}

fn sample(request: &SampleRequest) -> Result<Measured, BenchError> {
    let shape = shape(request)?;
    let server = Server::start(&request.data, shape.stores, shape.lookup, request.flamegraph)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let every = shape.stores / shape.asked;
    let asked: Vec<&str> = server
        .stores()
        .iter()
        .step_by(every)
        .take(shape.asked)
        .map(String::as_str)
        .collect();
    let load = Load {
        stores: &asked,
        passes: shape.passes,
        login: shape.login,
        connections: shape.connections,
    };
    let done = runtime.block_on(async {
        let target = server.target()?;
        let session = load::sign_in(&target, &server).await?;
        load::until_all_are_scanned(&target, &session, shape.stores).await?;
        load.run(&target, &session, &server).await
    })?;
    let mut measured = figures(&done, &shape, &server);
    measured.note(
        "counters",
        "not available: the server is another process; its CPU time is counted",
    );
    if request.flamegraph {
        measured.stacks = server.stacks()?;
    }
    Ok(measured)
}

fn shape(request: &SampleRequest) -> Result<Shape, BenchError> {
    let cell = &request.cell;
    let stores: usize = cell.value("a number of stores")?;
    let asked: Option<usize> = cell.parameter("asked", "a number of stores")?;
    let of_a_pass = asked.unwrap_or(stores).min(stores);
    let requests: Option<usize> = cell.parameter("requests", "a number of requests")?;
    let before_requests: Option<usize> = cell.parameter("before_requests", "a number of requests")?;
    let login = match cell.parameters.get("login").map(String::as_str) {
        None | Some("cookie") => Login::Cookie,
        Some("token") => Login::Token,
        Some(found) => return Err(wrong(request, "login", "cookie or token", found)),
    };
    let connections = match cell.parameters.get("connection").map(String::as_str) {
        None | Some("kept") => Connections::Kept,
        Some("each") => Connections::Each,
        Some(found) => return Err(wrong(request, "connection", "kept or each", found)),
    };
    let reparse = ServerLookup::Reparse;
    let (lookup, login) = match (cell.parameters.get("compare").map(String::as_str), request.side) {
        (None, Side::Before) => (reparse, login),
        (None, Side::After) => (ServerLookup::Cached, login),
        (Some("login"), Side::Before) => (ServerLookup::Cached, Login::Cookie),
        (Some("login"), Side::After) => (ServerLookup::Cached, Login::Token),
        (Some(found), _) => return Err(wrong(request, "compare", "login", found)),
    };
    let a_pass = of_a_pass * load::REQUESTS;
    let passes = requests.map_or(1, |requests| requests.div_ceil(a_pass.max(1)));
    // What repeats an expensive server's requests often would only measure the same for hours.
    let asked = match (lookup, before_requests) {
        (ServerLookup::Reparse, Some(most)) => {
            (most / (load::REQUESTS * passes.max(1))).clamp(1, of_a_pass.max(1))
        }
        _ => of_a_pass,
    };
    let shape = Shape {
        stores,
        asked,
        of_a_pass,
        passes,
        lookup,
        login,
        connections,
    };
    if !(1..=100_000).contains(&shape.stores) || shape.of_a_pass == 0 || !(1..=10_000).contains(&shape.passes)
    {
        return Err(failed(format!(
            "expected 1 to 100000 stores, some of them asked, and 1 to 10000 passes, found {}, {} and {}",
            shape.stores, shape.of_a_pass, shape.passes
        )));
    }
    Ok(shape)
}

fn figures(done: &Loop, shape: &Shape, server: &Server) -> Measured {
    let requests = done.latencies.len() as f64;
    let mut measured = Measured::default();
    measured.add(
        "time",
        Unit::Seconds,
        done.time.as_secs_f64() / requests * (shape.of_a_pass * load::REQUESTS) as f64,
    );
    measured.add("cpu", Unit::CpuSeconds, done.server_cpu.as_secs_f64() / requests);
    measured.add(
        "rate",
        Unit::RequestsPerSecond,
        requests / done.time.as_secs_f64(),
    );
    let mut kinds: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for one in &done.latencies {
        let kind = if one.cold { "cold" } else { "warm" };
        let sum = kinds.entry(kind).or_default();
        sum.0 += 1.0;
        sum.1 += one.seconds;
    }
    for (metric, (count, seconds)) in kinds {
        let rate = load::AT_ONCE as f64 * count / seconds;
        measured.add(metric, Unit::RequestsPerSecond, rate);
    }
    let latencies = Sorted::new(
        done.latencies
            .iter()
            .map(|one| one.seconds * 1e6)
            .collect::<Vec<_>>(),
    );
    for (metric, q) in [("p50", 0.5), ("p99", 0.99)] {
        if let Some(value) = latencies.quantile(q) {
            measured.add(metric, Unit::Microseconds, value);
        }
    }
    if let Some(bytes) = server.rss_peak_bytes() {
        measured.add("rss_peak", Unit::Mebibytes, bytes as f64 / f64::from(1 << 20));
    }
    measured
}

fn wrong(request: &SampleRequest, name: &str, expected: &'static str, found: &str) -> BenchError {
    BenchError::Parameter {
        scenario: request.cell.scenario.clone(),
        name: name.to_owned(),
        expected,
        found: found.to_owned(),
    }
}

fn failed(error: impl std::fmt::Display) -> BenchError {
    BenchError::Measured {
        what: "asking a server for the status of its datastores",
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Definition;
    use crate::measure::cells;

    #[test]
    fn both_sides_have_the_same_share_of_first_requests() {
        let (definition, _) = Definition::load("status").unwrap();
        for (quick, cell) in [false, true].into_iter().flat_map(|quick| {
            cells(&definition, quick)
                .into_iter()
                .map(move |cell| (quick, cell))
        }) {
            let of = |side| {
                let request = SampleRequest {
                    kind: definition.kind,
                    cell: cell.clone(),
                    side,
                    data: std::path::PathBuf::new(),
                    flamegraph: false,
                };
                shape(&request).unwrap()
            };
            let (before, after) = (of(Side::Before), of(Side::After));
            assert_eq!(before.passes, after.passes, "{cell}");
            assert_eq!(before.of_a_pass, after.of_a_pass, "{cell}");
            let requests = |shape: &Shape| shape.asked * load::REQUESTS * shape.passes;
            if !quick && cell.parameters.get("connection").is_some_and(|how| how == "kept") {
                assert!(requests(&after) >= 50_000, "{cell}");
            }
            // What costs milliseconds each is bounded.
            if before.lookup == ServerLookup::Reparse {
                assert!(requests(&before) <= 5_000, "{cell}");
            }
        }
    }
}
