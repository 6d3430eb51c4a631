//! Tries to read what is not in the served directories.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Quiet, analyze_in, check_sum, every_operation, input, open};
use crate::backend::{Analyze, Backend, Error, opens_by_steps};

/// A served directory `inside` and, beside it, what must stay out of reach.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join("inside");
    std::fs::create_dir_all(inside.join("folder")).unwrap();
    std::fs::write(inside.join("a.csv"), "n\n1\n").unwrap();
    std::fs::write(inside.join("folder/b.csv"), "n\n2\n").unwrap();
    std::fs::write(dir.path().join("secret.csv"), "n\n3\n").unwrap();
    std::fs::create_dir(dir.path().join("inside-too")).unwrap();
    std::fs::write(dir.path().join("inside-too/c.csv"), "n\n4\n").unwrap();

    symlink("folder/b.csv", inside.join("link-inside")).unwrap();
    symlink("../secret.csv", inside.join("link-out")).unwrap();
    symlink(dir.path().join("secret.csv"), inside.join("link-absolute")).unwrap();
    symlink("..", inside.join("link-up")).unwrap();
    symlink("/proc/self/root", inside.join("link-magic")).unwrap();
    symlink("/dev/zero", inside.join("link-device")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    let made = Command::new("mkfifo").arg(inside.join("fifo")).status().unwrap();
    assert!(made.success());
    UnixListener::bind(inside.join("socket")).unwrap();
    dir
}

pub(super) fn link(target: &str, at: &Path) {
    symlink(target, at).unwrap();
}

#[test]
fn reads_what_is_inside() {
    let dir = directory();
    let absolute = |path: &str| dir.path().join("inside").join(path).to_str().unwrap().to_owned();
    for (path, sum) in [
        ("a.csv".to_owned(), 1),
        ("./folder/../a.csv".to_owned(), 1),
        ("folder/b.csv".to_owned(), 2),
        ("link-inside".to_owned(), 2),
        (absolute("a.csv"), 1),
        (absolute("folder/b.csv"), 2),
    ] {
        check_sum(dir.path(), &path, sum);
    }
}

#[test]
fn refuses_everything_else() {
    let dir = directory();
    let outside = dir.path().join("secret.csv").to_str().unwrap().to_owned();
    let sibling = dir.path().join("inside-too/c.csv").to_str().unwrap().to_owned();
    let climbing = dir.path().join("inside/../secret.csv").to_str().unwrap().to_owned();
    for (path, refusal) in [
        ("../secret.csv", "outside"),
        ("folder/../../secret.csv", "outside"),
        (&outside, "outside"),
        (&sibling, "outside"),
        (&climbing, "outside"),
        ("/etc/passwd", "outside"),
        ("link-out", "outside"),
        ("link-absolute", "outside"),
        ("link-up/secret.csv", "outside"),
        ("link-magic/etc/passwd", "outside"),
        ("link-device", "outside"),
        ("loop", "outside"),
        ("missing.csv", "was not found"),
        ("a.csv/b.csv", "was not found"),
        ("", "was not found"),
        ("nul\0byte", "was not found"),
        (".", "is not a regular file"),
        ("folder", "is not a regular file"),
        ("fifo", "is not a regular file"),
        ("socket", "is not a regular file"),
    ] {
        let error = open(dir.path(), path).expect_err(path).to_string();
        assert!(error.contains(refusal), "{path}: {error}");
        let said = error.replace(&format!("{path:?}"), "");
        assert!(!said.contains('/'), "{path}: {error} tells more than was asked");
    }
}

#[test]
fn refuses_devices() {
    for device in ["null", "zero"] {
        let error = analyze_in("/dev".into(), &every_operation(device), &Quiet).unwrap_err();
        assert!(matches!(error, Error::NotAFile { .. }), "{device}: {error}");
    }
}

#[test]
fn tries_the_directories_in_order() {
    let dir = directory();
    let dirs = [dir.path().join("inside"), dir.path().join("inside-too")];
    let backend = Backend::open(&dirs).unwrap();
    let absolute = dir.path().join("inside-too/missing.csv").to_str().unwrap().to_owned();
    for (path, right) in [
        ("a.csv", None),
        ("c.csv", None),
        ("missing.csv", Some("was not found")),
        (&absolute, Some("was not found")),
        ("../secret.csv", Some("outside")),
    ] {
        let error =
            backend.analyze(&input(path), &Analyze::default(), &Quiet).err().map(|e| e.to_string());
        match right {
            None => assert_eq!(error, None, "{path}"),
            Some(right) => assert!(error.clone().unwrap().contains(right), "{path}: {error:?}"),
        }
    }
}

#[test]
fn serves_directories_only() {
    let dir = directory();
    let fails = |dirs: &[PathBuf]| Backend::open(dirs).is_err();
    assert!(fails(&[]));
    assert!(fails(&[dir.path().join("inside/a.csv")]));
    assert!(fails(&[dir.path().join("inside"), dir.path().join("missing")]));
}

#[test]
fn the_way_without_openat2_is_as_strict() {
    let dir = directory();
    let inside = dir.path().join("inside");
    for path in ["a.csv", "./folder/b.csv", "folder"] {
        assert!(opens_by_steps(&inside, path), "{path}");
    }
    for path in [
        "../a.csv",
        "folder/../a.csv",
        "../secret.csv",
        "/etc/passwd",
        "link-out",
        "link-absolute",
        "link-inside",
        "link-up/secret.csv",
        "missing.csv",
    ] {
        assert!(!opens_by_steps(&inside, path), "{path}");
    }
}
