//! What a process used: times, faults, switches, memory, bytes and calls. What the kernel does not tell is absent, never
//! guessed.

use std::time::{Duration, Instant};

use fleethold_bench_model::unit::Unit;
use nix::sys::resource::{UsageWho, getrusage};

use crate::clock;
use crate::counters::{self, Counts};
use crate::measured::Measured;

/// Counters at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    at: Instant,
    cpu: Duration,
    minor_faults: u64,
    major_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    io: Option<IoCounts>,
    counts: Option<Counts>,
}

/// `/proc/self/io`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IoCounts {
    /// Bytes that `read` and its kin returned.
    pub(crate) read_bytes: u64,
    /// Calls of `read` and its kin.
    pub(crate) read_calls: u64,
}

impl Usage {
    /// The counters of this process now.
    pub(crate) fn now() -> Self {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        let count = |field: fn(&nix::sys::resource::Usage) -> i64| {
            usage
                .as_ref()
                .map_or(0, |usage| u64::try_from(field(usage)).unwrap_or(0))
        };
        Self {
            minor_faults: count(|usage| usage.minor_page_faults()),
            major_faults: count(|usage| usage.major_page_faults()),
            voluntary_switches: count(|usage| usage.voluntary_context_switches()),
            involuntary_switches: count(|usage| usage.involuntary_context_switches()),
            counts: counters::now().ok(),
            io: io_counts(),
            // The clocks last: reading the counters is no part of what is measured after them.
            cpu: clock::process_cpu(),
            at: clock::now(),
        }
    }

    /// What was used since `self`, as metrics: `time`, `cpu`, `faults`, `major_faults`, `switches`, `rss_peak`,
    /// and `cycles` and `instructions` or a note why they are not there.
    pub(crate) fn since(&self) -> (Measured, Duration) {
        let time = clock::since(self.at);
        let cpu = clock::process_cpu().saturating_sub(self.cpu);
        let counted = counters::now();
        let now = Self::now();
        let mut measured = Measured::default();
        measured.add("time", Unit::Seconds, time.as_secs_f64());
        measured.add("cpu", Unit::CpuSeconds, cpu.as_secs_f64());
        let faults = now.minor_faults.saturating_sub(self.minor_faults);
        measured.add("faults", Unit::Count, faults as f64);
        let major = now.major_faults.saturating_sub(self.major_faults);
        measured.add("major_faults", Unit::Count, major as f64);
        let switches = |usage: &Self| usage.voluntary_switches + usage.involuntary_switches;
        measured.add(
            "switches",
            Unit::Count,
            switches(&now).saturating_sub(switches(self)) as f64,
        );
        if let Some(bytes) = peak_rss_bytes("self") {
            measured.add("rss_peak", Unit::Mebibytes, bytes as f64 / f64::from(1 << 20));
        }
        match (self.counts, counted) {
            (Some(before), Ok(now)) => {
                let cycles = now.cycles.saturating_sub(before.cycles);
                measured.add("cycles", Unit::Cycles, cycles as f64);
                let instructions = now.instructions.saturating_sub(before.instructions);
                measured.add("instructions", Unit::Instructions, instructions as f64);
                measured.note(
                    "counters",
                    "cycles and instructions of the program, not of the kernel",
                );
            }
            (_, Err(reason)) => measured.note("counters", format!("not available: {reason}")),
            (None, Ok(_)) => measured.note("counters", "not available: not at the sample's start"),
        }
        (measured, time)
    }

    /// Reads since `self`, when the kernel counts them; without those of looking.
    pub(crate) fn io_since(&self) -> Option<IoCounts> {
        let (before, now, again) = (self.io?, io_counts()?, io_counts()?);
        let between = |before: u64, now: u64, again: u64| {
            now.saturating_sub(before)
                .saturating_sub(again.saturating_sub(now))
        };
        Some(IoCounts {
            read_bytes: between(before.read_bytes, now.read_bytes, again.read_bytes),
            read_calls: between(before.read_calls, now.read_calls, again.read_calls),
        })
    }
}

fn io_counts() -> Option<IoCounts> {
    parse_io(&std::fs::read_to_string("/proc/self/io").ok()?)
}

fn parse_io(text: &str) -> Option<IoCounts> {
    let field = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line?.trim().parse().ok()
    };
    Some(IoCounts {
        read_bytes: field("rchar")?,
        read_calls: field("syscr")?,
    })
}

/// The most memory that a process, by its number or `self`, ever had resident.
pub(crate) fn peak_rss_bytes(process: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_io_counters_are_read() {
        let text = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 0\n";
        let counts = IoCounts {
            read_bytes: 323_934_931,
            read_calls: 632_687,
        };
        assert_eq!(parse_io(text), Some(counts));
        assert_eq!(parse_io("rchar: 12\n"), None);
    }

    #[test]
    fn looking_at_the_io_counters_is_not_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0; 100]).unwrap();
        let mut bytes = [0; 100];
        // Other tests of this process read, too: one of many tries is alone.
        let tries = 1_000;
        let quiet = (0..tries).any(|_| {
            let idle = Usage::now().io_since().unwrap();
            (idle.read_bytes, idle.read_calls) == (0, 0)
        });
        assert!(quiet, "no read is counted when nothing is read");
        let counted = (0..tries).any(|_| {
            let before = Usage::now();
            let mut file = std::fs::File::open(file.path()).unwrap();
            std::io::Read::read_exact(&mut file, &mut bytes).unwrap();
            let one = before.io_since().unwrap();
            (one.read_bytes, one.read_calls) == (100, 1)
        });
        assert!(counted, "one read of 100 bytes is counted as that");
    }

    #[test]
    fn work_shows() {
        let before = Usage::now();
        let mut bytes = vec![1_u8; 32 << 20];
        for _ in 0..20 {
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3));
        }
        let (measured, time) = before.since();
        assert!(bytes.len() > 1 && !time.is_zero());
        for metric in ["time", "cpu", "faults", "rss_peak"] {
            let value = measured.value(metric).unwrap();
            assert!(value > 0.0, "{metric} {value}");
        }
    }
}
