//! The table of names: which counters belong to which datastore.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use fleethold_format::names::DatastoreName;

use super::region::Region;

/// Names that were ever used.
pub(super) const NAMES: usize = 1 << 16;
/// Longest name of a datastore.
const NAME_BYTES: usize = 32;
/// Where the number of names stands.
const AT_COUNT: usize = 64;
const FIRST: usize = 8192;
/// Where the table ends.
pub(super) const END: usize = FIRST + NAMES * NAME_BYTES;

/// Places of names, as far as the table was read.
#[derive(Debug, Default)]
pub(super) struct Names {
    places: HashMap<DatastoreName, usize>,
    read: usize,
}

/// There is no room for another name.
#[derive(Debug, thiserror::Error)]
#[error("the table of {NAMES} names of datastores is full: stop all processes that use it and remove it")]
pub(super) struct Full;

/// Names in the table.
pub(super) fn count(region: &Region) -> usize {
    let count = region.word(AT_COUNT).load(Ordering::SeqCst);
    usize::try_from(count).unwrap_or(NAMES).min(NAMES)
}

impl Names {
    /// Where the counters of a name are.
    pub(super) fn place(&self, name: &DatastoreName) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Reads what was added since.
    pub(super) fn read(&mut self, region: &Region) {
        let there = count(region);
        for place in self.read..there {
            let bytes: [u8; NAME_BYTES] = region.bytes(FIRST + place * NAME_BYTES);
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            // A name that is none was not written by us; its place stays unused.
            if let Some(name) = std::str::from_utf8(text)
                .ok()
                .and_then(|text| DatastoreName::parse(text).ok())
            {
                self.places.entry(name).or_insert(place);
            }
        }
        self.read = there;
    }

    /// Adds a name unless it is there. Only under the file's lock, after [`Names::read`].
    pub(super) fn add(&mut self, region: &Region, name: &DatastoreName) -> Result<(), Full> {
        if self.places.contains_key(name) {
            return Ok(());
        }
        let place = self.read;
        let mut bytes = [0; NAME_BYTES];
        let text = name.as_str().as_bytes();
        let room = bytes
            .get_mut(..text.len())
            .filter(|_| place < NAMES)
            .ok_or(Full)?;
        room.copy_from_slice(text);
        region.write(FIRST + place * NAME_BYTES, &bytes);
        // Counted when it is there as a whole.
        region.word(AT_COUNT).store(place as u64 + 1, Ordering::SeqCst);
        self.places.insert(name.clone(), place);
        self.read = place + 1;
        Ok(())
    }
}
