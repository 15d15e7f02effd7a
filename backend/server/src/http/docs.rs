//! The OpenAPI document to browse, without any other server: Swagger UI from the binary.

use std::sync::{Arc, LazyLock};

use actix_web::http::header;
use actix_web::web::ServiceConfig;
use actix_web::{HttpRequest, HttpResponse};
use utoipa_swagger_ui::Config;

use super::methods::at;
use super::wrong_method;

/// Swagger UI sets styles of its own from scripts and shows inline images; scripts stay our own files.
const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; \
    frame-ancestors 'none'";

static CONFIG: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    Arc::new(
        Config::new(["/api/v1/openapi.json"])
            .validator_url("none")
            .try_it_out_enabled(true)
            .with_credentials(true),
    )
});

/// Registers `/api/docs/`.
pub fn configure(config: &mut ServiceConfig) {
    config
        .service(at("/api/docs").get(to_folder).or(wrong_method))
        .service(at("/api/docs/{file:.*}").get(serve).or(wrong_method));
}

async fn to_folder() -> HttpResponse {
    HttpResponse::PermanentRedirect()
        .insert_header((header::LOCATION, "/api/docs/"))
        .finish()
}

async fn serve(request: HttpRequest) -> HttpResponse {
    let file = request.match_info().query("file");
    match utoipa_swagger_ui::serve(file, Arc::clone(&CONFIG)) {
        Ok(Some(found)) => HttpResponse::Ok()
            .insert_header((header::CONTENT_SECURITY_POLICY, DOCS_POLICY))
            .insert_header((header::CACHE_CONTROL, "public, max-age=3600"))
            .content_type(found.content_type)
            .body(found.bytes.into_owned()),
        Ok(None) => HttpResponse::NotFound()
            .content_type("text/plain; charset=utf-8")
            .body("no such file\n"),
        Err(error) => {
            tracing::warn!(%error, file, "the API's pages cannot be served");
            HttpResponse::InternalServerError().finish()
        }
    }
}
