//! Every server of the workspace that has a profile is held to every check, on its own binary,
//! over both transports.

use std::path::{Path, PathBuf};

use workspace_tests::check::Outcome;
use workspace_tests::report::Row;
use workspace_tests::run::{Options, Target, run};
use workspace_tests::transport;

use crate::built;

#[test]
fn every_server_conforms() {
    let folders = profiled_servers();
    assert!(folders.iter().any(|folder| folder == "calculator"), "{folders:?}");
    let mut red = String::new();
    for folder in &folders {
        let program = built::binary(&format!("mcp-{folder}"));
        for transport in transport::ALL {
            let target = Target::in_workspace(folder, &program, *transport).unwrap();
            let schema_dir = std::env::var_os("MCP_SCHEMA_DIR").map(PathBuf::from);
            let report =
                run(&target, &Options { schema_dir, ..Options::default() }, &mut |_| {}).unwrap();
            // For our own servers a recommendation is as good as a requirement, and each of them
            // serves every revision on every transport.
            let served = report.rows.iter().filter(|row| row.id == "R-001");
            let missing = served.filter(|row| row.outcome != Outcome::Pass).count();
            if !report.passed() || missing > 0 || report.rows.iter().any(Row::is_red) {
                red += &report.table();
            }
        }
    }
    assert!(red.is_empty(), "{red}");
}

/// The folders of `crates/` whose servers have a profile.
fn profiled_servers() -> Vec<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = Vec::new();
    for profile in std::fs::read_dir(tests.join("profiles")).unwrap() {
        let path = profile.unwrap().path();
        let folder = path.file_stem().unwrap().to_string_lossy().into_owned();
        if tests.join("../crates").join(&folder).is_dir() {
            folders.push(folder);
        }
    }
    folders.sort();
    folders
}
