//! Writes random tables as CSV in every usual way and expects the same table back.

use proptest::prelude::*;

use super::{analyze, check, random_cases};

#[derive(Debug, Clone)]
struct Way {
    delimiter: char,
    line_end: &'static str,
    has_bom: bool,
    is_utf16: bool,
    ends_with_line_end: bool,
}

fn way() -> impl Strategy<Value = Way> {
    let delimiters = prop::sample::select(vec![',', ';', '\t', '|']);
    let line_ends = prop::sample::select(vec!["\n", "\r\n"]);
    (delimiters, line_ends, any::<(bool, bool, bool)>()).prop_map(
        |(delimiter, line_end, (has_bom, is_utf16, ends_with_line_end))| Way {
            delimiter,
            line_end,
            has_bom,
            is_utf16,
            ends_with_line_end,
        },
    )
}

proptest! {
    #![proptest_config(random_cases())]

    #[test]
    fn tables_come_back(
        rows in prop::collection::vec((any::<i32>(), "[a,;|\t\"\r\né😀 ]{0,12}"), 1..40),
        way in way(),
    ) {
        let answer = analyze(&written(&rows, &way)).unwrap();
        let sum = rows.iter().map(|(id, _)| i64::from(*id)).sum::<i64>().to_string();
        let notes = rows.iter().filter(|(_, note)| !note.trim_ascii().is_empty()).count();
        let (largest, last_line) = largest(&rows);
        check("table", &answer, &[
            ("/rows", &rows.len().to_string()),
            ("/columns/0/sum/value", &sum),
            ("/columns/0/max/value", &largest.to_string()),
            ("/columns/0/max/line", &last_line.to_string()),
            ("/columns/1/count/value", &notes.to_string()),
            ("/oddities", "{}"),
        ]);
    }
}

fn written(rows: &[(i32, String)], way: &Way) -> Vec<u8> {
    let Way { delimiter, line_end, has_bom, is_utf16, ends_with_line_end } = way;
    let rows = rows
        .iter()
        .map(|(id, note)| format!("{line_end}{id}{delimiter}\"{}\"", note.replace('"', "\"\"")));
    let bom = if *has_bom || *is_utf16 { "\u{FEFF}" } else { "" };
    let last = if *ends_with_line_end { *line_end } else { "" };
    let text = format!("{bom}id{delimiter}note{}{last}", rows.collect::<String>());
    if *is_utf16 { text.encode_utf16().flat_map(u16::to_be_bytes).collect() } else { text.into() }
}

/// The largest id and the physical line on which its first row starts.
fn largest(rows: &[(i32, String)]) -> (i32, usize) {
    let largest = rows.iter().map(|(id, _)| *id).max().unwrap();
    let before = rows.iter().take_while(|(id, _)| *id != largest);
    (largest, before.map(|(_, note)| 1 + note.matches('\n').count()).sum::<usize>() + 2)
}
