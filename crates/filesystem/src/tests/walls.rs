//! The second wall, in a process of its own: it cannot be taken down again.

use std::process::Command;

use crate::backend::{Access, Backend, Content, Wall, WriteFile, build_wall};

const DIRECTORY: &str = "MCP_FILESYSTEM_WALL_TEST_DIRECTORY";

/// Does nothing unless [`what_is_not_served_is_out_of_reach`] runs it in another process.
#[test]
fn behind_the_wall() {
    let Some(dir) = std::env::var_os(DIRECTORY).map(std::path::PathBuf::from) else {
        return;
    };
    let served =
        [(dir.join("writable"), Access::ReadWrite), (dir.join("readable"), Access::ReadOnly)];
    if build_wall(&served).unwrap() == Wall::Missing {
        return;
    }
    let backend = Backend::open(&served, &[]).unwrap();
    let write = |name: &str| {
        let content = Content::Text("new".to_owned());
        let path = dir.join(name).to_str().unwrap().to_owned();
        backend.write(&WriteFile { path, content, create_only: false, if_match: None })
    };
    // Before the first call of this thread nothing is out of reach, after it all but what is served.
    assert!(std::fs::read(dir.join("outside")).is_ok());
    write("writable/a").unwrap();
    backend.create_directory("b/c").unwrap();
    let outside = std::fs::read(dir.join("outside")).unwrap_err();
    assert_eq!(outside.kind(), std::io::ErrorKind::PermissionDenied);
    assert!(std::fs::write(dir.join("new"), "").is_err());
    assert!(std::fs::write(dir.join("readable/new"), "").is_err());
    assert!(std::fs::rename(dir.join("writable/a"), dir.join("a")).is_err());
    assert!(
        std::thread::spawn(move || std::fs::read(dir.join("outside"))).join().unwrap().is_err()
    );
    assert_eq!(backend.read_whole("a", 9).map(|_| ()).map_err(|error| error.to_string()), Ok(()));
    assert_eq!(backend.read_whole("f", 9).map(|_| ()).map_err(|error| error.to_string()), Ok(()));
}

#[test]
fn what_is_not_served_is_out_of_reach() {
    let dir = super::scratch();
    for name in ["writable", "readable"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    std::fs::write(dir.path().join("outside"), "secret").unwrap();
    std::fs::write(dir.path().join("readable/f"), "f").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::walls::behind_the_wall", "--nocapture"])
        .env(DIRECTORY, dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
