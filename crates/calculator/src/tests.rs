//! Through the protocol, in memory, in every revision; and the backend's edges as a table.

use mcp::Revision;
use mcp::client::Client;
use serde_json::json;

use crate::backend::{Backend, Error};
use crate::config::Config;
use crate::server;

async fn connect(revision: Revision) -> Client {
    let server = server(Config { max_ticks: 10 }).expect("server");
    Client::in_memory(server, revision).await.expect("connect")
}

#[tokio::test]
async fn sums_in_every_revision() {
    for revision in Revision::ALL {
        let client = connect(revision).await;
        let answer = client
            .call_tool("calculate_sum", json!({"a": 2, "b": 3}))
            .await
            .expect("call");
        assert_eq!(answer.text(), r#"{"sum":5.0}"#);
        let structured = revision >= Revision::V2025_06_18;
        assert_eq!(
            answer.structured.get("sum"),
            structured.then_some(&json!(5.0)),
            "{revision}"
        );
    }
}

#[test]
fn sums_are_numbers_or_errors() {
    for (a, b, sum) in [
        (2.0, 3.0, Ok(5.0)),
        (-0.5, 0.25, Ok(-0.25)),
        (f64::MAX, f64::MAX, Err(Error::SumTooLarge)),
        (f64::NAN, 1.0, Err(Error::SumTooLarge)),
    ] {
        assert_eq!(Backend::sum(a, b), sum, "{a} + {b}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_countdown_reports_every_tick_and_is_counted() {
    let client = connect(Revision::V2025_11_25).await;
    let watched = json!({"uri": "calculator://countdowns"});
    client
        .request("resources/subscribe", watched.clone())
        .await
        .expect("subscribe");
    let call = json!({
        "name": "countdown",
        "arguments": {"from": 3, "tick_ms": 1000},
        "_meta": {"progressToken": "t"},
    });
    let answer = client.request("tools/call", call).await.expect("call");
    assert_eq!(answer["structuredContent"], json!({"ticks": 3}));
    let mut ticks = Vec::new();
    let mut updates = 0;
    while updates < 2 {
        let notification = client.notification().await.expect("notification");
        match notification.method.as_str() {
            "notifications/progress" => ticks.push(notification.params["progress"].clone()),
            "notifications/resources/updated" => updates += 1,
            "notifications/message" => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!(ticks, [1, 2, 3]);
    let counts = client
        .read_resource("calculator://countdowns")
        .await
        .expect("read");
    assert_eq!(
        counts[0]["text"],
        "{\n  \"running\": 0,\n  \"finished\": 1\n}"
    );
}

#[tokio::test]
async fn a_cancelled_countdown_runs_no_longer() {
    let client = connect(Revision::V2025_06_18).await;
    let watched = json!({"uri": "calculator://countdowns"});
    client
        .request("resources/subscribe", watched)
        .await
        .expect("subscribe");
    let countdown = client.start(
        "tools/call",
        json!({"name": "countdown", "arguments": {"from": 10}}),
    );
    next_update(&client).await;
    countdown.cancel();
    next_update(&client).await;
    let counts = client
        .read_resource("calculator://countdowns")
        .await
        .expect("read");
    assert_eq!(
        counts[0]["text"],
        "{\n  \"running\": 0,\n  \"finished\": 1\n}"
    );
}

async fn next_update(client: &Client) {
    while client.notification().await.expect("notification").method
        != "notifications/resources/updated"
    {}
}

#[tokio::test]
async fn countdowns_out_of_range_are_refused_with_the_range() {
    let client = connect(Revision::V2025_11_25).await;
    for from in [0, 11] {
        let answer = client
            .call_tool("countdown", json!({"from": from}))
            .await
            .expect("call");
        assert!(
            answer.is_error && answer.text().contains("1 to 10"),
            "{}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn times_tables_are_read_and_completed() {
    let client = connect(Revision::V2025_11_25).await;
    let table = client
        .read_resource("calculator://times-table/7")
        .await
        .expect("read");
    assert!(
        table[0]["text"]
            .as_str()
            .is_some_and(|text| text.ends_with("10 × 7 = 70\n"))
    );
    for missing in ["0", "101", "seven", "-1"] {
        let uri = format!("calculator://times-table/{missing}");
        assert!(client.read_resource(&uri).await.is_err(), "{uri}");
    }
    let completion = json!({
        "ref": {"type": "ref/resource", "uri": "calculator://times-table/{number}"},
        "argument": {"name": "number", "value": "10"},
    });
    let completed = client
        .request("completion/complete", completion)
        .await
        .expect("completion");
    assert_eq!(completed["completion"]["values"], json!(["10", "100"]));
}

#[tokio::test]
async fn the_prompt_names_the_tool() {
    let client = connect(Revision::V2025_11_25).await;
    let ask = json!({"name": "explain_sum", "arguments": {"a": "1", "b": "2.5"}});
    let prompt = client.request("prompts/get", ask).await.expect("prompt");
    let text = prompt["messages"][0]["content"]["text"]
        .as_str()
        .expect("text");
    assert!(
        text.starts_with("Calculate 1 + 2.5 with the tool `calculate_sum`"),
        "{text}"
    );
}
