//! Folded stacks: `main;restore;decode 42`, one stack a line.

use crate::flame::{Folded, FoldedError};

use super::{Content, ImportError, Place, Source};

pub(super) fn read(source: &Source<'_>) -> Result<Content, ImportError> {
    let folded = Folded::parse(source.text).map_err(
        |FoldedError {
             line,
             expected,
             found,
         }| { source.error(Place::Line(line), expected, &found) },
    )?;
    if folded.total() == 0 {
        return Err(source.error(Place::End, "at least one stack", "none"));
    }
    Ok(Content::Stacks(folded))
}
