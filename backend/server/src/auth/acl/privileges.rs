//! Privileges and the roles that hold them (CONFIG.md §3.5).

/// A set of privileges.
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq)]
pub struct Privileges(u32);

macro_rules! privileges {
    ($($name:ident $bit:literal $text:literal $doc:literal;)+) => {
        impl Privileges {
            $(#[doc = $doc] pub const $name: Self = Self(1 << $bit);)+
            /// All.
            pub const ALL: Self = Self($(1 << $bit)|+);
        }

        /// Every privilege under its name in PBS.
        pub const PRIVILEGES: &[(&str, Privileges)] = &[$(($text, Privileges::$name)),+];
    };
}
privileges! {
    SYS_AUDIT 0 "Sys.Audit" "See the system's state and tasks.";
    SYS_MODIFY 1 "Sys.Modify" "Change the system, stop others' tasks.";
    SYS_POWER 2 "Sys.PowerManagement" "Restart the machine.";
    AUDIT 3 "Datastore.Audit" "See what is in a datastore.";
    ALLOCATE 4 "Datastore.Allocate" "Create datastores.";
    MODIFY 5 "Datastore.Modify" "Change a datastore and what is in it.";
    READ 6 "Datastore.Read" "Read and restore every backup.";
    VERIFY 7 "Datastore.Verify" "Verify.";
    BACKUP 8 "Datastore.Backup" "Make backups, read and restore one's own.";
    PRUNE 9 "Datastore.Prune" "Remove one's own backups.";
    PERMISSIONS_MODIFY 10 "Permissions.Modify" "Change users, tokens and rules.";
    REMOTE_AUDIT 11 "Remote.Audit" "See remotes.";
    REMOTE_MODIFY 12 "Remote.Modify" "Change remotes.";
    REMOTE_READ 13 "Remote.Read" "Read a remote's datastores.";
    REMOTE_BACKUP 14 "Remote.DatastoreBackup" "Make backups on a remote.";
    REMOTE_DATASTORE_MODIFY 15 "Remote.DatastoreModify" "Change a remote's datastore.";
    REMOTE_PRUNE 16 "Remote.DatastorePrune" "Remove backups on a remote.";
    SYS_CONSOLE 17 "Sys.Console" "Open a console.";
    TAPE_AUDIT 18 "Tape.Audit" "See tapes.";
    TAPE_MODIFY 19 "Tape.Modify" "Change the set-up of tapes.";
    TAPE_WRITE 20 "Tape.Write" "Write tapes.";
    TAPE_READ 21 "Tape.Read" "Read tapes.";
    REALM_ALLOCATE 22 "Realm.Allocate" "Change realms.";
}

impl Privileges {
    /// None.
    pub const NONE: Self = Self(0);

    /// Both sets together.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether any of `wanted` is in it.
    #[must_use]
    pub const fn any(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// The names of what is in it.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        PRIVILEGES
            .iter()
            .filter(move |(_, privilege)| self.any(*privilege))
            .map(|(name, _)| *name)
    }
}

/// A named set of privileges.
#[derive(Debug)]
pub struct Role {
    /// Its name in rules.
    pub name: &'static str,
    /// What it allows.
    pub privileges: Privileges,
    /// What it is for.
    pub comment: &'static str,
}

/// The role of this name; `None` when there is no such role.
#[must_use]
pub fn role(name: &str) -> Option<&'static Role> {
    ROLES.iter().find(|role| role.name == name)
}

macro_rules! roles {
    ($($name:literal $comment:literal [$($privilege:ident),*];)+) => {
        /// Every role.
        pub const ROLES: &[Role] = &[$(Role {
            name: $name,
            privileges: Privileges::NONE$(.or(Privileges::$privilege))*,
            comment: $comment,
        }),+];
    };
}
roles! {
    "Admin" "May do everything" [ALL];
    "Audit" "May see everything" [SYS_AUDIT, AUDIT];
    "NoAccess" "May do nothing" [];
    "DatastoreAdmin" "May do everything with datastores that are there" [AUDIT, MODIFY, READ, VERIFY, BACKUP, PRUNE];
    "DatastoreReader" "May see, verify and restore" [AUDIT, VERIFY, READ];
    "DatastoreBackup" "May back up, and restore its own backups" [BACKUP];
    "DatastorePowerUser" "May back up, restore and prune its own backups" [PRUNE, BACKUP];
    "DatastoreAudit" "May see datastores and what is in them" [AUDIT];
    "RemoteAudit" "May see remotes" [REMOTE_AUDIT];
    "RemoteAdmin" "May do everything with remotes" [REMOTE_AUDIT, REMOTE_MODIFY, REMOTE_READ];
    "RemoteSyncOperator" "May pull from remotes" [REMOTE_AUDIT, REMOTE_READ];
    "RemoteSyncPushOperator" "May push to remotes" [REMOTE_AUDIT, REMOTE_BACKUP];
    "RemoteDatastorePowerUser" "May push to remotes and prune there" [REMOTE_AUDIT, REMOTE_BACKUP, REMOTE_PRUNE];
    "RemoteDatastoreAdmin" "May do everything with remote datastores"
        [REMOTE_AUDIT, REMOTE_BACKUP, REMOTE_DATASTORE_MODIFY, REMOTE_PRUNE];
    "TapeAudit" "May see tapes" [TAPE_AUDIT];
    "TapeAdmin" "May do everything with tapes" [TAPE_AUDIT, TAPE_MODIFY, TAPE_READ, TAPE_WRITE];
    "TapeOperator" "May read and write tapes" [TAPE_AUDIT, TAPE_READ, TAPE_WRITE];
    "TapeReader" "May read tapes" [TAPE_AUDIT, TAPE_READ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_privilege_has_a_bit_of_its_own_and_every_role_a_name() {
        let bits: std::collections::BTreeSet<u32> = PRIVILEGES.iter().map(|(_, one)| one.0).collect();
        assert_eq!(bits.len(), PRIVILEGES.len());
        let names: std::collections::BTreeSet<&str> = ROLES.iter().map(|role| role.name).collect();
        assert_eq!(names.len(), ROLES.len());
        let audit: Vec<&str> = role("Audit").unwrap().privileges.names().collect();
        assert_eq!(audit, ["Sys.Audit", "Datastore.Audit"]);
        assert_eq!(role("Admin").unwrap().privileges, Privileges::ALL);
        assert!(role("King").is_none());
    }
}
