//! What programs can leave behind to make it hard.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use rustix::fs::{Mode, mkdirat};

use super::{CWD, open, remove};

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let around = tempfile::tempdir().unwrap();
    let dir = around.path().join("dir");
    fs::create_dir(&dir).unwrap();
    (around, dir)
}

/// More levels than this thread has stack for, and than a process usually has descriptors.
#[test]
fn deep_ones() {
    const LEVELS: usize = 15_000;
    let (_around, dir) = scratch();
    let mut inner = open(CWD, &dir).unwrap();
    for _ in 0..LEVELS {
        mkdirat(&inner, "inner", Mode::RWXU).unwrap();
        inner = open(&inner, "inner".as_ref()).unwrap();
    }
    remove(&dir).unwrap();
    assert!(!dir.exists());
}

#[test]
fn many_files_and_names_that_are_taken() {
    let (_around, dir) = scratch();
    for number in 0..50 {
        let inner = dir.join(number.to_string());
        fs::create_dir_all(inner.join("x/y")).unwrap();
        fs::write(inner.join("file"), "x").unwrap();
        fs::write(inner.join("x/file"), "x").unwrap();
        fs::write(dir.join(format!("{}", 50 + number)), "x").unwrap();
    }
    remove(&dir).unwrap();
    assert!(!dir.exists());
}

/// Only the superuser could go on without them.
#[test]
fn ones_without_rights() {
    let (_around, dir) = scratch();
    let inner = ["a", "a/b", "a/b/c"].map(|name| dir.join(name));
    for path in &inner {
        fs::create_dir(path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
    }
    for path in inner.iter().rev().chain([&dir]) {
        fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
    }
    remove(&dir).unwrap();
    assert!(!dir.exists());
}

#[test]
fn what_links_lead_to_stays() {
    let (around, dir) = scratch();
    let outside = around.path().join("outside");
    fs::create_dir_all(outside.join("inner")).unwrap();
    fs::set_permissions(&outside, Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(dir.join("a/b")).unwrap();
    for link in ["link", "a/link", "a/b/link"] {
        symlink(&outside, dir.join(link)).unwrap();
    }
    remove(&dir).unwrap();
    assert!(!dir.exists() && outside.join("inner").exists());
    assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o755);
    // Nor is one removed in place of a directory.
    symlink(&outside, &dir).unwrap();
    assert!(remove(&dir).is_err());
    assert!(outside.join("inner").exists());
}
