//! Histograms with bins of powers of two: write sizes, latencies. Sixty-five counters hold any number of values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bins: one for 0, one for each bit length of a `u64`.
const BINS: u8 = 65;

/// Counts of whole numbers by their bit length: bin 0 holds 0, bin k holds 2^(k-1) ..= 2^k - 1.
///
/// On the wire an object of bin to count, without empty bins: `{"13": 4}` is four values in 4096..=8191.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Bins", into = "BTreeMap<u8, u64>")]
pub struct Log2Histogram(BTreeMap<u8, u64>);

/// The object as it was read.
#[derive(Deserialize)]
#[serde(transparent)]
struct Bins(#[serde(deserialize_with = "crate::text::each_once")] BTreeMap<u8, u64>);

/// A bin that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bin {found} of a log2 histogram: expected 0 to 64")]
pub struct NoSuchBin {
    /// The number.
    pub found: u8,
}

impl TryFrom<Bins> for Log2Histogram {
    type Error = NoSuchBin;

    fn try_from(Bins(mut bins): Bins) -> Result<Self, NoSuchBin> {
        if let Some((&found, _)) = bins.range(BINS..).next() {
            return Err(NoSuchBin { found });
        }
        bins.retain(|_, count| *count > 0);
        Ok(Self(bins))
    }
}

impl From<Log2Histogram> for BTreeMap<u8, u64> {
    fn from(histogram: Log2Histogram) -> Self {
        histogram.0
    }
}

impl Log2Histogram {
    /// Counts `value` once.
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Counts `value` `times` times; a counter at its end stays there.
    pub fn add_many(&mut self, value: u64, times: u64) {
        if times > 0 {
            let count = self.0.entry(bin_of(value)).or_default();
            *count = count.saturating_add(times);
        }
    }

    /// Adds all counts of `other`: the same as if its values had been added one by one.
    pub fn merge(&mut self, other: &Self) {
        for (bin, count) in &other.0 {
            let own = self.0.entry(*bin).or_default();
            *own = own.saturating_add(*count);
        }
    }

    /// Number of values.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The bins that hold something, ascending: smallest value, largest value, count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.0.iter().map(|(bin, count)| {
            let (low, high) = bounds_of(*bin);
            (low, high, *count)
        })
    }

    /// Bounds between which the `p` quantile lies (the smallest value that at least the share `p` is at most).
    /// `None` when empty or with `p` outside 0..=1.
    pub fn quantile_bounds(&self, p: f64) -> Option<(u64, u64)> {
        if !(0.0..=1.0).contains(&p) {
            return None;
        }
        let rank = ((self.total() as f64 * p).ceil() as u64).max(1);
        let mut seen: u64 = 0;
        for (bin, count) in &self.0 {
            seen = seen.saturating_add(*count);
            if seen >= rank {
                return Some(bounds_of(*bin));
            }
        }
        self.0.last_key_value().map(|(bin, _)| bounds_of(*bin))
    }

    /// One line a bin from the smallest to the largest: lower bound, bar, count. ASCII, at most `width` columns
    /// (30 at least). The longest bar is the largest count; a bin with anything in it has a bar.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let (Some((first, _)), Some((last, _)), Some(most)) = (
            self.0.first_key_value(),
            self.0.last_key_value(),
            self.0.values().max(),
        ) else {
            return Vec::new();
        };
        let digits = most.to_string().len();
        let room = width.max(30).saturating_sub(10 + digits);
        (*first..=*last)
            .map(|bin| {
                let count = self.0.get(&bin).copied().unwrap_or(0);
                let length = (count as f64 / *most as f64 * room as f64).ceil() as usize;
                let bar = "#".repeat(length.min(room));
                let low = short_bytes(bounds_of(bin).0);
                format!("{low:>6} |{bar:<room$} {count:>digits$}")
            })
            .collect()
    }
}

/// Number of bits that `value` needs.
fn bin_of(value: u64) -> u8 {
    u8::try_from(u64::BITS - value.leading_zeros()).unwrap_or(BINS - 1)
}

fn bounds_of(bin: u8) -> (u64, u64) {
    let high = u64::MAX.checked_shr(64 - u32::from(bin)).unwrap_or(0);
    (high / 2 + u64::from(bin > 0), high)
}

/// A power of two in at most five characters: `4Ki`, `512`.
fn short_bytes(value: u64) -> String {
    [
        (60, "Ei"),
        (50, "Pi"),
        (40, "Ti"),
        (30, "Gi"),
        (20, "Mi"),
        (10, "Ki"),
    ]
    .iter()
    .find(|(shift, _)| value >> shift > 0)
    .map_or_else(
        || value.to_string(),
        |(shift, name)| format!("{}{name}", value >> shift),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_what_is_in_them() {
        for value in [0, 1, 2, 3, 4, 4095, 4096, 8191, u64::MAX / 2, u64::MAX] {
            let (low, high) = bounds_of(bin_of(value));
            assert!((low..=high).contains(&value), "{value}: {low}..={high}");
        }
        assert_eq!(bounds_of(13), (4096, 8191));
        assert_eq!(bounds_of(0), (0, 0));
    }

    #[test]
    fn merging_is_adding() {
        let (mut both, mut left, mut right) = (
            Log2Histogram::default(),
            Log2Histogram::default(),
            Log2Histogram::default(),
        );
        for value in 0..1000 {
            both.add(value * 7);
            if value % 3 == 0 { &mut left } else { &mut right }.add(value * 7);
        }
        left.merge(&right);
        assert_eq!(left, both);
        assert_eq!(both.total(), 1000);
        let (low, high) = both.quantile_bounds(0.5).unwrap();
        assert!(low <= 3496 && 3496 <= high, "{low} {high}");
    }

    #[test]
    fn text_and_wire() {
        let mut histogram = Log2Histogram::default();
        histogram.add_many(4096, 40);
        histogram.add_many(16_384, 1);
        assert_eq!(
            histogram.lines(30),
            [
                "   4Ki |################## 40",
                "   8Ki |                    0",
                "  16Ki |#                   1",
            ]
        );
        let text = serde_json::to_string(&histogram).unwrap();
        assert_eq!(text, r#"{"13":40,"15":1}"#);
        assert_eq!(serde_json::from_str::<Log2Histogram>(&text).unwrap(), histogram);
        assert!(serde_json::from_str::<Log2Histogram>(r#"{"65":1}"#).is_err());
        assert!(Log2Histogram::default().lines(30).is_empty());
        assert_eq!(Log2Histogram::default().quantile_bounds(0.5), None);
    }
}
