//! The same restore as a command line and as a call of the API: what the dialog shows and copies.

use fleethold_api_types::{CreateRestore, RestoreTarget, TargetKind};

/// A piece of a command: what was chosen by the user is set apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Text.
    pub text: String,
    /// Chosen, not fixed.
    pub chosen: bool,
}

/// Quotes a word for a POSIX shell when it needs it.
pub fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn target_word(target: &RestoreTarget, root: Option<&str>) -> String {
    match (target.kind, target.path.as_deref()) {
        (TargetKind::Null, _) => "null".to_owned(),
        (TargetKind::File, Some(path)) if !path.starts_with('/') => match root {
            Some(root) => format!("{}/{path}", root.trim_end_matches('/')),
            None => path.to_owned(),
        },
        (_, path) => path.unwrap_or_default().to_owned(),
    }
}

/// `fleethold restore …` in pieces; the key is named by file, a secret is never in it.
pub fn command_line(request: &CreateRestore, root: Option<&str>, key_file: Option<&str>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut push = |text: &str, chosen: bool| {
        pieces.push(Piece {
            text: text.to_owned(),
            chosen,
        })
    };
    let source = &request.source;
    push("fleethold restore --store ", false);
    push(&shell_quote(&source.store), true);
    if !source.ns.is_empty() {
        push(" --ns ", false);
        push(&shell_quote(&source.ns), true);
    }
    push(" --snapshot ", false);
    push(&shell_quote(&source.snapshot), true);
    push(" \\\n    --archive ", false);
    push(&shell_quote(&source.archive), true);
    push(" --to ", false);
    push(&shell_quote(&target_word(&request.target, root)), true);
    if let Some(file) = key_file {
        push(" \\\n    --key-file ", false);
        push(&shell_quote(file), true);
    }
    if let Some(parallel) = request.parallel {
        push(" --parallel ", false);
        push(&parallel.to_string(), true);
    }
    if request.simulate_latency_ms > 0 {
        push(" --simulate-latency ", false);
        push(&format!("{}ms", request.simulate_latency_ms), true);
    }
    if request.sha256 {
        push(" --sha256", false);
    }
    if request.target.overwrite {
        push(" --overwrite", false);
    }
    pieces
}

/// The `curl` call that starts the same job. The key goes in from its file, the token from the environment.
pub fn curl(request: &CreateRestore, origin: &str, key_file: Option<&str>) -> Vec<Piece> {
    let mut body = serde_json::to_value(request).unwrap_or_default();
    if let Some(object) = body.as_object_mut() {
        object.remove("key");
        object.remove("key_password");
        object.retain(|name, value| !(value == false || (name == "simulate_latency_ms" && value == 0)));
        if let Some(target) = object.get_mut("target").and_then(|t| t.as_object_mut()) {
            target.retain(|_, value| value != false);
        }
    }
    let body = body.to_string();
    let fixed = |text: String| Piece { text, chosen: false };
    let mut pieces = vec![fixed(
        "curl --cacert fleethold.pem -H \"Authorization: PBSAPIToken=$FLEETHOLD_TOKEN\" \\\n    -H 'Content-Type: application/json' "
            .to_owned(),
    )];
    match key_file {
        // jq puts the text of the key file into the body: it never stands in the command itself
        Some(file) => {
            pieces.push(fixed("--data @<(jq --rawfile key ".to_owned()));
            pieces.push(Piece {
                text: shell_quote(file),
                chosen: true,
            });
            pieces.push(fixed(" '.key=$key' <<<".to_owned()));
            pieces.push(Piece {
                text: shell_quote(&body),
                chosen: true,
            });
            pieces.push(fixed(") \\\n    ".to_owned()));
        }
        None => {
            pieces.push(fixed("--data ".to_owned()));
            pieces.push(Piece {
                text: shell_quote(&body),
                chosen: true,
            });
            pieces.push(fixed(" \\\n    ".to_owned()));
        }
    }
    pieces.push(fixed(format!("{origin}/api/v1/restores")));
    pieces
}

/// The pieces as one text, for the clipboard.
pub fn joined(pieces: &[Piece]) -> String {
    pieces.iter().map(|p| p.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleethold_api_types::RestoreSource;

    fn request() -> CreateRestore {
        CreateRestore {
            source: RestoreSource {
                store: "muc1".into(),
                ns: "prod".into(),
                snapshot: "vm/100/2024-05-01T10:00:00Z".into(),
                archive: "drive-scsi0.img.fidx".into(),
            },
            target: RestoreTarget {
                kind: TargetKind::File,
                path: Some("it's.raw".into()),
                overwrite: false,
                is_zero: false,
            },
            parallel: Some(4),
            sha256: true,
            key: Some("secret".into()),
            key_password: Some("secret".into()),
            simulate_latency_ms: 0,
        }
    }

    #[test]
    fn the_command_is_complete_and_quoted() {
        assert_eq!(
            joined(&command_line(
                &request(),
                Some("/srv/restore/"),
                Some("a key.json")
            )),
            "fleethold restore --store muc1 --ns prod --snapshot vm/100/2024-05-01T10:00:00Z \\\n    --archive \
             drive-scsi0.img.fidx --to '/srv/restore/it'\\''s.raw' \\\n    --key-file 'a key.json' --parallel 4 --sha256"
        );
    }

    #[test]
    fn no_secret_is_in_a_command() {
        let text = joined(&curl(&request(), "https://h:8007", Some("k.json")));
        assert!(
            !text.contains("secret") && text.contains("\"sha256\":true") && !text.contains("overwrite"),
            "{text}"
        );
        assert!(!joined(&command_line(&request(), None, None)).contains("secret"));
    }
}
