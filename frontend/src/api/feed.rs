//! The one event stream of the page. The browser resumes it by `Last-Event-ID`; when it gives up, we open it anew.

use fleethold_api_types::{Event, EventKind};
use gloo::{events::EventListener, timers::callback::Timeout};
use std::{cell::RefCell, rc::Rc};
use wasm_bindgen::JsCast;
use web_sys::{EventSource, MessageEvent};

use super::json;

/// What the feed reports.
pub enum Report {
    /// Connected.
    Open,
    /// Lost; attempt number and seconds until the next one (0: the browser is at it).
    Lost {
        /// Attempts since the last good connection.
        attempt: u32,
        /// Seconds.
        retry_in_s: u32,
    },
    /// Something happened on the server.
    Event(Box<Event>),
    /// An event that could not be read: page and server differ in version.
    Unreadable(String),
}

struct Inner {
    source: Option<EventSource>,
    listeners: Vec<EventListener>,
    retry: Option<Timeout>,
    attempt: u32,
}

/// The open feed; closes when dropped.
pub struct Feed {
    inner: Rc<RefCell<Inner>>,
    report: Rc<dyn Fn(Report)>,
}

impl Feed {
    /// Opens the feed.
    pub fn open(report: Rc<dyn Fn(Report)>) -> Self {
        let inner = Rc::new(RefCell::new(Inner {
            source: None,
            listeners: Vec::new(),
            retry: None,
            attempt: 0,
        }));
        connect(&inner, &report);
        Self { inner, report }
    }

    /// Closes the stream until [`reconnect`](Self::reconnect).
    pub fn pause(&self) {
        close(&mut self.inner.borrow_mut());
    }

    /// Tries at once instead of waiting.
    pub fn reconnect(&self) {
        connect(&self.inner, &self.report);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        close(&mut self.inner.borrow_mut());
    }
}

fn close(inner: &mut Inner) {
    inner.listeners.clear();
    inner.retry = None;
    if let Some(source) = inner.source.take() {
        source.close();
    }
}

fn connect(inner: &Rc<RefCell<Inner>>, report: &Rc<dyn Fn(Report)>) {
    close(&mut inner.borrow_mut());
    let Ok(source) = EventSource::new("/api/v1/events") else {
        lost(inner, report);
        return;
    };
    let mut listeners = Vec::new();
    {
        let (inner, report) = (inner.clone(), report.clone());
        listeners.push(EventListener::new(&source, "open", move |_| {
            inner.borrow_mut().attempt = 0;
            report(Report::Open);
        }));
    }
    {
        let (inner, report) = (inner.clone(), report.clone());
        listeners.push(EventListener::new(&source, "error", move |_| {
            lost(&inner, &report)
        }));
    }
    for kind in [
        EventKind::Snapshot,
        EventKind::Store,
        EventKind::Job,
        EventKind::Bench,
        EventKind::Alert,
        EventKind::Server,
    ] {
        let report = report.clone();
        listeners.push(EventListener::new(&source, kind.as_str(), move |event| {
            let Some(data) = event.dyn_ref::<MessageEvent>().and_then(|m| m.data().as_string()) else {
                return;
            };
            match json::tree(&data).and_then(|content| Event::read(kind, content)) {
                Ok(event) => report(Report::Event(Box::new(event))),
                Err(error) => report(Report::Unreadable(format!("{}: {error}", kind.as_str()))),
            }
        }));
    }
    let mut inner = inner.borrow_mut();
    inner.source = Some(source);
    inner.listeners = listeners;
}

/// The browser retries by itself after a broken connection, but not after a refusal.
fn lost(inner: &Rc<RefCell<Inner>>, report: &Rc<dyn Fn(Report)>) {
    let (attempt, closed) = {
        let mut inner = inner.borrow_mut();
        inner.attempt += 1;
        (
            inner.attempt,
            inner
                .source
                .as_ref()
                .is_none_or(|s| s.ready_state() == EventSource::CLOSED),
        )
    };
    let retry_in_s = if closed {
        (1u32 << attempt.min(4)).min(10)
    } else {
        0
    };
    if closed {
        let again = (inner.clone(), report.clone());
        let timeout = Timeout::new(retry_in_s * 1000, move || connect(&again.0, &again.1));
        inner.borrow_mut().retry = Some(timeout);
    }
    report(Report::Lost { attempt, retry_in_s });
}
