//! A process that is killed while it writes leaves the old file or the new one, whole.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::backend::{Access, Backend, Content, WriteFile};

const DIRECTORY: &str = "MCP_FILESYSTEM_CRASH_TEST_DIRECTORY";
/// So long that writing it is often what is interrupted.
const VERSION_BYTES: usize = 8_000_000;

/// What the killed process does: it is this test binary again, running this test alone.
#[test]
fn writes_until_killed() {
    let Some(dir) = std::env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let mut letter = std::fs::read(dir.join("file")).unwrap()[0];
    let backend = Backend::open(&[(dir, Access::ReadWrite)], &[]).unwrap();
    loop {
        letter = if letter == b'z' { b'a' } else { letter + 1 };
        let content = Content::Bytes(vec![letter; VERSION_BYTES]);
        let path = "file".to_owned();
        let request = WriteFile { path, content, create_only: false, if_match: None };
        backend.write(&request).unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_a_whole_file() {
    let dir = super::scratch();
    let file = dir.path().join("file");
    std::fs::write(&file, "z".repeat(VERSION_BYTES)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..8 {
        let mut writer = start(dir.path());
        wait_for_a_change(&file, &mut writer);
        // At another moment of a write each time.
        std::thread::sleep(Duration::from_micros(700 * round));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let found = std::fs::read_to_string(&file).unwrap();
        assert_eq!(found.len(), VERSION_BYTES);
        let letters: std::collections::BTreeSet<char> = found.chars().collect();
        assert_eq!(letters.len(), 1, "{letters:?}");
        seen.extend(letters);
    }
    assert!(seen.len() > 1, "{seen:?}");
}

fn start(dir: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::crashes::writes_until_killed", "--nocapture"])
        .env(DIRECTORY, dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Until the writer has written.
fn wait_for_a_change(file: &Path, writer: &mut std::process::Child) {
    use std::os::unix::fs::MetadataExt;
    let state = || {
        let found = file.metadata().unwrap();
        (found.ino(), found.mtime(), found.mtime_nsec())
    };
    let before = state();
    while state() == before {
        assert!(writer.try_wait().unwrap().is_none(), "the writer has ended");
        std::thread::yield_now();
    }
}
