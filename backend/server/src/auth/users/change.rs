//! What a change did, for those who ask later: who told it to is not known here.

use serde_json::{Value, json};

use super::table::{UserEntry, UserTable};
use fleethold_format::names::Authid;

/// One change of users, tokens or rules. It holds no secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What was done: `user.create`, `token.delete`, `acl.update`, …
    pub action: &'static str,
    /// To whom, or where.
    pub target: String,
    /// How it was; null when it was not there.
    pub old: Value,
    /// How it is; null when it is gone.
    pub new: Value,
}

impl Change {
    /// Of somebody in `user.cfg`.
    pub(super) fn of(
        action: &'static str,
        authid: &Authid,
        old: Option<&UserEntry>,
        new: Option<&UserEntry>,
    ) -> Self {
        let value = |entry: Option<&UserEntry>| entry.map_or(Value::Null, |entry| json!(entry.fields));
        Self {
            action,
            target: authid.to_string(),
            old: value(old),
            new: value(new),
        }
    }

    /// That a secret was replaced, too.
    pub(super) fn with_new(mut self, what: &str) -> Self {
        match &mut self.new {
            Value::Object(fields) => {
                fields.insert(what.to_owned(), "replaced".into());
            }
            other => *other = json!({ what: "replaced" }),
        }
        self
    }

    /// The tokens that went with a user.
    pub(super) fn with_tokens(mut self, table: &UserTable, user: &fleethold_format::names::Userid) -> Self {
        let tokens: Vec<String> = table
            .tokens_of(user)
            .map(|token| token.authid.to_string())
            .collect();
        if let (Value::Object(fields), false) = (&mut self.old, tokens.is_empty()) {
            fields.insert("tokens".to_owned(), tokens.into());
        }
        self
    }
}
