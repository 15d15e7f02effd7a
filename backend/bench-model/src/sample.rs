//! Raw samples in the order in which they were measured. A mean is never kept instead of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most samples of one metric in one cell, both sides together.
pub const MAX_SAMPLES: usize = 4_000_000;

/// Which of the two things compared was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The older code, or the first setting.
    Before,
    /// The newer code, or the second setting.
    After,
}

impl Side {
    /// Both, before first.
    pub const BOTH: [Self; 2] = [Self::Before, Self::After];

    /// The word in files: `before` or `after`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }

    /// The side of a word in a file.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|side| side.name() == text)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number that is no measurement, or too many of them. `position` counts samples from 0 in measured order.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// NaN or infinite.
    #[error("sample {position} is {found}: expected a finite number")]
    NotFinite {
        /// Which sample.
        position: usize,
        /// The number.
        found: f64,
    },
    /// Below zero: no unit of the list measures less than nothing; for times it is a clock that went backwards.
    #[error(
        "sample {position} is {found}: expected at least 0 (a negative time means that a clock went backwards)"
    )]
    Negative {
        /// Which sample.
        position: usize,
        /// The number.
        found: f64,
    },
    /// More than [`MAX_SAMPLES`].
    #[error("more than {MAX_SAMPLES} samples of one metric")]
    TooMany,
    /// Sides and values of different number.
    #[error("{sides} letters of order for {values} values: expected one letter a value")]
    Order {
        /// Letters of the order.
        sides: usize,
        /// Values.
        values: usize,
    },
    /// A letter of the order that is neither `B` nor `A`.
    #[error("letter `{found}` at {position} of the order: expected `B` (before) or `A` (after)")]
    Letter {
        /// Which sample.
        position: usize,
        /// The letter.
        found: char,
    },
}

/// `value` when it can be a measurement: finite and not below zero. Negative zero becomes zero.
///
/// # Errors
/// [`SampleError::NotFinite`] or [`SampleError::Negative`] with `position`.
pub fn check_value(value: f64, position: usize) -> Result<f64, SampleError> {
    if !value.is_finite() {
        return Err(SampleError::NotFinite {
            position,
            found: value,
        });
    }
    if value < 0.0 {
        return Err(SampleError::Negative {
            position,
            found: value,
        });
    }
    Ok(value + 0.0)
}

/// Samples of one metric of one cell in measured order, each with its side.
///
/// On the wire `{"order_seed": 7, "order": "BAAB", "values": [1.0, …]}`, one letter a value.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Samples {
    order_seed: Option<u64>,
    sides: Vec<Side>,
    values: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order_seed: Option<u64>,
    order: String,
    values: Vec<f64>,
}

impl TryFrom<Wire> for Samples {
    type Error = SampleError;

    fn try_from(wire: Wire) -> Result<Self, SampleError> {
        let letters = wire.order.chars().count();
        if letters != wire.values.len() {
            return Err(SampleError::Order {
                sides: letters,
                values: wire.values.len(),
            });
        }
        let mut samples = Self::new(wire.order_seed);
        for (letter, value) in wire.order.chars().zip(wire.values) {
            let side = match letter {
                'B' => Side::Before,
                'A' => Side::After,
                found => {
                    return Err(SampleError::Letter {
                        position: samples.len(),
                        found,
                    });
                }
            };
            samples.push(side, value)?;
        }
        Ok(samples)
    }
}

impl From<Samples> for Wire {
    fn from(samples: Samples) -> Self {
        Self {
            order_seed: samples.order_seed,
            order: samples
                .sides
                .iter()
                .map(|side| match side {
                    Side::Before => 'B',
                    Side::After => 'A',
                })
                .collect(),
            values: samples.values,
        }
    }
}

impl Samples {
    /// No samples yet. `order_seed` is the seed of [`crate::order::interleave`] when the order was drawn by it.
    pub fn new(order_seed: Option<u64>) -> Self {
        Self {
            order_seed,
            sides: Vec::new(),
            values: Vec::new(),
        }
    }

    /// All of `before`, then all of `after`: the order of two files that were measured one after the other.
    ///
    /// # Errors
    /// [`SampleError`] at the first value that is no measurement.
    pub fn of_sides(before: &[f64], after: &[f64]) -> Result<Self, SampleError> {
        let mut samples = Self::new(None);
        for (side, values) in [(Side::Before, before), (Side::After, after)] {
            for value in values {
                samples.push(side, *value)?;
            }
        }
        Ok(samples)
    }

    /// Adds the next sample.
    ///
    /// # Errors
    /// [`SampleError`] when it is no measurement; the samples stay as they were.
    pub fn push(&mut self, side: Side, value: f64) -> Result<(), SampleError> {
        if self.values.len() >= MAX_SAMPLES {
            return Err(SampleError::TooMany);
        }
        let value = check_value(value, self.values.len())?;
        self.sides.push(side);
        self.values.push(value);
        Ok(())
    }

    /// The seed of the order.
    pub fn order_seed(&self) -> Option<u64> {
        self.order_seed
    }

    /// Number of samples of both sides.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All samples in measured order.
    pub fn iter(&self) -> impl Iterator<Item = (Side, f64)> + '_ {
        self.sides.iter().copied().zip(self.values.iter().copied())
    }

    /// Number of samples of one side.
    pub fn count(&self, side: Side) -> usize {
        self.sides.iter().filter(|of| **of == side).count()
    }

    /// The values of one side in measured order.
    pub fn side(&self, side: Side) -> Vec<f64> {
        self.iter()
            .filter(|(of, _)| *of == side)
            .map(|(_, value)| value)
            .collect()
    }

    /// The same measurements with before and after exchanged.
    #[must_use]
    pub fn swapped(mut self) -> Self {
        for side in &mut self.sides {
            *side = side.other();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_measurement_is_refused_with_its_position() {
        let mut samples = Samples::new(Some(7));
        samples.push(Side::Before, 1.0).unwrap();
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-9] {
            let error = samples.push(Side::After, bad).unwrap_err();
            assert!(error.to_string().starts_with("sample 1 is "), "{error}");
        }
        assert_eq!(samples.len(), 1);
        samples.push(Side::After, -0.0).unwrap();
        assert!(samples.side(Side::After)[0].is_sign_positive());
    }

    #[test]
    fn the_wire_keeps_order_seed_and_bits() {
        let text =
            r#"{"order_seed":18446744073709551615,"order":"BAB","values":[0.1,3.0,2.2250738585072014e-308]}"#;
        let samples: Samples = serde_json::from_str(text).unwrap();
        assert_eq!(samples.side(Side::Before), [0.1, f64::MIN_POSITIVE]);
        assert_eq!(serde_json::to_string(&samples).unwrap(), text);
        for bad in [
            r#"{"order":"B","values":[]}"#,
            r#"{"order":"C","values":[1]}"#,
            r#"{"order":"B","values":[-1]}"#,
            r#"{"order":"B","values":[1e999]}"#,
        ] {
            assert!(serde_json::from_str::<Samples>(bad).is_err(), "{bad}");
        }
    }
}
