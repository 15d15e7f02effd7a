//! The browser's clock: the one place where the page asks for the time.

use time::{OffsetDateTime, UtcOffset};

/// Milliseconds since the epoch.
pub fn now_ms() -> f64 {
    js_sys::Date::now()
}

/// Seconds since the epoch.
pub fn now_s() -> i64 {
    (now_ms() / 1000.0) as i64
}

/// Now, in UTC.
pub fn now() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos((now_ms() * 1e6) as i128).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// The offset of the viewer's clock at a point of time.
pub fn offset_at(at: OffsetDateTime) -> UtcOffset {
    let date = js_sys::Date::new(&((at.unix_timestamp() as f64) * 1000.0).into());
    let minutes = -date.get_timezone_offset();
    UtcOffset::from_whole_seconds((minutes * 60.0) as i32).unwrap_or(UtcOffset::UTC)
}

/// `2026-11-20 01:00:04 UTC+1` on the viewer's clock: for everything but snapshots.
pub fn date_time(at: OffsetDateTime) -> String {
    crate::model::format::date_time(at, offset_at(at))
}

/// `2026-11-20 00:00:04 UTC`: for snapshots, whose names are in UTC.
pub fn snapshot_time(at: OffsetDateTime) -> String {
    crate::model::format::date_time(at, UtcOffset::UTC)
}

/// A time in both zones and the rule which of them stands where, for a tooltip.
pub fn both_zones(at: OffsetDateTime) -> String {
    let (here, utc) = (date_time(at), snapshot_time(at));
    let times = if here == utc {
        utc
    } else {
        format!("{utc} = {here}")
    };
    format!("{times}. {}", crate::t!(zone_rule))
}

/// `03:31:07` on the viewer's clock.
pub fn time(at: OffsetDateTime) -> String {
    crate::model::format::clock(at, offset_at(at))
}

/// `03:31` on the viewer's clock.
pub fn time_short(at: OffsetDateTime) -> String {
    crate::model::format::clock_short(at, offset_at(at))
}

/// Seconds since a point of time, never negative.
pub fn seconds_since(at: OffsetDateTime) -> i64 {
    (now_s() - at.unix_timestamp()).max(0)
}
