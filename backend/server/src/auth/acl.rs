//! Who may do what: `acl.cfg` in PBS's own form (CONFIG.md §3.3 to §3.5).
//!
//! A rule gives somebody a role at a path such as `/datastore/store1/prod`. From `/` down to a path, the deepest node
//! with roles for somebody decides; above the path itself only propagating ones count. A token can never do more than
//! its user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_fleet::{FleetError, config_file};
use fleethold_format::names::Authid;

use super::watched::WatchedFile;

mod edit;
mod path;
mod privileges;

pub use edit::{RuleChange, change_rule};
pub use path::AclPath;
pub use privileges::{PRIVILEGES, Privileges, ROLES, Role, role};

/// Longest path of a rule.
const MAX_PATH: usize = 128;

/// Wins over every other role of its node.
const NO_ACCESS: &str = "NoAccess";

/// Why `acl.cfg` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AclError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FleetError),
    /// A line is no rule.
    #[error("{}: line {line}: expected {expected}, found `{found}`", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
}

/// Role names somebody has at a node, each with whether it holds below the node, too.
type Roles = BTreeMap<String, bool>;

#[derive(Debug, Default)]
struct Node {
    children: BTreeMap<String, Node>,
    roles: BTreeMap<Authid, Roles>,
    /// Of groups, which nobody is a member of.
    groups: BTreeMap<String, Roles>,
}

/// One role of somebody at a path, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Where: `/`, `/datastore/store1`.
    pub path: String,
    /// Who: a user, a token, or a group without its `@`.
    pub who: String,
    /// Whether `who` is a group.
    pub is_group: bool,
    /// Whether it holds below the path, too.
    pub propagate: bool,
    /// The role's name.
    pub role: String,
}

impl Node {
    /// Whether a rule here or below is about somebody.
    fn is_about(&self, authid: &Authid) -> bool {
        self.roles.contains_key(authid) || self.children.values().any(|child| child.is_about(authid))
    }

    /// The privileges of somebody's roles that count here, and those of them that hold below, too; `None` without any.
    fn privileges(&self, authid: &Authid, is_leaf: bool) -> Option<(Privileges, Privileges)> {
        let roles: Vec<(&str, bool)> = self
            .roles
            .get(authid)?
            .iter()
            .filter(|(_, propagates)| is_leaf || **propagates)
            .map(|(name, propagates)| (name.as_str(), *propagates))
            .collect();
        if roles.is_empty() {
            return None;
        }
        if roles.iter().any(|(name, _)| *name == NO_ACCESS) {
            return Some((Privileges::NONE, Privileges::NONE));
        }
        let sum = |below: bool| {
            let counting = roles.iter().filter(|(_, propagates)| *propagates || !below);
            counting
                .filter_map(|(name, _)| role(name))
                .fold(Privileges::NONE, |sum, role| sum.or(role.privileges))
        };
        Some((sum(false), sum(true)))
    }

    fn list(&self, path: &str, list: &mut Vec<Rule>) {
        let people = self
            .roles
            .iter()
            .map(|(who, roles)| (who.to_string(), false, roles));
        let groups = self.groups.iter().map(|(who, roles)| (who.clone(), true, roles));
        for (who, is_group, roles) in people.chain(groups) {
            list.extend(roles.iter().map(|(role, propagate)| Rule {
                path: if path.is_empty() { "/" } else { path }.to_owned(),
                who: who.clone(),
                is_group,
                propagate: *propagate,
                role: role.clone(),
            }));
        }
        for (name, child) in &self.children {
            child.list(&format!("{path}/{name}"), list);
        }
    }
}

/// The rules of one state of the file.
#[derive(Debug, Default)]
pub struct AclTree {
    root: Node,
    digest: [u8; 32],
}

impl AclTree {
    /// Parses `acl:<propagate 0|1>:<path>:<who>[,<who>…]:<role>[,<role>…]`, one rule a line.
    ///
    /// # Errors
    /// [`AclError::Line`] for the first line that is none.
    pub fn parse(path: &Path, text: &str) -> Result<Self, AclError> {
        let mut tree = Self {
            digest: config_file::digest(text.as_bytes()),
            ..Self::default()
        };
        for (line, content) in (1..)
            .zip(text.lines())
            .filter(|(_, content)| !content.trim().is_empty())
        {
            let wrong = |expected| AclError::Line {
                path: path.to_owned(),
                line,
                expected,
                found: content.chars().take(120).flat_map(char::escape_debug).collect(),
            };
            let fields: Vec<&str> = content.trim().split(':').collect();
            let &["acl", propagates, place, who, roles] = fields.as_slice() else {
                return Err(wrong("acl:<propagate>:<path>:<who>:<roles>"));
            };
            let propagates = match propagates {
                "0" => false,
                "1" => true,
                _ => return Err(wrong("0 or 1 after `acl:`")),
            };
            let below_root = place
                .strip_prefix('/')
                .filter(|path| path.len() < MAX_PATH)
                .ok_or_else(|| wrong("a path of at most 128 characters that begins with `/`"))?;
            let node = below_root
                .split('/')
                .filter(|component| !component.is_empty())
                .fold(&mut tree.root, |node, component| {
                    node.children.entry(component.to_owned()).or_default()
                });
            for who in who.split(',') {
                let of_authid = match who.strip_prefix('@') {
                    // Groups are part of the syntax; nobody is a member of one.
                    Some(group) => node.groups.entry(group.to_owned()).or_default(),
                    None => {
                        let authid =
                            Authid::parse(who).map_err(|_| wrong("users or tokens, separated by `,`"))?;
                        node.roles.entry(authid).or_default()
                    }
                };
                for name in roles.split(',') {
                    role(name).ok_or_else(|| wrong("known roles, separated by `,`"))?;
                    of_authid.insert(name.to_owned(), propagates);
                }
            }
        }
        Ok(tree)
    }

    /// SHA-256 of the file.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// All rules, by path.
    #[must_use]
    pub fn rules(&self) -> Vec<Rule> {
        let mut list = Vec::new();
        self.root.list("", &mut list);
        list
    }

    /// What somebody may do at a path, given by its components: `["datastore", "store1"]`.
    #[must_use]
    pub fn privileges(&self, authid: &Authid, path: &[&str]) -> Privileges {
        self.privileges_and_below(authid, path).0
    }

    /// As [`AclTree::privileges`], and the part of it that holds below the path, too, unless a rule there says otherwise.
    #[must_use]
    pub fn privileges_and_below(&self, authid: &Authid, path: &[&str]) -> (Privileges, Privileges) {
        if authid.token.is_none() {
            return if authid.user.is_root() {
                (Privileges::ALL, Privileges::ALL)
            } else {
                self.resolve(authid, path)
            };
        }
        let user = Authid::from(authid.user.clone());
        let (own, users) = (self.resolve(authid, path), self.privileges_and_below(&user, path));
        (own.0.and(users.0), own.1.and(users.1))
    }

    /// Whether somebody may do any of `wanted` at a path or anywhere below it.
    #[must_use]
    pub fn any_below(&self, authid: &Authid, path: &[&str], wanted: Privileges) -> bool {
        let node = path
            .iter()
            .try_fold(&self.root, |node, component| node.children.get(*component));
        self.privileges(authid, path).any(wanted)
            || node.is_some_and(|node| {
                node.children.keys().any(|child| {
                    let below: Vec<&str> = path.iter().copied().chain([child.as_str()]).collect();
                    self.any_below(authid, &below, wanted)
                })
            })
    }

    /// Whether what somebody may do at a path holds everywhere below it: no rule there is about them.
    #[must_use]
    pub fn same_below(&self, authid: &Authid, path: &[&str]) -> bool {
        let user = Authid::from(authid.user.clone());
        let both = [authid, &user];
        if authid.token.is_none() && authid.user.is_root() {
            return true;
        }
        let node = path
            .iter()
            .try_fold(&self.root, |node, component| node.children.get(*component));
        node.is_none_or(|node| {
            // A rule at the path itself may hold for it alone.
            let here = both.iter().filter_map(|who| node.roles.get(*who));
            here.flat_map(Roles::values).all(|propagates| *propagates)
                && node
                    .children
                    .values()
                    .all(|child| !both.iter().any(|who| child.is_about(who)))
        })
    }

    fn resolve(&self, authid: &Authid, path: &[&str]) -> (Privileges, Privileges) {
        let mut node = &self.root;
        let mut decided = node.privileges(authid, path.is_empty());
        for (depth, component) in (1..).zip(path) {
            let Some(child) = node.children.get(*component) else {
                break;
            };
            node = child;
            decided = node.privileges(authid, depth == path.len()).or(decided);
        }
        decided.unwrap_or_default()
    }
}

/// `acl.cfg` as of the last look. An edit that does not parse keeps the last good rules.
pub struct AclFile(WatchedFile<AclTree, AclError>);

impl AclFile {
    /// Reads the file; without one nobody may do anything.
    ///
    /// # Errors
    /// [`AclError`] when it cannot be read or is not valid.
    pub fn open(path: PathBuf) -> Result<Self, AclError> {
        Ok(Self(WatchedFile::open(path, "permissions", read)?))
    }

    /// The rules in force.
    #[must_use]
    pub fn tree(&self) -> Arc<AclTree> {
        self.0.get()
    }

    /// Reads the file again if it changed. Blocks.
    pub fn look(&self) {
        self.0.look();
    }

    /// Reads the file again, which is known to have changed. Blocks.
    pub fn reread(&self) {
        self.0.reread();
    }

    /// Why older rules than the file's are in force, if so.
    #[must_use]
    pub fn problem(&self) -> Option<Arc<str>> {
        self.0.problem()
    }
}

fn read(path: &Path) -> Result<AclTree, AclError> {
    AclTree::parse(path, &String::from_utf8_lossy(&config_file::read(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> AclTree {
        AclTree::parse(Path::new("acl.cfg"), text).unwrap()
    }

    fn of(tree: &AclTree, who: &str, path: &str) -> Privileges {
        let components: Vec<&str> = path
            .split('/')
            .filter(|component| !component.is_empty())
            .collect();
        tree.privileges(&Authid::parse(who).unwrap(), &components)
    }

    #[test]
    fn the_deepest_node_with_roles_decides() {
        let tree = tree(
            "acl:1:/:all@pbs:Admin\n\nacl:1:/datastore:ann@pbs,bob@pbs:DatastoreReader\n\
             acl:1:/datastore/a:ann@pbs:DatastoreBackup\nacl:1:/datastore/b:ann@pbs:NoAccess,DatastoreAdmin\n\
             acl:0:/datastore/c:bob@pbs:DatastoreAudit\nacl:1:/datastore/c/ns:cy@pbs:DatastoreAudit\n",
        );
        assert_eq!(of(&tree, "all@pbs", "/datastore/a/x/y"), Privileges::ALL);
        assert_eq!(of(&tree, "all@pbs", "/"), Privileges::ALL);
        assert!(of(&tree, "ann@pbs", "/datastore/other").any(Privileges::READ));
        assert_eq!(
            of(&tree, "ann@pbs", "/datastore/a"),
            Privileges::BACKUP,
            "replaces what is above"
        );
        assert_eq!(of(&tree, "ann@pbs", "/datastore/a/ns"), Privileges::BACKUP);
        assert_eq!(
            of(&tree, "ann@pbs", "/datastore/b/ns"),
            Privileges::NONE,
            "NoAccess wins"
        );
        assert_eq!(of(&tree, "bob@pbs", "/datastore/c"), Privileges::AUDIT);
        assert!(
            of(&tree, "bob@pbs", "/datastore/c/ns").any(Privileges::READ),
            "the rule at c does not propagate"
        );
        assert_eq!(of(&tree, "nobody@pbs", "/datastore/a"), Privileges::NONE);
        assert_eq!(of(&tree, "root@pam", "/datastore/a"), Privileges::ALL);
        let cy = Authid::parse("cy@pbs").unwrap();
        assert!(tree.any_below(&cy, &["datastore", "c"], Privileges::AUDIT));
        assert!(!tree.any_below(&cy, &["datastore", "a"], Privileges::AUDIT));
        for (who, path, same) in [
            ("all@pbs", "datastore", true),
            ("root@pam", "datastore", true),
            ("ann@pbs", "datastore", false),
            ("ann@pbs!token", "datastore", false),
            ("ann@pbs", "other", true),
            ("bob@pbs", "datastore", false),
        ] {
            let who = Authid::parse(who).unwrap();
            assert_eq!(tree.same_below(&who, &[path]), same, "{who} {path}");
        }
        let at_c = tree.same_below(&Authid::parse("bob@pbs").unwrap(), &["datastore", "c"]);
        assert!(!at_c, "that rule holds for c alone");
    }

    #[test]
    fn a_token_can_do_no_more_than_its_user() {
        let tree = tree(
            "acl:1:/:ann@pbs!all,bob@pbs!all:Admin\nacl:1:/datastore/a:ann@pbs:DatastoreReader\n\
             acl:1:/datastore/b:ann@pbs:DatastoreReader\nacl:1:/datastore/b:ann@pbs!all:DatastoreAudit\n",
        );
        assert_eq!(
            of(&tree, "ann@pbs!all", "/datastore/a"),
            of(&tree, "ann@pbs", "/datastore/a")
        );
        assert_eq!(of(&tree, "ann@pbs!all", "/datastore/b"), Privileges::AUDIT);
        assert_eq!(
            of(&tree, "ann@pbs!other", "/datastore/a"),
            Privileges::NONE,
            "needs rules of its own"
        );
        assert_eq!(of(&tree, "bob@pbs!all", "/datastore/a"), Privileges::NONE);
        assert_eq!(of(&tree, "root@pam!auto", "/datastore/a"), Privileges::NONE);
    }

    #[test]
    fn a_bad_line_is_named_and_a_bad_edit_keeps_the_last_good_rules() {
        for (text, says) in [
            ("acl:1:/:a@pbs:Admin\nnonsense", "line 2"),
            ("acl:2:/:a@pbs:Admin", "0 or 1"),
            ("acl:1:datastore:a@pbs:Admin", "begins with `/`"),
            ("acl:1:/:a:Admin", "users or tokens"),
            ("acl:1:/:a@pbs:King", "known roles"),
        ] {
            let error = AclTree::parse(Path::new("acl.cfg"), text)
                .unwrap_err()
                .to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acl.cfg");
        let file = AclFile::open(path.clone()).unwrap();
        let may = |file: &AclFile| {
            file.look();
            of(&file.tree(), "a@pbs", "/datastore/x").any(Privileges::READ)
        };
        assert!(!may(&file), "no file, no rights");
        std::fs::write(&path, "acl:1:/:a@pbs:Admin\n").unwrap();
        assert!(may(&file));
        std::fs::write(&path, "acl:1:/:a@pbs:Admin\nbroken").unwrap();
        assert!(may(&file));
        assert!(file.problem().unwrap().contains("acl.cfg: line 2"));
        std::fs::write(&path, "acl:1:/:b@pbs:Admin\n").unwrap();
        assert!(
            file.tree()
                .any_below(&Authid::parse("a@pbs").unwrap(), &[], Privileges::READ)
        );
        assert!(!may(&file) && file.problem().is_none());
    }
}
