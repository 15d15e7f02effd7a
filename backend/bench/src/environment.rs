//! What a run was measured on. What cannot be found out is absent; of the disk and the governor it is said why.

mod disk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What was built: goes with every run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// Version of the package.
    pub version: String,
    /// Commit, as 40 hex digits; `None` when the build did not know it.
    pub revision: Option<String>,
    /// Whether the tree had changes that are in no commit.
    pub dirty: bool,
    /// The commit before it; `None` when the build did not know one.
    pub parent: Option<String>,
    /// The tag of that very commit; `None` when there is none or the tree had changes.
    pub tag: Option<String>,
}

impl Build {
    /// From the version and what the build script found: a commit, with `-dirty` behind it when the tree had changes,
    /// or nothing.
    pub fn new(version: &str, commit: &str) -> Self {
        let clean = commit.strip_suffix("-dirty");
        let revision = clean.unwrap_or(commit);
        Self {
            version: version.to_owned(),
            revision: (!revision.is_empty()).then(|| revision.to_owned()),
            dirty: clean.is_some(),
            parent: None,
            tag: None,
        }
    }

    /// The same with what git says about the commit; empty where it says nothing.
    #[must_use]
    pub fn with_git(mut self, parent: &str, tag: &str) -> Self {
        let known = self.revision.is_some();
        let said = |text: &str, counts: bool| (counts && !text.is_empty()).then(|| text.to_owned());
        self.parent = said(parent, known);
        // What was changed since is not what was tagged.
        self.tag = said(tag, known && !self.dirty);
        self
    }
}

/// Facts about the machine, and the class that makes machines comparable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Processor and number of cores: machines of one class are expected to measure the same.
    pub machine_class: String,
    /// All facts by name, for the difference of two environments.
    pub facts: BTreeMap<String, String>,
}

impl Environment {
    /// With the fact `noise`, which takes some 0.2 s of work. Blocking.
    #[must_use]
    pub fn probed(mut self) -> Self {
        self.facts
            .insert("noise".to_owned(), crate::noise_probe().to_string());
        self
    }

    /// Of this machine, with the file system below `data_dir`. Reads `/proc` and `/sys`: blocking.
    pub fn detect(data_dir: &Path, build: &Build) -> Self {
        let mut facts = BTreeMap::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                facts.insert(name.to_owned(), value);
            }
        };
        let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
        let cpu = field(&cpuinfo, "model name");
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        add("cpu", cpu.clone());
        add("cores", Some(cores.to_string()));
        add(
            "hash_instructions",
            field(&cpuinfo, "flags").map(|flags| hash_instructions(&flags)),
        );
        add(
            "virtual",
            cpuinfo.contains(" hypervisor").then(|| "yes".to_owned()),
        );
        add(
            "memory",
            read("/proc/meminfo").and_then(|text| field(&text, "MemTotal")),
        );
        let uname = rustix::system::uname();
        let kernel = format!(
            "{} {}",
            uname.sysname().to_string_lossy(),
            uname.release().to_string_lossy()
        );
        add("kernel", Some(kernel));
        add("governor", Some(governor(Path::new("/sys/devices/system/cpu"))));
        add("disk", Some(disk::disk(data_dir)));
        let mounts = read("/proc/self/mounts").unwrap_or_default();
        add(
            "file_system",
            disk::nearest(data_dir).and_then(|dir| file_system(&mounts, &dir)),
        );
        add("fleethold", Some(build.version.clone()));
        add("revision", build.revision.clone());
        let dirty = if build.dirty { "yes" } else { "no" };
        add("dirty", build.revision.is_some().then(|| dirty.to_owned()));
        add("parent", build.parent.clone());
        add("tag", build.tag.clone());
        Self {
            machine_class: format!("{}, {cores} cores", cpu.as_deref().unwrap_or("unknown processor")),
            facts,
        }
    }
}

fn read(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim_end().to_owned())
}

/// What decides how fast the processors run: the governors of all of them.
fn governor(processors: &Path) -> String {
    let found: BTreeSet<String> = std::fs::read_dir(processors)
        .into_iter()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("cpufreq/scaling_governor")).ok())
        .map(|governor| governor.trim().to_owned())
        .collect();
    if found.is_empty() {
        return "unknown: the kernel offers no cpufreq, as in most virtual machines".to_owned();
    }
    found.into_iter().collect::<Vec<_>>().join(", ")
}

/// The value of the first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
    line.map(|value| value.trim().to_owned())
}

/// What decides how fast the machine hashes.
fn hash_instructions(flags: &str) -> String {
    let has = |name: &str| flags.split_whitespace().any(|flag| flag == name);
    let all = ["sha_ni", "sha2", "avx512bw", "avx2"]
        .into_iter()
        .filter(|name| has(name));
    all.collect::<Vec<_>>().join(" ")
}

/// Type of the file system that `dir` lies on, by the longest mount point above it.
fn file_system(mounts: &str, dir: &Path) -> Option<String> {
    let mount = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        dir.starts_with(&point).then_some((point.len(), kind))
    };
    mounts.lines().filter_map(mount).max().map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\nproc /proc proc rw 0 0";
        assert_eq!(
            file_system(mounts, Path::new("/tmp/bench")).as_deref(),
            Some("tmpfs")
        );
        assert_eq!(
            file_system(mounts, Path::new("/var/lib")).as_deref(),
            Some("ext4")
        );
    }

    #[test]
    fn this_machine_has_facts() {
        let environment = Environment::detect(
            Path::new("/tmp"),
            &Build::new("0.1.0", &format!("{}-dirty", "ab".repeat(20))).with_git(&"cd".repeat(20), "v1"),
        );
        assert_eq!(environment.facts["dirty"], "yes");
        assert_eq!(environment.facts["parent"], "cd".repeat(20));
        assert!(
            !environment.facts.contains_key("tag"),
            "a changed tree is not the tagged one"
        );
        for fact in [
            "cores",
            "kernel",
            "memory",
            "file_system",
            "disk",
            "governor",
            "fleethold",
            "revision",
        ] {
            assert!(environment.facts.contains_key(fact), "{fact} in {environment:?}");
        }
    }

    #[test]
    fn a_place_that_is_not_there_yet_is_the_same_machine() {
        let dir = tempfile::tempdir().unwrap();
        let of = |dir: &Path| Environment::detect(dir, &Build::new("0.1.0", "")).facts;
        assert_eq!(of(&dir.path().join("state/bench")), of(dir.path()));
    }

    #[test]
    fn builds_know_their_parent_and_tag() {
        let commit = "ab".repeat(20);
        let build = Build::new("0.1.0", &commit).with_git("cd", "v1");
        assert_eq!(
            (build.parent.as_deref(), build.tag.as_deref()),
            (Some("cd"), Some("v1"))
        );
        let unknown = Build::new("0.1.0", &commit).with_git("", "");
        assert_eq!((unknown.parent, unknown.tag), (None, None));
        let none = Build::new("0.1.0", "").with_git("cd", "v1");
        assert_eq!((none.parent, none.tag), (None, None));
    }

    #[test]
    fn governors_are_those_of_all_processors() {
        let sys = tempfile::tempdir().unwrap();
        assert!(governor(sys.path()).starts_with("unknown: the kernel offers no cpufreq"));
        for (cpu, name) in [
            ("cpu0", "powersave"),
            ("cpu1", "performance"),
            ("cpu2", "powersave"),
        ] {
            let dir = sys.path().join(cpu).join("cpufreq");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("scaling_governor"), format!("{name}\n")).unwrap();
        }
        assert_eq!(governor(sys.path()), "performance, powersave");
    }

    #[test]
    fn fields_of_proc() {
        assert_eq!(
            field("model name\t: A 9000\n", "model name").as_deref(),
            Some("A 9000")
        );
        assert_eq!(hash_instructions("fpu sha_ni avx2 x"), "sha_ni avx2");
    }
}
