//! One record in a segment: `length u32 | weight u32 | crc32 u32 | payload`, little-endian. The CRC covers weight and
//! payload. The weight is the number of rows in the record, so that dropping can be counted without parsing.

/// Bytes before the payload.
pub(super) const HEADER_LEN: usize = 12;
/// The longest payload; a longer length is damage, and nothing is allocated for it.
pub(super) const MAX_PAYLOAD: usize = 256 * 1024;

/// What stands at a place of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    /// A whole record and its length with the header.
    Whole {
        /// The rows in it.
        weight: u32,
        /// The record.
        payload: &'a [u8],
        /// Header and payload.
        len: usize,
    },
    /// Nothing: the end.
    End,
    /// A record that was being written when the power went.
    Torn,
    /// Not what was written.
    Damaged,
}

pub(super) fn encode(payload: &[u8], weight: u32) -> Option<Vec<u8>> {
    let len = u32::try_from(payload.len())
        .ok()
        .filter(|_| payload.len() <= MAX_PAYLOAD && !payload.is_empty())?;
    let mut frame = Vec::with_capacity(HEADER_LEN + payload.len());
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(&weight.to_le_bytes());
    frame.extend_from_slice(&crc(weight, payload).to_le_bytes());
    frame.extend_from_slice(payload);
    Some(frame)
}

pub(super) fn decode(bytes: &[u8]) -> Frame<'_> {
    if bytes.is_empty() {
        return Frame::End;
    }
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LEN>() else {
        return Frame::Torn;
    };
    let word = |at: usize| {
        header
            .get(at..at + 4)
            .and_then(|word| word.try_into().ok())
            .map_or(0, u32::from_le_bytes)
    };
    let (len, weight, expected) = (word(0) as usize, word(4), word(8));
    if len == 0 {
        // A file system may have lengthened the file without getting to the bytes.
        return Frame::Torn;
    }
    if len > MAX_PAYLOAD {
        return Frame::Damaged;
    }
    let Some(payload) = rest.get(..len) else {
        return Frame::Torn;
    };
    if crc(weight, payload) != expected {
        return Frame::Damaged;
    }
    Frame::Whole {
        weight,
        payload,
        len: HEADER_LEN + len,
    }
}

fn crc(weight: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&weight.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_every_truncation_and_flip_is_seen() {
        let bytes = encode(b"{\"a\":1}", 3).unwrap();
        assert_eq!(
            decode(&bytes),
            Frame::Whole {
                weight: 3,
                payload: b"{\"a\":1}",
                len: bytes.len()
            }
        );
        assert_eq!(decode(&[]), Frame::End);
        for cut in 1..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), Frame::Torn, "cut at {cut}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(
                matches!(decode(&flipped), Frame::Torn | Frame::Damaged),
                "bit {bit}"
            );
        }
        assert_eq!(decode(&[0; 100]), Frame::Torn);
    }

    #[test]
    fn longest_payload() {
        assert!(encode(&vec![b'x'; MAX_PAYLOAD], 1).is_some());
        assert!(encode(&vec![b'x'; MAX_PAYLOAD + 1], 1).is_none());
        assert!(encode(b"", 1).is_none());
    }
}
