//! The golden stores, unpacked from the archive once per test process.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Unpacked golden stores; removed when the process ends.
pub(crate) struct Golden {
    dir: tempfile::TempDir,
}

pub(crate) static GOLDEN: LazyLock<Golden> = LazyLock::new(|| {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden.tar.zst");
    let file = std::fs::File::open(archive).unwrap();
    let dir = tempfile::tempdir().unwrap();
    tar::Archive::new(zstd::Decoder::new(file).unwrap())
        .unpack(dir.path())
        .unwrap();
    Golden { dir }
});

impl Golden {
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub(crate) fn read(&self, relative: &str) -> Vec<u8> {
        let path = self.path(relative);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
