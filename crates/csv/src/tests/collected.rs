//! Medians, quantiles, distinct counts and modes against sorting and counting in the plain way.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::{Quiet, analyze, analyze_in, check, every_operation, random_cases};

#[test]
fn the_middle_and_the_most_frequent() {
    for (cells, expected) in [
        (
            "3\n1\n2",
            [
                ("median", json!({"value": 2, "exact": true})),
                ("distinct", json!({"value": 3, "exact": true})),
            ],
        ),
        (
            "0.1\n0.2",
            [
                ("median", json!({"value": 0.15, "exact": true})),
                ("mode", json!({"value": "0.1", "exact": true, "occurs": 1})),
            ],
        ),
        (
            "9223372036854775807\n9223372036854775806",
            [
                ("median", json!({"value": "9223372036854775806.5", "exact": true})),
                ("p5", json!({"value": "9223372036854775806", "exact": true})),
            ],
        ),
        (
            "1\n1.0\nNA\n1\nNA\nNA",
            [
                ("distinct", json!({"value": 2, "exact": true})),
                ("mode", json!({"value": "1", "exact": true, "occurs": 2})),
            ],
        ),
        (
            "b\nNA\nb\n\na",
            [
                ("distinct", json!({"value": 3, "exact": true})),
                ("mode", json!({"value": "b", "exact": true, "occurs": 2})),
            ],
        ),
        ("a\nb", [("median", json!(null)), ("p50", json!(null))]),
        (
            "1\n99999999999999999999999999999999999999.5",
            [
                (
                    "median",
                    json!({"value": 5e37, "exact": false, "method": "mean of two numbers in f64"}),
                ),
                ("p5", json!({"value": 1, "exact": false, "method": "compared in f64"})),
            ],
        ),
    ] {
        let answer = analyze(format!("a,b\n{}\n", cells.replace('\n', ",\n")).as_bytes()).unwrap();
        for (name, right) in expected {
            check(cells, &answer, &[(&format!("/columns/0/{name}"), &right.to_string())]);
        }
    }
}

/// More different texts than 64 MiB hold: the count becomes an estimate, the mode is left out.
#[test]
fn beyond_the_memory_an_estimate_is_called_one() {
    let rows: u32 = 1_200_000;
    let text: String = (0..rows).map(|row| format!("{row:032}x,{}\n", row + 1)).collect();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), format!("a,b\n{text}")).unwrap();
    let answer = analyze_in(dir.path().to_owned(), &every_operation("file.csv"), &Quiet).unwrap();
    let distinct = &answer["columns"][0]["distinct"];
    assert_eq!(distinct["exact"], false, "{distinct}");
    let error = distinct["value"].as_f64().unwrap() / f64::from(rows) - 1.0;
    assert!(error.abs() < 0.04, "{distinct}");
    assert_eq!(answer["columns"][0].get("mode"), None);
    let left_out = "mode is left out, because the different texts did not fit into 64 MiB; ask for fewer columns: column 1";
    let assumptions = answer["assumptions"].as_array().unwrap();
    assert!(
        assumptions.iter().any(|text| text.as_str().unwrap().starts_with(left_out)),
        "{assumptions:?}"
    );
    assert_eq!(answer["columns"][1]["sum"]["value"], 720_000_600_000_u64);
}

proptest! {
    #![proptest_config(random_cases())]

    #[test]
    fn ranks_and_counts_are_exact(
        cells in prop::collection::vec((-99i64..99, 0u32..3), 1..80),
    ) {
        // Thousandths as integers are the oracle; the file has 0 to 2 decimals.
        let written: Vec<String> = cells.iter().map(|(value, scale)| write(*value, *scale)).collect();
        let answer = analyze(format!("a\n{}\n", written.join("\n")).as_bytes()).unwrap();
        let column = &answer["columns"][0];
        let mut sorted: Vec<i64> =
            cells.iter().map(|(value, scale)| value * 10i64.pow(3 - scale)).collect();
        sorted.sort_unstable();
        for (name, percent) in [("p5", 5), ("p25", 25), ("p50", 50), ("p75", 75), ("p95", 95)] {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            prop_assert_eq!(thousandths(&column[name]["value"]), sorted[rank - 1], "{}: {}", name, column);
        }
        let middle = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2;
        prop_assert_eq!(thousandths(&column["median"]["value"]), middle, "{}", column);
        let mut counts = BTreeMap::<&str, u64>::new();
        for cell in &written {
            *counts.entry(cell).or_default() += 1;
        }
        prop_assert_eq!(&column["distinct"]["value"], counts.len());
        let most = counts.values().max().unwrap();
        let mode = counts.iter().find(|(_, count)| *count == most).unwrap().0;
        prop_assert_eq!(&column["mode"]["value"], mode);
        prop_assert_eq!(&column["mode"]["occurs"], most);
    }
}

fn write(value: i64, scale: u32) -> String {
    if scale == 0 {
        return value.to_string();
    }
    let sign = if value < 0 { "-" } else { "" };
    let (magnitude, divisor) = (value.abs(), 10i64.pow(scale));
    let (whole, fraction) = (magnitude / divisor, magnitude % divisor);
    format!("{sign}{whole}.{fraction:0width$}", width = scale as usize)
}

fn thousandths(value: &serde_json::Value) -> i64 {
    (value.as_f64().unwrap() * 1000.0).round() as i64
}
