//! Lines of any length, encoding and division.

use mcp::{Revision, Server, Transport};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::raw::{PING, initialize};

/// Sends bytes in pieces of a given size and returns the lines that came back before the end.
async fn exchange(bytes: &[u8], piece: usize) -> Vec<serde_json::Value> {
    let (ours, theirs) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(theirs);
    let server = tokio::spawn(Server::new("lines", "0", ()).serve(mcp::lines(reader, writer)));
    let (reader, mut writer) = tokio::io::split(ours);
    let answers = tokio::spawn(async move {
        let mut lines = BufReader::new(reader).lines();
        let mut answers = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            answers.push(serde_json::from_str(&line).expect("JSON"));
        }
        answers
    });
    for piece in bytes.chunks(piece) {
        writer.write_all(piece).await.expect("write");
    }
    writer.shutdown().await.expect("shutdown");
    server.await.expect("no panic").expect("served");
    answers.await.expect("read")
}

#[tokio::test]
async fn lines_arrive_whole_however_they_are_cut() {
    let hello = initialize("2025-11-25");
    let bytes = format!("\u{feff}{hello}\r\n\n  \n{PING}\n{PING}");
    for piece in [1, 2, 3, 7, 64, 10_000] {
        let answers = exchange(bytes.as_bytes(), piece).await;
        let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(ids, [json!(0), json!("p"), json!("p")], "pieces of {piece}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_with_the_id_it_had() {
    let long = "x".repeat(17 << 20);
    let deep = "[".repeat(10_000);
    let bytes = [
        // Official clients put the id last.
        format!(
            r#"{{"method":"ping","params":{{"id":1,"s":"{long}"}},"jsonrpc":"2.0","id":"long"}}"#
        )
        .into_bytes(),
        b"{\"jsonrpc\":\"2.0\",\"id\":\"utf8\",\"method\":\"ping\",\"params\":{\"s\":\"\xff\"}}"
            .to_vec(),
        format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"ping","params":{{"d":{deep}}}}}"#)
            .into_bytes(),
        PING.as_bytes().to_vec(),
    ]
    .join(&b'\n');
    let answers = exchange(&bytes, 1 << 16).await;
    let got: Vec<_> =
        answers.iter().map(|a| (a["id"].as_str(), a["error"]["code"].as_i64())).collect();
    let expected = [
        (Some("long"), Some(-32600)),
        (Some("utf8"), Some(-32700)),
        (Some("deep"), Some(-32600)),
        (Some("p"), None),
    ];
    assert_eq!(got, expected);
}

#[tokio::test]
async fn anything_can_be_a_transport() {
    fn is_transport(_: &impl Transport) {}
    let (left, right) = mcp::memory::pair();
    is_transport(&left);
    tokio::spawn(Server::new("any", "0", ()).serve(right));
    let client = mcp::client::Client::connect(
        left,
        Revision::V2025_03_26,
        mcp::client::Answering::nothing(),
    )
    .await
    .expect("connect");
    assert_eq!(client.request("ping", json!({})).await, Ok(json!({})));
}
