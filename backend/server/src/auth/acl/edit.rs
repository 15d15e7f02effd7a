//! Changes of `acl.cfg` as text: lines that a change is not about stay byte for byte.

use super::path::{AclPath, components};
use super::{NO_ACCESS, Role};

/// One role of somebody at a path, to be given or taken.
#[derive(Debug, Clone)]
pub struct RuleChange<'c> {
    /// Where.
    pub path: &'c AclPath,
    /// User or token.
    pub who: &'c str,
    /// Which role.
    pub role: &'c Role,
    /// Given, and whether it holds below the path, too; or taken.
    pub give: Option<bool>,
}

/// The file with the change made. As in PBS, giving `NoAccess` takes somebody's other roles at the path, and giving another
/// takes `NoAccess`.
#[must_use]
pub fn change_rule(text: &str, change: &RuleChange<'_>) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut is_there = false;
    for line in text.split_inclusive('\n') {
        match split(line).filter(|rule| rule.is_at(change)) {
            None => out.push_str(line),
            Some(rule) => rule.without(line, change, &mut is_there, &mut out),
        }
    }
    if let Some(propagate) = change.give.filter(|_| !is_there) {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&rule_line(
            propagate,
            change.path.as_str(),
            change.who,
            change.role.name,
        ));
    }
    out
}

struct Line<'l> {
    propagate: &'l str,
    path: &'l str,
    who: Vec<&'l str>,
    roles: Vec<&'l str>,
}

fn split(line: &str) -> Option<Line<'_>> {
    let fields: Vec<&str> = line.trim().split(':').collect();
    let &["acl", propagate, path, who, roles] = fields.as_slice() else {
        return None;
    };
    Some(Line {
        propagate,
        path,
        who: who.split(',').collect(),
        roles: roles.split(',').collect(),
    })
}

impl Line<'_> {
    fn is_at(&self, change: &RuleChange<'_>) -> bool {
        self.who.contains(&change.who) && components(self.path) == change.path.components()
    }

    /// Writes what is left of a line about somebody at the path.
    fn without(&self, line: &str, change: &RuleChange<'_>, is_there: &mut bool, out: &mut String) {
        let given = change.give.map(|propagate| if propagate { "1" } else { "0" });
        let mut left = Vec::new();
        for role in &self.roles {
            let same = *role == change.role.name;
            let stays = match given {
                None => !same,
                Some(propagate) if same => {
                    // The very rule: once is enough.
                    let first = !*is_there && propagate == self.propagate;
                    *is_there |= first;
                    first
                }
                Some(_) => change.role.name != NO_ACCESS && *role != NO_ACCESS,
            };
            if stays {
                left.push(*role);
            }
        }
        if left.len() == self.roles.len() {
            out.push_str(line);
            return;
        }
        let others: Vec<&str> = self
            .who
            .iter()
            .copied()
            .filter(|who| *who != change.who)
            .collect();
        let write = |who: &str, roles: &str| match self.propagate {
            "1" => rule_line(true, self.path, who, roles),
            _ => rule_line(false, self.path, who, roles),
        };
        if !others.is_empty() {
            out.push_str(&write(&others.join(","), &self.roles.join(",")));
        }
        if !left.is_empty() {
            out.push_str(&write(change.who, &left.join(",")));
        }
    }
}

fn rule_line(propagate: bool, path: &str, who: &str, roles: &str) -> String {
    format!("acl:{}:{path}:{who}:{roles}\n", u8::from(propagate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::acl::role;

    const TEXT: &str = "acl:1:/datastore:ann@pbs,bob@pbs:Audit,DatastoreBackup\n\n  acl:0:/:ann@pbs:Admin  \r\nacl:1:/datastore:@grp:Audit";

    fn changed(text: &str, path: &str, who: &str, name: &str, give: Option<bool>) -> String {
        let path = AclPath::parse(path).unwrap();
        let role = role(name).unwrap();
        let text = change_rule(
            text,
            &RuleChange {
                path: &path,
                who,
                role,
                give,
            },
        );
        super::super::AclTree::parse(std::path::Path::new("acl.cfg"), &text).unwrap();
        text
    }

    #[test]
    fn only_lines_it_is_about_change() {
        assert_eq!(changed(TEXT, "/datastore", "cy@pbs", "Audit", None), TEXT);
        assert_eq!(changed(TEXT, "/datastore", "ann@pbs", "Audit", Some(true)), TEXT);
        assert_eq!(
            changed(TEXT, "/datastore", "cy@pbs", "Audit", Some(false)),
            format!("{TEXT}\nacl:0:/datastore:cy@pbs:Audit\n")
        );
        assert_eq!(
            changed(TEXT, "/datastore", "ann@pbs", "Audit", None),
            TEXT.replace(
                "acl:1:/datastore:ann@pbs,bob@pbs:Audit,DatastoreBackup\n",
                "acl:1:/datastore:bob@pbs:Audit,DatastoreBackup\nacl:1:/datastore:ann@pbs:DatastoreBackup\n"
            )
        );
        let not_below = changed(TEXT, "/datastore", "bob@pbs", "Audit", Some(false));
        assert!(
            not_below.contains("acl:1:/datastore:ann@pbs:Audit,DatastoreBackup\n"),
            "{not_below}"
        );
        assert!(
            not_below.contains("acl:1:/datastore:bob@pbs:DatastoreBackup\n"),
            "{not_below}"
        );
        assert!(
            not_below.ends_with("\nacl:0:/datastore:bob@pbs:Audit\n"),
            "{not_below}"
        );
        let gone = changed(TEXT, "/", "ann@pbs", "Admin", None);
        assert!(!gone.contains("Admin") && gone.contains("@grp"), "{gone}");
    }

    #[test]
    fn no_access_stands_alone() {
        let none = changed(
            "acl:1:/:a@pbs:Audit,Admin\n",
            "/",
            "a@pbs",
            "NoAccess",
            Some(true),
        );
        assert_eq!(none, "acl:1:/:a@pbs:NoAccess\n");
        assert_eq!(
            changed(&none, "/", "a@pbs", "Audit", Some(true)),
            "acl:1:/:a@pbs:Audit\n"
        );
        let twice = "acl:1:/:a@pbs:Audit\nacl:0:/:a@pbs:Audit\nacl:1:/:a@pbs:Audit\n";
        assert_eq!(
            changed(twice, "/", "a@pbs", "Audit", Some(true)),
            "acl:1:/:a@pbs:Audit\n"
        );
        assert_eq!(changed(twice, "/", "a@pbs", "Audit", None), "");
    }
}
