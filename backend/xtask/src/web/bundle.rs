//! The set of files that makes the page: names carry a digest of the content, `index.html` names them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use sha2::{Digest, Sha256};

use super::compress;
use super::inputs::collect;

/// Where the page finds its own files, whatever route it was opened on.
const BASE: &str = "/";

/// Path inside `frontend/dist` → content.
pub(crate) struct Bundle {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Bundle {
    /// Lays out the page from its static files, the glue and the module.
    ///
    /// `index.html` has the placeholders `{{start_js}}`, `{{app_css}}` and `{{wasm}}`; each must be there, and
    /// none may be left over.
    pub(crate) fn assemble(static_dir: &Path, name: &str, js: &str, wasm: Vec<u8>) -> Result<Self> {
        let mut files = BTreeMap::new();
        let wasm_name = hashed(name, "wasm", &wasm);
        let js_name = hashed(name, "js", js.as_bytes());
        let start = format!(
            "import init from '{BASE}{js_name}';\ninit({{ module_or_path: '{BASE}{wasm_name}' }});\n"
        );
        let start_name = hashed("start", "js", start.as_bytes());
        files.insert(PathBuf::from(&wasm_name), wasm);
        files.insert(PathBuf::from(&js_name), js.as_bytes().to_vec());
        files.insert(PathBuf::from(&start_name), start.into_bytes());

        let mut css_name = None;
        let mut index = None;
        let mut sources = Vec::new();
        collect(static_dir, &mut sources)?;
        for source in sources {
            let content = std::fs::read(&source).with_context(|| format!("reading {}", source.display()))?;
            let relative = source.strip_prefix(static_dir).unwrap_or(&source).to_path_buf();
            match relative.to_str() {
                Some("index.html") => {
                    index = Some(String::from_utf8(content).context("frontend/static/index.html")?);
                }
                Some("app.css") => {
                    let name = hashed("app", "css", &content);
                    files.insert(PathBuf::from(&name), content);
                    css_name = Some(name);
                }
                _ => {
                    files.insert(relative, content);
                }
            }
        }
        let index = index.ok_or_else(|| anyhow!("{} has no index.html", static_dir.display()))?;
        let css_name = css_name.ok_or_else(|| anyhow!("{} has no app.css", static_dir.display()))?;
        let index = fill(
            index,
            &[
                ("start_js", &start_name),
                ("app_css", &css_name),
                ("wasm", &wasm_name),
            ],
        )?;
        files.insert(PathBuf::from("index.html"), index.into_bytes());
        Ok(Self { files })
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Replaces `dist` by this bundle, each file with its compressed copies; answers a line per large file.
    pub(crate) fn write(&self, dist: &Path) -> Result<Vec<String>> {
        if dist.exists() {
            std::fs::remove_dir_all(dist).with_context(|| format!("removing {}", dist.display()))?;
        }
        let mut report = Vec::new();
        for (relative, content) in &self.files {
            let path = dist.join(relative);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
            }
            std::fs::write(&path, content).with_context(|| format!("writing {}", path.display()))?;
            let sizes = compress::write_beside(&path, content)?;
            report.extend(sizes.map(|sizes| format!("{}: {sizes}", relative.display())));
        }
        Ok(report)
    }
}

/// `app` + `css` → `app-0123456789abcdef.css`.
fn hashed(stem: &str, extension: &str, content: &[u8]) -> String {
    let digest = hex::encode(Sha256::digest(content));
    format!("{stem}-{}.{extension}", digest.get(..16).unwrap_or(&digest))
}

/// Replaces every placeholder by the address of its file.
fn fill(mut page: String, values: &[(&str, &str)]) -> Result<String> {
    for (name, value) in values {
        let placeholder = format!("{{{{{name}}}}}");
        if !page.contains(&placeholder) {
            bail!("frontend/static/index.html: no placeholder {placeholder}");
        }
        // `href="/{{wasm}}"` and `href="{{wasm}}"` mean the same address.
        page = page
            .replace(&format!("{BASE}{placeholder}"), &placeholder)
            .replace(&placeholder, &format!("{BASE}{value}"));
    }
    match page.find("{{") {
        None => Ok(page),
        Some(at) => {
            let rest: String = page
                .chars()
                .skip(page.get(..at).map_or(0, |head| head.chars().count()))
                .take(24)
                .collect();
            bail!("frontend/static/index.html: unknown placeholder at {rest:?}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn static_dir(index: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("index.html"), index).unwrap();
        std::fs::write(dir.path().join("app.css"), "body{}").unwrap();
        std::fs::create_dir(dir.path().join("icons")).unwrap();
        std::fs::write(dir.path().join("icons/f.svg"), "<svg/>").unwrap();
        dir
    }

    #[test]
    fn the_page_names_every_hashed_file() {
        let dir = static_dir("<link href=\"{{app_css}}\"><script src=\"/{{start_js}}\"></script>{{wasm}}");
        let bundle = Bundle::assemble(dir.path(), "page", "export default 1", b"\0asm".to_vec()).unwrap();
        let out = tempfile::tempdir().unwrap();
        bundle.write(&out.path().join("dist")).unwrap();
        let index = std::fs::read_to_string(out.path().join("dist/index.html")).unwrap();
        let mut addresses: Vec<_> = index
            .split(['"', '>'])
            .filter(|part| part.starts_with('/'))
            .collect();
        addresses.retain(|part| part.contains('.'));
        assert_eq!(addresses.len(), 3, "{index}");
        for address in addresses {
            assert!(!address.starts_with("//"), "{address}");
            assert!(
                out.path()
                    .join("dist")
                    .join(address.trim_start_matches('/'))
                    .is_file(),
                "{address}"
            );
        }
        assert!(out.path().join("dist/icons/f.svg").is_file());
    }

    #[test]
    fn a_changed_file_gets_another_name() {
        assert_ne!(hashed("a", "js", b"1"), hashed("a", "js", b"2"));
        assert_eq!(hashed("a", "js", b"1"), hashed("a", "js", b"1"));
    }

    #[test]
    fn a_missing_or_unknown_placeholder_is_refused() {
        for index in [
            "{{start_js}} {{app_css}}",
            "{{start_js}} {{app_css}} {{wasm}} {{typo}}",
        ] {
            let dir = static_dir(index);
            assert!(
                Bundle::assemble(dir.path(), "page", "", Vec::new()).is_err(),
                "{index}"
            );
        }
    }
}
