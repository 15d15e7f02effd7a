//! Finding out what machine this is.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::rows::Machine;

impl Machine {
    /// Describes this machine, with the file system `state_dir` lies on. What cannot be found out stays `None`.
    ///
    /// Reads `/proc`: call it off the async threads.
    pub fn detect(state_dir: &Path) -> Self {
        let cpu_model = std::fs::read_to_string("/proc/cpuinfo")
            .ok()
            .and_then(|text| cpu_model(&text));
        let ram_bytes = std::fs::read_to_string("/proc/meminfo")
            .ok()
            .and_then(|text| ram_bytes(&text));
        let uname = rustix::system::uname();
        let kernel = format!(
            "{} {}",
            uname.sysname().to_string_lossy(),
            uname.release().to_string_lossy()
        );
        let file_system = state_dir.canonicalize().ok().and_then(|dir| {
            let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
            file_system(&mounts, &dir)
        });
        let cores = std::thread::available_parallelism()
            .ok()
            .and_then(|n| u32::try_from(n.get()).ok());
        Self::new(cpu_model, cores, ram_bytes, Some(kernel), file_system)
    }

    /// Puts a machine together; the fingerprint follows from the fields.
    pub fn new(
        cpu_model: Option<String>,
        cores: Option<u32>,
        ram_bytes: Option<u64>,
        kernel: Option<String>,
        file_system: Option<String>,
    ) -> Self {
        // Field by field with a separator that no field holds, so that two different machines never spell the same.
        let mut hash = Sha256::new();
        for field in [
            cpu_model.clone(),
            cores.map(|n| n.to_string()),
            ram_bytes.map(|n| n.to_string()),
            kernel.clone(),
            file_system.clone(),
        ] {
            hash.update(field.unwrap_or_default());
            hash.update([0]);
        }
        let fingerprint = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            fingerprint,
            cpu_model,
            cores,
            ram_bytes,
            kernel,
            file_system,
        }
    }
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let model = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?
        .split_once(':')?
        .1
        .trim();
    (!model.is_empty()).then(|| model.to_owned())
}

fn ram_bytes(meminfo: &str) -> Option<u64> {
    let kib = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?
        .trim()
        .strip_suffix(" kB")?;
    Some(kib.trim().parse::<u64>().ok()? / 1024 * 1024 * 1024)
}

/// The type of the mount with the longest path above `dir`; of equal ones the last, which lies on top.
fn file_system(mounts: &str, dir: &Path) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let at = words.nth(1)?.replace("\\040", " ");
            let kind = words.next()?;
            dir.starts_with(&at)
                .then_some((Path::new(&at).components().count(), kind.to_owned()))
        })
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_proc() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: Fast 9000 @ 3 GHz\n").unwrap(),
            "Fast 9000 @ 3 GHz"
        );
        assert_eq!(
            ram_bytes("MemTotal:       24689104 kB\nMemFree: 1 kB\n"),
            Some(24110 << 20)
        );
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /srv tmpfs rw 0 0\npool /srv/my\\040pool zfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/srv/my pool/x")).unwrap(), "zfs");
        assert_eq!(file_system(mounts, Path::new("/srvx")).unwrap(), "ext4");
    }

    #[test]
    fn fingerprint_follows_the_fields() {
        let here = Machine::detect(Path::new("/"));
        assert_eq!(here, Machine::detect(Path::new("/")));
        assert_eq!(here.fingerprint.len(), 64);
        let a = Machine::new(Some("a".into()), None, None, Some("b".into()), None);
        let b = Machine::new(Some("ab".into()), None, None, None, None);
        assert_ne!(a.fingerprint, b.fingerprint);
    }
}
