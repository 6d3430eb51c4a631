//! Medians and quantiles of more numbers than may be kept, against the same of all of them.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use serde_json::Value;

use super::{Quiet, input, random_cases};
use crate::backend::{Analyze, Backend, Cuts, Observer};

const PLENTY: Cuts =
    Cuts { min_bytes: 0, part_bytes: 70_000, workers: 2, max_kept_bytes: 64 << 20 };
/// Of sixteen bytes for some numbers, and of four for most.
const LITTLE: usize = 40_000;
const ROWS: i64 = 30_000;

fn ranks(numbers: &[String], cuts: Cuts, observer: &dyn Observer) -> Value {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), format!("a\n{}\n", numbers.join("\n"))).unwrap();
    let mut backend = Backend::open(&[dir.path().to_owned()]).unwrap();
    backend.cuts = cuts;
    let operations = serde_json::from_str(r#"["median", "quantiles"]"#).unwrap();
    let request = Analyze { operations, ..Analyze::default() };
    let answer = backend.analyze(&input("file.csv"), &request, observer).unwrap();
    serde_json::to_value(answer).unwrap()
}

fn check(case: &str, numbers: &[String]) {
    let right = ranks(numbers, PLENTY, &Quiet);
    assert!(right["columns"][0]["median"]["value"] != Value::Null, "{case}: {right}");
    for workers in [1, 2] {
        let found = ranks(numbers, Cuts { workers, max_kept_bytes: LITTLE, ..PLENTY }, &Quiet);
        assert_eq!(found, right, "{case}, {workers} workers");
    }
}

/// What a sample shows is true of some of these and misleading for others.
#[test]
fn ranks_beyond_the_memory_are_exact() {
    let written = |number: fn(i64) -> String| (0..ROWS).map(number).collect::<Vec<_>>();
    for (case, numbers) in [
        ("in order", written(|row| row.to_string())),
        (
            "backwards, with decimals",
            written(|row| format!("{}.{:02}", (ROWS - row) / 7, row % 100)),
        ),
        ("one value", written(|_| "5".to_owned())),
        ("few values", written(|row| (row * row % 7).to_string())),
        ("two values, apart", written(|row| (row % 2 * 1_000_000).to_string())),
        ("odd rows are unlike even ones", written(|row| (row % 2 * 900_000 + row).to_string())),
        (
            "only the rows that a sample takes are large",
            written(|row| if row % 16 == 15 { "99999".to_owned() } else { row.to_string() }),
        ),
        ("wide numbers", written(|row| (row * 7_919 % ROWS * 1_000_000_007).to_string())),
        (
            "decimals late",
            written(|row| if row < ROWS - 9 { row.to_string() } else { format!("{row}.123456") }),
        ),
        (
            "some of forty digits",
            written(|row| match row % 40 {
                0 => format!("{}123456789012345678901234567890", row + 1),
                _ => row.to_string(),
            }),
        ),
    ] {
        check(case, &numbers);
    }
}

#[test]
fn the_numbers_of_a_filter_are_those_looked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..ROWS).map(|row| format!("{row},{}\n", row % 3)).collect();
    std::fs::write(dir.path().join("file.csv"), format!("a,b\n{rows}")).unwrap();
    let mut backend = Backend::open(&[dir.path().to_owned()]).unwrap();
    backend.cuts = Cuts { max_kept_bytes: LITTLE / 2, ..PLENTY };
    let operations = serde_json::from_str(r#"["median"]"#).unwrap();
    let filter = serde_json::from_str(r#"{"column": "b", "op": "eq", "value": 2}"#).unwrap();
    let columns = Some(vec!["a".to_owned()]);
    let request = Analyze { operations, columns, filter: Some(filter), ..Analyze::default() };
    let answer = backend.analyze(&input("file.csv"), &request, &Quiet).unwrap();
    let answer = serde_json::to_value(answer).unwrap();
    // Every third number from 2 to 29,999: the middle of an even number of them.
    assert_eq!(answer["columns"][0]["median"]["value"], 15_000.5, "{answer}");
}

/// Time runs out once the file has been read for the first time.
struct OneReading(AtomicBool);

impl Observer for OneReading {
    fn progress(&self, bytes_done: u64, bytes_total: u64, _: u64) {
        self.0.fetch_or(bytes_done == bytes_total, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn out_of_time(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn without_the_time_for_another_look_ranks_are_left_out() {
    let numbers: Vec<String> = (0..ROWS).map(|row| row.to_string()).collect();
    let cuts = Cuts { max_kept_bytes: LITTLE, ..PLENTY };
    let answer = ranks(&numbers, cuts, &OneReading(AtomicBool::new(false)));
    assert_eq!(answer["columns"][0].get("median"), None, "{answer}");
    assert_eq!(answer["columns"][0].get("p50"), None, "{answer}");
    let said = answer["assumptions"][0].as_str().unwrap();
    assert!(said.starts_with("median and quantiles are left out"), "{said}");
    assert_eq!(answer["rows"], ROWS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_cases().cases / 16 + 1, ..random_cases() })]

    #[test]
    fn ranks_of_random_numbers_are_exact(
        numbers in prop::collection::vec((any::<i32>(), 0..40u32, 0..3u32), 9_000..20_000),
    ) {
        let write = |(number, bits, scale): &(i32, u32, u32)| {
            let number = i64::from(*number) >> bits.min(&31);
            if *scale == 0 { number.to_string() } else { format!("{number}.{}", "5".repeat(*scale as usize)) }
        };
        check("random", &numbers.iter().map(write).collect::<Vec<_>>());
    }
}
