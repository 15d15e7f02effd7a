//! What this binary was built from.

use fleethold_bench::environment::Build;

/// Version and commit of this build.
#[must_use]
pub fn this() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: None,
        dirty: false,
    }
}
