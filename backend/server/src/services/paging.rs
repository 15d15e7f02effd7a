//! Pages of lists: the cursor is the key of the last entry given out, so that changes in between neither skip nor
//! repeat entries.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fleethold_api_types::Page;

use super::error::{ServiceError, ServiceResult};

/// Entries of a page when the request does not say.
pub const DEFAULT_LIMIT: usize = 200;
/// Entries of a page at most.
pub const MAX_LIMIT: usize = 10_000;

/// The part of a request that asks for a page.
#[derive(Debug, Clone, Default)]
pub struct PageRequest {
    after: Option<String>,
    limit: usize,
}

impl PageRequest {
    /// From `cursor` and `limit` of a query.
    ///
    /// # Errors
    /// When the cursor is none of ours or the limit is out of bounds.
    pub fn parse(cursor: Option<&str>, limit: Option<usize>) -> ServiceResult<Self> {
        let after = cursor.map(decode).transpose()?;
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            let text = format!("limit: expected 1 to {MAX_LIMIT}, found {limit}");
            return Err(ServiceError::bad_request("invalid-limit", text));
        }
        Ok(Self { after, limit })
    }

    /// The key behind which the page starts.
    #[must_use]
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
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
            .map(|last| URL_SAFE_NO_PAD.encode(key(last)));
        Page {
            items,
            next_cursor,
            total: Some(total),
        }
    }
}

fn decode(cursor: &str) -> ServiceResult<String> {
    URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| ServiceError::bad_request("invalid-cursor", "the cursor is not one of this server"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_together_are_the_list() {
        let list: Vec<u32> = (0..25).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let request = PageRequest::parse(cursor.as_deref(), Some(10)).unwrap();
            let page = request.cut(list.clone(), u32::to_string, |item, after| {
                *item > after.parse().unwrap()
            });
            seen.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, list);
        assert!(PageRequest::parse(Some("%%%"), None).is_err());
        assert!(PageRequest::parse(None, Some(0)).is_err());
        assert!(PageRequest::parse(None, Some(MAX_LIMIT + 1)).is_err());
    }
}
