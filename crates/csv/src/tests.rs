//! Checks the backend on files as they come: messy, hostile, huge and plain.
//!
//! `protocol` asks as a client does. `messy` is the catalogue of inputs and right answers, `corpus`
//! the published part of it as files, `sandbox`, or `windows` there, tries to get out, `sums` compares with big-integer arithmetic, `structure` with tables written
//! in every usual way, `ranks` with less memory than numbers, and `scanning` covers what needs more than a few bytes.

mod protocol;
mod messy;
mod corpus;
mod questions;
mod offered;
mod two_files;
#[cfg(unix)]
mod sandbox;
#[cfg(windows)]
mod windows;
mod sums;
mod structure;
mod collected;
mod ranks;
mod scanning;
mod parts;
mod globs;
mod charts;

#[cfg(unix)]
use sandbox as system;
#[cfg(windows)]
use windows as system;

use std::path::{Path, PathBuf};

use proptest::prelude::ProptestConfig;
use serde_json::Value;

use crate::backend::{Analyze, Backend, Describe, Error, Input, Observer};

/// The answer to every operation on a file of these bytes, as the model would see it, together
/// with the dialect and the oddities that a description of the file has.
fn analyze(bytes: &[u8]) -> Result<Value, Error> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), bytes).unwrap();
    analyze_and_describe(dir.path().to_owned(), "file.csv")
}

fn analyze_and_describe(dir: PathBuf, path: &str) -> Result<Value, Error> {
    let mut answer = analyze_in(dir.clone(), &every_operation(path), &Quiet)?;
    let whole = Describe { sample_rows: 0, first_column: 0 };
    let description = Backend::open(&[dir])?.describe(&input(path), &whole, &Quiet)?;
    answer["dialect"] = serde_json::to_value(description.dialect).unwrap();
    answer["oddities"] = serde_json::to_value(description.oddities).unwrap();
    Ok(answer)
}

fn analyze_in(dir: PathBuf, question: &Question, observer: &dyn Observer) -> Result<Value, Error> {
    let (input, request) = question;
    let analysis = Backend::open(&[dir])?.analyze(input, request, observer)?;
    Ok(serde_json::to_value(analysis).unwrap())
}

/// What the server of the directory `inside` of `dir` says of a path.
fn open(dir: &Path, path: &str) -> Result<Value, Error> {
    analyze_in(dir.join("inside"), &every_operation(path), &Quiet)
}

/// Of the first column of a file that [`open`] opens.
#[track_caller]
fn check_sum(dir: &Path, path: &str, sum: u64) {
    let answer = open(dir, path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(answer.pointer("/columns/0/sum/value").unwrap(), sum, "{path}");
}

type Question = (Input, Analyze);

fn input(path: &str) -> Input {
    Input { filepath: path.to_owned(), ..Input::default() }
}

fn every_operation(path: &str) -> Question {
    let names = r#"["sum", "average", "count", "min", "max", "nulls", "stddev",
        "distinct", "median", "quantiles", "mode"]"#;
    let operations = serde_json::from_str(names).unwrap();
    (input(path), Analyze { operations, ..Analyze::default() })
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
