//! What takes more than a few bytes: long files, large records, progress, cancellation, fixtures.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::Value;

use super::{Quiet, analyze, analyze_and_describe, analyze_in, check, every_operation};
use crate::backend::{Error, Observer};

#[test]
fn types_hold_for_the_whole_file() {
    let ones = "1\n".repeat(300_000);
    for (last, expected) in [
        ("1.5", [("/columns/0/type", r#""decimal""#), ("/columns/0/sum/value", "300001.5")]),
        ("007", [("/columns/0/type", r#""text""#), ("/columns/0/text_because/line", "300002")]),
        ("x", [("/columns/0/type", r#""text""#), ("/columns/0/text_because/line", "300002")]),
    ] {
        let answer = analyze(format!("a\n{ones}{last}\n").as_bytes()).unwrap();
        check(last, &answer, &expected);
    }
}

/// Records of all lengths, so that some lie across every window edge.
#[test]
fn windows_cut_nothing() {
    let mut text = "id,note\r\n".to_owned();
    let (mut sum, mut line, mut last_line) = (0u64, 2, 0);
    for id in 0..20_000u64 {
        let note = "x\n\"\"".repeat(id as usize % 23);
        write!(text, "{id},\"{note}\"\r\n").unwrap();
        sum += id;
        last_line = line;
        line += 1 + id % 23;
    }
    assert!(text.len() > 4 << 17, "the file should span several windows");
    let answer = analyze(text.as_bytes()).unwrap();
    let (sum, last_line) = (sum.to_string(), last_line.to_string());
    check(
        "windows",
        &answer,
        &[
            ("/rows", "20000"),
            ("/columns/0/sum/value", &sum),
            ("/columns/0/max/line", &last_line),
            ("/dialect/line_ends", r#"{"crlf": 20001}"#),
            ("/oddities", "{}"),
        ],
    );
}

#[test]
fn utf16_is_decoded_across_reads() {
    let mut text = "\u{FEFF}id,note\n".to_owned();
    for id in 0..9_000 {
        writeln!(text, "{id},{}", "é😀x".repeat(id % 4)).unwrap();
    }
    for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(to_bytes).collect();
        let answer = analyze(&bytes).unwrap();
        check("utf-16", &answer, &[("/rows", "9000"), ("/columns/0/sum/value", "40495500")]);
    }
}

/// Wherever reads end, one of these names has its surrogate pair cut in two there.
#[test]
fn utf16_pairs_are_not_cut() {
    for padding in 4090..4100 {
        let text = format!("\u{FEFF}{},😀\n1,2\n", "x".repeat(padding));
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        check("pair", &analyze(&bytes).unwrap(), &[("/columns/1/name", r#""😀""#)]);
    }
}

#[test]
fn utf8_is_checked_across_reads() {
    for (end, encoding) in [("", "utf-8"), ("\u{E9}", "utf-8"), ("?", "windows-1252")] {
        let mut bytes = format!("a,b\n{}{end}\n", "1,\u{20AC}\n".repeat(100_000)).into_bytes();
        if end == "?" {
            let place = bytes.len() - 2;
            bytes[place] = 0xE9;
        }
        let answer = analyze(&bytes).unwrap();
        assert_eq!(answer.pointer("/dialect/encoding").unwrap(), encoding, "{end:?}");
    }
}

#[test]
fn long_fields_pass_and_longer_ones_are_refused() {
    let large = format!("a,b\n1,\"{}\"\n2,x\n", "y".repeat(3 << 20));
    let answer = analyze(large.as_bytes()).unwrap();
    check("3 MB field", &answer, &[("/rows", "2"), ("/columns/0/sum/value", "3")]);

    let never_closed = format!("a,b\n1,2\n\"x\ny\",\"{}", "z\n".repeat(9 << 20));
    let error = analyze(never_closed.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::RecordTooLong { line: 3, quote_line: 4, .. }), "{error}");
}

#[test]
fn wide_files_pass_and_wider_ones_are_refused() {
    let names: Vec<String> = (0..10_000).map(|index| format!("c{index}")).collect();
    let row = vec!["2"; 10_000].join(",");
    let answer = analyze(format!("{}\n{row}\n{row}\n", names.join(",")).as_bytes()).unwrap();
    check("10 000 columns", &answer, &[("/rows", "2"), ("/columns/9999/sum/value", "4")]);

    let error = analyze(format!("a,b\n1,2\n{}\n", ",".repeat(70_000)).as_bytes()).unwrap_err();
    assert!(matches!(error, Error::TooManyFields { line: 3, .. }), "{error}");
}

#[test]
fn only_the_first_lines_of_an_oddity_are_listed() {
    let answer = analyze(format!("a,b\n{}", "1\n2,3\n".repeat(9)).as_bytes()).unwrap();
    let expected = r#"{"count": 9, "first_lines": [2, 4, 6, 8, 10]}"#;
    check("short rows", &answer, &[("/oddities/short_rows", expected)]);
}

#[test]
fn long_cells_are_shown_cut() {
    let answer = analyze(format!("a\n1\n{}\n", "é".repeat(500)).as_bytes()).unwrap();
    let shown = answer.pointer("/columns/0/text_because/value").unwrap().as_str().unwrap();
    assert_eq!(shown, format!("{}…", "é".repeat(80)));
}

#[test]
fn columns_are_chosen_by_name_or_index() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), "a,b,#1\n1,2,3\n").unwrap();
    let names = |wanted: &[&str]| {
        let mut request = every_operation("file.csv");
        request.1.columns = Some(wanted.iter().map(|name| (*name).to_owned()).collect());
        let answer = analyze_in(dir.path().to_owned(), &request, &Quiet)?;
        let columns = answer["columns"].as_array().unwrap();
        Ok::<_, Error>(columns.iter().map(|column| column["name"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(names(&["b", "a", "b"]).unwrap(), ["a", "b"]);
    assert_eq!(names(&["#2"]).unwrap(), ["b"]);
    assert_eq!(names(&["#1"]).unwrap(), ["#1"]);
    for unknown in ["A", "#4", "#0", ""] {
        let error = names(&[unknown]).unwrap_err().to_string();
        assert!(error.ends_with(r##"the columns are "a", "b", "#1""##), "{error}");
    }
}

struct CancelAfter {
    bytes: u64,
    seen: RefCell<Vec<Progress>>,
}

/// Bytes done, bytes in total, rows.
type Progress = (u64, u64, u64);

impl Observer for CancelAfter {
    fn progress(&self, bytes_done: u64, bytes_total: u64, rows: u64) {
        self.seen.borrow_mut().push((bytes_done, bytes_total, rows));
    }

    fn cancelled(&self) -> bool {
        self.seen.borrow().last().is_some_and(|(bytes_done, ..)| *bytes_done >= self.bytes)
    }
}

fn observed(bytes: u64) -> (Result<Value, Error>, Vec<Progress>) {
    let dir = tempfile::tempdir().unwrap();
    let text = "a,b\n".to_owned() + &"12345,67890\n".repeat(250_000);
    std::fs::write(dir.path().join("file.csv"), text).unwrap();
    let observer = CancelAfter { bytes, seen: RefCell::default() };
    let answer = analyze_in(dir.path().to_owned(), &every_operation("file.csv"), &observer);
    (answer, observer.seen.into_inner())
}

#[test]
fn progress_grows_to_the_total() {
    let (answer, seen) = observed(u64::MAX);
    assert!(answer.is_ok());
    assert!(seen.is_sorted(), "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[1].0 - pair[0].0 <= 256 << 10), "{seen:?}");
    assert_eq!(seen.last().unwrap(), &(3_000_004, 3_000_004, 250_000));
}

#[test]
fn cancelling_stops_the_scan() {
    let (answer, seen) = observed(1 << 20);
    assert!(matches!(answer, Err(Error::Cancelled)));
    let (bytes_done, ..) = seen.last().unwrap();
    assert!((1 << 20..3 << 19).contains(bytes_done), "{seen:?}");
}

struct AppendOnce<'a> {
    file: &'a std::path::Path,
}

impl Observer for AppendOnce<'_> {
    fn progress(&self, bytes_done: u64, bytes_total: u64, _: u64) {
        if bytes_done < bytes_total {
            let mut file = std::fs::File::options().append(true).open(self.file).unwrap();
            file.write_all(b"1\n").unwrap();
        }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

#[test]
fn a_file_that_grows_is_flagged() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file.csv");
    std::fs::write(&file, "a\n".to_owned() + &"1\n".repeat(100_000)).unwrap();
    let request = every_operation("file.csv");
    let answer = analyze_in(dir.path().to_owned(), &request, &AppendOnce { file: &file }).unwrap();
    let changed = r#""the file changed while it was read, so the numbers may mix two states of it; ask again""#;
    check("grown", &answer, &[("/assumptions/0", changed)]);
    let again = analyze_in(dir.path().to_owned(), &request, &Quiet).unwrap();
    check("at rest", &again, &[("/assumptions", "null")]);
}

fn fixture(name: &str) -> Value {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    analyze_and_describe(fixtures.into(), name).unwrap()
}

#[test]
fn sales_fixture() {
    check(
        "sales.csv",
        &fixture("sales.csv"),
        &[
            ("/rows", "20"),
            ("/oddities", "{}"),
            ("/columns/3/type", r#""text""#),
            ("/columns/4/sum/value", "584"),
            ("/columns/4/nulls/value", "1"),
            ("/columns/4/average/value", "30.736842105263158"),
            ("/columns/4/max", r#"{"value": 200, "exact": true, "line": 16}"#),
            ("/columns/5/sum", r#"{"value": 1852.72, "exact": true}"#),
            ("/columns/5/average", r#"{"value": 92.636, "exact": true}"#),
            ("/columns/5/stddev/value", "125.74468135241766"),
            ("/columns/6/sum/value", "1"),
            ("/columns/7/hints", r#"["zero_padded"]"#),
            ("/assumptions", "null"),
        ],
    );
}

#[test]
fn messy_fixture() {
    check(
        "messy.csv",
        &fixture("messy.csv"),
        &[
            ("/rows", "6"),
            ("/dialect/bom", "true"),
            ("/dialect/sep_line", "true"),
            ("/dialect/delimiter", r#"";""#),
            ("/dialect/decimal_mark", r#"",""#),
            ("/dialect/line_ends", r#"{"lf": 1, "crlf": 6}"#),
            ("/oddities/short_rows/first_lines", "[7]"),
            ("/oddities/long_rows/first_lines", "[8]"),
            ("/oddities/blank_lines", "1"),
            ("/columns/1/sum/value", "1007.1"),
            ("/columns/1/nulls/value", "1"),
            ("/columns/2/name", r#""amount#2""#),
            ("/columns/2/average/value", "38"),
            ("/columns/3/name", r#""column_4""#),
            ("/columns/3/hints", r#"["boolean_like"]"#),
        ],
    );
}
