//! Files read in parts at the same time against the same files read in one go: the same answers, to
//! the digit, wherever the parts are cut.

use std::time::{Duration, Instant};

use mcp::Revision;
use mcp::client::{Answering, Client};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Quiet, input, random_cases};
use crate::backend::{Analyze, Backend, Cuts, Error, Grouping, Observer};
use crate::config::Config;
use crate::server;

const ONE_GO: Cuts =
    Cuts { min_bytes: 0, part_bytes: u64::MAX, workers: 1, max_kept_bytes: 64 << 20 };
/// What an answer says where quotes, or the columns themselves, allow no reading by parts.
const READ_AGAIN: &str = "parts of the file that are not to be understood by themselves";

fn in_parts(part_bytes: u64) -> Cuts {
    Cuts { part_bytes, workers: 3, ..ONE_GO }
}

/// Every operation on every column, and all of it again for each text of the first.
fn ask(bytes: &[u8], cuts: Cuts, observer: &dyn Observer) -> Result<[Value; 2], Error> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), bytes).unwrap();
    let mut backend = Backend::open(&[dir.path().to_owned()])?;
    backend.cuts = cuts;
    let (input, request) = super::every_operation("file.csv");
    let whole = backend.analyze(&input, &request, observer)?;
    let aggregates = json!([
        {"operation": "sum", "column": "#2"}, {"operation": "max", "column": "#2"},
        {"operation": "stddev", "column": "#2"}, {"operation": "median", "column": "#2"},
        {"operation": "distinct", "column": "#3"},
    ]);
    let grouping = Grouping {
        keys: vec!["#1".to_owned()],
        aggregates: serde_json::from_value(aggregates).unwrap(),
        ..Grouping::default()
    };
    let grouped = backend.group(&input, &grouping, observer);
    let grouped = grouped.map_or_else(|error| Value::from(error.to_string()), to_json);
    Ok([to_json(whole), grouped])
}

fn to_json(answer: impl serde::Serialize) -> Value {
    let mut json = serde_json::to_value(answer).unwrap();
    if let Some(assumptions) = json.get_mut("assumptions").and_then(Value::as_array_mut) {
        assumptions.retain(|text| !text.as_str().unwrap().starts_with(READ_AGAIN));
        if assumptions.is_empty() {
            json.as_object_mut().unwrap().remove("assumptions");
        }
    }
    json
}

fn check_cuts(bytes: &[u8], sizes: impl Iterator<Item = u64>) {
    let right = ask(bytes, ONE_GO, &Quiet).map_err(|error| error.to_string());
    for size in sizes {
        let got = ask(bytes, in_parts(size), &Quiet).map_err(|error| error.to_string());
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(got, right, "parts of {size} bytes of {text:?}");
    }
}

/// The first cut comes at every byte, and the following ones at its multiples.
#[test]
fn cut_at_every_byte() {
    for text in [
        "a,b,c\n1,2,3\n4,5,6\n",
        "\n\na,b,c\n\n\n1,2,3\r\n\r\n4,5,6\n\n\n",
        "a,b,c\n\"x\ny\",1.5,\"q\"\"q\"\n\"\n\n\",2,\"\n\"\nz,3,\"\"\n",
        "a,b,c\nx,1,2024-01-02\nx,,NA\ny,007,13/02/2024\ny,8,01/02/2024\n",
        "a,b,c\nx,NA,1\ny,2,yes\nx,-,no\ny,0.5,2\n\nz,1e3,N/A\n",
        "a;b;c\nx;1,5;3\ny;2;1.5\nx;0,25;7\ny;1.000;8\n",
        "a,b,c\nx,1,\"never closed\ny,2,3\nz,4,5\n",
        "a,b,c\nx,1,st\"ray\ny,2,3\n\"q\" r,4\nz,5,6,7\n",
        "a,b,c\nx,99999999999999999999999999999999999999.5,1\ny,1e-9,2\nx,3,4\n",
        "a,b,c\nx,-1,nan\ny,-1,inf\nx,2,NaN\ny,2,3\n",
        "\u{FEFF}a,b,c\né,1,2\n\u{FEFF}x,3,4\ny,5,6\n",
        "a\n1\n\n2\n\n\n3\n",
        "1,2,3\n4,5,6\n7,8,9\n",
        "a,b,c\rx,1,2\ry,3,4\r",
        "a,b,c\nx,1,2\ry,3,4\rz,5,6\nx,7,8\n",
        "a,b,c\n\n\n\n",
        // A number among dates, and among words that are like booleans.
        "a,b,c\n1,2024-01-02,yes\n2,5,1\n3,,\n",
        "a,b,c\n1,2024-01-02,yes\n2,NA,NA\n",
        "a,b,c\n,,\n0,1,yes\n1,0,no\nNA,1,\n",
    ] {
        check_cuts(text.as_bytes(), 1..=text.len() as u64);
    }
    let invalid = b"a,b,c\n1,2,\xE9\n3,4,\xC3\xA9\n5,6,\xE9\n";
    check_cuts(invalid, 1..=invalid.len() as u64);
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "-?[1-9]{1,3}(\\.[0-9]{1,2})?",
        1 => "[ab]{0,2}",
        1 => "(NA|nan|0|1|yes|007|1,5|12/01/2024|2024-01-31|1e4)",
        2 => "\"([a,]|\n|\"\"|[0-9]){0,6}\"",
        1 => "[a\",\n ]{0,4}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..random_cases() })]

    #[test]
    fn random_files_cut_at_every_byte(
        rows in prop::collection::vec((cell(), cell(), cell()), 1..6),
        delimiter in prop::sample::select(vec![',', ';']),
    ) {
        let row = |(a, b, c): &(String, String, String)| format!("\n{a}{delimiter}{b}{delimiter}{c}");
        let text = format!("a{delimiter}b{delimiter}c{}", rows.iter().map(row).collect::<String>());
        check_cuts(text.as_bytes(), 1..=text.len() as u64);
    }
}

/// Each file of several is cut by itself.
#[test]
fn several_files_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let texts = ["a,b\n\"x\ny\",1\nz,2\n", "b,a\n3,\"u\n\"\n4,5", "a,b,c\n5,6,7\n8\n"];
    for (name, text) in ["1.csv", "2.csv", "3.csv"].iter().zip(texts) {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let mut backend = Backend::open(&[dir.path().to_owned()]).unwrap();
    let (input, request) = super::every_operation("*.csv");
    backend.cuts = ONE_GO;
    let right = to_json(backend.analyze(&input, &request, &Quiet).unwrap());
    assert_eq!(
        right["columns"][1]["max"],
        json!({"value": 6, "exact": true, "file": "3.csv", "line": 2})
    );
    for size in 1..20 {
        backend.cuts = in_parts(size);
        assert_eq!(to_json(backend.analyze(&input, &request, &Quiet).unwrap()), right, "{size}");
    }
}

/// Long enough for a window of each worker, with quotes that make a guess necessary.
fn long_table(rows: u32) -> String {
    let note = |row: u32| "line\n\"\"said\"\", ".repeat(row as usize % 5);
    let row =
        |row: u32| format!("k{},{}.{:02},\"{}\"\n", row % 7, row % 1000, row % 100, note(row));
    "key,price,note\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

#[test]
fn well_quoted_parts_are_not_read_again() {
    let text = long_table(30_000);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), &text).unwrap();
    let mut backend = Backend::open(&[dir.path().to_owned()]).unwrap();
    let (input, request) = super::every_operation("file.csv");
    for part_bytes in [100_000, 123_457, 300_001] {
        backend.cuts = in_parts(part_bytes);
        let answer = backend.analyze(&input, &request, &Quiet).unwrap();
        assert_eq!(answer.assumptions, Vec::<String>::new());
    }
    check_cuts(text.as_bytes(), [100_000, 123_457, 300_001].into_iter());
}

/// Between the two quotes everything stands in one field, which the parts in it cannot know.
#[test]
fn what_had_to_be_read_again_is_said() {
    let field = "x,1,2\n".repeat(20_000);
    let text = format!("a,b,c\n{field}y,3,\"{field}\"\n{field}");
    check_cuts(text.as_bytes(), [50_000, 70_001].into_iter());
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), &text).unwrap();
    let mut backend = Backend::open(&[dir.path().to_owned()]).unwrap();
    backend.cuts = in_parts(50_000);
    let (input, request) = super::every_operation("file.csv");
    let answer = backend.analyze(&input, &request, &Quiet).unwrap();
    assert!(answer.assumptions[0].starts_with(READ_AGAIN), "{:?}", answer.assumptions);
}

/// Bytes done, bytes in total, rows.
type Progress = (u64, u64, u64);

/// Says stop after so many bytes: of time, or of patience.
struct StopAfter {
    bytes: u64,
    cancels: bool,
    seen: std::cell::RefCell<Vec<Progress>>,
}

impl StopAfter {
    fn is_reached(&self) -> bool {
        self.seen.borrow().last().is_some_and(|(bytes, ..)| *bytes >= self.bytes)
    }
}

impl Observer for StopAfter {
    fn progress(&self, bytes_done: u64, bytes_total: u64, rows: u64) {
        self.seen.borrow_mut().push((bytes_done, bytes_total, rows));
    }

    fn cancelled(&self) -> bool {
        self.cancels && self.is_reached()
    }

    fn out_of_time(&self) -> bool {
        !self.cancels && self.is_reached()
    }
}

fn stopped(bytes: u64, cancels: bool) -> (Result<Value, Error>, Vec<Progress>) {
    stopped_in(in_parts(200_000), bytes, cancels)
}

fn stopped_in(cuts: Cuts, bytes: u64, cancels: bool) -> (Result<Value, Error>, Vec<Progress>) {
    let dir = tempfile::tempdir().unwrap();
    let text = "a,b\n".to_owned() + &"12345,67890\n".repeat(250_000);
    std::fs::write(dir.path().join("file.csv"), text).unwrap();
    let mut backend = Backend::open(&[dir.path().to_owned()]).unwrap();
    backend.cuts = cuts;
    let observer = StopAfter { bytes, cancels, seen: std::cell::RefCell::default() };
    let operations = serde_json::from_value(json!(["sum", "count"])).unwrap();
    let request = Analyze { operations, ..Analyze::default() };
    let answer = backend.analyze(&input("file.csv"), &request, &observer);
    (answer.map(|answer| serde_json::to_value(answer).unwrap()), observer.seen.into_inner())
}

#[test]
fn progress_grows_to_the_total() {
    let (answer, seen) = stopped(u64::MAX, true);
    assert_eq!(answer.unwrap()["columns"][0]["sum"]["value"], 12345 * 250_000_u64);
    assert!(seen.is_sorted() && seen.len() > 10, "{seen:?}");
    assert_eq!(seen.last().unwrap(), &(3_000_004, 3_000_004, 250_000));
}

#[test]
fn cancelling_stops_all_workers() {
    let (answer, seen) = stopped(1 << 20, true);
    assert!(matches!(answer, Err(Error::Cancelled)));
    assert!(seen.last().unwrap().0 < 2 << 20, "{seen:?}");
}

/// The first rows of the file, all of them up to somewhere, and the answer says up to where.
#[test]
fn out_of_time_is_the_answer_for_the_first_rows() {
    let in_one_go = Cuts { workers: 1, ..in_parts(200_000) };
    for cuts in [in_one_go, in_parts(200_000)] {
        let (answer, seen) = stopped_in(cuts, 1 << 20, false);
        let answer = answer.unwrap();
        let rows = answer["rows"].as_u64().unwrap();
        assert!((76_000..250_000).contains(&rows), "{rows}, {seen:?}");
        assert_eq!(answer["columns"][0]["count"]["value"], rows);
        assert_eq!(answer["columns"][0]["sum"]["value"], rows * 12345);
        let bytes = 4 + rows * 12;
        let percent = format!("{:.1} %", bytes as f64 / 3_000_004.0 * 100.0);
        let said = answer["assumptions"][0].as_str().unwrap();
        assert_eq!(said, format!("time ran out: only the first {percent} of the file was read"));
    }
}

/// Measured from the cancellation to the moment when nothing of the scan is left.
#[tokio::test]
async fn a_cancelled_scan_ends_soon() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "1,2.5,three\n".repeat(4_000_000);
    std::fs::write(dir.path().join("long.csv"), format!("a,b,c\n{rows}")).unwrap();
    let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
    let backend = server.state();
    let client =
        Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
    let free = backend.slots.available_permits();
    let long = client.start(
        "tools/call",
        json!({
            "name": "analyze_csv",
            "arguments": {"filepath": "long.csv", "operations": ["sum"]},
            "_meta": {"progressToken": "t"},
        }),
    );
    assert_eq!(client.notification().await.unwrap().method, "notifications/progress");
    assert_eq!(backend.slots.available_permits(), free - 1);
    let cancelled_at = Instant::now();
    long.cancel();
    let all = u32::try_from(free).unwrap();
    drop(backend.slots.acquire_many(all).await.unwrap());
    let took = cancelled_at.elapsed();
    // 50 ms, and the patience of a busy machine.
    assert!(took < Duration::from_millis(50 + 1000), "{took:?}");
}

/// The partial answer of a deadline is for the first rows of the file, with their share.
#[tokio::test]
async fn a_deadline_gives_a_part_and_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "1,2.5,three\n".repeat(4_000_000);
    std::fs::write(dir.path().join("long.csv"), format!("a,b,c\n{rows}")).unwrap();
    let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
    let client =
        Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
    let call =
        json!({"filepath": "long.csv", "operations": ["sum"], "columns": ["a"], "deadline_ms": 20});
    let answer = client.call_tool("analyze_csv", call).await.unwrap().structured;
    let rows = answer["rows"].as_u64().unwrap();
    assert!(rows < 4_000_000, "{answer}");
    assert_eq!(answer["columns"][0]["sum"]["value"], rows);
    assert!(answer["assumptions"][0].as_str().unwrap().starts_with("time ran out"), "{answer}");
}
