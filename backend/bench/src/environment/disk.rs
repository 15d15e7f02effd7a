//! The disk below a directory, as the kernel names it: through partitions, device mapper, RAID and loop devices.

use std::path::{Path, PathBuf};

/// Devices on top of each other at most.
const MAX_DEPTH: usize = 8;
/// What the kernel counts sizes in, whatever the disk's own sectors are.
const SECTOR_BYTES: u64 = 512;

/// Model, whether it rotates, and size of the disk or disks below `dir`, or `unknown: ` and why. Where `dir` is not made
/// yet, of the directory that it will lie in.
pub(super) fn disk(dir: &Path) -> String {
    let kernel = Kernel {
        devices: "/sys/dev/block".into(),
        mounts: std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default(),
    };
    kernel
        .below(dir, MAX_DEPTH)
        .unwrap_or_else(|why| format!("unknown: {why}"))
}

/// The nearest directory above `dir`, or itself, that is there, as the kernel calls it.
pub(super) fn nearest(dir: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(dir).ok()?;
    absolute.ancestors().find_map(|above| above.canonicalize().ok())
}

/// What the kernel tells; elsewhere in tests.
struct Kernel {
    /// Links `MAJOR:MINOR` to block devices.
    devices: PathBuf,
    /// `/proc/self/mountinfo`.
    mounts: String,
}

impl Kernel {
    fn below(&self, path: &Path, depth: usize) -> Result<String, String> {
        let path = nearest(path).ok_or("no directory above the data is there")?;
        let found = rustix::fs::stat(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        match rustix::fs::major(found.st_dev) {
            // File systems without a device of their own, or with several.
            0 => self.of_mount(&path, depth),
            _ => self.of_number(found.st_dev, depth),
        }
    }

    fn of_number(&self, device: u64, depth: usize) -> Result<String, String> {
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        self.of_device(&self.devices.join(format!("{major}:{minor}")), depth)
    }

    /// Of the innermost mount above `path`, by the device that was mounted.
    fn of_mount(&self, path: &Path, depth: usize) -> Result<String, String> {
        let mounts = self.mounts.lines().filter_map(Mount::parse);
        let mount = mounts
            .filter(|mount| path.starts_with(&mount.point))
            // Of two on one point the later hides the other.
            .max_by_key(|mount| mount.point.len())
            .ok_or("the kernel lists no mount above the data")?;
        if matches!(mount.kind, "tmpfs" | "ramfs") {
            return Ok(format!("none: {} is memory", mount.kind));
        }
        let device = mount
            .source
            .starts_with("/dev/")
            .then(|| rustix::fs::stat(mount.source).ok())
            .flatten()
            .filter(|found| rustix::fs::major(found.st_rdev) != 0);
        match device {
            Some(found) => self.of_number(found.st_rdev, depth),
            None => Err(format!("{} lies on no block device of its own", mount.kind)),
        }
    }

    fn of_device(&self, node: &Path, depth: usize) -> Result<String, String> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| format!("more than {MAX_DEPTH} devices on top of each other"))?;
        let place = node
            .canonicalize()
            .map_err(|error| format!("{}: {error}", node.display()))?;
        let place = match place.parent() {
            Some(whole) if place.join("partition").exists() => whole,
            _ => &place,
        };
        if let Some(file) = text(&place.join("loop/backing_file")) {
            return Ok(format!("loop on {}", self.below(Path::new(&file), depth)?));
        }
        let mut parts: Vec<PathBuf> = std::fs::read_dir(place.join("slaves"))
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        if parts.is_empty() {
            return Ok(describe(place));
        }
        parts.sort_unstable();
        let parts: Result<Vec<String>, String> =
            parts.iter().map(|part| self.of_device(part, depth)).collect();
        let kind = if place.join("md").exists() {
            "RAID"
        } else {
            "device mapper"
        };
        Ok(format!("{kind} on {}", parts?.join(" + ")))
    }
}

/// A line of `mountinfo`.
struct Mount<'a> {
    point: String,
    kind: &'a str,
    source: &'a str,
}

impl<'a> Mount<'a> {
    /// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
    fn parse(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        Some(Self {
            point: left.split(' ').nth(4)?.replace("\\040", " "),
            kind: right.next()?,
            source: right.next()?,
        })
    }
}

/// `Samsung SSD 970 EVO 500GB, solid state, 465.8 GiB`
fn describe(place: &Path) -> String {
    let model = ["device/model", "device/name"]
        .into_iter()
        .find_map(|name| text(&place.join(name)));
    let model = model.unwrap_or_else(|| {
        let driver = std::fs::read_link(place.join("device/driver")).ok();
        let driver = driver.and_then(|driver| Some(driver.file_name()?.to_string_lossy().into_owned()));
        let who = driver.as_deref().unwrap_or("the driver");
        format!("model unknown ({who} names none)")
    });
    let rotates = match text(&place.join("queue/rotational")).as_deref() {
        Some("0") => "solid state",
        Some("1") => "rotational",
        _ => "rotational or not unknown (the kernel does not say)",
    };
    let sectors: Option<u64> = text(&place.join("size")).and_then(|size| size.parse().ok());
    let size = sectors.map_or("size unknown (the kernel does not say)".to_owned(), |sectors| {
        let bytes = sectors.saturating_mul(SECTOR_BYTES);
        format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
    });
    format!("{model}, {rotates}, {size}")
}

fn text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A `/sys` with a disk of two partitions, a device mapper on one of them, and a RAID on two disks.
    fn kernel(sys: &Path) -> Kernel {
        let write = |path: &str, text: &str| {
            let path = sys.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("block/nvme0n1/device/model", "Fast One 500GB   \n");
        write("block/nvme0n1/queue/rotational", "0\n");
        write("block/nvme0n1/size", "976773168\n");
        write("block/nvme0n1/nvme0n1p2/partition", "2\n");
        write("block/vda/queue/rotational", "1\n");
        write("block/vda/size", "2097152\n");
        for (from, to) in [
            ("dm-0/slaves/nvme0n1p2", "nvme0n1/nvme0n1p2"),
            ("md0/slaves/vda", "vda"),
            ("md0/slaves/nvme0n1", "nvme0n1"),
            ("ring/slaves/ring", "ring"),
        ] {
            let from = sys.join("block").join(from);
            std::fs::create_dir_all(from.parent().unwrap()).unwrap();
            symlink(sys.join("block").join(to), from).unwrap();
        }
        std::fs::create_dir(sys.join("block/md0/md")).unwrap();
        std::fs::create_dir(sys.join("dev")).unwrap();
        for (number, name) in [
            ("259:2", "nvme0n1/nvme0n1p2"),
            ("254:0", "dm-0"),
            ("9:0", "md0"),
            ("7:0", "ring"),
        ] {
            symlink(sys.join("block").join(name), sys.join("dev").join(number)).unwrap();
        }
        Kernel {
            devices: sys.join("dev"),
            mounts: "30 1 0:30 / / rw - overlay overlay rw\n\
                     31 30 0:31 / /dev/shm\\040x rw shared:1 - tmpfs tmpfs rw\n"
                .to_owned(),
        }
    }

    #[test]
    fn a_disk_is_found_through_what_lies_on_it() {
        let sys = tempfile::tempdir().unwrap();
        let kernel = kernel(sys.path());
        let of = |number: &str| kernel.of_device(&sys.path().join("dev").join(number), MAX_DEPTH);
        let fast = "Fast One 500GB, solid state, 465.8 GiB";
        assert_eq!(of("259:2").unwrap(), fast);
        assert_eq!(of("254:0").unwrap(), format!("device mapper on {fast}"));
        assert_eq!(
            of("9:0").unwrap(),
            format!("RAID on {fast} + model unknown (the driver names none), rotational, 1.0 GiB")
        );
        assert!(of("8:1").unwrap_err().contains("8:1: No such file"));
        assert!(of("7:0").unwrap_err().contains("more than 8 devices"));
    }

    #[test]
    fn what_lies_on_no_disk_says_why() {
        let sys = tempfile::tempdir().unwrap();
        let kernel = kernel(sys.path());
        let of = |path: &str| kernel.of_mount(Path::new(path), MAX_DEPTH);
        assert_eq!(of("/dev/shm x/data").unwrap(), "none: tmpfs is memory");
        assert_eq!(
            of("/data").unwrap_err(),
            "overlay lies on no block device of its own"
        );
    }

    #[test]
    fn a_directory_that_is_not_made_yet_lies_where_it_will_be() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().canonicalize().unwrap();
        assert_eq!(nearest(&dir.path().join("a/b")), Some(inside));
        assert_eq!(disk(&dir.path().join("a/b")), disk(dir.path()));
    }
}
