//! Numbers and times as people read them. The wire speaks bytes and nanoseconds; only this module makes words of them.

use time::{OffsetDateTime, UtcOffset};

use crate::i18n::{Language, current};

const KIB: f64 = 1024.0;
const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Bytes in one MiB, the unit of every rate on the page.
pub const MIB: f64 = 1024.0 * 1024.0;

/// Narrow space that does not break, between the thousands and in front of a percent sign in German.
const THIN: char = '\u{202f}';

/// A figure with a point as the language in use writes it: German has a comma.
pub fn decimal(figure: String) -> String {
    match current() {
        Language::En => figure,
        Language::De => figure.replace('.', ","),
    }
}

/// `1234567` → `1,234,567`.
pub fn integer(n: u64) -> String {
    let thousands = match current() {
        Language::En => ',',
        Language::De => THIN,
    };
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(thousands);
        }
        out.push(c);
    }
    out
}

/// A size split in figure and unit, so that the unit can be set smaller: `("661.2", "GiB")`.
pub fn bytes_parts(n: u64) -> (String, &'static str) {
    let mut value = n as f64;
    let mut unit = "B";
    for u in UNITS {
        unit = u;
        // 1023.95 would be printed as 1024.0
        if value < 1023.95 {
            break;
        }
        if u != "EiB" {
            value /= KIB;
        }
    }
    let figure = if unit == "B" || (value.fract() == 0.0) {
        format!("{value:.0}")
    } else {
        decimal(format!("{value:.1}"))
    };
    (figure, unit)
}

/// `709_900_000_000` → `661.1 GiB`; whole values carry no decimal.
pub fn bytes(n: u64) -> String {
    let (figure, unit) = bytes_parts(n);
    format!("{figure} {unit}")
}

/// The figure of a rate in MiB/s, without the unit: one decimal below ten.
pub fn mib_figure(bytes_per_s: f64) -> String {
    let mib = bytes_per_s / MIB;
    if !mib.is_finite() || mib <= 0.0 {
        "0".to_owned()
    } else if mib < 9.95 {
        decimal(format!("{mib:.1}"))
    } else {
        integer(mib.round() as u64)
    }
}

/// `560 MiB/s`.
pub fn rate(bytes_per_s: f64) -> String {
    format!("{} MiB/s", mib_figure(bytes_per_s))
}

/// A ratio of 0..=1 as `93.8%`; exactly all is `100%`, and nothing short of all ever is.
pub fn percent(ratio: f64) -> String {
    if !ratio.is_finite() {
        return "–".to_owned();
    }
    if ratio >= 1.0 {
        return percent_sign("100".to_owned());
    }
    let figure = format!("{:.1}", (ratio.max(0.0) * 1000.0).floor() / 10.0);
    percent_sign(decimal(figure))
}

fn percent_sign(mut figure: String) -> String {
    if current() == Language::De {
        figure.push(THIN);
    }
    figure.push('%');
    figure
}

/// `part / whole`, 0 when the whole is 0.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Nanoseconds as `320 ms`, `44 s`, `1 min 38 s`, `2 h 5 min`, `3 d 4 h`.
pub fn duration_ns(ns: u64) -> String {
    let ms = ns / 1_000_000;
    if ms < 1 {
        return format!("{} µs", ns / 1_000);
    }
    if ms < 1_000 {
        return format!("{ms} ms");
    }
    if ms < 10_000 {
        return decimal(format!("{}.{} s", ms / 1000, ms % 1000 / 100));
    }
    seconds(ms / 1000)
}

/// Whole seconds, the two largest units.
pub fn seconds(s: u64) -> String {
    let pair = |big: u64, big_unit: &str, small: u64, small_unit: &str| {
        if small == 0 {
            format!("{big} {big_unit}")
        } else {
            format!("{big} {big_unit} {small} {small_unit}")
        }
    };
    match s {
        0..60 => format!("{s} s"),
        60..3_600 => pair(s / 60, "min", s % 60, "s"),
        3_600..86_400 => pair(s / 3_600, "h", s % 3_600 / 60, "min"),
        _ => pair(s / 86_400, "d", s % 86_400 / 3_600, "h"),
    }
}

/// An age in its largest unit, without "ago": `26 h`, `4 d`, `41 min`, `2 y`.
pub fn age(s: i64) -> String {
    match s.max(0) {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min", s / 60),
        s @ 3_600..172_800 => format!("{} h", s / 3_600),
        s @ 172_800..63_072_000 => format!("{} d", s / 86_400),
        s => {
            let year = match current() {
                Language::En => "y",
                Language::De => "J",
            };
            format!("{} {year}", s / 31_536_000)
        }
    }
}

/// `UTC`, `UTC+1`, `UTC-3:30`.
pub fn zone(offset: UtcOffset) -> String {
    let (hours, minutes, _) = offset.as_hms();
    let sign = if offset.is_negative() { '-' } else { '+' };
    match (hours.abs(), minutes.abs()) {
        (0, 0) => "UTC".to_owned(),
        (hours, 0) => format!("UTC{sign}{hours}"),
        (hours, minutes) => format!("UTC{sign}{hours}:{minutes:02}"),
    }
}

/// `2026-11-20 01:00:04 UTC+1`: a date never stands without its zone.
pub fn date_time(at: OffsetDateTime, offset: UtcOffset) -> String {
    let at = at.to_offset(offset);
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02} {}",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        zone(offset)
    )
}

/// A line of a task log begins with its time: that time and the rest.
pub fn log_stamp(line: &str) -> Option<(OffsetDateTime, &str)> {
    let (stamp, text) = line.split_once(": ")?;
    let at = OffsetDateTime::parse(stamp, &time::format_description::well_known::Rfc3339).ok()?;
    Some((at, text))
}

/// `03:31:07` in the given offset.
pub fn clock(at: OffsetDateTime, offset: UtcOffset) -> String {
    let at = at.to_offset(offset);
    format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second())
}

/// `03:31` in the given offset.
pub fn clock_short(at: OffsetDateTime, offset: UtcOffset) -> String {
    let at = at.to_offset(offset);
    format!("{:02}:{:02}", at.hour(), at.minute())
}

/// The first and last characters of a digest: `3f9ac1…77e0`.
pub fn short_digest(hex: &str) -> String {
    match (
        hex.get(..6),
        hex.len().checked_sub(4).and_then(|at| hex.get(at..)),
    ) {
        (Some(head), Some(tail)) if hex.len() > 12 => format!("{head}…{tail}"),
        _ => hex.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::{datetime, offset};

    #[test]
    fn sizes_keep_one_decimal_and_never_say_1024() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1 KiB");
        assert_eq!(bytes(2150), "2.1 KiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(bytes(4 << 20), "4 MiB");
        assert_eq!(bytes(u64::MAX), "16 EiB");
    }

    #[test]
    fn integers_are_grouped() {
        assert_eq!(integer(0), "0");
        assert_eq!(integer(999), "999");
        assert_eq!(integer(10_000), "10,000");
        assert_eq!(integer(1_234_567), "1,234,567");
    }

    #[test]
    fn only_all_is_a_hundred_percent() {
        assert_eq!(percent(0.99999), "99.9%");
        assert_eq!(percent(1.0), "100%");
        assert_eq!(percent(f64::NAN), "–");
        assert_eq!(percent(0.624), "62.4%");
    }

    #[test]
    fn german_has_a_decimal_comma_and_thin_spaces() {
        crate::i18n::set(Language::De);
        let written = (
            percent(0.355),
            integer(12_345),
            bytes(1 << 40 | 1 << 39),
            rate(1.25 * MIB),
            duration_ns(7_500_000_000),
            age(70_000_000),
        );
        crate::i18n::set(Language::En);
        let wanted = (
            "35,5\u{202f}%",
            "12\u{202f}345",
            "1,5 TiB",
            "1,2 MiB/s",
            "7,5 s",
            "2 J",
        );
        assert_eq!(written, {
            let (a, b, c, d, e, f) = wanted;
            (a.into(), b.into(), c.into(), d.into(), e.into(), f.into())
        });
    }

    #[test]
    fn durations_use_two_units() {
        assert_eq!(duration_ns(98_000_000_000), "1 min 38 s");
        assert_eq!(duration_ns(7_500_000_000), "7.5 s");
        assert_eq!(duration_ns(320_000_000), "320 ms");
        assert_eq!(duration_ns(3_600_000_000_000), "1 h");
        assert_eq!(age(26 * 3600), "26 h");
        assert_eq!(age(-5), "0 s");
    }

    #[test]
    fn rates_have_a_decimal_only_when_small() {
        assert_eq!(rate(560.4 * MIB), "560 MiB/s");
        assert_eq!(rate(1.25 * MIB), "1.2 MiB/s");
        assert_eq!(rate(f64::NAN), "0 MiB/s");
    }

    #[test]
    fn times_follow_the_offset() {
        let at = datetime!(2026-11-20 23:30:04 UTC);
        assert_eq!(date_time(at, offset!(+1)), "2026-11-21 00:30:04 UTC+1");
        assert_eq!(date_time(at, offset!(UTC)), "2026-11-20 23:30:04 UTC");
        assert_eq!(zone(offset!(-3:30)), "UTC-3:30");
        assert_eq!(log_stamp("2026-11-20T23:30:04Z: a: b"), Some((at, "a: b")));
        assert_eq!(log_stamp("a: b"), None);
        assert_eq!(clock_short(at, offset!(UTC)), "23:30");
        assert_eq!(short_digest("3f9ac1000000077e0"), "3f9ac1…77e0");
        assert_eq!(short_digest("é"), "é");
    }
}
