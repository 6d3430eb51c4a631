//! Through the same server value as `main`, over the memory transport. What the official suite
//! checks is not repeated here; the suite does not know the older revisions, nor what is not its own.

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use crate::config::Config;
use crate::server;

async fn connect(revision: Revision, answering: Answering) -> Client {
    Client::in_memory(server(Config {}).expect("server"), revision, answering)
        .await
        .expect("connect")
}

async fn text_of(client: &Client, tool: &str, arguments: Value) -> String {
    client.call_tool(tool, arguments).await.expect(tool).text()
}

#[tokio::test]
async fn older_revisions_get_what_they_know() {
    for revision in Revision::ALL {
        let client = connect(revision, Answering::nothing()).await;
        let answer = client.call_tool("test_audio_content", json!({})).await.expect("audio");
        let kind = if revision == Revision::V2024_11_05 { "text" } else { "audio" };
        assert_eq!(answer.content[0]["type"], kind, "{revision}");
        let answer = client.call_tool("test_resource_link", json!({})).await.expect("link");
        let knows_links = revision >= Revision::V2025_06_18;
        assert_eq!(answer.content[1]["type"] == "resource_link", knows_links, "{revision}");
    }
}

#[tokio::test]
async fn every_question_is_asked_where_it_can_be() {
    let answering = || {
        let capabilities =
            json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        Answering::new(capabilities, |method, params| match method {
            "roots/list" => Ok(json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]})),
            "sampling/createMessage" => {
                let content = json!({"type": "text", "text": "hello"});
                Ok(json!({"role": "assistant", "content": content, "model": "m"}))
            }
            _ if params["mode"] == "url" => Ok(json!({"action": "accept"})),
            _ => {
                let fields = params["requestedSchema"]["properties"].as_object().cloned();
                let fill = |(name, field): (String, Value)| {
                    let value = match field["format"].as_str() {
                        Some("date") => json!("2026-07-28"),
                        _ => json!("Ada"),
                    };
                    (field["format"].as_str() != Some("email")).then_some((name, value))
                };
                let wanted = |name: &str| !["moment", "page"].contains(&name);
                let content: serde_json::Map<String, Value> = fields
                    .into_iter()
                    .flatten()
                    .filter_map(fill)
                    .filter(|(name, _)| wanted(name))
                    .collect();
                Ok(json!({"action": "accept", "content": content}))
            }
        })
    };
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(revision, answering()).await;
        for (tool, right) in [
            ("test_elicitation_formats", r#"action=accept, content={"day":"2026-07-28"}"#),
            ("test_elicitation_url", "The page was opened."),
            ("test_input_required_result_multiple_inputs", "Ada: hello (2 roots)"),
            ("test_input_required_result_multi_round", "Ada likes Ada."),
            ("test_input_required_result_list_roots", "2 roots: file:///a, file:///b"),
        ] {
            let text = text_of(&client, tool, json!({})).await;
            assert!(text.ends_with(right), "{revision} {tool}: {text}");
        }
    }
}

#[tokio::test]
async fn lists_and_resources_change_before_the_eyes_of_clients() {
    let client = connect(Revision::V2025_06_18, Answering::nothing()).await;
    client
        .request("resources/subscribe", json!({"uri": "test://watched-resource"}))
        .await
        .expect("subscribe");
    for (tool, notification) in [
        ("test_trigger_tool_change", "notifications/tools/list_changed"),
        ("test_trigger_prompt_change", "notifications/prompts/list_changed"),
        ("test_touch_resource", "notifications/resources/updated"),
    ] {
        text_of(&client, tool, json!({})).await;
        assert_eq!(client.notification().await.expect("notification").method, notification);
    }
    let contents = client.read_resource("test://watched-resource").await.expect("read");
    assert_eq!(contents[0]["text"], "Touched 3 times.");
}

#[tokio::test]
async fn the_schema_by_hand_is_published_and_checked() {
    let client = connect(Revision::V2025_11_25, Answering::nothing()).await;
    for (arguments, is_right) in [
        (json!({"contactMethod": "phone", "phone": "1"}), true),
        (json!({"name": "Ada", "email": "a@b.c", "address": {"city": "London"}}), true),
        (json!({"contactMethod": "phone", "email": "a@b.c"}), false),
        (json!({"phone": "1"}), false),
        (json!({}), false),
        (json!({"email": "a@b.c", "fax": "1"}), false),
    ] {
        let answer = client.call_tool("json_schema_2020_12_tool", arguments.clone()).await;
        assert_eq!(!answer.expect("call").is_error, is_right, "{arguments}");
    }
}

#[tokio::test]
async fn without_tasks_the_client_waits() {
    let client = connect(Revision::V2025_06_18, Answering::nothing()).await;
    let answer = client.call_tool("failing_job", json!({})).await.expect("call");
    assert!(answer.is_error && answer.text().contains("always"));
    assert!(client.call_tool("protocol_error_job", json!({})).await.is_err());
}
