//! However much a program prints, and whatever it prints, the server's memory stays the same, the
//! totals are right and the next call is served.

use std::fs;

use serde_json::{Value, json};

use super::rig::{Rig, long_or, sh};
use crate::policies::running::Running;

const MIB: usize = 1 << 20;
/// A server of a release build is 8 MB small then; one of a debug build is large before it begins.
const MAX_GROWTH_MB: f64 = 6.0;

fn flood_mib() -> usize {
    long_or(100, 1024)
}

/// Runs a script that prints `bytes` and `newlines`; gives what is said of its output.
fn flood(server: &mut Running, script: &str, bytes: usize, lines: u64) -> Value {
    greet(server);
    let before = peak_rss_mb(server.id());
    let answer = server.call(&sh(script));
    let result = &answer["result"]["structuredContent"];
    let printed = &result["stdout"];
    assert_eq!(result["exit_code"], 0, "{script}: {answer}");
    assert_eq!(printed["total_bytes"], bytes, "{script}");
    assert_eq!(printed["total_lines"], lines, "{script}");
    assert!(answer.to_string().len() < 300_000, "{script}");
    greet(server);
    let grown = peak_rss_mb(server.id()) - before;
    assert!(grown <= MAX_GROWTH_MB, "{grown} MB more after {script}");
    printed.clone()
}

fn greet(server: &mut Running) {
    let echo = json!({"name": "execute_command", "arguments": {"command": "echo", "args": ["hi"]}});
    assert_eq!(server.call(&echo)["result"]["structuredContent"]["stdout"]["head"], "hi\n");
}

fn peak_rss_mb(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<f64>().unwrap() / 1024.0
}

#[test]
fn the_memory_of_the_server_does_not_grow() {
    let rig = Rig::new();
    let mut server = rig.start(&[]);
    let bytes = flood_mib() * MIB;
    // Lines of 16 bytes, all in one line, nothing but NULs, nothing that is UTF-8.
    let lines = format!("yes 123456789012345 | head -c {bytes}");
    flood(&mut server, &lines, bytes, (bytes / 16) as u64);
    let one = format!("head -c {bytes} /dev/zero | tr '\\0' x");
    let printed = flood(&mut server, &one, bytes, 1);
    assert!(printed["head"].as_str().unwrap().starts_with("xxx"));
    let nul = format!("head -c {bytes} /dev/zero");
    let printed = flood(&mut server, &nul, bytes, 1);
    assert!(printed["tail"].as_str().unwrap().ends_with("\\x00"));
    let not_text = format!("head -c {bytes} /dev/zero | tr '\\0' '\\377'");
    let printed = flood(&mut server, &not_text, bytes, 1);
    assert!(printed["cleaned"]["not_utf8"].as_u64().unwrap() > 0, "{printed}");
    assert_eq!(server.close().code, Some(0));
}
