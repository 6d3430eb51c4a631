//! The promise to those who copy: a server's folder taken out of the workspace builds and passes its
//! tests after the marked lines are edited, and `cargo xtask new` gives a server that works at once.
//!
//! The copies lie in the system's temporary folder, where no workspace is above them, each in the
//! same place every time, so that a second run builds only what has changed.

use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::built::{self, servers, target_folder, workspace};

const MARKED: &str = r#"path = "../../shared""#;
/// Folders that are no part of a server or of what checks one.
const LEFT_OUT: &[&str] = &["target", "node_modules"];
const MARK: &str = "# copying this folder?";

#[test]
fn each_server_builds_alone() {
    let workspace = workspace();
    for folder in servers() {
        let name = folder.file_name().unwrap();
        let copy = fresh(&scratch().join("alone").join(name));
        copy_folder(&folder, &copy);
        fs::copy(workspace.join("Cargo.lock"), copy.join("Cargo.lock")).unwrap();
        point_at_shared(&copy.join("Cargo.toml"), &workspace.join("shared"));
        run(cargo(&copy).arg("test"));
    }
}

#[test]
fn a_new_server_outside_works_at_once() {
    let parent = fresh(&scratch().join("outside"));
    let new = ["new", "weather", "--out", &parent.display().to_string()];
    run(xtask(&workspace()).args(new));
    let copy = parent.join("weather");
    run(cargo(&copy).arg("test"));
    run(cargo(&copy).arg("build"));
    let server = copies_target().join("debug/mcp-weather");
    run(xtask(&workspace()).args(["conformance", "--stdio"]).arg(server));
    let again = refusal(xtask(&workspace()).args(new));
    assert!(again.contains("is there already"), "{again}");
}

#[test]
fn a_new_server_inside_works_at_once() {
    let copy = fresh(&scratch().join("inside"));
    for part in ["shared", "crates/calculator", "xtask", "tests"] {
        copy_folder(&workspace().join(part), &copy.join(part));
    }
    for file in ["Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml"] {
        fs::copy(workspace().join(file), copy.join(file)).unwrap();
    }
    run(xtask(&copy).args(["new", "rain-radar"]));
    run(cargo(&copy).args(["test", "--package", "mcp-rain-radar"]));
    run(xtask(&copy).args(["conformance", "rain-radar"]));
}

/// What the README tells people to do with an editor: nothing but the marked lines changes.
fn point_at_shared(manifest: &Path, shared: &Path) {
    let text = fs::read_to_string(manifest).unwrap();
    let (marked, others): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.contains(MARKED));
    assert!(marked.first().is_some_and(|line| line.contains(MARK)), "{text}");
    assert!(marked.iter().all(|line| line.starts_with("mcp-shared = ")), "{marked:?}");
    assert!(!others.iter().any(|line| line.contains("path = ") && line.contains("..")), "{text}");
    fs::write(manifest, text.replace(MARKED, &format!("path = \"{}\"", shared.display()))).unwrap();
}

/// Offline and with the versions of this workspace, as on a machine that has built it before.
fn cargo(folder: &Path) -> Command {
    let mut cargo = built::cargo();
    cargo.current_dir(folder).env("CARGO_NET_OFFLINE", "true");
    // The workspace's own commands find here what is built already.
    if folder == workspace() {
        cargo.env("CARGO_TARGET_DIR", target_folder());
    } else {
        cargo.env("CARGO_TARGET_DIR", copies_target());
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_INCREMENTAL", "0");
    }
    cargo
}

fn xtask(folder: &Path) -> Command {
    let mut xtask = cargo(folder);
    xtask.args(["run", "--package", "xtask", "--"]);
    xtask
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}\n{errors}");
}

fn refusal(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{command:?} succeeded");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Copies keep their times, which is what cargo knows an unchanged file by.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), &target).unwrap();
            let changed = entry.metadata().unwrap().modified().unwrap();
            fs::File::options().append(true).open(&target).unwrap().set_modified(changed).unwrap();
        } else if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            copy_folder(&entry.path(), &target);
        }
    }
}

/// An empty folder at this place.
fn fresh(folder: &Path) -> PathBuf {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    fs::create_dir_all(folder).unwrap();
    folder.to_owned()
}

/// One for each target folder, so that two checkouts do not meet.
fn scratch() -> PathBuf {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let checkout = hasher.hash_one(copies_target());
    std::env::temp_dir().join(format!("mcp-copies-{checkout:016x}"))
}

fn copies_target() -> PathBuf {
    target_folder().join("copies")
}
