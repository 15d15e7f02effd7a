//! Passwords: from a file, a variable or a prompt, never from the arguments, which every user of the machine can see.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, bail};
use zeroize::Zeroizing;

/// The largest secret file that is read.
const MAX_SECRET_BYTES: u64 = 64 << 10;

/// Reads a file of at most `limit` bytes.
pub(super) fn read_limited(path: &Path, what: &str, limit: u64) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let attempt = || format!("cannot read {what} {}", path.display());
    let file = std::fs::File::open(path).with_context(attempt)?;
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .with_context(attempt)?;
    if bytes.len() as u64 > limit {
        bail!(
            "{what} {}: expected at most {limit} bytes, found more",
            path.display()
        );
    }
    Ok(bytes)
}

/// A password from `file`, else from `variable`, else from a prompt when there is somebody to ask.
pub(super) fn password(
    file: Option<&Path>,
    variable: &str,
    prompt: &str,
) -> anyhow::Result<Option<Zeroizing<String>>> {
    if let Some(path) = file {
        let bytes = read_limited(path, "password file", MAX_SECRET_BYTES)?;
        let text = std::str::from_utf8(&bytes)
            .with_context(|| format!("password file {}: expected UTF-8 text", path.display()))?;
        // Editors end the last line; that is no part of the password.
        let line = text.strip_suffix('\n').unwrap_or(text);
        return Ok(Some(Zeroizing::new(
            line.strip_suffix('\r').unwrap_or(line).to_owned(),
        )));
    }
    match std::env::var(variable) {
        Ok(text) => return Ok(Some(Zeroizing::new(text))),
        Err(std::env::VarError::NotPresent) => {}
        Err(std::env::VarError::NotUnicode(_)) => bail!("variable {variable}: expected UTF-8 text"),
    }
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let text = rpassword::prompt_password(prompt).context("cannot ask for the password")?;
    Ok(Some(Zeroizing::new(text)))
}
