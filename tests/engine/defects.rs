//! Each known defect turns exactly the expected checks red, and none without a defect.
//!
//! A check that stays green for a server with the very fault it is about proves nothing. A row
//! here is a defect of `src/bin/broken`, one revision that shows it, and every id that turns red.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use workspace_tests::profile::Profile;
use workspace_tests::report::Report;
use workspace_tests::revision::Revision::{
    self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28,
};
use workspace_tests::run::{Options, Target, catalogue, run};

/// Red even without a defect: the broken server reads JSON with a parser that lets the last of
/// two equal members win.
const ALWAYS_RED: &str = "P-026";

/// Slow checks, run only for the defects that are about them.
const SLOW: &[&str] = &["N-001", "N-005", "P-030", "P-031", "P-032"];

const DEFECTS: &[(&str, Revision, &[&str])] = &[
    ("banner", V2025_11_25, &["S-071"]),
];

#[test]
fn no_defect_no_red() {
    let report = conformance("", &[], |_| true);
    assert_eq!(red(&report), BTreeSet::from([ALWAYS_RED]), "{}", report.table());
    assert!(report.passed());
    for revision in workspace_tests::revision::ALL {
        assert!(report.rows.iter().any(|row| row.revision == *revision && row.id == "S-002"));
    }
}

#[test]
fn each_defect_turns_its_checks_red() {
    let mut wrong = String::new();
    for (defect, revision, expected) in DEFECTS {
        let wanted = |id: &str| !SLOW.contains(&id) || expected.contains(&id);
        let report = conformance(defect, &[*revision], wanted);
        let mut red = red(&report);
        red.remove(ALWAYS_RED);
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        if red != expected {
            wrong += &format!("{defect}: {red:?} instead of {expected:?}\n{}", report.table());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn conformance(defect: &str, revisions: &[Revision], wanted: impl Fn(&str) -> bool) -> Report {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = env!("CARGO_BIN_EXE_broken").to_owned();
    let target = Target {
        name: format!("broken {defect}"),
        command: vec![program, defect.to_owned()],
        profile: Some(Profile::load(&tests.join("profiles/broken.json")).unwrap()),
    };
    let checks = catalogue().unwrap().into_iter().map(|check| check.id.to_owned());
    let options = Options {
        revisions: revisions.to_vec(),
        schema_dir: std::env::var_os("MCP_SCHEMA_DIR").map(PathBuf::from),
        only: checks.filter(|id| wanted(id)).collect(),
    };
    run(&target, &options, &mut |_| {}).unwrap()
}

fn red(report: &Report) -> BTreeSet<&'static str> {
    report.rows.iter().filter(|row| row.is_red()).map(|row| row.id).collect()
}
