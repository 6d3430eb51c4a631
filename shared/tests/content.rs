//! What results look like in each revision.

use mcp::Revision;
use serde_json::{Value, json};

use crate::fixture::{State, connect};

const OLD: Revision = Revision::V2024_11_05;

#[tokio::test]
async fn content_kinds_a_revision_lacks_become_text() {
    for revision in Revision::ALL {
        let client = connect(&State::new(), revision).await;
        let content = client.call_tool("contents", json!({})).await.expect("call").content;
        let kinds: Vec<_> = content.iter().filter_map(|block| block["type"].as_str()).collect();
        let audio = if revision > OLD { "audio" } else { "text" };
        let link = if revision >= Revision::V2025_06_18 { "resource_link" } else { "text" };
        assert_eq!(kinds, ["text", "image", audio, "resource", link], "{revision}");
        assert_eq!(content[1]["data"], "iVBORw==");
        assert_eq!(content[3]["resource"]["text"], "one");
        let dated = content[0]["annotations"].get("lastModified").is_some();
        assert_eq!(dated, revision >= Revision::V2025_06_18, "{revision}");
        assert_eq!(content[0]["annotations"]["audience"], json!(["user"]));
    }
}

#[tokio::test]
async fn structured_content_is_an_object_until_anything_may_be() {
    for revision in Revision::ALL {
        let client = connect(&State::new(), revision).await;
        let answer = client.call_tool("number", json!({})).await.expect("call");
        let expected = match revision {
            Revision::V2026_07_28 => json!(42),
            Revision::V2025_06_18 | Revision::V2025_11_25 => json!({"result": 42}),
            _ => Value::Null,
        };
        assert_eq!(answer.structured, expected, "{revision}");
        assert_eq!(answer.text(), "42");
        let answer = client.call_tool("with_text", json!({})).await.expect("call");
        assert_eq!(answer.text(), "x is one");
    }
}

#[tokio::test]
async fn output_schemas_match_what_is_sent() {
    for revision in Revision::ALL {
        let client = connect(&State::new(), revision).await;
        let tools = client.list("tools/list", "tools").await.expect("list");
        let number = tools.iter().find(|tool| tool["name"] == "number").expect("number");
        let schema = number.get("outputSchema");
        match revision {
            Revision::V2026_07_28 => assert_eq!(schema.expect("schema")["type"], "integer"),
            Revision::V2025_06_18 | Revision::V2025_11_25 => {
                let schema = schema.expect("schema");
                assert_eq!(schema["type"], "object");
                assert_eq!(schema["properties"]["result"]["type"], "integer");
                assert_eq!(schema["required"], json!(["result"]));
            }
            _ => assert_eq!(schema, None),
        }
        assert_eq!(number.get("annotations").is_some(), revision > OLD);
        assert_eq!(number["inputSchema"]["properties"], json!({}));
        assert_eq!(number["description"], "Takes nothing.");
        let strict = tools.iter().find(|tool| tool["name"] == "strict").expect("strict");
        assert_eq!(strict["description"], "Takes a shape and nothing else.\n\nNever writes.");
        assert_eq!(strict["inputSchema"]["properties"]["count"].get("format"), None);
        assert_eq!(tools[0].get("title").is_some(), revision >= Revision::V2025_06_18);
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_explained_to_the_model() {
    let client = connect(&State::new(), Revision::V2025_11_25).await;
    for (arguments, says) in [
        (json!({}), "count"),
        (json!({"count": "x"}), "count"),
        (json!({"count": -1}), "count"),
        (json!({"count": 1, "cuont": 2}), "cuont"),
        (json!({"count": 1, "corner": {"x": "left"}}), "corner.x"),
    ] {
        let answer = client.call_tool("strict", arguments.clone()).await.expect("call");
        assert!(answer.is_error && answer.text().contains(says), "{arguments}: {}", answer.text());
        assert!(!answer.text().contains("line 1"), "{}", answer.text());
    }
    let right = json!({"count": 1, "corner": {"x": 2}});
    assert_eq!(client.call_tool("strict", right).await.expect("call").structured, json!({"x": 3}));
}

#[tokio::test]
async fn failures_tell_the_model_and_keep_the_cause() {
    let client = connect(&State::new(), Revision::V2025_11_25).await;
    let failed = client.call_tool("fail", json!({})).await.expect("call");
    assert!(failed.is_error);
    assert_eq!(failed.text(), "It is broken. Try another.");
    let broken = client.read_resource("fixture://files/broken").await.expect_err("broken");
    assert_eq!(broken.to_string(), "Internal error (-32603)");
}

#[tokio::test]
async fn a_panic_is_a_failure_of_one_request() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(&State::new(), revision).await;
        for tool in ["panic", "panic_later"] {
            assert!(client.call_tool(tool, json!({})).await.expect("answer").is_error);
        }
        let resource = client.read_resource("fixture://panic").await.expect_err("panic");
        assert_eq!(resource.to_string(), "Internal error (-32603)");
        assert_eq!(client.call_tool("number", json!({})).await.expect("alive").text(), "42");
    }
}

#[tokio::test]
async fn resources_are_read_by_uri_and_by_template() {
    for revision in Revision::ALL {
        let client = connect(&State::new(), revision).await;
        let watched = client.read_resource("fixture://watched").await.expect("read");
        assert_eq!(watched[0]["blob"], "AP8=");
        let item = client.read_resource("fixture://item/200").await.expect("read");
        assert_eq!(
            item[0],
            json!({"uri": "fixture://item/200", "mimeType": "application/json", "text": "200"})
        );
        let file = client.read_resource("fixture://files/a%20b/c").await.expect("read");
        assert_eq!(file[0]["text"], "a b/c");
        let not_found = if revision.is_stateless() { -32602 } else { -32002 };
        for uri in
            ["fixture://item/300", "fixture://item/", "fixture://item/1/2", "fixture://empty", "x"]
        {
            match client.read_resource(uri).await.expect_err(uri) {
                mcp::client::ClientError::Rpc { code, data, .. } => {
                    assert_eq!((code, &data["uri"]), (not_found, &json!(uri)), "{revision}");
                }
                other => panic!("{uri}: {other}"),
            }
        }
    }
}

#[tokio::test]
async fn prompts_take_strings_and_read_them_as_types() {
    let client = connect(&State::new(), OLD).await;
    let ask = |arguments: Value| {
        client.request("prompts/get", json!({"name": "greet", "arguments": arguments}))
    };
    let greeting = ask(json!({"name": "Ada", "times": "2"})).await.expect("prompt");
    assert_eq!(greeting["messages"][0]["content"]["text"], "Hello Ada\nHello Ada");
    assert_eq!(greeting["messages"][1]["content"]["type"], "text");
    assert_eq!(greeting["description"], "Greets somebody.");
    for (arguments, says) in [
        (json!({}), "Missing argument `name`"),
        (json!({"name": 5}), "strings"),
        (json!({"name": "Ada", "times": "many"}), "`times` must be a whole number"),
        (json!({"name": "Ada", "times": "300"}), "300"),
        (json!({"name": "Ada", "shout": "yes"}), "no argument `shout`"),
        (json!({"name": null}), "strings"),
        (json!(["Ada"]), "object"),
    ] {
        for revision in Revision::ALL {
            let client = connect(&State::new(), revision).await;
            let params = json!({"name": "greet", "arguments": arguments});
            let refused = client.request("prompts/get", params).await.expect_err("refused");
            let error = refused.to_string();
            assert!(error.contains(says) && error.contains("-32602"), "{revision}: {error}");
        }
    }
}

/// An object without an object at the root of its schema is wrapped like any other such value,
/// and a recursive schema still points at itself.
#[tokio::test]
async fn what_is_wrapped_is_decided_by_the_schema() {
    let client = connect(&State::new(), Revision::V2025_11_25).await;
    let shape = client.call_tool("shape", json!({})).await.expect("call").structured;
    assert_eq!(shape, json!({"result": {"kind": "Circle", "r": 1.0}}));
    let leaf = json!({"op": "Number", "v": 1.0});
    let arguments = json!({"depth": 1, "expression": {"op": "Negative", "of": leaf}});
    let tree = client.call_tool("tree", arguments.clone()).await.expect("call").structured;
    assert_eq!(tree["result"], arguments["expression"]);
    let tools = client.list("tools/list", "tools").await.expect("list");
    for (name, answer) in [("shape", shape), ("tree", tree)] {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("tool");
        let schema = &tool["outputSchema"];
        assert_eq!(schema["required"], json!(["result"]));
        let text = schema.to_string();
        assert!(!text.contains(r##""$ref":"#""##), "{text}");
        assert!(answer.get("result").is_some());
    }
}

/// Alternatives within alternatives once took twice as long for each level.
#[tokio::test]
async fn deep_alternatives_are_checked_level_by_level() {
    let client = connect(&State::new(), Revision::V2025_11_25).await;
    let mut expression = json!({"op": "Number", "v": "one"});
    for _ in 0..40 {
        expression = json!({"op": "Negative", "of": expression});
    }
    let call = json!({"depth": 1, "expression": expression});
    let answer = client.call_tool("tree", call).await.expect("call");
    assert!(answer.is_error && answer.text().contains("must be a number"), "{}", answer.text());
}

#[tokio::test]
async fn a_minimum_of_zero_holds_for_signed_numbers() {
    let client = connect(&State::new(), Revision::V2025_11_25).await;
    let call = json!({"depth": -1, "expression": {"op": "Number", "v": 1}});
    let answer = client.call_tool("tree", call).await.expect("call");
    assert!(answer.is_error && answer.text().contains("at least 0"), "{}", answer.text());
}
