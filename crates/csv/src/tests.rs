//! Checks the backend on files as they come: messy, hostile, huge and plain.
//!
//! `protocol` asks as a client does. `messy` is the catalogue of inputs and right answers, `sandbox`
//! tries to get out, `sums` compares with big-integer arithmetic, `structure` with tables written
//! in every usual way, and `scanning` covers what needs more than a few bytes.

mod protocol;
mod messy;
mod sandbox;
mod sums;
mod structure;
mod collected;
mod scanning;

use std::path::PathBuf;

use proptest::prelude::ProptestConfig;
use serde_json::Value;

use crate::backend::{Analyze, Backend, Error, Observer};

/// The answer to every operation on a file of these bytes, as the model would see it.
fn analyze(bytes: &[u8]) -> Result<Value, Error> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), bytes).unwrap();
    analyze_in(dir.path().to_owned(), &every_operation("file.csv"), &Quiet)
}

fn analyze_in(dir: PathBuf, request: &Analyze, observer: &dyn Observer) -> Result<Value, Error> {
    let analysis = Backend::open(&[dir])?.analyze(request, observer)?;
    Ok(serde_json::to_value(analysis).unwrap())
}

fn every_operation(path: &str) -> Analyze {
    let names = r#"["sum", "average", "count", "min", "max", "nulls", "stddev",
        "distinct", "median", "quantiles", "mode"]"#;
    let operations = serde_json::from_str(names).unwrap();
    Analyze { filepath: path.to_owned(), operations, columns: None }
}

/// Compares places in an answer, given as JSON pointers; `null` stands for absent.
#[track_caller]
fn check(case: &str, answer: &Value, expected: &[(&str, &str)]) {
    for (pointer, right) in expected {
        let right: Value = serde_json::from_str(right).unwrap();
        let got = answer.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(got, right, "{case}: {pointer} in {answer:#}");
    }
}

/// A case that failed once belongs into a table here, not into a file of seeds.
fn random_cases() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

struct Quiet;

impl Observer for Quiet {
    fn progress(&self, _: u64, _: u64, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}
