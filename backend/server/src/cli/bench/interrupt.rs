//! Ctrl-C while something is measured: the first ends the running sample and keeps what was measured, the second does not
//! wait for the history any more, the third keeps nothing that is not kept yet.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::super::exit::Exit;
use super::super::output;

/// What was asked for by signals so far.
#[derive(Clone)]
pub(super) struct Interrupts {
    /// Nothing more is measured.
    pub(super) stop: CancellationToken,
    /// Nothing is waited for.
    pub(super) hurry: CancellationToken,
}

impl Interrupts {
    /// Listens until the runtime ends. To be called inside it.
    pub(super) fn listen() -> std::io::Result<Self> {
        let mut signals = [
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ];
        let interrupts = Self {
            stop: CancellationToken::new(),
            hurry: CancellationToken::new(),
        };
        let told = interrupts.clone();
        tokio::spawn(async move {
            next(&mut signals).await;
            told.stop.cancel();
            next(&mut signals).await;
            output::note("not waiting for the history; once more ends at once");
            told.hurry.cancel();
            next(&mut signals).await;
            std::process::exit(Exit::Cancelled as i32);
        });
        Ok(interrupts)
    }
}

/// The next of them, whichever it is.
async fn next([interrupt, terminate, hangup]: &mut [Signal; 3]) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
