//! Files kept with a run.

use std::sync::Arc;

use fleethold_api_types::bench::{Attachment, AttachmentKind, Side};
use fleethold_bench_model::flame::Folded;
use fleethold_bench_model::sample::Side as ModelSide;
use fleethold_history::bench::{MAX_ATTACHMENT_BYTES, NewAttachment};
use futures_util::Stream;
use uuid::Uuid;

use super::content::{self, Held};
use super::lab::ImportPlace;
use super::record;
use super::turns::Turn;
use crate::services::error::{ErrorKind, ServiceError, ServiceResult};
use crate::state::AppState;

/// Characters of a file's name at most.
const MAX_NAME: usize = 200;
/// Bytes of a file at most.
pub const MAX_FILE: usize = MAX_ATTACHMENT_BYTES;

/// Keeps a file with a run.
///
/// # Errors
/// When the run is none or not in the database yet, or the file is not what it is said to be.
pub async fn attach(
    state: &AppState,
    run: Uuid,
    kind: AttachmentKind,
    side: Option<Side>,
    name: &str,
    (bytes, place): (Vec<u8>, ImportPlace),
) -> ServiceResult<Attachment> {
    check_name(name)?;
    if let Held::Memory(cell) = content::find(state, run).await? {
        let text = format!("run {} is not in the database yet", cell.id());
        return Err(ServiceError::conflict("not-stored", text));
    }
    let (bytes, place) = if kind == AttachmentKind::FlameGraph {
        let checked = state
            .lab
            .turns
            .compute(move || stacks(&bytes).map(|_| (bytes, place)));
        checked.await?
    } else {
        (bytes, place)
    };
    let file = NewAttachment {
        kind: record::kind_of(kind),
        side: side.map(|side| match side {
            Side::Before => ModelSide::Before,
            Side::After => ModelSide::After,
        }),
        name: name.to_owned(),
        bytes,
    };
    let database = Arc::clone(&state.views.database);
    let kept = state.work.spawn(async move {
        let _place = place;
        database.attach(run, file).await
    });
    let kept = kept.await??.ok_or_else(|| content::unknown(run))?;
    Ok(record::attachment_of(kept))
}

/// A file of a run, and its bytes as they came: piece by piece, as fast as they are taken.
///
/// # Errors
/// When the run has no such file, or too many are on their way already. A file that turns out to be damaged on its way
/// ends in an error.
pub async fn send(
    state: &AppState,
    run: Uuid,
    id: Uuid,
) -> ServiceResult<(Attachment, impl Stream<Item = ServiceResult<Vec<u8>>> + use<>)> {
    let place = state.lab.download_place()?;
    let database = Arc::clone(&state.views.database);
    let opened = state
        .work
        .spawn(async move { database.open_attachment(id).await });
    let reader = opened.await??;
    let reader = reader
        .filter(|reader| reader.file().run == run)
        .ok_or_else(|| unknown(id))?;
    let file = record::attachment_of(reader.file().clone());
    let work = state.work.clone();
    let pieces = futures_util::stream::try_unfold((reader, place), move |(mut reader, place)| {
        let step = work.spawn(async move {
            let piece = reader.next().await;
            (reader, place, piece)
        });
        async move {
            let (reader, place, piece) = step.await?;
            if let Err(error) = &piece {
                tracing::warn!(attachment = %id, %error, "an attachment cannot be sent to its end");
            }
            Ok(piece?.map(|piece| (piece, (reader, place))))
        }
    });
    Ok((file, pieces))
}

/// A whole file, read in a turn.
///
/// # Errors
/// When there is no such file.
pub async fn whole(state: &AppState, turn: &Turn, id: Uuid) -> ServiceResult<(Attachment, Vec<u8>)> {
    let (database, turn) = (Arc::clone(&state.views.database), turn.clone());
    let read = state.work.spawn(async move {
        let _turn = turn;
        database.attachment(id).await
    });
    let (file, bytes) = read.await??.ok_or_else(|| unknown(id))?;
    Ok((record::attachment_of(file), bytes))
}

fn unknown(id: Uuid) -> ServiceError {
    let text = format!("there is no attachment {id} here");
    ServiceError::not_found("unknown-attachment", text)
}

/// Folded stacks of a file.
///
/// # Errors
/// Unprocessable, with the line that is none.
pub fn stacks(bytes: &[u8]) -> ServiceResult<Folded> {
    let refused = |error: &dyn std::fmt::Display| ServiceError::unprocessable("invalid-stacks", error);
    let text = std::str::from_utf8(bytes).map_err(|error| refused(&error))?;
    let folded = Folded::parse(text).map_err(|error| refused(&error))?;
    if folded.is_empty() {
        return Err(refused(&"folded stacks: expected at least one, found none"));
    }
    Ok(folded)
}

/// A name that a person gave to a file.
///
/// # Errors
/// When it is empty, too long or holds control characters.
pub fn check_name(name: &str) -> ServiceResult<()> {
    let length = name.chars().count();
    if (1..=MAX_NAME).contains(&length) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    let text =
        format!("name: expected 1 to {MAX_NAME} characters without control characters, found {length}");
    Err(ServiceError::bad_request("invalid-name", text))
}

/// A file longer than what is kept.
#[must_use]
pub fn too_large(found: &str) -> ServiceError {
    let text = format!("request body: expected at most {MAX_FILE} bytes, found {found}");
    ServiceError::new(ErrorKind::TooLarge, "file-too-large", text)
}
