//! Which user the cluster runs as. PostgreSQL refuses root.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::error::ClusterError;

/// The user that runs `initdb` and `postgres`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceUser {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Whether that is another user than the one we run as.
    pub(crate) switch: bool,
}

impl ServiceUser {
    /// Ourselves; as root `postgres`, else `nobody`.
    pub(crate) fn find() -> Result<Self, ClusterError> {
        let passwd =
            std::fs::read_to_string("/etc/passwd").map_err(ClusterError::io("read", "/etc/passwd"))?;
        let uid = rustix::process::geteuid().as_raw();
        Self::choose(uid, rustix::process::getegid().as_raw(), &passwd)
    }

    fn choose(uid: u32, gid: u32, passwd: &str) -> Result<Self, ClusterError> {
        let users: Vec<(&str, u32, u32)> = passwd.lines().filter_map(passwd_line).collect();
        if uid != 0 {
            let name = users
                .iter()
                .find(|user| user.1 == uid)
                .map_or(uid.to_string(), |user| user.0.to_owned());
            return Ok(Self {
                name,
                uid,
                gid,
                switch: false,
            });
        }
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| users.iter().find(|user| user.0 == *name && user.1 != 0))
            .map(|&(name, uid, gid)| Self {
                name: name.to_owned(),
                uid,
                gid,
                switch: true,
            })
            .ok_or(ClusterError::NoServiceUser)
    }

    /// A command that will run as this user, with an environment of its own: `PG*` variables meant for clients must
    /// not reach the server.
    pub(crate) fn command(&self, program: &Path, home: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("HOME", home)
            .current_dir(home);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        if self.switch {
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Checks that every folder above `path` lets this user through.
    pub(crate) fn check_reaches(&self, path: &Path) -> Result<(), ClusterError> {
        if !self.switch {
            return Ok(());
        }
        for ancestor in path.ancestors().skip(1) {
            let meta = ancestor
                .metadata()
                .map_err(ClusterError::io("look at", ancestor))?;
            if !self.may_search(meta.uid(), meta.gid(), meta.mode()) {
                return Err(ClusterError::NotSearchable {
                    user: self.name.clone(),
                    path: path.to_owned(),
                    ancestor: ancestor.to_owned(),
                    mode: meta.mode() & 0o7777,
                });
            }
        }
        Ok(())
    }

    /// The permission bits decide in the kernel's order: the first class that matches, and no other.
    fn may_search(&self, owner: u32, group: u32, mode: u32) -> bool {
        let bit = match (owner == self.uid, group == self.gid) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        mode & bit != 0
    }

    /// Makes `dir` a folder with mode 0700 of this user.
    pub(crate) fn own_dir(&self, dir: &Path) -> Result<(), ClusterError> {
        self.make_dir(dir, self.uid, 0o700)
    }

    /// Makes `dir` a folder of ours that this user can pass through and not change: what we write in it as root must
    /// not be led elsewhere by a link of somebody else.
    pub(crate) fn enclosing_dir(&self, dir: &Path) -> Result<(), ClusterError> {
        let mode = if self.switch { 0o711 } else { 0o700 };
        self.make_dir(dir, rustix::process::geteuid().as_raw(), mode)
    }

    /// A folder that root left behind half made is taken over, one of anybody else is refused.
    fn make_dir(&self, dir: &Path, owner: u32, mode: u32) -> Result<(), ClusterError> {
        match std::fs::DirBuilder::new().mode(0o700).create(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(ClusterError::Io {
                    action: "create",
                    path: dir.to_owned(),
                    source: error,
                });
            }
            _ => {}
        }
        let meta = dir.symlink_metadata().map_err(ClusterError::io("look at", dir))?;
        if !meta.is_dir() {
            return Err(ClusterError::BadFile {
                path: dir.to_owned(),
                field: "file type",
                found: format!("{:?}", meta.file_type()),
                expected: "a directory",
            });
        }
        if meta.uid() != owner {
            if !self.switch || meta.uid() != 0 {
                return Err(ClusterError::WrongOwner {
                    path: dir.to_owned(),
                    found: meta.uid(),
                    expected: owner,
                });
            }
            std::os::unix::fs::chown(dir, Some(self.uid), Some(self.gid))
                .map_err(ClusterError::io("give away", dir))?;
        }
        if meta.mode() & 0o7777 != mode {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode))
                .map_err(ClusterError::io("set the mode of", dir))?;
        }
        Ok(())
    }
}

/// `name:password:uid:gid:…`
fn passwd_line(line: &str) -> Option<(&str, u32, u32)> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some((name, uid, gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533::/:/sbin/nologin\n\
                          ann:x:1000:1000::/home/ann:/bin/sh\n";

    #[test]
    fn root_becomes_postgres_else_nobody() {
        let with_postgres = format!("{PASSWD}postgres:x:101:104::/var/lib/postgresql:/bin/bash\n");
        let chosen = ServiceUser::choose(0, 0, &with_postgres).unwrap();
        assert_eq!((chosen.uid, chosen.gid, chosen.switch), (101, 104, true));
        assert_eq!(ServiceUser::choose(0, 0, PASSWD).unwrap().name, "nobody");
        assert!(matches!(
            ServiceUser::choose(0, 0, ""),
            Err(ClusterError::NoServiceUser)
        ));
    }

    #[test]
    fn others_stay_themselves() {
        let ann = ServiceUser::choose(1000, 1000, PASSWD).unwrap();
        assert_eq!((ann.name.as_str(), ann.switch), ("ann", false));
        assert_eq!(ServiceUser::choose(77, 78, PASSWD).unwrap().name, "77");
    }

    #[test]
    fn search_permission_goes_by_the_first_class_that_matches() {
        let user = ServiceUser {
            name: "p".into(),
            uid: 101,
            gid: 104,
            switch: true,
        };
        assert!(user.may_search(0, 0, 0o711));
        assert!(!user.may_search(0, 0, 0o770));
        assert!(user.may_search(0, 104, 0o710));
        assert!(!user.may_search(101, 104, 0o077));
    }
}
