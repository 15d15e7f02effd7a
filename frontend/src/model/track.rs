//! A job as the page follows it: cumulative counters in, rates for the chart out.

use std::{collections::VecDeque, rc::Rc};

use fleethold_api_types::JobSample;

use crate::model::{
    format::MIB,
    series::{Sample, Series},
};

/// Rates of a job in MiB/s over the seconds since its start.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Settled logical bytes: what the person waits for.
    pub restored: Rc<Series>,
    /// Bytes read from the datastore.
    pub read: Rc<Series>,
    /// Bytes written to the target.
    pub written: Rc<Series>,
    /// Longest silence, in seconds, that still counts as one line: samples thinned for a long history lie far apart.
    pub gap_s: f64,
    window: VecDeque<JobSample>,
}

impl Default for Track {
    fn default() -> Self {
        Self {
            restored: Rc::default(),
            read: Rc::default(),
            written: Rc::default(),
            gap_s: GAP_S,
            window: VecDeque::new(),
        }
    }
}

/// Rates are taken over at least this long: a chunk is 4 MiB, a shorter window shows stairs.
const WINDOW_NS: u64 = 900_000_000;
/// A rate over less says nothing: the first sample of a job comes within a millisecond.
const SHORTEST_NS: u64 = 200_000_000;
/// Longest silence of a live feed that still counts as one line.
pub const GAP_S: f64 = 4.0;

impl Track {
    /// Takes a sample of the feed; older ones than the newest known are dropped.
    pub fn push(&mut self, sample: JobSample) {
        if let Some(last) = self.window.back() {
            if sample.t_ns <= last.t_ns {
                return;
            }
            // a rate over a silence would be drawn as if it had been measured
            if (sample.t_ns - last.t_ns) as f64 / 1e9 > self.gap_s {
                self.window.clear();
            }
        } else if sample.t_ns > 0 && sample.t_ns <= 2 * WINDOW_NS {
            // the job began at zero: its first moments count
            self.window.push_back(JobSample::default());
        }
        while self
            .window
            .get(1)
            .is_some_and(|next| sample.t_ns.saturating_sub(next.t_ns) >= WINDOW_NS)
        {
            self.window.pop_front();
        }
        let long_enough = |from: &&JobSample| sample.t_ns - from.t_ns >= SHORTEST_NS;
        if let Some(from) = self.window.front().filter(long_enough) {
            let (t, span) = (sample.t_ns as f64 / 1e9, (sample.t_ns - from.t_ns) as f64 / 1e9);
            let put = |series: &mut Rc<Series>, now: u64, then: u64| {
                Rc::make_mut(series).push(Sample {
                    t,
                    v: now.saturating_sub(then) as f64 / span / MIB,
                });
            };
            put(&mut self.restored, sample.bytes_done, from.bytes_done);
            put(&mut self.read, sample.encoded_bytes_read, from.encoded_bytes_read);
            put(&mut self.written, sample.bytes_written, from.bytes_written);
        }
        self.window.push_back(sample);
    }

    /// Builds a track from kept samples, in order of time.
    pub fn from_samples(samples: &[JobSample]) -> Self {
        let mut steps: Vec<u64> = samples
            .windows(2)
            .filter_map(|w| Some(w.last()?.t_ns.saturating_sub(w.first()?.t_ns)))
            .collect();
        steps.sort_unstable();
        let usual_s = steps.get(steps.len() / 2).map_or(0.0, |ns| *ns as f64 / 1e9);
        let mut track = Self {
            gap_s: GAP_S.max(usual_s * 3.0),
            ..Self::default()
        };
        for sample in samples {
            track.push(*sample);
        }
        track
    }

    /// The newest rate of settled bytes, MiB/s.
    pub fn rate(&self) -> f64 {
        self.restored.last().map_or(0.0, |s| s.v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, mib: u64) -> JobSample {
        JobSample {
            t_ns: ms * 1_000_000,
            bytes_done: mib << 20,
            bytes_written: mib << 19,
            ..JobSample::default()
        }
    }

    #[test]
    fn counters_become_rates_over_a_second() {
        let track = Track::from_samples(&[
            at(250, 25),
            at(500, 50),
            at(750, 75),
            at(1000, 100),
            at(1250, 125),
        ]);
        assert!((track.rate() - 100.0).abs() < 1e-6, "{}", track.rate());
        assert_eq!(track.restored.len(), 5);
        assert!((track.written.last().expect("one").v - 50.0).abs() < 1e-6);
    }

    #[test]
    fn nothing_is_invented_over_a_silence() {
        let track = Track::from_samples(&[at(500, 50), at(1500, 150), at(60_000, 6_000), at(61_000, 6_100)]);
        let times: Vec<_> = track.restored.iter().map(|s| s.t).collect();
        assert_eq!(times, [0.5, 1.5, 61.0]);
    }

    #[test]
    fn the_first_millisecond_is_no_rate() {
        let track = Track::from_samples(&[at(1, 4), at(251, 8)]);
        assert_eq!(track.restored.len(), 1);
        assert!(track.rate() < 40.0, "{}", track.rate());
    }

    #[test]
    fn thinned_samples_are_one_line() {
        let samples: Vec<_> = (1..50).map(|i| at(i * 7_000, i * 700)).collect();
        let track = Track::from_samples(&samples);
        assert!(track.gap_s > 20.0 && track.restored.len() >= 48, "{track:?}");
    }

    #[test]
    fn old_samples_are_dropped() {
        let mut track = Track::from_samples(&[at(1000, 10), at(2000, 20)]);
        let before = track.clone();
        track.push(at(1500, 99));
        assert_eq!(track, before);
    }
}
