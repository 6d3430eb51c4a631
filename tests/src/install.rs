//! What tests need from other languages' registries: installed once below the target folder, from
//! the lists pinned in this repository, and never into the source tree.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// The oldest Node every pinned package runs on.
pub const MIN_NODE_MAJOR: u32 = 20;
/// The oldest Python every pinned package runs on, the number behind `3.`.
pub const MIN_PYTHON_MINOR: u32 = 10;

/// Whether there are Node and npm.
pub fn has_node() -> bool {
    is_present("node", "v", MIN_NODE_MAJOR) && is_present("npm", "", 1)
}

/// What is not on the PATH, so that some tests and demos do nothing here.
pub fn missing() -> Vec<String> {
    let mut missing = Vec::new();
    if !has_node() {
        missing.push(format!("Node {MIN_NODE_MAJOR} or newer, and npm"));
    }
    if !is_present("python3", "Python 3.", MIN_PYTHON_MINOR) {
        missing.push(format!("Python 3.{MIN_PYTHON_MINOR} or newer"));
    }
    missing
}

/// Installs the packages of `sources` (its files are copied) into `folder`; `None`, with a word to
/// whoever reads the output, where there is no Node or no npm.
///
/// # Errors
/// If the installation fails.
#[expect(clippy::print_stderr, reason = "a test that did nothing must say so")]
pub fn node_packages(sources: &Path, folder: &Path) -> Result<Option<PathBuf>> {
    if !has_node() {
        eprintln!("skipped: this needs Node {MIN_NODE_MAJOR} or newer, and npm, on the PATH");
        return Ok(None);
    }
    npm_packages(sources, folder)?;
    Ok(Some(folder.to_owned()))
}

/// Installs the packages of `sources` (its files are copied) into `folder`.
///
/// # Errors
/// If npm is missing, or the installation fails.
pub fn npm_packages(sources: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let _only_one = lock(folder)?;
    for entry in fs::read_dir(sources)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            copy_if_changed(&entry.path(), &folder.join(entry.file_name()))?;
        }
    }
    let wanted = fs::read_to_string(folder.join("package-lock.json"))?;
    install_once(folder, &wanted, || {
        let npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        run(Command::new("npm").args(npm).current_dir(folder))
    })
}

/// Whether a program's version line has at least this number after the prefix.
pub fn is_present(program: &str, prefix: &str, at_least: u32) -> bool {
    let Ok(Output { stdout, .. }) = Command::new(program).arg("--version").output() else {
        return false;
    };
    let version = String::from_utf8_lossy(&stdout);
    let number = version.strip_prefix(prefix).and_then(|rest| rest.split('.').next());
    number.and_then(|number| number.trim().parse().ok()).is_some_and(|found: u32| found >= at_least)
}

/// A script that another test is reading at this moment must not be written anew.
fn copy_if_changed(from: &Path, to: &Path) -> Result<()> {
    let content = fs::read(from)?;
    if !fs::read(to).is_ok_and(|known| known == content) {
        fs::write(to, content)?;
    }
    Ok(())
}

/// Installs unless the very same list was installed before.
///
/// # Errors
/// If the installation fails.
pub fn install_once(folder: &Path, list: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == list) {
        return Ok(());
    }
    install().context("cannot install; is the network reachable?")?;
    fs::write(stamp, list)?;
    Ok(())
}

/// Tests run at the same time, in threads or processes; one installs, the others wait.
///
/// # Errors
/// If the folder is not there.
pub fn lock(folder: &Path) -> Result<File> {
    let file = File::create(folder.join("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Runs a command to its end.
///
/// # Errors
/// If it fails, with what it said.
pub fn run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Has a cargo that is run inside another hear nothing of the package around it: build scripts that
/// look at it would run again, and all that depends on them be compiled again.
pub fn without_package(cargo: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(name);
        }
    }
}
