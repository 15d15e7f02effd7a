//! Units of the closed list as people read them: one unit for a whole axis or column, figures with the digits that carry.

use crate::model::format::{decimal, integer};

/// How a unit of the wire is shown: multiplied by a factor, under another name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// A value of the wire times this is what is written.
    pub factor: f64,
    /// What is written behind it.
    pub name: &'static str,
}

/// Units of one dimension with their size in its base, the smallest first.
type Family = &'static [(&'static str, f64)];

const TIME: Family = &[("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
const CPU: Family = &[("CPU µs", 1e-6), ("CPU ms", 1e-3), ("CPU s", 1.0)];
const SIZE: Family = &[
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
const FLOW: Family = &[
    ("B/s", 1.0),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];
const NUMBER: Family = &[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

fn family(unit: &str) -> Option<(Family, f64)> {
    Some(match unit {
        "s" => (TIME, 1.0),
        "ms" => (TIME, 1e-3),
        "us" => (TIME, 1e-6),
        "ns" => (TIME, 1e-9),
        "cpu-s" => (CPU, 1.0),
        "cpu-ms" => (CPU, 1e-3),
        "B" => (SIZE, 1.0),
        "KiB" => (SIZE, 1024.0),
        "MiB" => (SIZE, 1_048_576.0),
        "B/s" => (FLOW, 1.0),
        "KiB/s" => (FLOW, 1024.0),
        "MiB/s" => (FLOW, 1_048_576.0),
        "cycles" | "instructions" | "count" | "allocs" => (NUMBER, 1.0),
        _ => return None,
    })
}

/// Larger figures than this are not turned into the next smaller unit, smaller ones than one are.
const READABLE: f64 = 1.0;

impl Shown {
    /// How values of about this size are best read.
    pub fn of(unit: &str, about: f64) -> Self {
        let Some((family, base)) = family(unit) else {
            return Self::plain(unit);
        };
        let about = about.abs() * base;
        // rates stay in MiB/s and counts below a hundred thousand whole: that is how people compare them
        let keep = match unit {
            "MiB/s" => about >= 0.1 * 1_048_576.0,
            "count" | "allocs" => about < 100_000.0,
            _ => false,
        };
        if keep || !about.is_finite() || about == 0.0 {
            return Self::plain(unit);
        }
        let best = family
            .iter()
            .rev()
            .find(|(_, size)| about / size >= READABLE)
            .or(family.first());
        best.map_or(Self::plain(unit), |(name, size)| Self {
            factor: base / size,
            name,
        })
    }

    fn plain(unit: &str) -> Self {
        let name = match unit {
            "us" => "µs",
            "cpu-s" => "CPU s",
            "cpu-ms" => "CPU ms",
            "cycles" | "instructions" | "count" | "ratio" => "",
            "s" => "s",
            "ms" => "ms",
            "ns" => "ns",
            "B" => "B",
            "KiB" => "KiB",
            "MiB" => "MiB",
            "B/s" => "B/s",
            "KiB/s" => "KiB/s",
            "MB/s" => "MB/s",
            "MiB/s" => "MiB/s",
            "req/s" => "req/s",
            "ops/s" => "ops/s",
            "allocs" => "allocs",
            "%" => "%",
            "J" => "J",
            _ => "",
        };
        Self { factor: 1.0, name }
    }

    /// The figure alone: `812`, `13.1`, `0.41`.
    pub fn figure(self, value: f64) -> String {
        figure(value * self.factor)
    }

    /// The label of a tick: as many decimals as the step between ticks needs.
    pub fn tick(self, value: f64, step: f64) -> String {
        let step = (step * self.factor).abs();
        let fits = |decimals: &i32| {
            let scaled = step * 10f64.powi(*decimals);
            scaled >= 0.999 && (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0)
        };
        let value = value * self.factor;
        match (0..=9).find(fits) {
            Some(decimals) if value.abs() < 1000.0 && step > 0.0 => {
                let sign = if value < 0.0 { "−" } else { "" };
                let decimals = decimals as usize;
                format!("{sign}{}", decimal(format!("{:.decimals$}", value.abs())))
            }
            _ => figure(value),
        }
    }

    /// Figure and unit: `812 MiB/s`.
    pub fn text(self, value: f64) -> String {
        with_unit(self.figure(value), self.name)
    }

    /// `812 to 1,068 MiB/s` without the words: both figures and the unit once.
    pub fn pair(self, before: f64, after: f64) -> (String, String) {
        (self.figure(before), self.text(after))
    }
}

fn with_unit(figure: String, unit: &str) -> String {
    match unit {
        "" => figure,
        "%" => format!("{figure}%"),
        unit => format!("{figure} {unit}"),
    }
}

/// One value with the unit that suits it: `1.5 ms`.
pub fn value(unit: &str, value: f64) -> String {
    Shown::of(unit, value).text(value)
}

/// Three digits that carry, thousands grouped: `1,068`, `13.1`, `0.0412`.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    let text = if size >= 99.95 {
        integer(size.round() as u64)
    } else if size == 0.0 {
        "0".to_owned()
    } else {
        let decimals = if size >= 9.995 {
            1
        } else if size >= 0.9995 {
            2
        } else {
            // the first digit that is not a zero, and two more
            (2 - size.log10().floor() as i32).clamp(3, 9) as usize
        };
        let fixed = format!("{size:.decimals$}");
        decimal(fixed.trim_end_matches('0').trim_end_matches('.').to_owned())
    };
    format!("{sign}{text}")
}

/// A change as a ratio: `+31.5%`, `−3.8%`; beyond a tenth or tenfold as a factor: `×12.4`, `÷156,000`.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() || ratio <= 0.0 {
        return "–".to_owned();
    }
    if ratio >= 10.0 {
        return format!("×{}", figure(ratio));
    }
    if ratio <= 0.1 {
        return format!("÷{}", figure(ratio.recip()));
    }
    share(ratio - 1.0)
}

/// A share with its sign: `+2.3%`, `−0.2%`, `0.0%`.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    let size = format!("{:.1}", percent.abs());
    let sign = match percent {
        _ if size == "0.0" => "",
        p if p < 0.0 => "−",
        _ => "+",
    };
    let space = match crate::i18n::current() {
        crate::i18n::Language::En => "",
        crate::i18n::Language::De => "\u{202f}",
    };
    format!("{sign}{}{space}%", decimal(size))
}

/// A threshold or bound, without sign: `3%`, `1.5%`.
pub fn bound(share: f64) -> String {
    let text = format!("{:.1}", share.abs() * 100.0);
    format!(
        "{}%",
        decimal(text.trim_end_matches('0').trim_end_matches('.').to_owned())
    )
}

/// A p as it is written: `0.004`, `0.00016`, `< 0.00001`.
pub fn probability(p: f64) -> String {
    if p < 1e-5 {
        return format!("< {}", decimal("0.00001".to_owned()));
    }
    figure(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_gets_the_unit_that_suits_it() {
        let cases = [
            ("s", 64e-9, "64 ns"),
            ("s", 0.0125, "12.5 ms"),
            ("ns", 64.4, "64.4 ns"),
            ("us", 2_500.0, "2.5 ms"),
            ("cpu-s", 13.1, "13.1 CPU s"),
            ("B", 211_000_000.0, "201 MiB"),
            ("MiB", 2_048.0, "2 GiB"),
            ("MiB/s", 1068.4, "1,068 MiB/s"),
            ("MiB/s", 30_000.0, "30,000 MiB/s"),
            ("B/s", 3_145_728.0, "3 MiB/s"),
            ("instructions", 118.2e9, "118 G"),
            ("count", 96_112.0, "96,112"),
            ("ratio", 0.97, "0.97"),
            ("%", 74.0, "74%"),
            ("req/s", 6_812.7, "6,813 req/s"),
            ("s", 0.0, "0 s"),
        ];
        for (unit, number, want) in cases {
            assert_eq!(value(unit, number), want, "{unit} {number}");
        }
    }

    #[test]
    fn every_unit_of_the_list_is_known() {
        for unit in [
            "s", "ms", "us", "ns", "cpu-s", "cpu-ms", "B", "KiB", "MiB", "B/s", "KiB/s", "MB/s", "MiB/s",
            "req/s", "ops/s", "allocs", "%", "J",
        ] {
            assert!(!Shown::of(unit, 5.0).name.is_empty(), "{unit}");
        }
    }

    #[test]
    fn a_column_has_one_unit() {
        let shown = Shown::of("s", 0.002);
        assert_eq!(shown.pair(0.002, 0.0009), ("2".to_owned(), "0.9 ms".to_owned()));
    }

    #[test]
    fn ticks_have_the_decimals_of_their_step() {
        let plain = Shown::of("s", 1.1);
        let labels: Vec<String> = [1.0, 1.025, 1.05].iter().map(|v| plain.tick(*v, 0.025)).collect();
        assert_eq!(labels, ["1.000", "1.025", "1.050"]);
        assert_eq!(Shown::of("s", 0.002).tick(0.0015, 0.0005), "1.5");
        assert_eq!(Shown::of("MiB/s", 1e3).tick(1100.0, 100.0), "1,100");
        assert_eq!(plain.tick(-2.0, 1.0), "−2");
        assert_eq!(plain.tick(3.0, 0.0), "3");
    }

    #[test]
    fn figures_carry_three_digits() {
        for (number, want) in [
            (1068.4, "1,068"),
            (99.96, "100"),
            (13.14, "13.1"),
            (1.005, "1"),
            (0.4123, "0.412"),
            (0.000_16, "0.00016"),
            (-3.84, "−3.84"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(figure(number), want, "{number}");
        }
    }

    #[test]
    fn changes_have_a_sign_or_are_factors() {
        assert_eq!(change(1.315), "+31.5%");
        assert_eq!(change(0.962), "−3.8%");
        assert_eq!(change(0.9999), "0.0%");
        assert_eq!(change(12.4), "×12.4");
        assert_eq!(change(1.0 / 156_000.0), "÷156,000");
        assert_eq!(change(0.0), "–");
        assert_eq!(bound(0.03), "3%");
        assert_eq!(probability(1e-9), "< 0.00001");
    }
}
