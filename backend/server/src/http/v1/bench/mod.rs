//! The benchmark lab. Reading needs `Sys.Audit` on `/system/status`; starting, stopping, importing and saying something
//! about what was measured needs `Sys.Modify` on `/system`.

pub mod compare;
pub mod curate;
pub mod files;
pub mod runs;
pub mod series;
pub mod workloads;

use actix_web::HttpResponse;
use actix_web::http::header::ContentType;

use crate::http::methods::{Methods, at};
use crate::services::bench::encoded::Encoded;
use crate::services::error::{ServiceError, ServiceResult};

/// Its resources.
pub(super) fn resources() -> Vec<Methods> {
    vec![
        at("/bench/workloads").get(workloads::list),
        at("/bench/machines").get(workloads::machines),
        at("/bench/runs").get(runs::list).post(runs::create),
        at("/bench/runs/{id}").get(runs::get),
        at("/bench/runs/{id}/cancel").post(runs::cancel),
        at("/bench/runs/{id}/export").get(compare::run_text),
        at("/bench/runs/{id}/attachments").post(files::attach),
        at("/bench/runs/{id}/attachments/{attachment}").get(files::get),
        at("/bench/flame").get(files::flame),
        at("/bench/import").post(files::import),
        at("/bench/compare").get(compare::compare),
        at("/bench/compare/export").get(compare::text),
        at("/bench/series").get(series::list),
        at("/bench/series/{id}/history").get(series::history),
        at("/bench/annotations").post(curate::annotate),
        at("/bench/annotations/{id}").delete(curate::withdraw),
        at("/bench/alerts").get(curate::alerts),
        at("/bench/alerts/{id}").post(curate::change_alert),
    ]
}

/// A reply that was written as text already.
fn send_encoded(Encoded(text): Encoded) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(text)
}

/// Refuses a text that no workload can be called.
fn plain_text(name: &str, text: Option<&str>) -> ServiceResult<()> {
    match text.filter(|text| text.contains(char::is_control)) {
        Some(found) => Err(ServiceError::bad_request(
            "invalid-query",
            format!("{name}: expected text without control characters, found {found:?}"),
        )),
        None => Ok(()),
    }
}
