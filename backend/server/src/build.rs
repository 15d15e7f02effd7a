//! What this binary was built from; the build script asked.

use std::sync::LazyLock;

use fleethold_bench::environment::Build;

/// Such as `0.1.0 (1f2e3d4c5b6a-dirty)`, or `0.1.0` when the build knew no commit.
pub static VERSION: LazyLock<String> = LazyLock::new(|| version(&this()));

/// Version and commit of this build.
#[must_use]
pub fn this() -> Build {
    Build::new(env!("CARGO_PKG_VERSION"), env!("FLEETHOLD_COMMIT"))
        .with_git(env!("FLEETHOLD_PARENT"), env!("FLEETHOLD_TAG"))
}

/// Twelve hex digits of the commit; `unknown` when the build knew none.
#[must_use]
pub fn short_revision() -> String {
    let revision = this().revision.unwrap_or_else(|| "unknown".to_owned());
    revision.get(..12).unwrap_or(&revision).to_owned()
}

fn version(build: &Build) -> String {
    let Some(revision) = &build.revision else {
        return build.version.clone();
    };
    let short = revision.get(..12).unwrap_or(revision);
    let dirty = if build.dirty { "-dirty" } else { "" };
    format!("{} ({short}{dirty})", build.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_commit() {
        let commit = "1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c";
        for (text, expected) in [
            (commit.to_owned(), "1.2.3 (1f2e3d4c5b6a)"),
            (format!("{commit}-dirty"), "1.2.3 (1f2e3d4c5b6a-dirty)"),
            (String::new(), "1.2.3"),
        ] {
            let build = Build::new("1.2.3", &text);
            assert_eq!(version(&build), expected);
            assert_eq!(build.dirty, text.ends_with("-dirty"));
            assert!(build.revision.is_none_or(|revision| revision == commit));
        }
    }
}
