//! A path and what may be done there: HEAD is answered like GET, and who asks for anything else is told what there is.

use std::future::Future;
use std::sync::Arc;

use actix_web::dev::Handler;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{FromRequest, HttpRequest, HttpResponse, Resource, Responder, guard, web};

/// A resource under construction.
pub(super) struct Methods {
    resource: Resource,
    allowed: Vec<&'static str>,
}

/// The resource at `path`.
pub(super) fn at(path: &str) -> Methods {
    Methods {
        resource: web::resource(path),
        allowed: Vec::new(),
    }
}

macro_rules! methods {
    ($($name:ident: $method:expr;)+) => {$(
        pub(super) fn $name<H, A>(self, handler: H) -> Self
        where
            H: Handler<A>,
            A: FromRequest + 'static,
            H::Output: Responder + 'static,
        {
            self.on(&[$method], handler)
        }
    )+};
}

impl Methods {
    methods! {
        post: Method::POST;
        put: Method::PUT;
        delete: Method::DELETE;
    }

    /// GET and HEAD: the connection leaves out the body of the latter.
    pub(super) fn get<H, A>(self, handler: H) -> Self
    where
        H: Handler<A>,
        A: FromRequest + 'static,
        H::Output: Responder + 'static,
    {
        self.on(&[Method::GET, Method::HEAD], handler)
    }

    fn on<H, A>(mut self, methods: &'static [Method], handler: H) -> Self
    where
        H: Handler<A>,
        A: FromRequest + 'static,
        H::Output: Responder + 'static,
    {
        self.allowed.extend(methods.iter().map(Method::as_str));
        let wanted = guard::fn_guard(move |context| methods.contains(&context.head().method));
        self.resource = self.resource.route(web::route().guard(wanted).to(handler));
        self
    }

    /// Complete; `refuse` makes the reply to any other method, which then names those in `Allow`.
    pub(super) fn or(self, refuse: fn(&HttpRequest) -> HttpResponse) -> Resource {
        let allowed: Arc<str> = self.allowed.join(", ").into();
        self.resource
            .default_service(web::to(move |request: HttpRequest| {
                refused(refuse(&request), Arc::clone(&allowed))
            }))
    }
}

fn refused(mut reply: HttpResponse, allowed: Arc<str>) -> impl Future<Output = HttpResponse> {
    // Names of methods are good header values.
    if let Ok(value) = HeaderValue::from_str(&allowed) {
        reply.headers_mut().insert(header::ALLOW, value);
    }
    std::future::ready(reply)
}
