//! Pages of lists: the cursor is the key of the last entry given out, so that changes in between neither skip nor
//! repeat entries. Before it stands which list it is of: in another one it means nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fleethold_api_types::Page;
use fleethold_format::hash::Sha256;

use super::error::{ServiceError, ServiceResult};

/// Entries of a page when the request does not say.
pub const DEFAULT_LIMIT: usize = 200;
/// Entries of a page at most.
pub const MAX_LIMIT: usize = 10_000;

/// Tells one list from another; a slip is to be noticed, not an attack.
type ListTag = [u8; 6];

/// The part of a request that asks for a page.
#[derive(Debug, Clone)]
pub struct PageRequest {
    list: ListTag,
    after: Option<String>,
    limit: usize,
}

impl PageRequest {
    /// From `cursor` and `limit` of a query for the list that `list` names: what it is of and what it is filtered by.
    ///
    /// # Errors
    /// When the cursor is none of this list or the limit is out of bounds.
    pub fn parse(list: &[&str], cursor: Option<&str>, limit: Option<usize>) -> ServiceResult<Self> {
        let [a, b, c, d, e, f, ..] = Sha256::digest(list.join("\0"));
        let list = [a, b, c, d, e, f];
        let after = cursor.map(|cursor| decode(list, cursor)).transpose()?;
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            let text = format!("limit: expected 1 to {MAX_LIMIT}, found {limit}");
            return Err(ServiceError::bad_request("invalid-limit", text));
        }
        Ok(Self { list, after, limit })
    }

    /// The key behind which the page starts.
    #[must_use]
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Entries of the page at most.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The same page, but not longer than `max`.
    #[must_use]
    pub fn at_most(self, max: usize) -> Self {
        Self {
            limit: self.limit.min(max),
            ..self
        }
    }

    /// Cuts the page out of `items`. `key` names an entry; `is_behind(entry, cursor)` says whether it comes after the
    /// entry with that key in the list's order.
    pub fn cut<T>(
        &self,
        items: Vec<T>,
        key: impl Fn(&T) -> String,
        is_behind: impl Fn(&T, &str) -> bool,
    ) -> Page<T> {
        let total = items.len() as u64;
        let mut items: Vec<T> = match &self.after {
            Some(after) => items
                .into_iter()
                .skip_while(|item| !is_behind(item, after))
                .collect(),
            None => items,
        };
        let more = items.len() > self.limit;
        items.truncate(self.limit);
        let next_cursor = items
            .last()
            .filter(|_| more)
            .map(|last| URL_SAFE_NO_PAD.encode([&self.list, key(last).as_bytes()].concat()));
        Page {
            items,
            next_cursor,
            total: Some(total),
        }
    }
}

fn decode(list: ListTag, cursor: &str) -> ServiceResult<String> {
    URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes.strip_prefix(&list)?.to_vec()).ok())
        .ok_or_else(foreign_cursor)
}

/// A cursor that this list never gave out.
#[must_use]
pub fn foreign_cursor() -> ServiceError {
    let text = "cursor: expected the `next_cursor` of a page of this very list";
    ServiceError::bad_request("invalid-cursor", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_together_are_the_list() {
        let list: Vec<u32> = (0..25).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let request = PageRequest::parse(&["numbers"], cursor.as_deref(), Some(10)).unwrap();
            let page = request.cut(list.clone(), u32::to_string, |item, after| {
                *item > after.parse().unwrap()
            });
            seen.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_some() {
                let elsewhere = PageRequest::parse(&["numbers", "odd"], cursor.as_deref(), None);
                assert_eq!(elsewhere.unwrap_err().code, "invalid-cursor");
            }
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, list);
        for (cursor, limit) in [(Some("%%%"), None), (None, Some(0)), (None, Some(MAX_LIMIT + 1))] {
            assert!(PageRequest::parse(&["numbers"], cursor, limit).is_err());
        }
    }
}
