//! `token.shadow`, parsed: the hash of each token's secret (CONFIG.md §3.2).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use fleethold_format::names::Authid;

use super::error::UserError;
use super::read_hashes;

/// All hashes of a file.
#[derive(Debug, Default)]
pub(super) struct TokenHashes(HashMap<Authid, Arc<str>>);

impl TokenHashes {
    pub(super) fn read(path: &Path) -> Result<Self, UserError> {
        let entries = read_hashes(path)?.into_iter();
        // What is no token's name lets nobody in; it stays in the file.
        let hashes = entries.filter_map(|(id, hash)| Some((Authid::parse(&id).ok()?, hash.into())));
        Ok(Self(hashes.collect()))
    }

    pub(super) fn of(&self, token: &Authid) -> Option<Arc<str>> {
        self.0.get(token).cloned()
    }
}
