//! How much is printed matters to nobody but the program's reader.

use serde_json::json;

use super::rig::{EVERYTHING, rig, stdout};
use crate::backend::Stream;

#[tokio::test]
async fn of_a_long_output_the_start_and_the_end_are_shown() {
    let rig = rig("", &[]).await;
    let arguments = json!({"command": "seq", "args": ["100000"], "max_output_bytes": 1000});
    let answer = rig.execute(arguments).await;
    let printed = &answer.structured["stdout"];
    assert_eq!(printed["total_bytes"], 588_895);
    assert_eq!(printed["total_lines"], 100_000);
    let (head, tail) = (printed["head"].as_str().unwrap(), printed["tail"].as_str().unwrap());
    assert!(head.starts_with("1\n2\n3\n") && tail.ends_with("\n99999\n100000\n"), "{printed}");
    assert_eq!(head.len() + tail.len(), 1000);
    assert_eq!(printed["omitted_bytes"], 588_895 - 1000);
    let uri = printed["resource"].as_str().unwrap();
    let all = rig.client.read_resource(uri).await.unwrap();
    let right: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(all[0]["text"].as_str().unwrap(), right);
}

#[tokio::test]
async fn a_flood_is_counted_and_its_ends_are_kept() {
    let rig = rig(EVERYTHING, &["--max-output-mib", "1"]).await;
    let script = "printf start; head -c 100000000 /dev/zero; printf end";
    let answer = rig.sh(script).await;
    let printed = &answer.structured["stdout"];
    assert_eq!(printed["total_bytes"], 100_000_008, "{}", answer.text());
    assert!(printed["head"].as_str().unwrap().starts_with("start\\x00"));
    assert!(printed["tail"].as_str().unwrap().ends_with("\\x00end"));
    assert!(answer.text().len() < 40_000);
    assert_eq!(stdout(&rig.sh("echo next").await), "next\n");
}

#[test]
fn a_stream_keeps_what_it_should() {
    const KIB: u64 = 1024;
    // In memory, in a file, and over the quota of 200 KiB; written in pieces of any size.
    for total in [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 150 * KIB, 200 * KIB, 500 * KIB] {
        for piece in [1000, 65_536, 1_000_000] {
            let bytes: Vec<u8> = (0..total).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let stream = Stream::new(200 * KIB);
            bytes.chunks(piece).for_each(|chunk| stream.append(chunk));
            assert_eq!(stream.totals().bytes, total);
            let end = stream.end(50_000);
            let right = &bytes[bytes.len().saturating_sub(50_000)..];
            assert!(end.bytes == right, "the end of {total} by {piece}");
            for offset in [0, 1, 64 * KIB - 10, 64 * KIB, 100 * KIB, 199 * KIB] {
                let part = stream.part(offset, 20_000);
                let at = usize::try_from(offset).unwrap().min(bytes.len());
                let kept = if total > 200 * KIB { 200 * 1024 } else { bytes.len() };
                let right = &bytes[at..(at + 20_000).min(kept).max(at)];
                let common = right.len().min(part.bytes.len());
                assert!(part.bytes[..common] == right[..common], "{offset} of {total} by {piece}");
                assert!(common == right.len(), "{offset} of {total} by {piece}: {common}");
            }
        }
    }
}

#[tokio::test]
async fn parts_are_read_by_offset_by_line_and_by_content() {
    let rig = rig("", &[]).await;
    let answer =
        rig.execute(json!({"command": "seq", "args": ["50000"], "max_output_bytes": 256})).await;
    let job = answer.structured["job_id"].clone();
    let read = |mut arguments: serde_json::Value| {
        arguments["job_id"] = job.clone();
        rig.call("read_output", arguments)
    };
    let mut all = String::new();
    let mut offset = json!(0);
    loop {
        let page = read(json!({"offset_bytes": offset, "max_output_bytes": 10_000})).await;
        let text = page.structured["text"].as_str().unwrap();
        if text.is_empty() {
            break;
        }
        all += text;
        offset = page.structured["next_offset_bytes"].clone();
    }
    assert_eq!(all, (1..=50_000).map(|number| format!("{number}\n")).collect::<String>());
    let tail = read(json!({"tail_lines": 2})).await;
    assert_eq!(tail.structured["text"], "49999\n50000\n");
    assert_eq!(tail.structured["ended"], true);
    let found = read(json!({"contains": "4999"})).await;
    assert_eq!(found.structured["text"].as_str().unwrap().lines().count(), 15);
    let found = read(json!({"contains": "no such line"})).await;
    assert_eq!(found.structured["text"], "");
    assert!(read(json!({"stream": "stderr"})).await.structured["text"] == "");
    for missing in
        ["command://jobs/99/stdout", "command://jobs/1/stdin", "command://jobs/1/stdout/9999999"]
    {
        assert!(rig.client.read_resource(missing).await.is_err(), "{missing}");
    }
}
