//! The servers as binaries: tests of a whole process build what they run, so that none judges a
//! stale one, and find it beside themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use workspace_tests::install;

/// Not servers of the workspace but those in `servers/`, written for a test.
pub(crate) const ASKER: &str = "asker";
pub(crate) const NOISY: &str = "noisy";
pub(crate) const CHARGER: &str = "charger";

/// A server's binary by its package's name, built now if it is not up to date.
pub(crate) fn binary(package: &str) -> PathBuf {
    let mut cargo = cargo();
    cargo.args(["build", "--quiet"]).current_dir(workspace());
    cargo.arg("--target-dir").arg(target_folder());
    // Always the same selections: cargo builds what they share anew for each other one.
    let folder = if [ASKER, NOISY, CHARGER].contains(&package) {
        cargo.args(["--workspace", "--examples"]);
        "debug/examples"
    } else {
        cargo.args(servers().iter().map(|folder| package_argument(folder)));
        "debug"
    };
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target_folder().join(folder).join(format!("{package}{}", std::env::consts::EXE_SUFFIX))
}

pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    install::without_package(&mut cargo);
    cargo
}

fn package_argument(folder: &Path) -> String {
    format!("--package=mcp-{}", folder.file_name().unwrap().display())
}

/// The folders of `crates/`, by name.
pub(crate) fn servers() -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace().join("crates")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut servers: Vec<_> = paths.filter(|path| path.join("Cargo.toml").is_file()).collect();
    servers.sort();
    assert!(!servers.is_empty());
    servers
}

/// A test runs from `<target>/debug/deps`.
pub(crate) fn target_folder() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
