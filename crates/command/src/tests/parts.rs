//! In a test the server's binary is the test runner, so one of the tests plays the parts that
//! binary has beside being the server.

use crate::backend::Part;

/// Says which part.
pub(crate) const VARIABLE: &str = "MCP_COMMAND_PART";

#[test]
fn plays_its_part() {
    let Ok(word) = std::env::var(VARIABLE) else { return };
    let part = Part::from_word(&word).unwrap();
    let code = part.play();
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}
