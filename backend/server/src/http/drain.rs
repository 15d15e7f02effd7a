//! Reads what a handler left of a request's body.
//!
//! A request is often answered before its body is read: the log-in is missing, the path is unknown. Over HTTP/2 the rest
//! of the body is then refused by resetting the stream, and clients such as curl give that as the result in place of the
//! answer. Bodies are small here: what is left is read and thrown away.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::HttpMessage;
use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::Version;
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use futures_util::{Stream, StreamExt};

use super::MAX_BODY;

/// How long the rest of a body may take.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Middleware: answers a request of HTTP/2 when its body was read, or is too long or too slow to be.
pub async fn unread_body(
    mut request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    if request.version() != Version::HTTP_2 {
        return next.call(request).await;
    }
    let home = Rc::new(Cell::new(None));
    let lent = Lent {
        payload: request.take_payload(),
        home: Rc::clone(&home),
    };
    request.set_payload(Payload::Stream {
        payload: Box::pin(lent),
    });
    let answer = next.call(request).await;
    if let Some(rest) = home.take() {
        // The answer counts, not what becomes of the rest.
        drop(actix_web::rt::time::timeout(DRAIN_TIME, drain(rest)).await);
    }
    answer
}

/// A body on loan to a handler; what is left of it goes back when the handler drops it.
struct Lent {
    payload: Payload,
    home: Rc<Cell<Option<Payload>>>,
}

impl Stream for Lent {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.payload.poll_next_unpin(context)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home
            .set(Some(std::mem::replace(&mut self.payload, Payload::None)));
    }
}

async fn drain(mut payload: Payload) {
    let mut read = 0;
    while let Some(Ok(bytes)) = payload.next().await {
        read += bytes.len();
        if read > MAX_BODY {
            return;
        }
    }
}
