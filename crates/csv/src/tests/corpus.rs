//! The published corpus of messy files, through the protocol: `fixtures/messy/expected.json` says what
//! is asked of each file and what the right answer holds. A wrong answer fails, and so does a file
//! that nothing asks about.

use std::collections::BTreeSet;
use std::path::Path;

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Map, Value};

use crate::config::Config;
use crate::server;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

fn cases() -> Vec<Value> {
    let text = std::fs::read(Path::new(FIXTURES).join("messy/expected.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[tokio::test]
async fn every_answer_is_right() {
    let server = server(Config { dirs: vec![FIXTURES.into()] }).unwrap();
    let client =
        Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
    let mut wrong = Vec::new();
    for case in cases() {
        let tool = case["tool"].as_str().unwrap();
        let answer = client.call_tool(tool, case["arguments"].clone()).await.unwrap();
        let problem = match case["refused"].as_str() {
            Some(words) if answer.is_error && answer.text().contains(words) => None,
            None if !answer.is_error => {
                first_difference(&answer.structured, case["right"].as_object().unwrap())
            }
            _ => Some(answer.text()),
        };
        if let Some(problem) = problem {
            wrong.push(format!("{}: {}: {problem}", case["file"], case["what"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `right` has values by JSON pointer; `null` stands for absent.
fn first_difference(answer: &Value, right: &Map<String, Value>) -> Option<String> {
    right.iter().find_map(|(pointer, right)| {
        let got = answer.pointer(pointer).unwrap_or(&Value::Null);
        let is_same = match (got.as_f64(), right.as_f64()) {
            (Some(got), Some(right)) => got == right,
            _ => got == right,
        };
        (!is_same).then(|| format!("{pointer} should be {right} in {answer:#}"))
    })
}

#[test]
fn every_file_is_asked_about() {
    let asked: BTreeSet<String> =
        cases().iter().map(|case| case["file"].as_str().unwrap().to_owned()).collect();
    for entry in Path::new(FIXTURES).join("messy").read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "expected.json" || asked.contains(&name), "{name} is in no case");
    }
}
