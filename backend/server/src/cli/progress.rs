//! How far a command is, on stderr: a bar for people, JSON lines for programs.

use std::io::IsTerminal;
use std::time::Duration;

use clap::ValueEnum;
use fleethold_restore::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::output;
use crate::clock;

/// What `--progress` can be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ProgressMode {
    /// A bar when stderr is a terminal, else nothing
    #[default]
    Auto,
    /// A bar
    Bar,
    /// One JSON object a line, once a second
    Json,
    /// Nothing
    None,
}

/// Shows progress until dropped.
pub(super) struct Reporter {
    shown: Shown,
    started: std::time::Instant,
}

enum Shown {
    Bar(ProgressBar),
    Json,
    Nothing,
}

#[derive(Serialize)]
struct Line<'a> {
    archive: &'a str,
    #[serde(flatten)]
    progress: Progress,
    elapsed_ns: u64,
    rate_bytes_per_s: f64,
    eta_ns: Option<u64>,
}

impl Reporter {
    pub(super) fn start(mode: ProgressMode) -> Self {
        let shown = match mode {
            ProgressMode::Json => Shown::Json,
            ProgressMode::None => Shown::Nothing,
            ProgressMode::Auto if !std::io::stderr().is_terminal() => Shown::Nothing,
            ProgressMode::Auto | ProgressMode::Bar => Shown::Bar(bar()),
        };
        Self {
            shown,
            started: clock::monotonic(),
        }
    }

    /// Between two calls of [`Reporter::show`].
    pub(super) fn period(&self) -> Duration {
        match self.shown {
            Shown::Bar(_) | Shown::Nothing => Duration::from_millis(100),
            Shown::Json => Duration::from_secs(1),
        }
    }

    /// Starts anew for another archive.
    pub(super) fn next(&mut self, archive: &str) {
        self.started = clock::monotonic();
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
            bar.set_draw_target(ProgressDrawTarget::hidden());
            bar.reset();
            bar.set_message(archive.to_owned());
        }
    }

    pub(super) fn show(&self, archive: &str, progress: Progress) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                bar.set_length(progress.bytes_total);
                // Before its length is known a bar would be drawn as full.
                if progress.bytes_total > 0 && bar.is_hidden() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_position(progress.bytes_done);
            }
            Shown::Json => {
                let elapsed = clock::monotonic().duration_since(self.started);
                let rate = match elapsed.as_secs_f64() {
                    seconds if seconds > 0.0 => progress.bytes_done as f64 / seconds,
                    _ => 0.0,
                };
                let left = progress.bytes_total.saturating_sub(progress.bytes_done) as f64;
                let line = Line {
                    archive,
                    progress,
                    elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
                    rate_bytes_per_s: rate,
                    // A cast of a float saturates.
                    eta_ns: (rate > 0.0).then(|| (left / rate * 1e9) as u64),
                };
                if let Ok(text) = serde_json::to_string(&line) {
                    output::note(&text);
                }
            }
        }
    }

    /// Writes a line to stdout without tearing the bar.
    pub(super) fn line(&self, text: &str) -> super::CliResult<()> {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(|| output::line(text)),
            Shown::Json | Shown::Nothing => output::line(text),
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

/// The bar of a restore, which knows bytes; it is not drawn yet.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{msg}  {wide_bar} {percent:>3}%  {bytes} of {total_bytes}  {binary_bytes_per_sec}  ETA {eta}",
    );
    // The template is ours; should it ever be refused, the library's own does.
    ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A bar for a count of things, shown on a terminal only.
pub(super) fn counting_bar(what: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg}  {wide_bar} {percent:>3}%  ETA {eta}");
    ProgressBar::new(0)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_message(what.to_owned())
}
