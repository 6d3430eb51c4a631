//! Compares sums, averages and extremes of random columns with big-integer arithmetic.
//!
//! The oracle shares no code with the product: it shifts every digit string to one scale and adds.

use num_bigint::BigInt;
use proptest::prelude::*;
use serde_json::Value;

use super::{analyze, random_cases};

/// Decimals in every oracle number.
const SCALE: usize = 60;

/// A number as written, of up to 38 digits, with or without an exponent.
fn cell() -> impl Strategy<Value = String> {
    let whole = prop_oneof!["0", "[1-9][0-9]{0,3}", "[1-9][0-9]{4,17}", "[1-9][0-9]{18,27}"];
    let fraction = prop_oneof![Just(String::new()), "\\.[0-9]{1,4}", "\\.[0-9]{5,10}"];
    let exponent = prop_oneof![9 => Just(String::new()), 1 => "[eE][+-]?[0-9]"];
    ("[+-]?", whole, fraction, exponent)
        .prop_map(|(sign, whole, fraction, exponent)| format!("{sign}{whole}{fraction}{exponent}"))
}

fn column(rows: &[String]) -> Value {
    let answer = analyze(format!("a\n{}\n", rows.join("\n")).as_bytes()).unwrap();
    answer.pointer("/columns/0").cloned().unwrap()
}

proptest! {
    #![proptest_config(random_cases())]

    #[test]
    fn sums_are_exact(rows in prop::collection::vec(cell(), 1..60)) {
        let rows: Vec<String> = rows.into_iter().filter(|cell| fits(cell)).collect();
        prop_assume!(!rows.is_empty());
        let column = column(&rows);
        let truth: BigInt = rows.iter().map(|cell| scaled(cell)).sum();
        prop_assert_eq!(&column["sum"]["exact"], true, "{}", column);
        prop_assert_eq!(scaled(&digits(&column["sum"]["value"])), truth.clone(), "{}", column);
        check_average(&column["average"], &truth, rows.len())?;
    }

    #[test]
    fn extremes_are_exact(rows in prop::collection::vec(cell(), 1..40)) {
        let rows: Vec<String> = rows.into_iter().filter(|cell| fits(cell)).collect();
        prop_assume!(!rows.is_empty());
        let column = column(&rows);
        let truths: Vec<BigInt> = rows.iter().map(|cell| scaled(cell)).collect();
        for (name, truth) in [("min", truths.iter().min()), ("max", truths.iter().max())] {
            let truth = truth.unwrap();
            let got = &column[name];
            prop_assert_eq!(&scaled(&digits(&got["value"])), truth, "{}", column);
            // Below the header, so the first row stands on line 2.
            let first = truths.iter().position(|value| value == truth).unwrap() + 2;
            prop_assert_eq!(&got["line"], first, "{}", column);
        }
    }

    #[test]
    fn long_columns_overflow_into_big_integers(
        rows in prop::collection::vec("-?[1-9][0-9]{37}", 1..40),
    ) {
        let column = column(&rows);
        let truth: BigInt = rows.iter().map(|cell| scaled(cell)).sum();
        prop_assert_eq!(scaled(&digits(&column["sum"]["value"])), truth);
    }

    #[test]
    fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = analyze(&bytes);
    }

    #[test]
    fn nothing_like_csv_makes_it_panic(text in "(#|sep=;\n)?[0-9a,;\"\r\n.eE+ -]{0,200}") {
        let _ = analyze(text.as_bytes());
    }
}

/// The cells the generator makes too long for exact arithmetic have their own tests.
fn fits(cell: &str) -> bool {
    let digits = cell.bytes().filter(u8::is_ascii_digit).count();
    digits <= 30 && !cell.trim_start_matches(['+', '-']).starts_with("00")
}

/// The number times 10^60.
fn scaled(text: &str) -> BigInt {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let zeros = SCALE as i32 + exponent - fraction.len() as i32;
    let zeros = "0".repeat(zeros.try_into().unwrap());
    format!("{whole}{fraction}{zeros}").trim_start_matches('+').parse().unwrap()
}

fn digits(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn check_average(average: &Value, sum: &BigInt, count: usize) -> Result<(), TestCaseError> {
    let got = scaled(&digits(&average["value"])) * count;
    if average["exact"] == true {
        prop_assert_eq!(&got, sum, "{}", average);
        return Ok(());
    }
    // Rounding to f64 is off by at most 2^-53 of the value, printing the shortest digits that
    // stand for that f64 by as much again, and rounding to 6 decimals by 5e-7.
    let error = (&got - sum).magnitude().clone();
    let of_value = sum.magnitude().clone() >> 52u8;
    let of_decimals = scaled("0.0000005").magnitude().clone() * count;
    prop_assert!(error <= of_value.max(of_decimals), "{}", average);
    Ok(())
}
