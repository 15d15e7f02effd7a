//! The packed table behind a plan: which positions use the same chunk.

use std::hash::{BuildHasher, RandomState};

use fleethold_format::digest::ChunkDigest;

use super::Use;
use crate::error::PlanError;

const NONE: u32 = u32::MAX;
const ZERO: u8 = 0x80;
const FIRST: u8 = 0x40;
const TAG: u8 = 0x3f;

#[derive(Debug)]
pub(super) struct Table {
    links: Vec<u32>,
    tags: Vec<u8>,
    heads: Vec<u32>,
    seed: RandomState,
}

impl Table {
    /// A table for `total` positions, all of which must then be inserted in order. `total` is at most 2^31.
    pub(super) fn new(total: u64) -> Result<Self, PlanError> {
        let too_large = || PlanError::Memory {
            bytes: total.saturating_mul(super::BUILD_BYTES),
        };
        let total = usize::try_from(total).map_err(|_too_wide| too_large())?;
        let mut table = Self {
            links: Vec::new(),
            tags: Vec::new(),
            heads: Vec::new(),
            seed: RandomState::new(),
        };
        table
            .links
            .try_reserve_exact(total)
            .map_err(|_full| too_large())?;
        table.tags.try_reserve_exact(total).map_err(|_full| too_large())?;
        let buckets = (total / 2).max(1);
        table
            .heads
            .try_reserve_exact(buckets)
            .map_err(|_full| too_large())?;
        table.heads.resize(buckets, NONE);
        Ok(table)
    }

    pub(super) fn insert_zero(&mut self, position: u64) {
        debug_assert_eq!(position, self.tags.len() as u64, "positions come in order");
        self.links.push(NONE);
        self.tags.push(ZERO);
    }

    /// Inserts a position and says whether it is the first use of its chunk. `same` compares with an earlier position.
    pub(super) fn insert(
        &mut self,
        position: u64,
        digest: &ChunkDigest,
        mut same: impl FnMut(u64) -> Result<bool, PlanError>,
    ) -> Result<bool, PlanError> {
        debug_assert_eq!(position, self.tags.len() as u64, "positions come in order");
        let hash = self.seed.hash_one(digest.0);
        let tag = FIRST | (hash.to_le_bytes()[0] & TAG);
        let bucket = scale(hash, self.heads.len());
        let head = get(&self.heads, bucket);
        let mut candidate = head;
        while candidate != NONE {
            let at = candidate as usize;
            if self.tags.get(at) == Some(&tag) && same(u64::from(candidate))? {
                self.links.push(candidate);
                self.tags.push(0);
                return Ok(false);
            }
            candidate = get(&self.links, at);
        }
        self.links.push(head);
        self.tags.push(tag);
        set(&mut self.heads, bucket, u32::try_from(position).unwrap_or(NONE));
        Ok(true)
    }

    /// Turns the buckets' links into links from each use of a chunk to its next use.
    pub(super) fn finish(&mut self) {
        self.heads = Vec::new();
        for (link, tag) in self.links.iter_mut().zip(&self.tags) {
            if tag & FIRST != 0 {
                *link = NONE;
            }
        }
        // From the back: each repeat goes in front of the later ones, right behind its first use.
        for position in (0..self.tags.len()).rev() {
            if self.tags.get(position) != Some(&0) {
                continue;
            }
            let first = get(&self.links, position) as usize;
            let next = get(&self.links, first);
            set(&mut self.links, position, next);
            set(&mut self.links, first, u32::try_from(position).unwrap_or(NONE));
        }
    }

    pub(super) fn use_at(&self, position: u64) -> Use {
        match usize::try_from(position).ok().and_then(|at| self.tags.get(at)) {
            Some(tag) if tag & ZERO != 0 => Use::Zero,
            Some(tag) if tag & FIRST != 0 => Use::First,
            Some(_tag) => Use::Repeat,
            None => Use::Zero,
        }
    }

    pub(super) fn next_use(&self, position: u64) -> Option<u64> {
        let link = usize::try_from(position).map_or(NONE, |at| get(&self.links, at));
        (link != NONE).then_some(u64::from(link))
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        (self.links.capacity() as u64 + self.heads.capacity() as u64) * 4 + self.tags.capacity() as u64
    }
}

/// Maps a hash evenly onto `0..buckets` by its high bits.
fn scale(hash: u64, buckets: usize) -> usize {
    let wide = (u128::from(hash) * buckets as u128) >> 64;
    usize::try_from(wide).unwrap_or(0)
}

fn get(links: &[u32], at: usize) -> u32 {
    links.get(at).copied().unwrap_or(NONE)
}

fn set(links: &mut [u32], at: usize, value: u32) {
    if let Some(link) = links.get_mut(at) {
        *link = value;
    }
}
