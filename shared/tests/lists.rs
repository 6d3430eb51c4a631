//! Lists: pages, cursors, what is hidden, completion.

use mcp::Revision;
use mcp::client::ClientError;
use serde_json::{Value, json};

use crate::fixture::{State, connect};

fn names(items: &[Value], key: &str) -> Vec<String> {
    items.iter().filter_map(|item| item[key].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn lists_are_paged_in_order_and_hidden_things_are_absent() {
    for revision in Revision::ALL {
        let client = connect(&State::new(), revision).await;
        let tools = client.list("tools/list", "tools").await.expect("tools");
        let expected = [
            "contents",
            "number",
            "with_text",
            "strict",
            "shape",
            "tree",
            "wait",
            "panic",
            "panic_later",
            "fail",
            "log",
            "progress",
            "blocking",
            "crowd",
            "touch",
            "show_secret",
        ];
        assert_eq!(names(&tools, "name"), expected);
        let resources = client.list("resources/list", "resources").await.expect("resources");
        let expected = [
            "fixture://watched",
            "fixture://panic",
            "fixture://empty",
            "fixture://files/a",
            "fixture://files/b",
        ];
        assert_eq!(names(&resources, "uri"), expected);
        let templates =
            client.list("resources/templates/list", "resourceTemplates").await.expect("templates");
        assert_eq!(
            names(&templates, "uriTemplate"),
            ["fixture://item/{id}", "fixture://files/{+path}"]
        );
        assert_eq!(templates[0]["description"], "One numbered item.");
        let prompts = client.list("prompts/list", "prompts").await.expect("prompts");
        assert_eq!(names(&prompts, "name"), ["greet"]);
        assert_eq!(
            prompts[0]["arguments"][0],
            json!({"name": "name", "description": "Whom.", "required": true})
        );
        assert_eq!(prompts[0]["arguments"][1]["required"], false);
        let page = client.request("tools/list", json!({})).await.expect("page");
        let hints = (page.get("ttlMs"), page.get("cacheScope"));
        let expected = revision.is_stateless().then(|| (json!(5000), json!("public")));
        assert_eq!(hints, (expected.as_ref().map(|e| &e.0), expected.as_ref().map(|e| &e.1)));
    }
}

#[tokio::test]
async fn a_cursor_belongs_to_one_list_of_one_server() {
    let client = connect(&State::new(), Revision::V2025_11_25).await;
    let page = client.request("tools/list", json!({})).await.expect("page");
    let cursor = page["nextCursor"].as_str().expect("cursor").to_owned();
    assert!(client.request("tools/list", json!({"cursor": cursor})).await.is_ok());
    let mut tampered = cursor.clone().into_bytes();
    tampered[30] ^= 1;
    let tampered = String::from_utf8_lossy(&tampered).into_owned();
    let stranger = connect(&State::new(), Revision::V2025_11_25).await;
    for (client, method, cursor) in [
        (&client, "resources/list", cursor.as_str()),
        (&client, "tools/list", tampered.as_str()),
        (&client, "tools/list", ""),
        (&client, "tools/list", "%%"),
        (&stranger, "tools/list", cursor.as_str()),
    ] {
        let refused = client.request(method, json!({"cursor": cursor})).await.expect_err("refused");
        assert!(matches!(refused, ClientError::Rpc { code: -32602, .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_shown_tool_can_be_called_and_a_hidden_one_cannot() {
    let client = connect(&State::new(), Revision::V2025_06_18).await;
    for visible in [false, true, false] {
        client.call_tool("show_secret", json!({"visible": visible})).await.expect("call");
        assert_eq!(client.call_tool("secret", json!({})).await.is_ok(), visible);
        let tools = client.list("tools/list", "tools").await.expect("tools");
        assert_eq!(names(&tools, "name").contains(&"secret".to_owned()), visible);
        let prompts = client.list("prompts/list", "prompts").await.expect("prompts");
        assert_eq!(names(&prompts, "name").contains(&"hidden".to_owned()), visible);
    }
}

#[tokio::test]
async fn completions_are_capped_and_counted() {
    let client = connect(&State::new(), Revision::V2025_06_18).await;
    let complete = |reference: Value, name: &str, value: &str, context: Value| {
        let argument = json!({"name": name, "value": value});
        client.request(
            "completion/complete",
            json!({"ref": reference, "argument": argument, "context": context}),
        )
    };
    let item = json!({"type": "ref/resource", "uri": "fixture://item/{id}"});
    let greet = json!({"type": "ref/prompt", "name": "greet"});
    let all = complete(item.clone(), "id", "", Value::Null).await.expect("completion");
    assert_eq!(all["completion"]["values"].as_array().map(Vec::len), Some(100));
    assert_eq!(
        (&all["completion"]["total"], &all["completion"]["hasMore"]),
        (&json!(256), &json!(true))
    );
    let some = complete(item, "id", "25", Value::Null).await.expect("completion");
    assert_eq!(
        some["completion"]["values"],
        json!(["25", "250", "251", "252", "253", "254", "255"])
    );
    let context = json!({"arguments": {"times": "3"}});
    let named = complete(greet.clone(), "name", "A", context).await.expect("completion");
    assert_eq!(named["completion"]["values"], json!(["A3"]));
    let none = complete(greet, "times", "1", Value::Null).await.expect("completion");
    assert_eq!(none["completion"]["values"], json!([]));
    for unknown in
        [json!({"type": "ref/prompt", "name": "no"}), json!({"type": "ref/no"}), json!(5)]
    {
        let refused = complete(unknown, "x", "", Value::Null).await.expect_err("refused");
        assert!(matches!(refused, ClientError::Rpc { code: -32602, .. }), "{refused}");
    }
}
