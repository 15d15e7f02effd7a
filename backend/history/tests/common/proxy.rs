//! A TCP proxy that misbehaves on demand, before the socket of a private cluster.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Everything passes.
    Fair,
    /// Every piece takes this much longer.
    Slow(Duration),
    /// Connections hang: nothing passes, nothing closes.
    Stalled,
    /// Connections are cut, new ones too.
    Cut,
    /// Connections are cut after the next request has gone through, before its answer: the client cannot know.
    CutAnswers,
}

pub(crate) struct Proxy {
    weather: watch::Sender<Weather>,
    pub(crate) port: u16,
    pub(crate) cuts: Arc<AtomicU64>,
}

impl Proxy {
    pub(crate) async fn start(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (weather, seen) = watch::channel(Weather::Fair);
        let cuts = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&cuts);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let (socket, seen, counter) = (socket.clone(), seen.clone(), Arc::clone(&counter));
                tokio::spawn(async move {
                    let mut cut = seen.clone();
                    if *cut.borrow() == Weather::Cut {
                        counter.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                    tokio::select! {
                        () = pass(client, socket, seen) => {}
                        _ = cut.wait_for(|weather| *weather == Weather::Cut) => {}
                    }
                    counter.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        Self { weather, port, cuts }
    }

    pub(crate) fn set(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    pub(crate) fn url(&self) -> String {
        format!(
            "postgres://fleethold@127.0.0.1:{}/fleethold?sslmode=disable",
            self.port
        )
    }
}

async fn pass(client: TcpStream, socket: PathBuf, mut weather: watch::Receiver<Weather>) {
    let Ok(server) = UnixStream::connect(socket).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let mut there = vec![0; 64 * 1024];
    let mut back = vec![0; 64 * 1024];
    loop {
        tokio::select! {
            read = from_client.read(&mut there) => {
                let Ok(len @ 1..) = read else { return };
                hold(&mut weather).await;
                if to_server.write_all(&there[..len]).await.is_err() { return; }
            }
            read = from_server.read(&mut back) => {
                let Ok(len @ 1..) = read else { return };
                hold(&mut weather).await;
                if *weather.borrow() == Weather::CutAnswers { return; }
                if to_client.write_all(&back[..len]).await.is_err() { return; }
            }
        }
    }
}

async fn hold(weather: &mut watch::Receiver<Weather>) {
    let now = *weather.borrow();
    match now {
        Weather::Slow(delay) => tokio::time::sleep(delay).await,
        Weather::Stalled => {
            let _ = weather.wait_for(|weather| *weather != Weather::Stalled).await;
        }
        _ => {}
    }
}
