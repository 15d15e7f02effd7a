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

/// What a command needs to know beside the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Around {
    /// Folder of the store, as far as one may know it. A command line finds a store by it whatever state directory
    /// the server was started with.
    pub store_path: Option<String>,
    /// First restore root, for absolute targets.
    pub root: Option<String>,
    /// Name of the key file.
    pub key_file: Option<String>,
    /// Where the API is: `https://host:8007`.
    pub origin: String,
    /// Who signs in.
    pub user: String,
}

/// `fleethold restore …` in pieces; the key is named by file, a secret is never in it.
pub fn command_line(request: &CreateRestore, around: &Around) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut push = |text: &str, chosen: bool| {
        pieces.push(Piece {
            text: text.to_owned(),
            chosen,
        })
    };
    let source = &request.source;
    push("fleethold restore --store ", false);
    push(
        &shell_quote(around.store_path.as_ref().unwrap_or(&source.store)),
        true,
    );
    if !source.ns.is_empty() {
        push(" --ns ", false);
        push(&shell_quote(&source.ns), true);
    }
    push(" --snapshot ", false);
    push(&shell_quote(&source.snapshot), true);
    push(" \\\n    --archive ", false);
    push(&shell_quote(&source.archive), true);
    push(" --to ", false);
    push(
        &shell_quote(&target_word(&request.target, around.root.as_deref())),
        true,
    );
    if let Some(file) = &around.key_file {
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

/// The `curl` calls that start the same job: log in, then post. The password is asked for and the key goes in from its
/// file, so that neither stands in the command. `-k`, because the server signs its own certificate.
pub fn curl(request: &CreateRestore, around: &Around) -> Vec<Piece> {
    let mut body = serde_json::to_value(request).unwrap_or_default();
    if let Some(object) = body.as_object_mut() {
        object.remove("key");
        object.remove("key_password");
        object.retain(|name, value| !(value == false || (name == "simulate_latency_ms" && value == 0)));
        if let Some(target) = object.get_mut("target").and_then(|t| t.as_object_mut()) {
            target.retain(|_, value| value != false);
        }
    }
    let body = shell_quote(&body.to_string());
    let mut pieces = Vec::new();
    let mut push = |text: &str, chosen: bool| {
        pieces.push(Piece {
            text: text.to_owned(),
            chosen,
        })
    };
    push("url=", false);
    push(&format!("{}/api/v1", around.origin), true);
    push(
        "\nread -rsp 'Password: ' password\ntoken=$(jq -n --arg user ",
        false,
    );
    push(&shell_quote(&around.user), true);
    push(
        " --arg password \"$password\" '$ARGS.named' \\\n    | curl -sk -c jar -H 'content-type: application/json' $url/session \
         --data @- | jq -r .csrf_token)\n",
        false,
    );
    let post = "curl -sk -b jar -H \"CSRFPreventionToken: $token\" -H 'content-type: application/json' \\\n    $url/restores --data ";
    match &around.key_file {
        // jq puts the text of the key file into the body
        Some(file) => {
            push("jq --rawfile key ", false);
            push(&shell_quote(file), true);
            push(" '.key=$key' <<<", false);
            push(&body, true);
            push(" \\\n    | ", false);
            push(post, false);
            push("@-", false);
        }
        None => {
            push(post, false);
            push(&body, true);
        }
    }
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

    fn around() -> Around {
        Around {
            store_path: Some("/tank/muc 1".into()),
            root: Some("/srv/restore/".into()),
            key_file: Some("a key.json".into()),
            origin: "https://h:8007".into(),
            user: "admin@pbs".into(),
        }
    }

    #[test]
    fn the_command_is_complete_and_quoted() {
        assert_eq!(
            joined(&command_line(&request(), &around())),
            "fleethold restore --store '/tank/muc 1' --ns prod --snapshot vm/100/2024-05-01T10:00:00Z \\\n    --archive \
             drive-scsi0.img.fidx --to '/srv/restore/it'\\''s.raw' \\\n    --key-file 'a key.json' --parallel 4 --sha256"
        );
        let unknown = joined(&command_line(&request(), &Around::default()));
        assert!(
            unknown.starts_with("fleethold restore --store muc1 "),
            "{unknown}"
        );
    }

    #[test]
    fn curl_logs_in_and_brings_the_token() {
        let text = joined(&curl(&request(), &around()));
        for part in [
            "url=https://h:8007/api/v1\n",
            "--arg user admin@pbs",
            "-c jar",
            "-b jar",
            "CSRFPreventionToken: $token",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let plain = joined(&curl(&request(), &Around::default()));
        assert!(plain.ends_with("\"}}'") || plain.contains("--data '{"), "{plain}");
    }

    #[test]
    fn no_secret_is_in_a_command() {
        let text = joined(&curl(&request(), &around()));
        assert!(
            !text.contains("secret") && text.contains("\"sha256\":true") && !text.contains("overwrite"),
            "{text}"
        );
        assert!(!joined(&command_line(&request(), &Around::default())).contains("secret"));
    }
}
