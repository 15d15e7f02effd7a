//! On-disk formats of Proxmox Backup Server: bytes in, types out, and back.
//!
//! Nothing here opens a file, knows a runtime or allocates from a length which was not checked first. Every
//! parser takes bytes from a stranger: it answers with a typed error that says what was expected and what was
//! found, and never panics (`fuzz/bodies.rs` is the list that fuzzing and the property tests share).
//!
//! | module | holds | source |
//! |---|---|---|
//! | [`hash`] | SHA-256 | everywhere |
//! | [`digest`] | identity of a chunk | FORMAT.md §4 |
//! | [`names`] | datastore, namespace, group, snapshot, archive, user | FORMAT.md §1 |
//! | [`crypt`] | key, fingerprint, AES-256-GCM with a 16-byte IV | FORMAT.md §3, §4, §8 |
//! | [`blob`] | the envelope of every stored object | FORMAT.md §3 |
//! | [`index`] | fixed and dynamic index headers and entries | FORMAT.md §5, §6 |
//! | [`manifest`] | `index.json.blob`, canonical JSON, signature | FORMAT.md §7 |
//! | [`key_file`] | the client's key file | FORMAT.md §8 |
//! | [`section_config`], [`property_string`] | configuration files | CONFIG.md §1 |
//! | [`upid`], [`escape`] | task identifiers | API.md §3.2 |

pub mod blob;
pub mod crypt;
pub mod digest;
pub mod escape;
pub mod hash;
pub mod index;
pub mod key_file;
pub mod manifest;
pub mod names;
pub mod property_string;
pub mod section_config;
mod text;
pub mod upid;

/// Largest plain length of one chunk that a server accepts: 16 MiB (FORMAT.md §4).
pub const MAX_CHUNK_PLAIN: u64 = 16 << 20;

/// Largest stored length of one chunk: nothing may grow beyond its plain length and the longest header.
pub const MAX_CHUNK_ENCODED: u64 = MAX_CHUNK_PLAIN + blob::ENCRYPTED_HEADER_LEN as u64;
