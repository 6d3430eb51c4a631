//! A file with a secret in it, for as long as a check runs.

use crate::check::{Outcome, skip};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct SecretFile(PathBuf);

impl SecretFile {
    pub(super) fn write(secret: &str) -> Result<SecretFile, Outcome> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("conformance-secret-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, secret).map_err(|error| skip(format!("no file: {error}")))?;
        Ok(SecretFile(path))
    }

    pub(super) fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for SecretFile {
    fn drop(&mut self) {
        // Nothing depends on it once the check is over.
        let _ = std::fs::remove_file(&self.0);
    }
}
