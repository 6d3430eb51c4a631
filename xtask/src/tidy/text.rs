//! Rules about files that are not Rust: the length of the READMEs, and lock files that name the
//! public registries only, never the mirror of the machine that wrote them.

use std::path::Path;

use anyhow::Result;

use super::Breaches;
use crate::workspace::Workspace;

const MAX_ROOT_README_LINES: usize = 150;
const MAX_SERVER_README_LINES: usize = 80;
const CRATES_IO: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

pub(crate) fn check(path: &Path, workspace: &Workspace, breaches: &mut Breaches) -> Result<()> {
    let folder = path.parent();
    match path.file_name().unwrap_or_default().to_string_lossy().as_ref() {
        "README.md" if folder == Some(&workspace.root) => {
            at_most(path, MAX_ROOT_README_LINES, breaches)?;
        }
        "README.md" if workspace.servers.iter().any(|server| folder == Some(&server.folder)) => {
            at_most(path, MAX_SERVER_README_LINES, breaches)?;
        }
        "Cargo.lock" => no_line(path, breaches, "a source other than crates.io", |line| {
            line.starts_with("source = ") && line != CRATES_IO
        })?,
        "package-lock.json" => no_line(path, breaches, "records a download host", |line| {
            line.trim_start().starts_with("\"resolved\"")
        })?,
        "requirements.txt" => no_line(path, breaches, "names an index", |line| {
            line.contains("://") || line.trim_start().starts_with("--")
        })?,
        _ => {}
    }
    Ok(())
}

/// Tables that are written from the code are as long as they have to be.
fn at_most(path: &Path, limit: usize, breaches: &mut Breaches) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let mut is_generated = false;
    let by_hand = text.lines().filter(|line| {
        is_generated =
            (is_generated || line.ends_with(":begin -->")) && !line.ends_with(":end -->");
        !is_generated
    });
    let lines = by_hand.count();
    if lines > limit {
        breaches.add(path, None, format!("{lines} lines, at most {limit}"));
    }
    Ok(())
}

fn no_line(
    path: &Path,
    breaches: &mut Breaches,
    rule: &str,
    is_breach: impl Fn(&str) -> bool,
) -> Result<()> {
    let source = std::fs::read_to_string(path)?;
    if let Some(index) = source.lines().position(is_breach) {
        breaches.add(path, Some(index + 1), rule);
    }
    Ok(())
}
