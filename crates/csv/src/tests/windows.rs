//! Getting out of the served directories by what paths mean on Windows.

use std::os::windows::fs::{symlink_dir, symlink_file};
use std::path::Path;
use std::process::Command;

use super::{Quiet, check_sum, input, open};
use crate::backend::{Analyze, Backend};

/// A served directory `inside` and, beside it, what must stay out of reach.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join("inside");
    std::fs::create_dir_all(inside.join("folder")).unwrap();
    std::fs::write(inside.join("a.csv"), "n\n1\n").unwrap();
    std::fs::write(inside.join("folder/b.csv"), "n\n2\n").unwrap();
    std::fs::write(inside.join("a name that is long.csv"), "n\n5\n").unwrap();
    std::fs::write(inside.join("a~1.csv"), "n\n6\n").unwrap();
    std::fs::write(dir.path().join("secret.csv"), "n\n3\n").unwrap();
    std::fs::create_dir(dir.path().join("inside-too")).unwrap();
    std::fs::write(dir.path().join("inside-too/c.csv"), "n\n4\n").unwrap();
    dir
}

/// If this user may make one.
pub(super) fn link(target: &str, at: &Path) {
    let is_dir = at.parent().is_some_and(|parent| parent.join(target).is_dir());
    let _may_not = if is_dir { symlink_dir(target, at) } else { symlink_file(target, at) };
}

#[test]
fn reads_what_is_inside() {
    let dir = directory();
    let absolute = |path: &str| dir.path().join("inside").join(path).to_str().unwrap().to_owned();
    for (path, sum) in [
        ("a.csv".to_owned(), 1),
        ("A.CSV".to_owned(), 1),
        (r".\folder\..\a.csv".to_owned(), 1),
        ("./folder/../a.csv".to_owned(), 1),
        ("folder/b.csv".to_owned(), 2),
        (r"folder\b.csv".to_owned(), 2),
        ("a name that is long.csv".to_owned(), 5),
        ("a~1.csv".to_owned(), 6),
        (absolute("a.csv"), 1),
        (absolute(r"folder\b.csv"), 2),
        (absolute("folder/b.csv").replace('\\', "/"), 2),
    ] {
        check_sum(dir.path(), &path, sum);
    }
}

fn check_refused(dir: &Path, path: &str, refusal: &str) {
    let error = open(dir, path).expect_err(path).to_string();
    assert!(error.contains(refusal), "{path}: {error}");
    let said = error.replace(&format!("{path:?}"), "");
    assert!(!said.contains(['/', '\\']), "{path}: {error} tells more than was asked");
}

#[test]
fn refuses_what_is_outside() {
    let dir = directory();
    let spelled = |path: &str| dir.path().join(path).to_str().unwrap().to_owned();
    let outside = spelled("secret.csv");
    let in_drive = outside.get(2..).unwrap();
    let verbatim = format!(r"\\?\{}", spelled(r"inside\a.csv"));
    let device = format!(r"\\.\{}", spelled(r"inside\a.csv"));
    let share = format!(r"\\127.0.0.1\C${in_drive}");
    let relative_to_drive = format!("{}a.csv", outside.get(..2).unwrap());
    for (path, refusal) in [
        ("../secret.csv", "outside"),
        (r"..\secret.csv", "outside"),
        (r"folder\..\..\secret.csv", "outside"),
        (r"missing\..\..\secret.csv", "outside"),
        (&outside, "outside"),
        (in_drive, "outside"),
        (&spelled(r"inside-too\c.csv"), "outside"),
        (&spelled(r"inside\..\secret.csv"), "outside"),
        (&device, "outside"),
        (&share, "outside"),
        (&share.replace('\\', "/"), "outside"),
        (&relative_to_drive, "outside"),
        (r"\\.\NUL", "outside"),
        (r"\\.\pipe\x", "outside"),
        (r"C:\Windows\win.ini", "outside"),
        ("C:/Windows/win.ini", "outside"),
        (r"\Windows\win.ini", "outside"),
        ("/Windows/win.ini", "outside"),
        ("C:", "outside"),
        // They are patterns as well, because of the question mark.
        (&verbatim, "was not found"),
        (r"\\?\C:\Windows\win.ini", "was not found"),
        (r"\\?\UNC\127.0.0.1\C$\Windows\win.ini", "was not found"),
        (r"\\?\GLOBALROOT\Device\Null", "was not found"),
    ] {
        check_refused(dir.path(), path, refusal);
    }
}

#[test]
fn refuses_what_is_no_file() {
    let dir = directory();
    for (path, refusal) in [
        ("missing.csv", "was not found"),
        (r"a.csv\b.csv", "was not found"),
        ("", "was not found"),
        ("nul\0byte", "was not found"),
        // Streams.
        ("a.csv:stream", "was not found"),
        ("a.csv::$DATA", "was not found"),
        ("a.csv:", "was not found"),
        (r"folder:x\b.csv", "was not found"),
        (r"folder::$INDEX_ALLOCATION\b.csv", "was not found"),
        (r"folder\C:\Windows\win.ini", "was not found"),
        // Devices, wherever they are and whatever follows.
        ("CON", "was not found"),
        ("nul", "was not found"),
        ("NUL.csv", "was not found"),
        ("nul .csv", "was not found"),
        (r"folder\COM1", "was not found"),
        ("com¹.csv", "was not found"),
        ("lpt9.tar.csv", "was not found"),
        ("CONIN$", "was not found"),
        (r"aux\b.csv", "was not found"),
        // What is dropped at the end, and the second name of a file.
        ("a.csv.", "was not found"),
        ("a.csv ", "was not found"),
        ("a.csv. .", "was not found"),
        (r"folder.\b.csv", "was not found"),
        (r"folder \b.csv", "was not found"),
        (".. /secret.csv", "was not found"),
        ("... /secret.csv", "was not found"),
        (r"...\secret.csv", "was not found"),
        ("ANAMET~1.CSV", "was not found"),
        (".", "is not a regular file"),
        ("folder", "is not a regular file"),
        (r"folder\..", "is not a regular file"),
    ] {
        check_refused(dir.path(), path, refusal);
    }
}

/// Those of them that can be made here.
#[test]
fn no_link_leads_out() {
    let dir = directory();
    let inside = dir.path().join("inside");
    link("../secret.csv", &inside.join("link.csv"));
    link("..", &inside.join("up"));
    link(dir.path().to_str().unwrap(), &inside.join("absolute"));
    let junction = inside.join("junction");
    let made = ["/c", "mklink", "/J"].map(str::to_owned);
    let _may_not = Command::new("cmd").args(made).arg(&junction).arg(dir.path()).output();
    for path in ["link.csv", "up/secret.csv", "absolute/secret.csv", "junction/secret.csv"] {
        let error = open(dir.path(), path).expect_err(path).to_string();
        let is_made = inside.join(path).exists();
        let refusal = if is_made { "outside" } else { "was not found" };
        assert!(error.contains(refusal), "{path}: {error}");
    }
    let listed = Backend::open(&[inside]).unwrap().tables();
    assert!(listed.iter().all(|path| !path.contains("secret")), "{listed:?}");
}

#[test]
fn lists_and_finds_with_slashes() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let backend = Backend::open(std::slice::from_ref(&inside)).unwrap();
    let all = ["a name that is long.csv", "a.csv", "a~1.csv", "folder/b.csv"];
    assert_eq!(backend.tables(), all);
    let absolute = inside.join(r"folder\*.csv");
    for (pattern, rows) in [
        ("**/*.csv", Some(4)),
        (r"folder\*.csv", Some(1)),
        ("folder/[a-c].csv", Some(1)),
        (absolute.to_str().unwrap(), Some(1)),
        (r"..\*.csv", None),
        (r"C:\Windows\*.ini", None),
        (r"\\?\C:\Windows\*.ini", None),
    ] {
        let answer = backend.analyze(&input(pattern), &Analyze::default(), &Quiet);
        let got = answer.ok().map(|answer| serde_json::to_value(answer).unwrap()["rows"].clone());
        assert_eq!(got, rows.map(Into::into), "{pattern}");
    }
}
