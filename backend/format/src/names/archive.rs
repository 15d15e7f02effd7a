//! Files of a snapshot.

use super::{NameError, is_safe_id, string_name};

/// How a file of a snapshot is stored.
#[derive(Debug, Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchiveKind {
    /// `.fidx`: chunks of one size.
    Fixed,
    /// `.didx`: chunks cut by content.
    Dynamic,
    /// `.blob`: one object.
    Blob,
}

impl ArchiveKind {
    /// All kinds, in the order in which an unknown name is tried.
    pub const ALL: [Self; 3] = [Self::Fixed, Self::Dynamic, Self::Blob];

    /// The file's extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Fixed => "fidx",
            Self::Dynamic => "didx",
            Self::Blob => "blob",
        }
    }

    /// Whether the file is an index of chunks.
    pub fn is_index(self) -> bool {
        self != Self::Blob
    }
}

fn kind_of(name: &str) -> Option<ArchiveKind> {
    let (stem, extension) = name.rsplit_once('.')?;
    ArchiveKind::ALL
        .into_iter()
        .find(|kind| !stem.is_empty() && kind.extension() == extension)
}

string_name!(
    /// File of a snapshot under the server's name, such as `drive-scsi0.img.fidx`.
    ArchiveName,
    "archive name",
    "letters, digits, `_`, `.` or `-`, ending in `.fidx`, `.didx` or `.blob`, at most 255",
    |text| text.len() <= 255 && is_safe_id(text) && kind_of(text).is_some()
);

impl ArchiveName {
    /// The manifest's own name.
    pub const MANIFEST: &'static str = "index.json.blob";
    /// The log which a client may add after the backup; not listed in the manifest.
    pub const CLIENT_LOG: &'static str = "client.log.blob";
    /// The key wrapped by a master key: plain although the session was encrypted (FORMAT.md §7).
    pub const WRAPPED_KEY: &'static str = "rsa-encrypted.key.blob";

    /// Accepts the server's name, or a client's (`root.pxar`, `drive-scsi0.img`, `qemu-server.conf`) with its
    /// extension added (FORMAT.md §1.2).
    ///
    /// # Errors
    /// A [`NameError`] for an extension that neither knows; [`ArchiveName::candidates`] goes further.
    pub fn from_user(text: &str) -> Result<Self, NameError> {
        if kind_of(text).is_some() {
            return Self::parse(text);
        }
        let kind = match text.rsplit_once('.').map(|(_, extension)| extension) {
            Some("pxar" | "mpxar" | "ppxar" | "pcat1") => ArchiveKind::Dynamic,
            Some("img") => ArchiveKind::Fixed,
            Some("conf" | "json" | "key" | "log") => ArchiveKind::Blob,
            _ => {
                return Err(NameError::new(
                    "archive name",
                    "a name ending in `.fidx`, `.didx`, `.blob`, `.img`, `.pxar`, `.mpxar`, `.ppxar`, `.pcat1`, \
                     `.conf`, `.json`, `.key` or `.log`",
                    text,
                ));
            }
        };
        Self::parse(&format!("{text}.{}", kind.extension()))
    }

    /// All server names that a user's `text` may mean, most likely first: one for a known extension, else the
    /// text (and the text with `.img`) with each of the three extensions. Empty when none is a valid name.
    pub fn candidates(text: &str) -> Vec<Self> {
        if let Ok(name) = Self::from_user(text) {
            return vec![name];
        }
        [text.to_owned(), format!("{text}.img")]
            .iter()
            .flat_map(|stem| ArchiveKind::ALL.map(|kind| format!("{stem}.{}", kind.extension())))
            .filter_map(|name| Self::parse(&name).ok())
            .collect()
    }

    /// How the file is stored.
    pub fn kind(&self) -> ArchiveKind {
        // `parse` admits no other extension.
        kind_of(&self.0).unwrap_or(ArchiveKind::Blob)
    }

    /// The name without `.fidx`, `.didx` or `.blob`, as a client calls it.
    pub fn client_name(&self) -> &str {
        self.0.rsplit_once('.').map_or(&*self.0, |(stem, _)| stem)
    }
}
