//! Files of a snapshot: as they are stored, or assembled and decoded. Memory does not grow with the file.

use std::io;
use std::sync::Arc;

use actix_web::body::SizedStream;
use actix_web::http::header::{self, ContentEncoding};
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, HttpResponseBuilder};
use bytes::Bytes;
use fleethold_format::names::ArchiveName;
use futures_util::{Stream, StreamExt as _, stream};
use tokio_util::io::ReaderStream;

use super::caller::PbsCaller;
use super::envelope::{PbsError, PbsResult};
use super::locate::{blocking, namespace, on_store, snapshot};
use super::params::Params;
use super::rights::{Reach, Rights};
use crate::auth::acl::Privileges;
use crate::jobs::spec::FileSpec;
use crate::services::content::{self, Download};
use crate::services::error::ServiceError;
use crate::services::keys::KeyText;
use crate::services::stores;
use crate::state::AppState;

const CONTENT_TYPE: &str = "application/octet-stream";
/// Bytes read from a stored file at once.
const PIECE: usize = 256 << 10;

/// The file that `ns`, the three parts of the snapshot and `file-name` mean.
///
/// # Errors
/// Also when the caller may read neither everything nor a group of its own there.
async fn wanted(
    state: &AppState,
    caller: &PbsCaller,
    store: &str,
    mut params: Params,
) -> Result<FileSpec, PbsError> {
    let (ns, snapshot) = (namespace(&mut params)?, snapshot(&mut params)?);
    let file: ArchiveName = params.required("file-name")?;
    params.finish()?;
    let rights = Rights::of(state, caller);
    let reach = rights
        .reach(store, &ns, Privileges::READ, Privileges::BACKUP)
        .await?;
    if reach == Reach::Own {
        let (ns, group) = (ns.clone(), snapshot.group.clone());
        on_store(state, store, move |store| {
            let found = store.groups(&ns)?.into_iter().find(|found| found.path == group);
            rights.check_owner(reach, found.and_then(|found| found.owner).as_ref())
        })
        .await?;
    }
    let store = stores::readable(&state.views, store)?.view;
    Ok(FileSpec {
        store,
        ns,
        snapshot,
        file: file.to_string(),
    })
}

/// `…/download`: the stored file, byte for byte.
pub(super) async fn stored(
    caller: PbsCaller,
    state: Data<AppState>,
    store: Path<String>,
    params: Params,
) -> PbsResult {
    let file = wanted(&state, &caller, &store, params).await?;
    let guard = file.store.try_read()?;
    let name: ArchiveName = file.file.parse().map_err(PbsError::bad_request)?;
    let views = Arc::clone(&state.views);
    let (stored, reader) = blocking(&state, move || {
        let store = content::open(&views, file.store.name.as_str())?;
        let stored = store.store.stored_file(&file.ns, &file.snapshot, &name)?;
        let reader = stored.file.try_clone().map_err(ServiceError::internal)?;
        Ok((stored, reader))
    })
    .await?;
    let len = stored.len;
    let pieces = ReaderStream::with_capacity(tokio::fs::File::from_std(reader), PIECE);
    // The snapshot's lock and the read live as long as the stream.
    let pieces = pieces.map(move |piece| {
        let _alive = (&stored, &guard);
        piece
    });
    Ok(HttpResponse::Ok()
        .content_type(CONTENT_TYPE)
        .body(SizedStream::new(len, pieces)))
}

/// `…/download-decoded`: the plain bytes; what is encrypted is refused, the server has no key.
pub(super) async fn decoded(
    caller: PbsCaller,
    state: Data<AppState>,
    store: Path<String>,
    params: Params,
) -> PbsResult {
    let file = wanted(&state, &caller, &store, params).await?;
    let key = KeyText::default();
    let mut download = content::download(&state.views, &state.engine, &state.work, file, key).await?;
    // What is wrong from the first byte on is an error reply, not a broken stream.
    let first = download.next_piece().await?;
    let second = match first {
        Some(_) => download.next_piece().await?,
        None => None,
    };
    let Download { stream, mut len, .. } = download;
    // A blob's length is known once it is decoded: a short one is here as a whole.
    if len.is_none() && second.is_none() {
        len = Some(first.as_ref().map_or(0, |piece| piece.len() as u64));
    }
    let head: Vec<Bytes> = first.into_iter().chain(second).collect();
    let pieces = stream::iter(head.into_iter().map(Ok)).chain(stream);
    Ok(reply(len, pieces.map(|piece| piece.map_err(io::Error::other))))
}

fn reply(len: Option<u64>, pieces: impl Stream<Item = io::Result<Bytes>> + 'static) -> HttpResponse {
    match len {
        Some(len) => start().body(SizedStream::new(len, pieces)),
        None => start().streaming(pieces),
    }
}

/// Bytes as they are: compressing an image again costs more than it saves and takes its length away.
fn start() -> HttpResponseBuilder {
    let mut reply = HttpResponse::Ok();
    reply
        .content_type(CONTENT_TYPE)
        .insert_header((header::CONTENT_ENCODING, ContentEncoding::Identity));
    reply
}
