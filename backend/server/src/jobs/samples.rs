//! The samples of one job in memory: the whole run at a resolution that halves when the buffer is full.

use fleethold_api_types::JobSample;

/// Samples kept; at four a second the first five minutes are complete.
const CAPACITY: usize = 1200;

/// Samples of one job, in order of time.
#[derive(Debug, Default)]
pub struct SampleBuffer {
    samples: Vec<JobSample>,
    /// Every `stride`th sample offered is kept; a power of two.
    stride: u64,
    offered: u64,
    newest: Option<JobSample>,
}

impl SampleBuffer {
    /// Adds a sample, thinning the older ones when there is no room.
    pub fn push(&mut self, sample: JobSample) {
        self.newest = Some(sample);
        let stride = self.stride.max(1);
        if self.offered.is_multiple_of(stride) {
            self.samples.push(sample);
        }
        self.offered += 1;
        if self.samples.len() >= CAPACITY {
            let mut nth = 0usize;
            self.samples.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.stride = stride * 2;
        }
    }

    /// The newest sample, kept or not.
    #[must_use]
    pub fn newest(&self) -> Option<JobSample> {
        self.newest
    }

    /// The samples kept, and the newest one.
    #[must_use]
    pub fn to_vec(&self) -> Vec<JobSample> {
        let mut samples = self.samples.clone();
        if let Some(newest) = self.newest
            && samples.last() != Some(&newest)
        {
            samples.push(newest);
        }
        samples
    }

    /// Samples offered so far.
    #[must_use]
    pub fn offered(&self) -> u64 {
        self.offered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_its_whole_length_in_bounded_memory() {
        let mut buffer = SampleBuffer::default();
        for t_ns in 0..50_000 {
            buffer.push(JobSample {
                t_ns,
                ..JobSample::default()
            });
        }
        let kept = buffer.to_vec();
        assert!(
            kept.len() <= CAPACITY && kept.len() > CAPACITY / 4,
            "{}",
            kept.len()
        );
        assert_eq!((kept[0].t_ns, kept[kept.len() - 1].t_ns), (0, 49_999));
        let steps: Vec<u64> = kept.windows(2).map(|pair| pair[1].t_ns - pair[0].t_ns).collect();
        assert!(
            steps[..steps.len() - 1].iter().all(|step| *step == steps[0]),
            "{steps:?}"
        );
    }
}
