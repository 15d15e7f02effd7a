//! Whether the machine was quiet enough for times on the wall: what others used of it while something was measured.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

/// Share of the processors that others may use before wall times are refused.
const MAX_OTHERS: f64 = 0.10;
/// Share of the time that the host may take away.
const MAX_STEAL: f64 = 0.02;
/// Ticks a second of `/proc/stat`: fixed at 100 in the interface, whatever the kernel uses inside.
const TICKS_PER_SECOND: f64 = 100.0;

/// Ticks of all processors since the start of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    idle: u64,
    steal: u64,
}

/// Watches the machine from its making on.
#[derive(Debug)]
pub struct LoadGuard {
    ticks: Option<Ticks>,
    own: Duration,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Share of the processors' time that other processes used, 0 to 1; absent where the kernel does not tell.
    pub others: Option<f64>,
    /// Share that the host took away, 0 to 1.
    pub steal: Option<f64>,
    /// Whether times on the wall mean something.
    pub quiet: bool,
}

impl LoadGuard {
    /// Starts watching.
    pub fn start() -> Self {
        Self {
            ticks: read_ticks(),
            own: own_cpu(),
        }
    }

    /// What happened since.
    pub fn report(&self) -> LoadReport {
        let Some((before, now)) = self.ticks.zip(read_ticks()) else {
            return LoadReport {
                others: None,
                steal: None,
                quiet: false,
            };
        };
        judge(before, now, own_cpu().saturating_sub(self.own))
    }
}

impl LoadReport {
    /// Why times on the wall are refused; `None` when they are not.
    pub fn objection(&self) -> Option<String> {
        if self.quiet {
            return None;
        }
        let percent = |share: Option<f64>| {
            share.map_or("unknown".to_owned(), |share| format!("{:.0} %", share * 100.0))
        };
        Some(format!(
            "busy machine: others used {} of the processors (at most {:.0} %), the host took {} (at most {:.0} %); CPU time only",
            percent(self.others),
            MAX_OTHERS * 100.0,
            percent(self.steal),
            MAX_STEAL * 100.0
        ))
    }
}

fn judge(before: Ticks, now: Ticks, own: Duration) -> LoadReport {
    let busy = now.busy.saturating_sub(before.busy) as f64;
    let steal = now.steal.saturating_sub(before.steal) as f64;
    let idle = now.idle.saturating_sub(before.idle) as f64;
    let all = busy + steal + idle;
    if all == 0.0 {
        return LoadReport {
            others: Some(0.0),
            steal: Some(0.0),
            quiet: true,
        };
    }
    let others = ((busy - own.as_secs_f64() * TICKS_PER_SECOND) / all).max(0.0);
    let steal = steal / all;
    LoadReport {
        others: Some(others),
        steal: Some(steal),
        quiet: others <= MAX_OTHERS && steal <= MAX_STEAL,
    }
}

fn read_ticks() -> Option<Ticks> {
    parse_ticks(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// First line of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal guest guest_nice`.
fn parse_ticks(text: &str) -> Option<Ticks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = *fields else {
        return None;
    };
    // Guest time is part of user time already.
    Some(Ticks {
        busy: user + nice + system + irq + softirq,
        idle: idle + iowait,
        steal,
    })
}

/// CPU time of the children that have ended: the samples. This process is none of the benchmark's: a server's restores
/// are load like everybody's, and the command line only waits.
fn own_cpu() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Duration::ZERO;
    };
    let time = |time: nix::sys::time::TimeVal| {
        let (seconds, micros) = (time.tv_sec(), time.tv_usec());
        Duration::new(u64::try_from(seconds).unwrap_or(0), 0)
            + Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    time(usage.user_time()) + time(usage.system_time())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  1000 0 500 8000 100 0 0 10 0 0\ncpu0 500 0 250 4000 50 0 0 5 0 0\n";

    fn report(after: &str, own_seconds: u64) -> LoadReport {
        let (before, after) = (parse_ticks(BEFORE).unwrap(), parse_ticks(after).unwrap());
        judge(before, after, Duration::from_secs(own_seconds))
    }

    #[test]
    fn own_work_is_no_load() {
        // 10 s of two processors, half of it ours.
        let quiet = report("cpu  1900 0 600 9000 100 0 0 10 0 0\n", 10);
        assert_eq!(
            (quiet.quiet, quiet.others, quiet.objection()),
            (true, Some(0.0), None)
        );
    }

    /// What a server does beside the benchmark is load.
    #[test]
    fn work_of_this_process_is_not_the_benchmarks() {
        let (own, all) = (own_cpu(), crate::clock::process_cpu());
        let spun = Duration::from_millis(600);
        let mut number = 1_u64;
        while crate::clock::process_cpu().saturating_sub(all) < spun {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
        // Scripts of other tests may have ended meanwhile.
        assert!(own_cpu().saturating_sub(own) < spun / 2);
    }

    #[test]
    fn others_and_the_host_are() {
        let others = report("cpu  1900 0 600 9000 100 0 0 10 0 0\n", 5);
        assert!(
            !others.quiet && others.objection().unwrap().contains("others used 25 %"),
            "{others:?}"
        );
        let steal = report("cpu  1000 0 500 9900 100 0 0 110 0 0\n", 0);
        assert!(
            !steal.quiet && steal.objection().unwrap().contains("the host took 5 %"),
            "{steal:?}"
        );
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_not_quiet() {
        assert_eq!(parse_ticks("cpu  1 2 3\n"), None);
        assert_eq!(parse_ticks(""), None);
    }

    #[test]
    fn the_kernel_here_tells() {
        let report = LoadGuard::start().report();
        assert!(report.others.is_some_and(|others| others <= 1.0), "{report:?}");
    }
}
