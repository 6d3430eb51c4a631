//! The official suite, which speaks HTTP only, on the standard streams of a server.

use workspace_tests::bridge::Bridge;
use workspace_tests::official::Suite;
use workspace_tests::revision::Revision::{self, V2025_11_25, V2026_07_28};

use crate::built;

/// Progress, questions to the client, requests without a session, headers and names.
const SCENARIOS: [(Revision, &str); 7] = [
    (V2025_11_25, "tools-call-with-progress"),
    (V2025_11_25, "tools-call-elicitation"),
    (V2026_07_28, "server-stateless"),
    (V2026_07_28, "input-required-result-multi-round"),
    (V2026_07_28, "http-header-validation"),
    (V2026_07_28, "http-custom-header-server-validation"),
    (V2026_07_28, "dns-rebinding-protection"),
];

#[test]
fn the_official_suite_passes_on_standard_streams() {
    let suite = Suite::install(&built::target_folder().join("official-suite"));
    let Ok(suite) = suite else {
        eprintln!("skipped: {:#}", suite.unwrap_err());
        return;
    };
    let program = built::binary("mcp-everything");
    let command = [program.to_str().unwrap().to_owned(), "--log".to_owned(), "off".to_owned()];
    let bridge = Bridge::start(&command).unwrap();
    for (revision, scenario) in SCENARIOS {
        let rows = suite.run_scenario("bridged", &bridge.url, revision, scenario).unwrap();
        let red: Vec<_> = rows.iter().filter(|row| row.is_red()).map(|row| row.line()).collect();
        assert!(red.is_empty(), "{}", red.join("\n"));
    }
}
