//! Tells another program of alerts: `POST` of an alert as the API shows it.

use std::time::Duration;

use fleethold_api_types::bench::Alert;
use reqwest::{Client, Url};

/// How long the other side may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Attempts, and the pause before each.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(10)];

/// Where alerts go.
#[derive(Debug)]
pub struct Webhook {
    client: Client,
    url: Url,
}

impl Webhook {
    /// Alerts go to `url`.
    ///
    /// # Errors
    /// When there is no client for it.
    pub fn new(url: Url) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .timeout(TIMEOUT)
            .user_agent(concat!("fleethold/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self { client, url })
    }

    /// Tells of an alert, with three attempts; answers whether the other side took it.
    pub async fn tell(&self, alert: &Alert) -> bool {
        let mut last = String::new();
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            match self.client.post(self.url.clone()).json(alert).send().await {
                Ok(reply) if reply.status().is_success() => return true,
                Ok(reply) => last = format!("answered {}", reply.status()),
                // Its address may hold a secret.
                Err(error) => last = error.without_url().to_string(),
            }
        }
        tracing::warn!(alert = alert.id, error = %last, "the webhook was not told of an alert");
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fleethold_api_types::bench::{AlertState, Series, Side};
    use time::OffsetDateTime;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use uuid::Uuid;

    use super::*;

    fn alert() -> Alert {
        Alert {
            id: 7,
            series: Series {
                id: 1,
                workload: "lookup".to_owned(),
                parameters: BTreeMap::new(),
                metric: "time".to_owned(),
                unit: "s".to_owned(),
                lower_is_better: true,
                machine_class: String::new(),
                side: Side::After,
                runs: 2,
            },
            run: Uuid::nil(),
            against: Uuid::nil(),
            ratio: 1.2,
            p: 0.001,
            state: AlertState::Open,
            confirmed_by: None,
            opened_at: OffsetDateTime::UNIX_EPOCH,
            changed_at: OffsetDateTime::UNIX_EPOCH,
            changed_by: String::new(),
            reason: String::new(),
        }
    }

    #[tokio::test]
    async fn a_refusal_is_tried_again() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let other_side = tokio::spawn(async move {
            let mut bodies = Vec::new();
            for status in ["500 No", "200 OK"] {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut text = String::new();
                while !text.ends_with('}') {
                    let mut piece = [0_u8; 4096];
                    let length = stream.read(&mut piece).await.unwrap();
                    assert!(length > 0, "{text}");
                    text.push_str(std::str::from_utf8(&piece[..length]).unwrap());
                }
                let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                stream.write_all(reply.as_bytes()).await.unwrap();
                bodies.push(text);
            }
            bodies
        });
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let webhook = Webhook::new(url.parse().unwrap()).unwrap();
        assert!(webhook.tell(&alert()).await);
        let bodies = other_side.await.unwrap();
        for body in bodies {
            assert!(body.starts_with("POST /hook HTTP/1.1\r\n"), "{body}");
            let json: Alert = serde_json::from_str(body.split("\r\n\r\n").nth(1).unwrap()).unwrap();
            assert_eq!(json, alert());
        }
    }
}
