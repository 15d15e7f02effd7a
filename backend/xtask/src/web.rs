//! The page: cargo → wasm-bindgen → wasm-opt → hashed names → index.html → .br and .gz beside each file.
//!
//! The start script is a file of its own with a hashed name, so that the page needs no inline script and the
//! content security policy can stay strict. Everything but `index.html` may be cached for ever.

mod bundle;
mod compress;
pub(crate) mod inputs;

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use wasm_bindgen_cli_support::Bindgen;

use crate::clock::Stopwatch;
use crate::node;
use crate::process;
use crate::repo::Repo;
use bundle::Bundle;

/// The name wasm-bindgen's files start with.
const OUT_NAME: &str = "fleethold";

/// What rustc's wasm32-unknown-unknown emits by default. Never `--all-features`: wasm-opt would then use
/// instructions the browser refuses.
const WASM_FEATURES: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// The module as browsers load it, in bytes of brotli: every visitor waits for it once. It may shrink, not grow; where
/// it went down, so does this. `frontend/src/ui/icon.rs`, `frontend/src/api/json.rs` and `frontend/src/ui/hooks.rs`
/// say what costs and how it is kept small: about a kilobyte for each type of component, as much for each type that is
/// read or fetched on its own.
const MODULE_LIMIT: u64 = 560 * 1024;

/// Builds `frontend/dist`, unless it was built from these very inputs.
pub(crate) fn run(repo: &Repo, force: bool) -> Result<()> {
    let dist = repo.path("frontend/dist");
    let stamp = repo.path("frontend/dist/.inputs");
    let inputs = inputs::digest(repo)?;
    if !force && std::fs::read_to_string(&stamp).is_ok_and(|built| built == inputs) {
        println!("web: frontend/dist is up to date");
        return check_size(&dist);
    }
    let clock = Stopwatch::start();
    let wasm = compile(repo)?;
    let (js, wasm) = bind(&wasm)?;
    let wasm = optimise(repo, &wasm)?;

    let bundle = Bundle::assemble(&repo.path("frontend/static"), OUT_NAME, &js, wasm)?;
    let compressed = bundle.write(&dist)?;
    std::fs::write(&stamp, inputs).with_context(|| format!("writing {}", stamp.display()))?;
    println!(
        "web: {} files in frontend/dist, {:.1} s",
        bundle.len(),
        clock.elapsed().as_secs_f64()
    );
    for line in compressed {
        println!("  {line}");
    }
    check_size(&dist)
}

/// Refuses a module that has grown beyond its limit.
fn check_size(dist: &Path) -> Result<()> {
    let files = std::fs::read_dir(dist).with_context(|| format!("reading {}", dist.display()))?;
    for file in files {
        let file = file.with_context(|| format!("reading {}", dist.display()))?;
        if !file.file_name().to_string_lossy().ends_with(".wasm.br") {
            continue;
        }
        let path = file.path();
        let size = file
            .metadata()
            .with_context(|| format!("reading {}", path.display()))?
            .len();
        let kib = |bytes: u64| bytes as f64 / 1024.0;
        if size > MODULE_LIMIT {
            return Err(anyhow!(
                "{}: expected at most {:.0} KiB, found {:.1} KiB: every visitor waits for it",
                path.display(),
                kib(MODULE_LIMIT),
                kib(size)
            ));
        }
        println!(
            "web: the module is {:.1} of {:.0} KiB (brotli)",
            kib(size),
            kib(MODULE_LIMIT)
        );
        return Ok(());
    }
    Err(anyhow!(
        "{}: expected a module (*.wasm.br), found none",
        dist.display()
    ))
}

/// The crate compiled for the browser; answers the path of the raw module.
fn compile(repo: &Repo) -> Result<std::path::PathBuf> {
    process::run(repo.cargo().args([
        "build",
        "--package",
        "fleethold-frontend",
        "--target",
        "wasm32-unknown-unknown",
        "--profile",
        "web",
    ]))?;
    Ok(repo
        .target()
        .join("wasm32-unknown-unknown/web/fleethold-frontend.wasm"))
}

/// JavaScript glue and the module it belongs to. The library is the one `wasm-bindgen` would be, at the
/// version that Cargo.lock pins, so no tool has to be installed.
fn bind(module: &Path) -> Result<(String, Vec<u8>)> {
    let mut output = Bindgen::new()
        .input_path(module)
        .out_name(OUT_NAME)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()
        .with_context(|| format!("wasm-bindgen on {}", module.display()))?;
    let inline = output
        .snippets()
        .iter()
        .filter(|(_, scripts)| !scripts.is_empty())
        .map(|(name, _)| name);
    let strangers: Vec<_> = inline
        .chain(output.local_modules().keys())
        .map(String::as_str)
        .collect();
    if !strangers.is_empty() {
        return Err(anyhow!(
            "dependencies bring JavaScript of their own, which is not served: {}",
            strangers.join(", ")
        ));
    }
    Ok((output.js().to_owned(), output.wasm_mut().emit_wasm()))
}

fn optimise(repo: &Repo, wasm: &[u8]) -> Result<Vec<u8>> {
    let scratch = repo.scratch("web");
    std::fs::create_dir_all(&scratch).with_context(|| format!("creating {}", scratch.display()))?;
    let (before, after) = (scratch.join("bound.wasm"), scratch.join("optimised.wasm"));
    std::fs::write(&before, wasm).with_context(|| format!("writing {}", before.display()))?;
    process::run(
        node::command(repo, "node")
            .arg(repo.path("e2e/node_modules/binaryen/bin/wasm-opt"))
            .arg("-Oz")
            .args(WASM_FEATURES)
            .arg(&before)
            .arg("-o")
            .arg(&after),
    )
    .context("wasm-opt comes with `cargo xtask setup`")?;
    std::fs::read(&after).with_context(|| format!("reading {}", after.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_has_grown_too_large_is_refused() {
        let dist = tempfile::tempdir().unwrap();
        let said = check_size(dist.path()).unwrap_err().to_string();
        assert!(said.contains("found none"), "{said}");
        let module = dist.path().join("fleethold-0.wasm.br");
        std::fs::write(&module, vec![0; MODULE_LIMIT as usize]).unwrap();
        check_size(dist.path()).unwrap();
        std::fs::write(&module, vec![0; MODULE_LIMIT as usize + 1]).unwrap();
        let said = check_size(dist.path()).unwrap_err().to_string();
        assert!(
            said.contains("expected at most") && said.contains("KiB"),
            "{said}"
        );
    }
}
