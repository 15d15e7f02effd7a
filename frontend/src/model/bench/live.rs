//! Benchmark runs as the feed tells of them, and the samples they have taken since the page was opened.

use std::{collections::BTreeMap, rc::Rc};

use fleethold_api_types::bench::{BenchRun, JudgedCell, LiveSample, Metric, Sample, Side, Summary};
use uuid::Uuid;

/// Runs kept; older ones give way.
const RUNS: usize = 50;
/// Samples kept of a run; a run of this many shows its newest ones.
const SAMPLES: usize = 4_000;

/// Metrics of one sample at most: how far back the newest one may reach.
const METRICS: usize = 24;

/// The runs.
#[derive(Debug, Default)]
pub struct LiveRuns {
    runs: BTreeMap<Uuid, LiveRun>,
}

/// One run.
#[derive(Debug, Clone, Default)]
pub struct LiveRun {
    /// Newest state of it.
    pub run: Option<Rc<BenchRun>>,
    samples: Vec<LiveSample>,
}

/// A field that has been measured: scenario, value of the knob, metric.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    /// Scenario.
    pub scenario: String,
    /// Value of the knob.
    pub value: String,
    /// Metric.
    pub metric: String,
}

impl LiveRuns {
    /// Takes what an event brought; a run that has ended does not run again.
    pub fn take(&mut self, runs: Vec<BenchRun>, samples: Vec<LiveSample>) {
        for run in runs {
            let kept = self.runs.entry(run.id).or_default();
            if kept
                .run
                .as_ref()
                .is_none_or(|old| !old.state.is_final() || run.state.is_final())
            {
                kept.run = Some(Rc::new(run));
            }
        }
        for sample in samples {
            let kept = &mut self.runs.entry(sample.run).or_default().samples;
            let key = |s: &LiveSample| (s.number, s.metric.clone());
            // samples come in order, but an event may be told twice after a reconnect
            let at = kept.partition_point(|s| s.number < sample.number);
            if kept
                .iter()
                .skip(at)
                .take_while(|s| s.number == sample.number)
                .any(|s| key(s) == key(&sample))
            {
                continue;
            }
            let end = kept.partition_point(|s| s.number <= sample.number);
            kept.insert(end, sample);
            if kept.len() > SAMPLES {
                kept.remove(0);
            }
        }
        while self.runs.len() > RUNS {
            self.runs.pop_first();
        }
    }

    /// A run.
    pub fn get(&self, id: Uuid) -> Option<&LiveRun> {
        self.runs.get(&id)
    }

    /// The newest known states, newest run first.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<BenchRun>> {
        self.runs.values().rev().filter_map(|r| r.run.as_ref())
    }
}

impl LiveRun {
    /// How many samples are known.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// No sample yet.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Fields with samples, in the order in which they were first measured, newest metric values included.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        for s in &self.samples {
            if !fields.iter().any(|f| f.is_of(s)) {
                fields.push(Field {
                    scenario: s.scenario.clone(),
                    value: s.value.clone(),
                    metric: s.metric.clone(),
                });
            }
        }
        fields
    }

    /// The field that was measured last, by the metric that people wait for: a time or a rate before counters.
    pub fn newest(&self) -> Option<Field> {
        let last = self.samples.last()?;
        let same = |s: &&LiveSample| s.scenario == last.scenario && s.value == last.value;
        let taken = || self.samples.iter().rev().take(METRICS).filter(same);
        let shown = taken()
            .find(|s| matches!(s.unit.as_str(), "s" | "MiB/s" | "req/s"))
            .or_else(|| taken().next())?;
        Some(Field {
            scenario: shown.scenario.clone(),
            value: shown.value.clone(),
            metric: shown.metric.clone(),
        })
    }

    /// Unit of a metric.
    pub fn unit(&self, metric: &str) -> Option<&str> {
        self.samples
            .iter()
            .find(|s| s.metric == metric)
            .map(|s| s.unit.as_str())
    }

    /// The samples of a field as a cell that can be drawn; no verdict before the run has ended.
    pub fn cell(&self, field: &Field) -> (JudgedCell, Metric) {
        let samples: Vec<Sample> = self
            .samples
            .iter()
            .filter(|s| field.is_of(s))
            .map(|s| s.sample)
            .collect();
        let summary = |side: Side| summary(samples.iter().filter(|s| s.side == side).map(|s| s.value));
        let cell = JudgedCell {
            metric: field.metric.clone(),
            samples_total: samples.len() as u64,
            before: summary(Side::Before),
            after: summary(Side::After),
            samples,
            ratio: None,
            p: None,
            adjusted_p: None,
            threshold_ratio: 0.0,
            verdict: None,
            series: None,
        };
        let metric = Metric {
            name: field.metric.clone(),
            unit: self.unit(&field.metric).unwrap_or_default().to_owned(),
            lower_is_better: true,
            judged: false,
        };
        (cell, metric)
    }
}

impl Field {
    fn is_of(&self, sample: &LiveSample) -> bool {
        self.scenario == sample.scenario && self.value == sample.value && self.metric == sample.metric
    }
}

/// Figures of what is there so far; the server's replace them at the end.
fn summary(values: impl Iterator<Item = f64>) -> Option<Summary> {
    let mut sorted: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let middle = quantile(&sorted, 0.5);
    let mut away: Vec<f64> = sorted.iter().map(|v| (v - middle).abs()).collect();
    away.sort_by(f64::total_cmp);
    Some(Summary {
        runs: sorted.len() as u64,
        min,
        lower_quartile: quantile(&sorted, 0.25),
        median: middle,
        upper_quartile: quantile(&sorted, 0.75),
        max,
        mad: quantile(&away, 0.5),
        two_peaks: None,
    })
}

/// Linear between neighbours, as the server's.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * sorted.len().saturating_sub(1) as f64;
    let below = sorted.get(at.floor() as usize).copied().unwrap_or(0.0);
    let above = sorted.get(at.ceil() as usize).copied().unwrap_or(below);
    below + (above - below) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: u64, value: &str, side: Side, v: f64) -> LiveSample {
        LiveSample {
            run: Uuid::from_u128(1),
            number,
            scenario: "far".into(),
            value: value.into(),
            metric: "time".into(),
            unit: "s".into(),
            sample: Sample { side, value: v },
        }
    }

    #[test]
    fn samples_told_twice_count_once_and_stay_in_order() {
        let mut live = LiveRuns::default();
        live.take(
            Vec::new(),
            vec![
                sample(0, "1", Side::Before, 1.0),
                sample(2, "1", Side::After, 3.0),
            ],
        );
        live.take(
            Vec::new(),
            vec![sample(2, "1", Side::After, 3.0), sample(1, "1", Side::After, 2.0)],
        );
        let run = live.get(Uuid::from_u128(1)).expect("kept");
        let field = run.newest().expect("a field");
        let (cell, metric) = run.cell(&field);
        assert_eq!(
            cell.samples.iter().map(|s| s.value).collect::<Vec<_>>(),
            [1.0, 2.0, 3.0]
        );
        assert_eq!(
            (cell.after.map(|s| s.median), metric.unit.as_str()),
            (Some(2.5), "s")
        );
        assert!(cell.verdict.is_none(), "no verdict before the end");
    }

    #[test]
    fn fields_are_kept_apart() {
        let mut live = LiveRuns::default();
        live.take(
            Vec::new(),
            vec![
                sample(0, "1", Side::Before, 1.0),
                sample(1, "16", Side::Before, 9.0),
            ],
        );
        let run = live.get(Uuid::from_u128(1)).expect("kept");
        assert_eq!(run.fields().len(), 2);
        assert_eq!(run.newest().map(|f| f.value), Some("16".into()));
    }

    #[test]
    fn the_metric_that_is_waited_for_is_shown_first() {
        let mut live = LiveRuns::default();
        let counter = LiveSample {
            metric: "read_calls".into(),
            unit: "count".into(),
            ..sample(0, "1", Side::Before, 9.0)
        };
        live.take(
            Vec::new(),
            vec![counter.clone(), sample(0, "1", Side::Before, 1.0)],
        );
        live.take(
            Vec::new(),
            vec![LiveSample {
                metric: "faults".into(),
                ..counter
            }],
        );
        let run = live.get(Uuid::from_u128(1)).expect("kept");
        assert_eq!(run.newest().map(|f| f.metric), Some("time".into()));
        assert_eq!(run.len(), 3);
    }

    #[test]
    fn memory_is_bounded() {
        let mut live = LiveRuns::default();
        live.take(
            Vec::new(),
            (0..5_000)
                .map(|i| sample(i, "1", Side::After, i as f64))
                .collect(),
        );
        assert_eq!(live.get(Uuid::from_u128(1)).map(LiveRun::len), Some(SAMPLES));
        for i in 2..100u128 {
            live.take(
                Vec::new(),
                vec![LiveSample {
                    run: Uuid::from_u128(i),
                    ..sample(0, "1", Side::After, 1.0)
                }],
            );
        }
        assert_eq!(live.runs.len(), RUNS);
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let s = summary([4.0, 1.0, 3.0, 2.0].into_iter()).expect("values");
        assert_eq!(
            (s.lower_quartile, s.median, s.upper_quartile, s.mad),
            (1.75, 2.5, 3.25, 1.0)
        );
        assert!(summary(std::iter::empty()).is_none());
    }
}
