//! Through the protocol, in memory, in every revision; and the backend's edges as a table.

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::json;

use crate::backend::{Backend, Error};
use crate::config::Config;
use crate::server;

async fn connect(revision: Revision) -> Client {
    connect_answering(revision, Answering::nothing()).await
}

async fn connect_answering(revision: Revision, answering: Answering) -> Client {
    let server = server(Config { max_ticks: 10 }).expect("server");
    Client::in_memory(server, revision, answering).await.expect("connect")
}

#[tokio::test]
async fn sums_in_every_revision() {
    for revision in Revision::ALL {
        let client = connect(revision).await;
        let answer =
            client.call_tool("calculate_sum", json!({"a": 2, "b": 3})).await.expect("call");
        assert_eq!(answer.text(), r#"{"sum":5.0}"#);
        let structured = revision >= Revision::V2025_06_18;
        assert_eq!(answer.structured.get("sum"), structured.then_some(&json!(5.0)), "{revision}");
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
    client.request("resources/subscribe", watched.clone()).await.expect("subscribe");
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
    let counts = client.read_resource("calculator://countdowns").await.expect("read");
    assert_eq!(counts[0]["text"], "{\n  \"running\": 0,\n  \"finished\": 1\n}");
}

#[tokio::test]
async fn a_cancelled_countdown_runs_no_longer() {
    let client = connect(Revision::V2025_06_18).await;
    let watched = json!({"uri": "calculator://countdowns"});
    client.request("resources/subscribe", watched).await.expect("subscribe");
    let countdown =
        client.start("tools/call", json!({"name": "countdown", "arguments": {"from": 10}}));
    next_update(&client).await;
    countdown.cancel();
    next_update(&client).await;
    let counts = client.read_resource("calculator://countdowns").await.expect("read");
    assert_eq!(counts[0]["text"], "{\n  \"running\": 0,\n  \"finished\": 1\n}");
}

async fn next_update(client: &Client) {
    while client.notification().await.expect("notification").method
        != "notifications/resources/updated"
    {}
}

#[tokio::test]
async fn countdowns_out_of_range_are_refused_with_the_range() {
    let client = connect(Revision::V2025_11_25).await;
    for (from, range) in [(0, "1 to 3600"), (11, "1 to 10")] {
        let answer = client.call_tool("countdown", json!({"from": from})).await.expect("call");
        assert!(answer.is_error && answer.text().contains(range), "{}", answer.text());
    }
}

#[tokio::test]
async fn times_tables_are_read_and_completed() {
    let client = connect(Revision::V2025_11_25).await;
    let table = client.read_resource("calculator://times-table/7").await.expect("read");
    assert!(table[0]["text"].as_str().is_some_and(|text| text.ends_with("10 × 7 = 70\n")));
    for missing in ["0", "101", "seven", "-1"] {
        let uri = format!("calculator://times-table/{missing}");
        assert!(client.read_resource(&uri).await.is_err(), "{uri}");
    }
    let completion = json!({
        "ref": {"type": "ref/resource", "uri": "calculator://times-table/{number}"},
        "argument": {"name": "number", "value": "10"},
    });
    let completed = client.request("completion/complete", completion).await.expect("completion");
    assert_eq!(completed["completion"]["values"], json!(["10", "100"]));
}

#[tokio::test]
async fn the_prompt_names_the_tool() {
    let client = connect(Revision::V2025_11_25).await;
    let ask = json!({"name": "explain_sum", "arguments": {"a": "1", "b": "2.5"}});
    let prompt = client.request("prompts/get", ask).await.expect("prompt");
    let text = prompt["messages"][0]["content"]["text"].as_str().expect("text");
    assert!(text.starts_with("Calculate 1 + 2.5 with the tool `calculate_sum`"), "{text}");
}

#[test]
fn powers_have_every_digit() {
    for (base, exponent, power) in [
        (2, 10, "1024"),
        (7, 0, "1"),
        (0, 0, "1"),
        (0, 5, "0"),
        (10, 20, "100000000000000000000"),
        (u32::MAX, 3, "79228162458924105385300197375"),
    ] {
        assert_eq!(Backend::power(base, exponent), power, "{base}^{exponent}");
    }
    assert_eq!(Backend::power(2, 10_000).len(), 3011);
}

#[tokio::test]
async fn a_long_result_is_shown_to_somebody_who_wants_it() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        for (answer, shown) in [
            (json!({"action": "accept", "content": {"show": true}}), true),
            (json!({"action": "accept", "content": {}}), false),
            (json!({"action": "decline"}), false),
        ] {
            let answering =
                Answering::new(json!({"elicitation": {}}), move |_, _| Ok(answer.clone()));
            let client = connect_answering(revision, answering).await;
            let long = client.call_tool("calculate_power", json!({"base": 10, "exponent": 40}));
            assert_eq!(!long.await.expect("call").is_error, shown, "{revision}");
            let short = client.call_tool("calculate_power", json!({"base": 10, "exponent": 4}));
            assert_eq!(short.await.expect("call").text(), r#"{"digits":"10000"}"#);
        }
    }
}

#[tokio::test]
async fn the_model_explains() {
    for revision in Revision::ALL {
        let answering = Answering::new(json!({"sampling": {}}), |_, params| {
            let question = params["messages"][0]["content"]["text"].as_str().expect("text");
            let content = json!({"type": "text", "text": format!("asked: {question}")});
            Ok(json!({"role": "assistant", "content": content, "model": "m"}))
        });
        let client = connect_answering(revision, answering).await;
        let answer = client.call_tool("explain_number", json!({"number": 7})).await.expect("call");
        assert_eq!(answer.text(), "asked: In one sentence: what is special about 7?", "{revision}");
    }
}
