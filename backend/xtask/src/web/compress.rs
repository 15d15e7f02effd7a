//! `.br` and `.gz` beside a file, made once here so that the server never compresses the page.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Below this a compressed copy saves less than its headers cost.
const WORTH_IT_BYTES: usize = 1024;

/// Writes `path.br` and `path.gz`; a file too small to gain, or of a kind already compressed, gets none.
pub(crate) fn write_beside(path: &Path, content: &[u8]) -> Result<Option<String>> {
    let packed = path
        .extension()
        .is_some_and(|ext| ["png", "woff2", "jpg", "webp"].iter().any(|p| ext == *p));
    if packed || content.len() < WORTH_IT_BYTES {
        return Ok(None);
    }
    let br = brotli(content)?;
    let gz = gzip(content)?;
    for (extension, bytes) in [("br", &br), ("gz", &gz)] {
        let target = with_suffix(path, extension);
        std::fs::write(&target, bytes).with_context(|| format!("writing {}", target.display()))?;
    }
    let kib = |bytes: usize| bytes as f64 / 1024.0;
    Ok(Some(format!(
        "{:.1} KiB, br {:.1}, gz {:.1}",
        kib(content.len()),
        kib(br.len()),
        kib(gz.len())
    )))
}

/// `a.js` + `br` → `a.js.br`.
fn with_suffix(path: &Path, extension: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

fn brotli(content: &[u8]) -> Result<Vec<u8>> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        ..Default::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut out, &params).context("brotli")?;
    Ok(out)
}

fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).context("gzip")?;
    encoder.finish().context("gzip")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn both_copies_hold_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.js");
        let content = b"const answer = 42;\n".repeat(500);
        assert!(write_beside(&path, &content).unwrap().is_some());
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(std::fs::File::open(dir.path().join("a.js.gz")).unwrap())
            .read_to_end(&mut plain)
            .unwrap();
        assert_eq!(plain, content);
        plain.clear();
        brotli::BrotliDecompress(
            &mut std::fs::File::open(dir.path().join("a.js.br")).unwrap(),
            &mut plain,
        )
        .unwrap();
        assert_eq!(plain, content);
    }

    #[test]
    fn small_and_packed_files_stay_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            write_beside(&dir.path().join("a.svg"), b"<svg/>")
                .unwrap()
                .is_none()
        );
        assert!(
            write_beside(&dir.path().join("a.png"), &[0; 4096])
                .unwrap()
                .is_none()
        );
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
