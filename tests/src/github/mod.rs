//! The GitHub that `mcp-github-issues` is shown, tested and measured on: npm `emulate`, which we did
//! not write and which keeps what it is sent, behind a proxy that adds what it lacks and breaks what
//! a test wants broken.

mod message;
mod paging;
pub mod proxy;
pub mod stand;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use stand::Stand;

/// What stands for its URL in a server's arguments.
pub const PLACEHOLDER: &str = "{github}";
/// What stands for the file that holds its token.
pub const TOKEN_PLACEHOLDER: &str = "{github-token}";
/// Nobody listens there: what a server can be listed with where there is no Node.
pub const NOBODY: &str = "http://127.0.0.1:9";

/// The URL of the one stand of this process, which ends with it; `None` without Node.
///
/// # Errors
/// If it cannot be installed or does not start.
pub fn url(target_folder: &Path) -> Result<Option<String>> {
    static STAND: Mutex<Option<Stand>> = Mutex::new(None);
    let mut stand = STAND.lock().unwrap_or_else(PoisonError::into_inner);
    if stand.is_none() {
        *stand = Stand::start(target_folder)?;
    }
    Ok(stand.as_ref().map(|stand| stand.proxy.url.clone()))
}

/// The path of a file with the token the stand knows.
///
/// # Errors
/// If it cannot be written.
pub fn token_file(target_folder: &Path) -> Result<String> {
    let folder = target_folder.join("github-stand");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("token");
    std::fs::write(&file, stand::TOKEN)?;
    Ok(file.display().to_string())
}
