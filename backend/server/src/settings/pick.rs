//! Choosing one value per setting among flag, variable, file and default, and remembering which it was.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Origin, SettingsError, Surroundings};

pub(super) fn check_database_url(url: String, origin: Origin) -> Result<String, SettingsError> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(url);
    }
    // Not quoted in full: a mistyped URL may still hold a password.
    let scheme = url.split(':').next().unwrap_or_default();
    Err(SettingsError::Value {
        key: "database_url",
        origin,
        message: format!("expected a URL that starts with postgres://, found scheme {scheme:?}"),
    })
}

/// Replaces the password of `postgres://user:password@host/db`, and of a `password=` parameter, by `***`.
pub(super) fn hide_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority_len = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(authority_len);
    let authority = match authority.rsplit_once('@') {
        Some((login, host)) => match login.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    let tail = match tail.split_once('?') {
        Some((path, query)) => {
            let query = query.split('&').map(|p| {
                if p.starts_with("password=") {
                    "password=***"
                } else {
                    p
                }
            });
            format!("{path}?{}", query.collect::<Vec<_>>().join("&"))
        }
        None => tail.to_owned(),
    };
    format!("{scheme}://{authority}{tail}")
}

/// Checks an address that alerts are sent to.
pub(super) fn check_webhook(text: &str, origin: Origin) -> Result<reqwest::Url, SettingsError> {
    let url: Option<reqwest::Url> = text.parse().ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or(SettingsError::Value {
            key: "bench_webhook",
            origin,
            // It may hold a secret: not repeated.
            message: "expected an address such as https://chat.example/hooks/1".to_owned(),
        })
}

/// An address without what may be a secret: all behind the host.
pub(super) fn hide_path(url: &reqwest::Url) -> String {
    format!("{}://{}/***", url.scheme(), url.host_str().unwrap_or_default())
}

pub(super) fn default_state_dir(around: &Surroundings) -> PathBuf {
    const OF_THE_SYSTEM: &str = "/var/lib/fleethold";
    if around.is_root {
        return OF_THE_SYSTEM.into();
    }
    absolute_variable(around, "XDG_STATE_HOME")
        .or_else(|| Some(absolute_variable(around, "HOME")?.join(".local/state")))
        .map_or_else(|| OF_THE_SYSTEM.into(), |base| base.join("fleethold"))
}

pub(super) fn default_run_dir(around: &Surroundings, state_dir: &Path) -> PathBuf {
    if around.is_root {
        return "/run/fleethold".into();
    }
    absolute_variable(around, "XDG_RUNTIME_DIR")
        .map_or_else(|| state_dir.join("run"), |dir| dir.join("fleethold"))
}

/// A directory variable of the desktop conventions: relative values are to be ignored.
pub(super) fn absolute_variable(around: &Surroundings, name: &str) -> Option<PathBuf> {
    (around.variable)(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// Chooses between the layers and remembers the choice.
pub(super) struct Picker<'a> {
    pub(super) around: &'a Surroundings,
    pub(super) origins: BTreeMap<&'static str, Origin>,
}

impl Picker<'_> {
    pub(super) fn note<T>(&mut self, key: &'static str, origin: Origin, value: T) -> T {
        self.origins.insert(key, origin);
        value
    }

    pub(super) fn is_default(&self, key: &str) -> bool {
        !self.origins.contains_key(key)
    }

    /// An empty variable counts as not set: that is how a unit file or a shell unsets one.
    pub(super) fn raw_variable(&self, name: &str) -> Option<OsString> {
        (self.around.variable)(name).filter(|value| !value.is_empty())
    }

    pub(super) fn variable(
        &self,
        key: &'static str,
        name: &'static str,
    ) -> Result<Option<String>, SettingsError> {
        match self.raw_variable(name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(_)) => Err(SettingsError::Value {
                key,
                origin: Origin::Variable(name),
                message: "expected UTF-8 text".to_owned(),
            }),
        }
    }

    pub(super) fn early_path(
        &mut self,
        key: &'static str,
        flag: &Option<PathBuf>,
        flag_name: &'static str,
        variable: &'static str,
    ) -> Result<Option<PathBuf>, SettingsError> {
        let (path, origin) = match (flag, self.raw_variable(variable)) {
            (Some(path), _) => (path.clone(), Origin::Flag(flag_name)),
            (None, Some(value)) => (value.into(), Origin::Variable(variable)),
            (None, None) => return Ok(None),
        };
        let path = absolute(key, &origin, path)?;
        Ok(Some(self.note(key, origin, path)))
    }

    pub(super) fn one_path(
        &mut self,
        key: &'static str,
        flag: &Option<PathBuf>,
        flag_name: &'static str,
        variable: &'static str,
        file: Option<PathBuf>,
        file_path: &Path,
    ) -> Result<Option<PathBuf>, SettingsError> {
        if let Some(path) = self.early_path(key, flag, flag_name, variable)? {
            return Ok(Some(path));
        }
        Ok(file.map(|path| self.note(key, Origin::File(file_path.to_owned()), beside(file_path, path))))
    }

    pub(super) fn paths(
        &mut self,
        key: &'static str,
        flag: &[PathBuf],
        flag_name: &'static str,
        variable: &'static str,
        file: Option<Vec<PathBuf>>,
        file_path: &Path,
    ) -> Result<Option<Vec<PathBuf>>, SettingsError> {
        let (list, origin) = if !flag.is_empty() {
            (flag.to_vec(), Origin::Flag(flag_name))
        } else if let Some(value) = self.raw_variable(variable) {
            (
                std::env::split_paths(&value).collect(),
                Origin::Variable(variable),
            )
        } else if let Some(list) = file {
            let list = list.into_iter().map(|path| beside(file_path, path)).collect();
            (list, Origin::File(file_path.to_owned()))
        } else {
            return Ok(None);
        };
        let list = list
            .into_iter()
            .map(|path| absolute(key, &origin, path))
            .collect::<Result<Vec<_>, _>>()?;
        if list.is_empty() && key == "restore_roots" {
            return Err(SettingsError::Value {
                key,
                origin,
                message: "expected at least one directory".to_owned(),
            });
        }
        Ok(Some(self.note(key, origin, list)))
    }

    pub(super) fn text(
        &mut self,
        key: &'static str,
        flag: Option<&str>,
        flag_name: &'static str,
        variables: &[&'static str],
        file: Option<String>,
        from_file: &dyn Fn() -> Origin,
    ) -> Result<Option<(String, Origin)>, SettingsError> {
        let mut found = flag.map(|text| (text.to_owned(), Origin::Flag(flag_name)));
        for name in variables {
            if found.is_none() {
                found = self
                    .variable(key, name)?
                    .map(|text| (text, Origin::Variable(name)));
            }
        }
        let found = found.or_else(|| file.map(|text| (text, from_file())));
        Ok(found.map(|(text, origin)| (self.note(key, origin.clone(), text), origin)))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one row of a table: a setting, its three sources and its range"
    )]
    pub(super) fn count(
        &mut self,
        key: &'static str,
        flag: Option<usize>,
        flag_name: &'static str,
        variable: &'static str,
        file: Option<usize>,
        range: std::ops::RangeInclusive<usize>,
        from_file: &dyn Fn() -> Origin,
    ) -> Result<Option<usize>, SettingsError> {
        let expected = format!(
            "expected a whole number from {} to {}",
            range.start(),
            range.end()
        );
        let (value, origin) = if let Some(value) = flag {
            (value, Origin::Flag(flag_name))
        } else if let Some(text) = self.variable(key, variable)? {
            let origin = Origin::Variable(variable);
            match text.parse() {
                Ok(value) => (value, origin),
                Err(_) => {
                    return Err(SettingsError::Value {
                        key,
                        origin,
                        message: format!("{expected}, found {text:?}"),
                    });
                }
            }
        } else if let Some(value) = file {
            (value, from_file())
        } else {
            return Ok(None);
        };
        if !range.contains(&value) {
            return Err(SettingsError::Value {
                key,
                origin,
                message: format!("{expected}, found {value}"),
            });
        }
        Ok(Some(self.note(key, origin, value)))
    }
}

/// Paths in the file are relative to the file, whoever starts the server and from where.
pub(super) fn beside(file: &Path, path: PathBuf) -> PathBuf {
    match file.parent() {
        Some(parent) => parent.join(path),
        None => path,
    }
}

pub(super) fn absolute(key: &'static str, origin: &Origin, path: PathBuf) -> Result<PathBuf, SettingsError> {
    std::path::absolute(&path).map_err(|error| SettingsError::Value {
        key,
        origin: origin.clone(),
        message: format!("expected a path, found {:?}: {error}", path.display().to_string()),
    })
}
