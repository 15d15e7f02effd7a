//! Embeds the page (`frontend/dist`, made by `cargo xtask web`) and notes the commit. Without a built page a plain one
//! is embedded that says how to build it, so that the server compiles on a fresh checkout.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const PLACEHOLDER: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Fleethold</title>\
    <h1>Fleethold</h1><p>This binary was built without its page. Build it with <code>cargo xtask web</code>, then \
    build the server again. The REST interface is there: <a href=\"/api/docs/\">/api/docs/</a>.</p></html>\n";

/// What goes into the binary, from the repository's root. Changes elsewhere neither make it dirty nor build it again.
const PARTS: [&str; 12] = [
    "Cargo.lock",
    "Cargo.toml",
    "backend/api-types/src",
    "backend/bench/src",
    "backend/bench-model/src",
    "backend/datastore/src",
    "backend/fleet/src",
    "backend/format/src",
    "backend/history/src",
    "backend/restore/src",
    "backend/server/src",
    "fixtures/workloads",
];

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?);
    let root =
        env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("CARGO_MANIFEST_DIR is not set"))?;
    let dist = Path::new(&root).join("../../frontend/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");

    let mut files = BTreeSet::new();
    if dist.join("index.html").is_file() {
        collect(&dist, &dist, &mut files)?;
    }
    let dist = if files.is_empty() {
        let folder = out.join("no-page");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("index.html"), PLACEHOLDER)?;
        files.insert("index.html".to_owned());
        folder
    } else {
        dist.canonicalize()?
    };
    fs::write(out.join("assets.rs"), table(&dist, &files)?)?;
    let root = Path::new(&root).join("../..");
    let commit = commit(&root);
    println!("cargo::rustc-env=FLEETHOLD_COMMIT={commit}");
    let clean = commit.strip_suffix("-dirty").unwrap_or(&commit);
    let parent = about(&root, "FLEETHOLD_PARENT", clean, |commit| {
        git(
            &root,
            &["rev-parse", "--verify", "--quiet", &format!("{commit}^")],
        )
    });
    println!("cargo::rustc-env=FLEETHOLD_PARENT={parent}");
    let tag = about(&root, "FLEETHOLD_TAG", clean, |commit| {
        let tags = git(&root, &["tag", "--points-at", commit])?;
        tags.lines().next().map(str::to_owned)
    });
    println!("cargo::rustc-env=FLEETHOLD_TAG={tag}");
    Ok(())
}

/// Paths below `folder`, relative, without the compressed forms and without hidden files.
fn collect(base: &Path, folder: &Path, files: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let compressed = path
            .extension()
            .is_some_and(|extension| extension == "br" || extension == "gz");
        if path.is_dir() {
            collect(base, &path, files)?;
        } else if !hidden && !compressed {
            let relative = path.strip_prefix(base).map_err(io::Error::other)?;
            files.insert(relative.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// The Rust source of the table, in order of path.
fn table(dist: &Path, files: &BTreeSet<String>) -> io::Result<String> {
    let mut source = String::from("static ASSETS: &[Asset] = &[\n");
    for file in files {
        let path = dist.join(file);
        let compressed = |extension: &str| {
            let path = dist.join(format!("{file}.{extension}"));
            if path.is_file() {
                format!("Some(include_bytes!({path:?}))")
            } else {
                "None".to_owned()
            }
        };
        let mut hasher = DefaultHasher::new();
        fs::read(&path)?.hash(&mut hasher);
        writeln!(
            source,
            "    Asset {{ path: {file:?}, plain: include_bytes!({path:?}), brotli: {}, gzip: {}, etag: {:?} }},",
            compressed("br"),
            compressed("gz"),
            format!("\"{:016x}\"", hasher.finish()),
        )
        .map_err(io::Error::other)?;
    }
    source.push_str("];\n");
    Ok(source)
}

/// The commit this is built from: `FLEETHOLD_COMMIT` (for builds without a repository, such as packages), else git's answer,
/// with `-dirty` when files of the build differ from it. Empty where nothing is known.
fn commit(root: &Path) -> String {
    println!("cargo::rerun-if-env-changed=FLEETHOLD_COMMIT");
    match env::var("FLEETHOLD_COMMIT") {
        Ok(commit) if !commit.is_empty() => commit,
        _ => from_git(root).unwrap_or_default(),
    }
}

/// What the variable says about the commit (for builds without a repository), else what git answers. Empty where nothing is
/// known.
fn about(root: &Path, variable: &str, commit: &str, ask: impl Fn(&str) -> Option<String>) -> String {
    println!("cargo::rerun-if-env-changed={variable}");
    for refs in ["refs/tags", "packed-refs"] {
        rerun_if_changed(root, refs);
    }
    match env::var(variable) {
        Ok(said) if !said.is_empty() => said,
        _ if commit.is_empty() => String::new(),
        _ => ask(commit).unwrap_or_default(),
    }
}

/// Builds again when a file or folder of the repository itself changes; one that is not there would always be new.
fn rerun_if_changed(root: &Path, file: &str) {
    if let Some(path) = git(root, &["rev-parse", "--git-path", file]) {
        let path = root.join(path);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

fn from_git(root: &Path) -> Option<String> {
    let commit = git(root, &["rev-parse", "HEAD"])?;
    // A commit writes here, and so does a checkout; the index would change with every look at it.
    for file in ["HEAD", "logs/HEAD"] {
        rerun_if_changed(root, file);
    }
    let mut status = vec!["status", "--porcelain", "--untracked-files=no", "--"];
    for part in PARTS {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
        status.push(part);
    }
    let changed = git(root, &status)?;
    let dirty = if changed.is_empty() { "" } else { "-dirty" };
    Some(format!("{commit}{dirty}"))
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    // Looking must not write: others may hold the index's lock.
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .current_dir(root)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
