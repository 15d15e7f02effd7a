//! The page, embedded at compile time: hashed names are cached for ever, `index.html` never, and every path that is
//! not a file is the page's own business (its router), except below `/api`.

use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};

use super::problem::ApiError;
use crate::services::error::ServiceError;

/// One embedded file and its precompressed forms.
struct Asset {
    path: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
    /// Quoted strong validator of the plain form.
    etag: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Serves a file of the page, or the page itself.
pub async fn serve(request: HttpRequest) -> HttpResponse {
    let path = request.path().trim_start_matches('/');
    if path.starts_with("api/") || path.starts_with("api2/") || path == "api" || path == "api2" {
        let error =
            ServiceError::not_found("unknown-path", format!("nothing is served at {}", request.path()));
        return HttpResponse::from_error(ApiError(error));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return HttpResponse::MethodNotAllowed()
            .insert_header((header::ALLOW, "GET, HEAD"))
            .finish();
    }
    let wanted = if path.is_empty() { "index.html" } else { path };
    match find(wanted) {
        Some(asset) => reply(&request, asset),
        // A missing file with an extension is a mistake, not a route of the page.
        None if wanted
            .rsplit('/')
            .next()
            .is_some_and(|name| name.contains('.') && is_file_name(name)) =>
        {
            HttpResponse::NotFound()
                .content_type("text/plain; charset=utf-8")
                .body("no such file\n")
        }
        None => match find("index.html") {
            Some(index) => reply(&request, index),
            None => HttpResponse::NotFound().finish(),
        },
    }
}

/// Store names may hold dots; what ends like a file of the page is one.
fn is_file_name(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default();
    matches!(
        extension,
        "js" | "css" | "wasm" | "svg" | "png" | "ico" | "map" | "json" | "txt" | "html" | "woff2"
    )
}

fn find(path: &str) -> Option<&'static Asset> {
    ASSETS
        .binary_search_by(|asset| asset.path.cmp(path))
        .ok()
        .and_then(|at| ASSETS.get(at))
}

fn reply(request: &HttpRequest, asset: &'static Asset) -> HttpResponse {
    let cache = match asset.path {
        "index.html" => "no-cache",
        path if is_hashed(path) => "public, max-age=31536000, immutable",
        _ => "public, max-age=3600",
    };
    let matches = request
        .headers()
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value
                .split(',')
                .map(str::trim)
                .any(|tag| tag == "*" || tag.trim_start_matches("W/") == asset.etag)
        });
    let mut reply = HttpResponse::build(if matches {
        StatusCode::NOT_MODIFIED
    } else {
        StatusCode::OK
    });
    reply
        .insert_header((header::CACHE_CONTROL, cache))
        .insert_header((header::ETAG, asset.etag))
        .insert_header((header::VARY, "accept-encoding"));
    if matches {
        return reply.finish();
    }
    let (body, encoding) = choose(request, asset);
    reply.insert_header((header::CONTENT_ENCODING, HeaderValue::from_static(encoding)));
    reply.insert_header((
        header::CONTENT_TYPE,
        mime_guess::from_path(asset.path)
            .first_or_octet_stream()
            .to_string(),
    ));
    reply.body(body)
}

/// `app-0123456789abcdef.css`: the name changes with the content.
fn is_hashed(path: &str) -> bool {
    path.split_once('.')
        .and_then(|(stem, _)| stem.rsplit_once('-'))
        .is_some_and(|(_, digest)| digest.len() >= 8 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn choose(request: &HttpRequest, asset: &'static Asset) -> (&'static [u8], &'static str) {
    let accepts = |name: &str| {
        request
            .headers()
            .get_all(header::ACCEPT_ENCODING)
            .filter_map(|value| value.to_str().ok())
            .any(|value| {
                value.split(',').any(|coding| {
                    let mut parts = coding.split(';').map(str::trim);
                    parts.next() == Some(name) && parts.next() != Some("q=0")
                })
            })
    };
    match (asset.brotli, asset.gzip) {
        (Some(body), _) if accepts("br") => (body, "br"),
        (_, Some(body)) if accepts("gzip") => (body, "gzip"),
        _ => (asset.plain, "identity"),
    }
}
