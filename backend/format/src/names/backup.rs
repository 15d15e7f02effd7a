//! Backup groups and snapshots.

use std::cmp::Ordering;
use std::fmt;
use std::path::PathBuf;

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

use super::{NameError, is_safe_id, name_text, string_name};

/// What was backed up. Ordered as lists show it: containers, hosts, machines.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BackupType {
    /// A container, `ct`.
    Ct,
    /// A host's file system, `host`.
    Host,
    /// A virtual machine, `vm`.
    Vm,
}

impl BackupType {
    /// All types, in order.
    pub const ALL: [Self; 3] = [Self::Ct, Self::Host, Self::Vm];

    /// Checks `text`.
    ///
    /// # Errors
    /// A [`NameError`] for anything but the three words.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        Self::ALL
            .into_iter()
            .find(|ty| ty.as_str() == text)
            .ok_or_else(|| NameError::new("backup type", "`ct`, `host` or `vm`", text))
    }

    /// The directory's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ct => "ct",
            Self::Host => "host",
            Self::Vm => "vm",
        }
    }
}

impl fmt::Display for BackupType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

name_text!(BackupType);

string_name!(
    /// Id of a group within its type, such as `100` or `my-host`.
    BackupId,
    "backup id",
    "1 to 255 letters, digits, `_`, `.` or `-`, not beginning with `.` or `-`",
    |text| text.len() <= 255 && is_safe_id(text)
);

/// When a snapshot was made: whole seconds since 1970, at least 1; the text is `2024-05-01T10:00:00Z`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackupTime(i64);

impl BackupTime {
    /// The last second of the year 9999: a directory's name has four digits for the year.
    pub const MAX_EPOCH: i64 = 253_402_300_799;

    const WHAT: &'static str = "backup time";

    /// From seconds since 1970.
    ///
    /// # Errors
    /// A [`NameError`] outside of 1 to [`BackupTime::MAX_EPOCH`].
    pub fn from_epoch(epoch: i64) -> Result<Self, NameError> {
        if (1..=Self::MAX_EPOCH).contains(&epoch) {
            Ok(Self(epoch))
        } else {
            Err(NameError::new(
                Self::WHAT,
                "seconds from 1 to 253402300799",
                &epoch.to_string(),
            ))
        }
    }

    /// Seconds since 1970.
    pub fn epoch(self) -> i64 {
        self.0
    }

    /// From a directory's name, `YYYY-MM-DDTHH:MM:SSZ`.
    ///
    /// # Errors
    /// A [`NameError`] for any other form, an impossible date, or a time before 1970.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        parse_utc(text)
            .ok_or_else(|| NameError::new(Self::WHAT, "a UTC time as `YYYY-MM-DDTHH:MM:SSZ`", text))
            .and_then(Self::from_epoch)
    }
}

/// Reads the one form of time that names a snapshot; no other spelling may name the same directory.
fn parse_utc(text: &str) -> Option<i64> {
    let bytes: &[u8; 20] = text.as_bytes().try_into().ok()?;
    let separators = [
        (4, b'-'),
        (7, b'-'),
        (10, b'T'),
        (13, b':'),
        (16, b':'),
        (19, b'Z'),
    ];
    if separators
        .iter()
        .any(|&(at, separator)| bytes.get(at) != Some(&separator))
    {
        return None;
    }
    let number = |range: std::ops::Range<usize>| -> Option<u16> {
        let digits = text.get(range)?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            digits.parse().ok()
        } else {
            None
        }
    };
    let small = |range| number(range).and_then(|value| u8::try_from(value).ok());
    let month = Month::try_from(small(5..7)?).ok()?;
    let date = Date::from_calendar_date(i32::from(number(0..4)?), month, small(8..10)?).ok()?;
    let time = Time::from_hms(small(11..13)?, small(14..16)?, small(17..19)?).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp())
}

impl fmt::Display for BackupTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = OffsetDateTime::from_unix_timestamp(self.0).map_err(|_| fmt::Error)?;
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            at.year(),
            u8::from(at.month()),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        )
    }
}

name_text!(BackupTime);

/// A backup group: all snapshots of one thing. Written `vm/100`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupPath {
    /// What was backed up.
    pub ty: BackupType,
    /// Its id within the type.
    pub id: BackupId,
}

impl GroupPath {
    /// Checks `type/id`.
    ///
    /// # Errors
    /// A [`NameError`] for the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let (ty, id) = text
            .split_once('/')
            .ok_or_else(|| NameError::new("backup group", "`type/id`", text))?;
        Ok(Self {
            ty: BackupType::parse(ty)?,
            id: BackupId::parse(id)?,
        })
    }

    /// Directory relative to the namespace's.
    pub fn rel_path(&self) -> PathBuf {
        [self.ty.as_str(), self.id.as_str()].iter().collect()
    }

    /// Order in which lists show groups: by type, then numeric ids by value, then the others by text
    /// (FORMAT.md §1.1).
    pub fn display_cmp(&self, other: &Self) -> Ordering {
        let number = |id: &BackupId| id.as_str().parse::<u64>().ok();
        self.ty
            .cmp(&other.ty)
            .then_with(|| match (number(&self.id), number(&other.id)) {
                (Some(left), Some(right)) => left.cmp(&right),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            })
            .then_with(|| self.id.cmp(&other.id))
    }
}

impl fmt::Display for GroupPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ty, self.id)
    }
}

name_text!(GroupPath);

/// One backup of a group. Written `vm/100/2024-05-01T10:00:00Z`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotPath {
    /// The group it belongs to.
    pub group: GroupPath,
    /// When it was made.
    pub time: BackupTime,
}

impl SnapshotPath {
    /// Checks `type/id/time`.
    ///
    /// # Errors
    /// A [`NameError`] for the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let (group, time) = text
            .rsplit_once('/')
            .ok_or_else(|| NameError::new("snapshot", "`type/id/time`", text))?;
        Ok(Self {
            group: GroupPath::parse(group)?,
            time: BackupTime::parse(time)?,
        })
    }

    /// Directory relative to the namespace's.
    pub fn rel_path(&self) -> PathBuf {
        self.group.rel_path().join(self.time.to_string())
    }
}

impl fmt::Display for SnapshotPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group, self.time)
    }
}

name_text!(SnapshotPath);
