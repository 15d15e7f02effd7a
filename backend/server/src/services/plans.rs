//! What a restore would do, without doing it.

use std::sync::Arc;

use fleethold_api_types::{PlanRequest, PlanStrip, RestorePlan as ApiPlan};
use fleethold_datastore::IndexFile;
use fleethold_format::manifest::SignatureCheck;
use fleethold_restore::plan::Use;
use fleethold_restore::{RestoreEngine, RestorePlan};

use super::convert::crypt_mode;
use super::error::ServiceResult;
use super::keys::KeyText;
use crate::clock;
use crate::jobs::spec::FileSpec;
use crate::views::Views;

/// Parts of the picture of an image.
const STRIP_PARTS: u64 = 256;

/// Plans a restore. Blocks.
///
/// # Errors
/// When the file is missing, damaged or does not fit the key.
pub fn plan(views: &Arc<Views>, engine: &RestoreEngine, request: PlanRequest) -> ServiceResult<ApiPlan> {
    let start = clock::monotonic();
    let PlanRequest {
        source,
        key,
        key_password,
    } = request;
    let key = KeyText::new(key, key_password).unlock()?;
    let spec = FileSpec::parse(
        views,
        &source.store,
        &source.ns,
        &source.snapshot,
        &source.archive,
    )?;
    let _read = spec.store.try_read()?;
    let open = spec.open_for_plan(key.as_deref())?;
    let key_fits = open
        .signature
        .as_ref()
        .map(|check| matches!(check, SignatureCheck::Valid));
    let mut plan = ApiPlan {
        bytes_total: 0,
        zero_bytes: 0,
        fetch_bytes: 0,
        chunks_total: 0,
        chunks_distinct: 0,
        chunks_duplicate: 0,
        chunks_zero: 0,
        strip: Vec::new(),
        crypt_mode: crypt_mode(open.crypt_mode),
        key_fits: key_fits.filter(|fits| *fits),
        plan_ns: 0,
    };
    match open.index()? {
        Some(index) => {
            let built = engine.plan(&index, open.crypt_mode, key.as_deref())?;
            let counts = built.counts();
            let (strip, fetch_bytes) = picture(&built, &index)?;
            plan.bytes_total = counts.bytes_total;
            plan.zero_bytes = counts.zero_bytes;
            plan.fetch_bytes = fetch_bytes;
            plan.chunks_total = counts.chunks_total;
            plan.chunks_distinct = counts.chunks_distinct;
            plan.chunks_duplicate = counts.duplicate_chunks;
            plan.chunks_zero = counts.zero_chunks;
            plan.strip = strip;
        }
        None => {
            // A blob is one piece; its plain length is known only after decoding.
            let stored = open.snapshot.read_blob_raw(&open.name)?.len() as u64;
            plan.bytes_total = stored;
            plan.fetch_bytes = stored;
            plan.strip = vec![PlanStrip {
                fetch: 1000,
                reuse: 0,
                zero: 0,
            }];
        }
    }
    plan.plan_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(plan)
}

/// Shares of fetched, reused and zero chunks in equal parts of the image, and the bytes of all first uses.
fn picture(plan: &RestorePlan, index: &IndexFile) -> ServiceResult<(Vec<PlanStrip>, u64)> {
    let chunks = index.chunk_count();
    let parts = chunks.clamp(1, STRIP_PARTS);
    let mut strip = Vec::with_capacity(usize::try_from(parts).unwrap_or_default());
    let mut fetch_bytes = 0;
    for part in 0..parts {
        let range = (chunks * part / parts)..(chunks * (part + 1) / parts);
        let (mut fetch, mut reuse, mut zero) = (0u64, 0u64, 0u64);
        for position in range {
            let len = index.chunk_len(position)?;
            match plan.use_at(position) {
                Use::First => {
                    fetch += len;
                    fetch_bytes += len;
                }
                Use::Repeat => reuse += len,
                Use::Zero => zero += len,
            }
        }
        let all = fetch + reuse + zero;
        let per_mille =
            |bytes: u64| u16::try_from((bytes * 1000).checked_div(all).unwrap_or(0)).unwrap_or(1000);
        strip.push(PlanStrip {
            fetch: per_mille(fetch),
            reuse: per_mille(reuse),
            zero: per_mille(zero),
        });
    }
    Ok((strip, fetch_bytes))
}
