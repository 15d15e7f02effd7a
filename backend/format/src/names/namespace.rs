//! Namespaces: a small tree of directories above the groups.

use std::fmt;
use std::path::PathBuf;

use super::{NameError, is_safe_id, name_text};

/// Levels below the root that a namespace may have.
pub const MAX_DEPTH: usize = 7;

const MAX_LEN: usize = 256;
const WHAT: &str = "namespace";
const EXPECTED: &str =
    "up to 7 components of letters, digits, `_`, `.` or `-`, separated by `/`, 256 characters in all";

/// A namespace, written `a/b`; the root is the empty text.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(Box<str>);

impl Namespace {
    /// The root namespace.
    pub fn root() -> Self {
        Self::default()
    }

    /// Checks `text`; the empty text is the root.
    ///
    /// # Errors
    /// A [`NameError`] with the rule and the text.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let valid = text.is_empty()
            || (text.len() <= MAX_LEN
                && text.split('/').count() <= MAX_DEPTH
                && text.split('/').all(is_safe_id));
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(NameError::new(WHAT, EXPECTED, text))
        }
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The components from the top; none for the root.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// The namespace `component` directly below this one.
    ///
    /// # Errors
    /// A [`NameError`] when the component, the depth or the length is not allowed.
    pub fn child(&self, component: &str) -> Result<Self, NameError> {
        if !is_safe_id(component) {
            return Err(NameError::new(WHAT, EXPECTED, component));
        }
        if self.is_root() {
            Self::parse(component)
        } else {
            Self::parse(&format!("{self}/{component}"))
        }
    }

    /// The namespace above, `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(
            self.0
                .rsplit_once('/')
                .map_or_else(Self::root, |(parent, _)| Self(parent.into())),
        )
    }

    /// Levels below the root: 0 for the root.
    pub fn depth(&self) -> usize {
        self.components().count()
    }

    /// The text, `a/b`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Directory relative to the datastore: `ns/a/ns/b`, empty for the root (FORMAT.md §1).
    pub fn rel_path(&self) -> PathBuf {
        self.components()
            .flat_map(|component| ["ns", component])
            .collect()
    }

    /// Whether `self` is `ancestor` or lies below it.
    pub fn is_within(&self, ancestor: &Self) -> bool {
        ancestor.is_root()
            || self
                .0
                .strip_prefix(&*ancestor.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

name_text!(Namespace);
