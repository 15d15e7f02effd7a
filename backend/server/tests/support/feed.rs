//! A client of the live feed.

use futures_util::StreamExt as _;
use reqwest::{Method, Response};
use serde_json::Value;

use super::{Api, DEADLINE};

/// One event: id, kind, data.
pub(crate) type Event = (String, String, Value);

/// A client of the live feed.
pub(crate) struct Feed {
    reply: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    text: String,
}

impl Feed {
    pub(crate) async fn follow(api: &Api, last: Option<&str>) -> Self {
        let mut request = api.request(Method::GET, "/api/v1/events");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let reply: Response = request.send().await.unwrap();
        assert_eq!(reply.headers()["content-type"], "text/event-stream");
        Self {
            reply: Box::pin(reply.bytes_stream()),
            text: String::new(),
        }
    }

    pub(crate) async fn next(&mut self) -> Event {
        let reading = async {
            loop {
                if let Some((block, rest)) = self.text.split_once("\n\n") {
                    let (block, rest) = (block.to_owned(), rest.to_owned());
                    self.text = rest;
                    let field = |name: &str| {
                        block
                            .lines()
                            .find_map(|line| line.strip_prefix(name))
                            .map(str::to_owned)
                    };
                    if let (Some(id), Some(kind), Some(data)) =
                        (field("id: "), field("event: "), field("data: "))
                    {
                        return (id, kind, serde_json::from_str(&data).unwrap());
                    }
                    continue;
                }
                let bytes = self.reply.next().await.expect("the feed ended").unwrap();
                self.text.push_str(std::str::from_utf8(&bytes).unwrap());
            }
        };
        tokio::time::timeout(DEADLINE, reading)
            .await
            .expect("no event came")
    }

    /// Reads to the end of the stream; what is left of it.
    pub(crate) async fn ended(mut self) -> String {
        let reading = async {
            while let Some(bytes) = self.reply.next().await {
                self.text.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
            }
        };
        tokio::time::timeout(DEADLINE, reading)
            .await
            .expect("the feed did not end");
        self.text
    }

    pub(crate) async fn until(&mut self, mut wanted: impl FnMut(&Event) -> bool) -> Event {
        loop {
            let event = self.next().await;
            if wanted(&event) {
                return event;
            }
        }
    }
}
