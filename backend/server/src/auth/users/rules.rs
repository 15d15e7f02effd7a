//! Rules of `acl.cfg`: given and taken one by one.

use fleethold_format::names::{Authid, Userid};
use serde_json::{Value, json};

use super::files::Digest;
use super::{Change, UserError, UserStore};
use crate::auth::acl::{AclPath, AclTree, Role, RuleChange, change_rule, role};

impl UserStore {
    /// Gives somebody a role at a path (`give` says whether it holds below, too), or takes it (`None`). What is so already
    /// changes nothing: `old` and `new` of the change are equal then.
    ///
    /// # Errors
    /// Nobody of that name exists who could be given it, the file is not that of `digest`, or it cannot be written.
    pub fn change_rule(
        &self,
        path: &AclPath,
        who: &Authid,
        role: &Role,
        give: Option<bool>,
        digest: Option<&Digest>,
    ) -> Result<Change, UserError> {
        if give.is_some() && !who.user.is_root() {
            self.table.look();
            if self.table.get().get(who).is_none() {
                return Err(UserError::NotFound { authid: who.clone() });
            }
        }
        let name = who.to_string();
        let change = RuleChange {
            path,
            who: &name,
            role,
            give,
        };
        let (before, after) = self.edit_acl(digest, |text| change_rule(text, &change))?;
        Ok(Change {
            action: if give.is_some() { "acl.set" } else { "acl.delete" },
            target: path.to_string(),
            old: roles_at(&before, path, &name),
            new: roles_at(&after, path, &name),
        })
    }

    /// Lets a user do everything.
    ///
    /// # Errors
    /// `acl.cfg` cannot be written.
    pub fn grant_everything(&self, user: &Userid) -> Result<Change, UserError> {
        let invalid = |message: String| UserError::Invalid {
            path: self.directory.join(super::ACL),
            message,
        };
        let root = AclPath::parse("/").map_err(invalid)?;
        let admin = role("Admin").ok_or_else(|| invalid("expected a role Admin, found none".to_owned()))?;
        self.change_rule(&root, &user.clone().into(), admin, Some(true), None)
    }

    /// Takes all rules of those that `gone` names; other lines stay as they are.
    pub(super) fn drop_rules(&self, gone: &dyn Fn(&str) -> bool) -> Result<(), UserError> {
        self.edit_acl(None, |text| without(text, gone)).map(drop)
    }
}

fn roles_at(tree: &AclTree, path: &AclPath, who: &str) -> Value {
    let rules = tree.rules().into_iter();
    let roles: Vec<Value> = rules
        .filter(|rule| rule.path == path.as_str() && rule.who == who && !rule.is_group)
        .map(|rule| json!({"role": rule.role, "propagate": rule.propagate}))
        .collect();
    if roles.is_empty() {
        Value::Null
    } else {
        json!({ "auth_id": who, "roles": roles })
    }
}

/// The rules of `acl.cfg` (`acl:<propagate>:<path>:<who>,…:<role>,…`) without somebody; other lines stay as they are.
fn without(text: &str, gone: &dyn Fn(&str) -> bool) -> String {
    let kept = |line: &str| {
        let mut fields: Vec<&str> = line.split(':').collect();
        let Some(who) = fields.get_mut(3) else {
            return Some(line.to_owned());
        };
        let left = who
            .split(',')
            .filter(|id| !gone(id.trim()))
            .collect::<Vec<_>>()
            .join(",");
        if left.is_empty() {
            return None;
        }
        *who = &left;
        Some(fields.join(":"))
    };
    text.split_inclusive('\n').filter_map(kept).collect()
}
