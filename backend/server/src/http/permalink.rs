//! Links to pages of the benchmark lab, as they stand in what is exported.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use super::problem::ApiResult;
use crate::services::error::ServiceError;

/// Longest host that is taken over into a link.
const MAX_HOST: usize = 255;

/// The page of a run.
#[must_use]
pub fn of_run(request: &HttpRequest, id: Uuid) -> String {
    format!("{}/bench/runs/{id}", origin(request))
}

/// The page of a comparison.
#[must_use]
pub fn of_pair(request: &HttpRequest, before: Uuid, after: Uuid, across: bool) -> String {
    format!("{}{}", origin(request), page(before, after, across))
}

/// The same, short enough for a line of a mail: [`follow`] leads from there to the page.
#[must_use]
pub fn short(request: &HttpRequest, before: Uuid, after: Uuid, across: bool) -> String {
    let text = |id: Uuid| URL_SAFE_NO_PAD.encode(id.as_bytes());
    let sign = if across { '~' } else { '.' };
    format!(
        "{}/bench/c/{}{sign}{}",
        origin(request),
        text(before),
        text(after)
    )
}

fn page(before: Uuid, after: Uuid, across: bool) -> String {
    let across = if across { "&across=true" } else { "" };
    format!("/bench/compare?before={before}&after={after}{across}")
}

/// `GET /bench/c/{pair}`: a short link to a comparison. The page asks who it is.
pub async fn follow(pair: web::Path<String>) -> ApiResult<HttpResponse> {
    let (before, after, across) = parse(&pair)
        .ok_or_else(|| ServiceError::not_found("unknown-path", "expected the short link of a comparison"))?;
    Ok(HttpResponse::Found()
        .insert_header((header::LOCATION, page(before, after, across)))
        .finish())
}

fn parse(pair: &str) -> Option<(Uuid, Uuid, bool)> {
    let id = |text: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Uuid::from_slice(&bytes).ok()
    };
    let (before, after) = pair.split_once(['.', '~'])?;
    Some((id(before)?, id(after)?, pair.contains('~')))
}

/// Scheme and host as the client named them. Headers of proxies are not believed.
fn origin(request: &HttpRequest) -> String {
    let host = request.uri().authority().map(|authority| authority.as_str());
    let host = host.or_else(|| request.headers().get(header::HOST)?.to_str().ok());
    let plain = |host: &&str| {
        (1..=MAX_HOST).contains(&host.len())
            && host
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte))
    };
    host.filter(plain)
        .map_or_else(String::new, |host| format!("https://{host}"))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn a_short_link_leads_to_its_page() {
        let (before, after) = (Uuid::now_v7(), Uuid::now_v7());
        let request = TestRequest::default()
            .insert_header((header::HOST, "backup.example:8007"))
            .to_http_request();
        for across in [false, true] {
            let link = short(&request, before, after, across);
            let pair = link.strip_prefix("https://backup.example:8007/bench/c/").unwrap();
            assert!(pair.len() <= 45, "{link}");
            assert_eq!(parse(pair), Some((before, after, across)));
        }
        assert_eq!(parse("x.y"), None);
    }

    #[test]
    fn a_strange_host_is_left_out() {
        let id = Uuid::nil();
        let request = TestRequest::default()
            .insert_header((header::HOST, "a\"b"))
            .to_http_request();
        assert_eq!(of_run(&request, id), format!("/bench/runs/{id}"));
    }
}
