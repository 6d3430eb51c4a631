//! Each known defect turns exactly the expected checks red, and none without a defect.
//!
//! A check that stays green for a server with the very fault it is about proves nothing. A row
//! here is a defect of `src/bin/broken`, one revision that shows it, and every id that turns red.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use workspace_tests::profile::Profile;
use workspace_tests::report::{Report, Row};
use workspace_tests::revision::Revision::{
    self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28,
};
use workspace_tests::run::{Options, Target, catalogue, run};
use workspace_tests::transport::{self, Endpoint, Transport};

use super::http_defects;

/// Red even without a defect: the broken server reads JSON with a parser that lets the last of
/// two equal members win.
const ALWAYS_RED: &str = "P-026";

/// Slow checks, run only for the defects that are about them.
const SLOW: &[&str] = &["N-001", "N-005", "N-006", "P-030", "P-031", "P-032"];

const WORKERS: usize = 12;

const LEAST_PROVEN: usize = 189;

const DEFECTS: &[Defect] = &[
    // The slowest first: they decide when the test ends.
    ("never-exits", V2025_11_25, &["S-075", "N-003", "N-004"]),
    ("loses-answers", V2025_11_25, &["N-001"]),
    ("banner", V2025_11_25, &["S-071"]),
    ("unterminated", V2025_11_25, &["S-070"]),
    ("old-jsonrpc", V2025_11_25, &["S-001"]),
    ("numeric-ids", V2025_11_25, &["S-002", "M-050", "P-011"]),
    ("deaf-to-huge-ids", V2026_07_28, &["P-010"]),
    ("answers-twice", V2025_11_25, &["S-002", "M-042", "M-043", "M-062"]),
    ("result-and-error", V2025_11_25, &["S-003"]),
    ("answers-notifications", V2025_11_25, &["S-002", "S-006", "S-036", "M-070", "M-071", "N-007"]),
    ("no-batches", V2025_03_26, &["S-009", "M-033", "M-034", "M-035", "M-036"]),
    ("batches-everywhere", V2025_06_18, &["S-011", "S-071", "M-030"]),
    ("serves-null-id", V2025_11_25, &["S-002", "S-012", "M-020"]),
    ("no-result-type", V2026_07_28, &["S-013"]),
    ("retired-code", V2026_07_28, &["S-016", "S-152", "M-054", "M-064"]),
    ("homemade-meta", V2025_11_25, &["S-018"]),
    ("bad-schema", V2025_11_25, &["S-020", "S-142"]),
    ("no-server-info", V2025_11_25, &["S-030"]),
    ("modern-fields", V2025_06_18, &["S-033"]),
    ("ignores-cancel", V2025_11_25, &["N-006"]),
    ("ignores-cancel", V2026_07_28, &["S-072", "N-006"]),
    ("exits-badly", V2025_11_25, &["S-075", "N-003", "N-004"]),
    ("untagged-updates", V2026_07_28, &["S-133", "S-135"]),
    ("never-updates", V2026_07_28, &["S-133", "S-135"]),
    ("never-updates", V2025_11_25, &["S-159"]),
    ("updates-always", V2024_11_05, &["S-159"]),
    ("lists-vary", V2026_07_28, &["S-141"]),
    ("wrong-output", V2025_11_25, &["S-143"]),
    ("empty-contents", V2026_07_28, &["S-152", "S-154", "S-155", "M-054", "M-064"]),
    ("logs-always", V2025_11_25, &["S-171"]),
    ("logs-always", V2026_07_28, &["S-057", "S-168", "S-169"]),
    ("no-hints", V2026_07_28, &["S-172"]),
    ("stuck-progress", V2025_11_25, &["S-176"]),
    ("late-progress", V2025_11_25, &["S-177"]),
    ("wrong-code", V2025_11_25, &["M-041", "M-050"]),
    ("asks-strangers", V2025_11_25, &["S-034", "S-201"]),
    ("asks-strangers", V2026_07_28, &["S-184"]),
    ("ignores-answers", V2025_11_25, &["S-201", "S-214"]),
    ("ignores-answers", V2026_07_28, &["S-180", "S-186", "S-187", "S-188", "S-189", "S-223"]),
    ("hangs-on-decline", V2025_11_25, &["S-196"]),
    ("nested-form", V2025_06_18, &["S-192"]),
    ("nested-form", V2026_07_28, &["S-192"]),
    ("asks-by-url", V2025_11_25, &["S-191"]),
    ("answers-cancelled", V2025_11_25, &["S-037"]),
    ("trusts-states", V2026_07_28, &["S-185"]),
    ("unbound-states", V2026_07_28, &["S-185"]),
    ("reuses-states", V2026_07_28, &["S-186"]),
    ("asks-the-unknown", V2026_07_28, &["S-183"]),
    ("never-asks-again", V2026_07_28, &["S-188"]),
    (
        "asks-nothing",
        V2026_07_28,
        &[
            "S-180", "S-182", "S-183", "S-185", "S-186", "S-187", "S-188", "S-189", "S-190",
            "S-192", "S-193", "S-196",
        ],
    ),
    ("hinted-question", V2026_07_28, &["S-173"]),
    ("asks-in-lists", V2026_07_28, &["S-160", "S-161", "S-172", "S-178", "S-181"]),
    ("states-of-one-process", V2026_07_28, &["S-189"]),
    ("states-anywhere", V2026_07_28, &["S-185"]),
    ("keeps-questions", V2026_07_28, &["S-187"]),
    ("needs-states", V2026_07_28, &["S-188"]),
    ("forgets-answers", V2026_07_28, &["S-188"]),
    ("asks-for-secrets", V2025_06_18, &["S-190"]),
    ("asks-for-secrets", V2026_07_28, &["S-190"]),
    ("bad-url", V2025_11_25, &["S-193"]),
    ("bad-url", V2026_07_28, &["S-193"]),
    ("completes-strangers", V2025_11_25, &["S-194"]),
    ("bare-32042", V2025_11_25, &["M-053", "M-060", "M-065", "S-147", "S-148", "S-195", "S-213"]),
    ("offers-tools", V2025_11_25, &["S-200"]),
    ("offers-tools", V2026_07_28, &["S-200"]),
    ("unknown-dialects", V2025_11_25, &["S-020", "S-021"]),
    ("lax-arguments", V2026_07_28, &["S-021", "S-144"]),
    ("remote-refs", V2026_07_28, &["S-020", "S-023"]),
    ("plain-pages", V2025_11_25, &["S-255"]),
    ("wordless-pages", V2026_07_28, &["S-143", "S-255"]),
    ("hides-tasks", V2025_11_25, &["S-210"]),
    ("hides-tasks", V2026_07_28, &["S-227"]),
    ("submitted-tasks", V2025_11_25, &["S-211"]),
    ("reviving-tasks", V2025_11_25, &["S-211", "S-215"]),
    ("undated-tasks", V2025_11_25, &["S-212"]),
    ("undated-tasks", V2026_07_28, &["S-221", "S-223"]),
    ("hasty-results", V2025_11_25, &["S-213", "S-214"]),
    ("other-results", V2025_11_25, &["S-213", "S-214"]),
    ("stray-results", V2025_11_25, &["S-214"]),
    ("stray-questions", V2025_11_25, &["S-214"]),
    ("cancels-the-dead", V2025_11_25, &["S-211", "S-215"]),
    ("any-task", V2025_11_25, &["S-216"]),
    ("unlisted-tasks", V2025_11_25, &["S-216"]),
    ("silent-tasks", V2025_11_25, &["S-218"]),
    ("progress-after-tasks", V2025_11_25, &["S-176", "S-218"]),
    ("tasks-for-strangers", V2026_07_28, &["S-014", "S-060", "S-220"]),
    ("tasks-in-tasks", V2026_07_28, &["S-221"]),
    ("late-tasks", V2026_07_28, &["S-222", "S-223"]),
    ("withheld-results", V2026_07_28, &["S-223", "S-226"]),
    ("tells-of-any-task", V2026_07_28, &["S-132", "S-223"]),
    ("reuses-keys", V2026_07_28, &["S-224"]),
    ("talkative-tasks", V2026_07_28, &["S-225"]),
    ("failing-tools", V2026_07_28, &["S-226"]),
    ("tasks-for-anyone", V2026_07_28, &["S-227"]),
    ("any-task", V2026_07_28, &["S-228"]),
    ("guessable-tasks", V2026_07_28, &["S-229"]),
    (
        "silent-on-garbage",
        V2025_11_25,
        &[
            "M-001", "M-002", "P-001", "P-003", "P-020", "P-021", "P-022", "P-023", "P-024",
            "P-025", "P-027",
        ],
    ),
    (
        "dies-on-garbage",
        V2025_11_25,
        &[
            "M-001", "M-002", "M-003", "P-001", "P-003", "P-004", "P-020", "P-021", "P-022",
            "P-023", "P-024", "P-025", "P-027",
        ],
    ),
];

#[test]
fn no_defect_no_red() {
    for transport in transport::ALL {
        let report = conformance(*transport, "", &[], |_| true);
        assert_eq!(red(&report), BTreeSet::from([ALWAYS_RED]), "{}", report.table());
        assert!(report.passed());
        for revision in workspace_tests::revision::ALL {
            let served = |row: &Row| row.revision == *revision && row.id == "S-002";
            assert!(report.rows.iter().any(served), "{transport} {revision}");
        }
    }
}

/// Fewer would mean that checks have lost their proof.
#[test]
fn many_checks_are_proven() {
    let defects = DEFECTS.iter().chain(http_defects::DEFECTS);
    let proven: BTreeSet<&str> = defects.flat_map(|(_, _, ids)| *ids).copied().collect();
    assert!(proven.len() >= LEAST_PROVEN, "only {}", proven.len());
}

#[test]
fn each_defect_turns_its_checks_red() {
    turns_red(Transport::Stdio, DEFECTS);
}

#[test]
fn each_defect_of_http_turns_its_checks_red() {
    turns_red(Transport::Http, http_defects::DEFECTS);
}

/// A name, a revision that shows it, and what turns red.
pub(super) type Defect = (&'static str, Revision, &'static [&'static str]);

fn turns_red(transport: Transport, defects: &[Defect]) {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    // Most of the time goes into waiting for what a broken server does not send.
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(row) = defects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mismatch = mismatch(transport, row);
                    wrong.lock().unwrap().extend(mismatch);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the red rows of one defect, if anything.
fn mismatch(transport: Transport, (defect, revision, expected): &Defect) -> Option<String> {
    // The official schemas, where they are at hand, repeat what the checks say.
    let wanted = |id: &str| {
        id != ALWAYS_RED && !id.starts_with('W') && (!SLOW.contains(&id) || expected.contains(&id))
    };
    let report = conformance(transport, defect, &[*revision], wanted);
    let red = red(&report);
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    (red != expected).then(|| format!("{defect} {revision}: {red:?} instead of {expected:?}"))
}

fn conformance(
    transport: Transport,
    defect: &str,
    revisions: &[Revision],
    wanted: impl Fn(&str) -> bool,
) -> Report {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = env!("CARGO_BIN_EXE_broken").to_owned();
    let target = Target {
        name: format!("broken {defect}"),
        endpoint: match transport {
            Transport::Stdio => Endpoint::Stdio(vec![program, defect.to_owned()]),
            Transport::Http => {
                Endpoint::Http(vec![program, "--http".to_owned(), defect.to_owned()])
            }
        },
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

fn red(report: &Report) -> BTreeSet<&str> {
    report.rows.iter().filter(|row| row.is_red()).map(|row| row.id.as_ref()).collect()
}
