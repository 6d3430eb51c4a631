//! The forms in which a report leaves the engine.

use workspace_tests::check::Outcome;
use workspace_tests::report::Report;
use workspace_tests::revision::Revision;
use workspace_tests::run::{Options, Target, run};
use workspace_tests::transport::Endpoint;

#[test]
fn json_has_one_object_per_row() {
    let report = report("numeric-ids", &["S-002", "S-030"]);
    let json = report.json();
    let checks = json["checks"].as_array().unwrap();
    assert_eq!(checks.len(), report.rows.len());
    let red = checks.iter().find(|row| row["outcome"] == "fail").unwrap();
    for (key, expected) in [
        ("id", "S-002"),
        ("level", "MUST"),
        ("revision", "2025-11-25"),
        ("transport", "stdio"),
        ("server", "mcp & co"),
    ] {
        assert_eq!(red[key], expected, "{key}");
    }
    assert!(red["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    assert!(red["evidence"].as_array().is_some_and(|lines| !lines.is_empty()), "{red}");
    let green = checks.iter().find(|row| row["id"] == "S-030").unwrap();
    assert_eq!((&green["outcome"], &green["detail"]), (&"pass".into(), &"".into()));
}

#[test]
fn junit_counts_and_escapes() {
    let report = report("numeric-ids", &["S-002", "S-030", "S-147"]);
    let xml = report.junit();
    let failures = report.rows.iter().filter(|row| row.is_fatal()).count();
    assert!(xml.contains(&format!("failures=\"{failures}\"")), "{xml}");
    assert!(xml.contains("<testsuite name=\"mcp &amp; co stdio 2025-11-25\""), "{xml}");
    assert_eq!(xml.matches("<testcase").count(), report.rows.len());
    assert_eq!(xml.matches("<failure").count(), failures);
    assert!(xml.contains("<skipped message="), "{xml}");
    assert!(xml.contains("message=\"an answer to id &quot;1&quot;: "), "{xml}");
}

#[test]
fn only_binding_rows_fail_a_run() {
    let table: &[(&str, &[&str], bool)] = &[
        ("", &["S-002", "S-075"], true),
        ("exits-badly", &["S-075"], true),
        ("exits-badly", &["N-003"], false),
    ];
    for (defect, only, passed) in table {
        let report = report(defect, only);
        assert_eq!(report.passed(), *passed, "{}", report.table());
    }
}

#[test]
fn a_program_that_is_no_server_fails() {
    for command in ["/nonexistent/server", "/bin/true"] {
        let target = Target {
            name: "none".to_owned(),
            endpoint: Endpoint::Stdio(vec![command.to_owned()]),
            profile: None,
        };
        let report = run(&target, &Options::default(), &mut |_| {}).unwrap();
        assert!(!report.passed(), "{}", report.table());
    }
}

#[test]
fn without_a_profile_the_checks_that_need_one_say_so() {
    let report = report("", &["N-004", "S-002"]);
    let outcome = |id: &str| &report.rows.iter().find(|row| row.id == id).unwrap().outcome;
    assert_eq!(*outcome("S-002"), Outcome::Pass);
    let Outcome::Skipped(reason) = outcome("N-004") else { panic!("{}", report.table()) };
    assert!(reason.contains("profile"), "{reason}");
}

fn report(defect: &str, only: &[&str]) -> Report {
    let target = Target {
        name: "mcp & co".to_owned(),
        endpoint: Endpoint::Stdio(vec![env!("CARGO_BIN_EXE_broken").to_owned(), defect.to_owned()]),
        profile: None,
    };
    let options = Options {
        revisions: vec![Revision::V2025_11_25],
        only: only.iter().map(|id| (*id).to_owned()).collect(),
        ..Options::default()
    };
    let mut seen = 0;
    let report = run(&target, &options, &mut |_| seen += 1).unwrap();
    assert_eq!(seen, report.rows.len());
    report
}
