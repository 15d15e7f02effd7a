//! What the restore dialog was told, and what of it the page can see will not work.

use std::cell::RefCell;

use fleethold_api_types::{CreateRestore, RestoreSource, RestoreTarget, TargetKind};

use crate::{t, ui::key_fields::Key};

/// What the form holds; the file is in the address.
#[derive(Clone, PartialEq)]
pub struct Form {
    /// The file its path was suggested for.
    pub file: String,
    /// Kind of target.
    pub kind: TargetKind,
    /// Path of a file, relative to the first restore root or absolute.
    pub path: String,
    /// Path of a device.
    pub device: String,
    /// Fetches outstanding; empty for the server's default.
    pub parallel: String,
    /// Compute the SHA-256.
    pub sha256: bool,
    /// Replace an existing file.
    pub overwrite: bool,
    /// Added latency in milliseconds; empty for none.
    pub latency_ms: String,
    /// Key.
    pub key: Key,
}

impl Form {
    /// The form a file starts with.
    pub(super) fn new(snapshot: &str, file: &str) -> Self {
        Self {
            file: file.to_owned(),
            kind: TargetKind::File,
            path: suggested_path(snapshot, file),
            device: String::new(),
            parallel: String::new(),
            sha256: false,
            overwrite: false,
            latency_ms: String::new(),
            key: Key::default(),
        }
    }

    /// The form for another file: it gets its own suggestion, everything else stays.
    #[must_use]
    pub fn for_file(&self, snapshot: &str, file: &str) -> Self {
        Self {
            file: file.to_owned(),
            path: suggested_path(snapshot, file),
            ..self.clone()
        }
    }

    /// The request this form stands for.
    pub fn request(&self, source: RestoreSource) -> CreateRestore {
        CreateRestore {
            source,
            target: RestoreTarget {
                kind: self.kind,
                path: match self.kind {
                    TargetKind::File => Some(self.path.trim().to_owned()),
                    TargetKind::Device => Some(self.device.clone()),
                    TargetKind::Null => None,
                },
                overwrite: self.overwrite && self.kind == TargetKind::File,
                is_zero: false,
            },
            parallel: self.parallel.parse().ok(),
            sha256: self.sha256,
            key: self.key.text(),
            key_password: self.key.password(),
            simulate_latency_ms: self.latency_ms.parse().unwrap_or(0),
        }
    }

    /// What keeps it from being started, in words.
    pub fn obstacle(&self, encrypted: bool, roots: &[String]) -> Option<String> {
        let number = |text: &str, most: u32| text.is_empty() || text.parse::<u32>().is_ok_and(|n| n <= most);
        let words = if encrypted && self.key.text.is_empty() {
            t!(needs_key)
        } else if self.kind == TargetKind::Device && self.device.is_empty() {
            t!(needs_device)
        } else if !number(&self.parallel, 1024) || self.parallel == "0" {
            t!(bad_parallel)
        } else if !number(&self.latency_ms, 10_000) {
            t!(bad_latency)
        } else {
            return self.path_problem(roots);
        };
        Some(words.to_owned())
    }

    /// What the page can see is wrong with the path of a file; whether it exists only the server knows.
    pub fn path_problem(&self, roots: &[String]) -> Option<String> {
        if self.kind != TargetKind::File {
            return None;
        }
        let path = self.path.trim();
        let inside = |root: &String| {
            path.strip_prefix(root.trim_end_matches('/'))
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if path.is_empty() {
            Some(t!(needs_path).to_owned())
        } else if path.chars().any(char::is_control) {
            Some(t!(path_control).to_owned())
        } else if path.split('/').any(|part| part == "..") {
            Some(t!(path_parent).to_owned())
        } else if path.starts_with('/') && !roots.is_empty() && !roots.iter().any(inside) {
            Some(t!(path_outside, root = roots.join(", ")))
        } else if path.ends_with('/') || path == "." || path.ends_with("/.") {
            Some(t!(path_folder).to_owned())
        } else {
            None
        }
    }
}

/// `vm/100/2024-05-01T10:00:00Z`, `drive-scsi0.img.fidx` → `vm-100-20240501T100000Z-drive-scsi0.img`.
fn suggested_path(snapshot: &str, file: &str) -> String {
    let (group, time) = snapshot.rsplit_once('/').unwrap_or((snapshot, ""));
    let stem = file
        .strip_suffix(".fidx")
        .or_else(|| file.strip_suffix(".didx"))
        .unwrap_or(file);
    format!(
        "{}-{}-{stem}",
        group.replace('/', "-"),
        time.replace(['-', ':'], "")
    )
}

thread_local! {
    // a log-in in between must not cost what was filled in; the key is not kept
    static KEPT: RefCell<Option<(String, Form)>> = const { RefCell::new(None) };
}

/// Keeps a form for as long as the page is open: `of` says whose and which.
pub(super) fn keep(of: &str, form: &Form) {
    let form = Form {
        key: Key::default(),
        ..form.clone()
    };
    KEPT.with(|slot| *slot.borrow_mut() = Some((of.to_owned(), form)));
}

/// The form that was kept, if it is this one.
pub(super) fn kept(of: &str) -> Option<Form> {
    KEPT.with(|slot| slot.borrow().clone())
        .filter(|(whose, _)| whose == of)
        .map(|(_, form)| form)
}

/// Forgets the form: the dialog was closed, or did its work.
pub(super) fn forget() {
    KEPT.with(|slot| *slot.borrow_mut() = None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suggested_path_is_one_flat_name() {
        assert_eq!(
            suggested_path("vm/100/2024-05-01T10:00:00Z", "drive-scsi0.img.fidx"),
            "vm-100-20240501T100000Z-drive-scsi0.img"
        );
    }

    #[test]
    fn a_form_that_cannot_work_says_why() {
        let mut form = Form::new("vm/1/2024-05-01T10:00:00Z", "a.img.fidx");
        assert!(form.obstacle(false, &[]).is_none() && form.obstacle(true, &[]).is_some());
        form.parallel = "0".into();
        assert!(form.obstacle(false, &[]).is_some());
        form.parallel = "8".into();
        form.path = "  ".into();
        assert!(form.obstacle(false, &[]).is_some());
        form.path = "a/b.raw".into();
        assert!(form.obstacle(false, &[]).is_none());
        form.kind = TargetKind::Null;
        assert!(form.obstacle(false, &[]).is_none());
        form.latency_ms = "20000".into();
        assert!(form.obstacle(false, &[]).is_some());
    }

    #[test]
    fn a_path_the_server_would_refuse_is_seen_at_once() {
        let roots = ["/srv/restore/".to_owned(), "/mnt/x".to_owned()];
        let problem = |path: &str| {
            let mut form = Form::new("vm/1/2024-05-01T10:00:00Z", "a.img.fidx");
            form.path = path.into();
            form.path_problem(&roots)
        };
        for path in [
            "disk.raw",
            "a/b.raw",
            "/srv/restore/a.raw",
            "/mnt/x/a",
            "a..b",
            "..a",
        ] {
            assert_eq!(problem(path), None, "{path}");
        }
        for path in [
            "",
            " ",
            "../x",
            "a/../b",
            "/etc/passwd",
            "/mnt/xy",
            "/srv/restore",
            "a/",
            ".",
            "a\u{7}b",
        ] {
            assert!(problem(path).is_some(), "{path}");
        }
    }

    #[test]
    fn a_kept_form_comes_back_without_its_key() {
        let mut form = Form::new("vm/1/2024-05-01T10:00:00Z", "a.img.fidx");
        form.path = "mine.raw".into();
        form.key.text = "secret".into();
        keep("a", &form);
        assert!(kept("b").is_none());
        let back = kept("a").expect("kept");
        assert_eq!((back.path.as_str(), back.key.text.as_str()), ("mine.raw", ""));
        forget();
        assert!(kept("a").is_none());
    }
}
