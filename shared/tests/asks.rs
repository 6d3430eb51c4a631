//! Questions to the client: the same handlers in every revision.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp::client::{Answering, Client, ClientError};
use mcp::{
    Context, Elicited, Field, Form, OpenUrl, READ_ONLY, Revision, SampleContent, SampleRequest,
    SampleTool, Server, TextFormat, ToolChoice, ToolResult,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER_KEY: &str = "HxwdGhsYGRYXFBUSExAREA8ODQwLCgkIBwYFBAMCAQA=";

/// How often the effect of `charge` happened.
type Effects = Arc<AtomicUsize>;

fn server(effects: &Effects, keys: &str) -> Server<Effects> {
    Server::new("asks", "0", Arc::clone(effects))
        .tool("name", READ_ONLY, name)
        .tool("all_fields", READ_ONLY, all_fields)
        .tool("open", READ_ONLY, open)
        .tool("three", READ_ONLY, three)
        .tool("rounds", READ_ONLY, rounds)
        .tool("charge", READ_ONLY, charge)
        .tool("twice", READ_ONLY, twice)
        .tool("tools", READ_ONLY, tools)
        .prompt("name_prompt", name_prompt)
        .resource("asks://name", mcp::ResourceOptions::new("name"), name_resource)
        .state_keys(keys)
        .expect("keys")
}

/// Takes a number.
#[derive(Deserialize, JsonSchema)]
struct Input {
    #[serde(default)]
    n: u32,
}

async fn name(cx: Context<Effects>, _: Input) -> ToolResult<String> {
    let form = Form::new("What is your name?").field("name", Field::text().minimum(1));
    Ok(match cx.elicit("name", form).await? {
        Elicited::Accepted(answers) => {
            format!("Hello {}", answers.get("name").and_then(Value::as_str).unwrap_or_default())
        }
        Elicited::Declined => "declined".to_owned(),
        Elicited::Cancelled => "cancelled".to_owned(),
    })
}

async fn all_fields(cx: Context<Effects>, _: Input) -> ToolResult<Value> {
    let form = Form::new("Everything")
        .field("mail", Field::formatted(TextFormat::Email).title("Mail").default("a@b.c"))
        .field("age", Field::integer().minimum(1).maximum(150).default(30))
        .field("score", Field::number().default(95.5))
        .field("agree", Field::boolean().default(true))
        .field("color", Field::choice(["red", "green"]).default("red"))
        .field("size", Field::titled_choice([("s", "Small"), ("l", "Large")]))
        .field("old", Field::named_choice([("a", "A"), ("b", "B")]))
        .optional("day", Field::formatted(TextFormat::Date));
    let form = if cx.revision() >= Revision::V2025_11_25 {
        form.field("many", Field::titled_choices([("x", "X"), ("y", "Y")]).minimum(1))
    } else {
        form
    };
    let answers = cx.elicit("all", form).await?.accepted().expect("accepted");
    Ok(answers.parse()?)
}

async fn open(cx: Context<Effects>, _: Input) -> ToolResult<bool> {
    let page = OpenUrl::new("Sign in there", "https://example.com/sign-in");
    Ok(cx.elicit("page", page).await?.accepted().is_some())
}

async fn three(cx: Context<Effects>, _: Input) -> ToolResult<String> {
    let (answers, sampled, roots) = tokio::join!(
        cx.elicit("user", Form::new("Who?").field("name", Field::text())),
        cx.sample("capital", SampleRequest::new(100).user("Capital of France?").temperature(0.5)),
        cx.roots("roots"),
    );
    let name =
        answers?.accepted().and_then(|answers| answers.get("name").cloned()).unwrap_or_default();
    Ok(format!("{name} {} {}", sampled?.text(), roots?.len()))
}

async fn rounds(cx: Context<Effects>, input: Input) -> ToolResult<u64> {
    let mut sum = 0;
    for round in 0..input.n {
        let form = Form::new(format!("Number {round}?")).field("n", Field::integer());
        let answers = cx.elicit(&format!("turn-{round}"), form).await?.accepted();
        sum += answers
            .and_then(|answers| answers.get("n").and_then(Value::as_u64))
            .unwrap_or_default();
    }
    Ok(sum)
}

async fn charge(cx: Context<Effects>, _: Input) -> ToolResult<String> {
    let effects = Arc::clone(&cx.state);
    let happen = || async { ToolResult::Ok(effects.fetch_add(1, Ordering::SeqCst)) };
    let first = cx.once("first", happen()).await?;
    let sure = Form::new("Sure?").field("yes", Field::boolean());
    cx.elicit("sure", sure.clone()).await?;
    let second = cx.once("second", happen()).await?;
    cx.elicit("really", sure).await?;
    Ok(format!("{first} {second}"))
}

async fn twice(cx: Context<Effects>, _: Input) -> ToolResult<u64> {
    cx.elicit("same", Form::new("Once")).await?;
    cx.elicit("same", Form::new("Again")).await?;
    Ok(0)
}

async fn tools(cx: Context<Effects>, _: Input) -> ToolResult<String> {
    let tool = SampleTool {
        name: "weather".to_owned(),
        description: "Weather".to_owned(),
        input_schema: json!({"type": "object"}),
    };
    let request = SampleRequest::new(10).user("Weather?").tools(vec![tool], ToolChoice::Auto);
    let sampled = cx.sample("weather", request).await?;
    Ok(match sampled.content.first() {
        Some(SampleContent::ToolUse { name, .. }) => format!("uses {name}"),
        other => format!("{other:?}"),
    })
}

/// Greets.
#[derive(Deserialize, JsonSchema)]
struct Empty {}

async fn name_prompt(cx: Context<Effects>, _: Empty) -> mcp::PromptResult {
    let answers =
        cx.elicit("name", Form::new("Name?").field("name", Field::text())).await?.accepted();
    let name =
        answers.and_then(|answers| answers.get("name").map(Value::to_string)).unwrap_or_default();
    Ok(vec![mcp::PromptMessage::user(mcp::Content::text(name))])
}

async fn name_resource(cx: Context<Effects>) -> mcp::ResourceResult<mcp::ResourceContents> {
    let answers =
        cx.elicit("name", Form::new("Name?").field("name", Field::text())).await?.accepted();
    mcp::ResourceContents::json(cx.subject(), &answers.map(|answers| answers.get("name").cloned()))
}

fn everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {"listChanged": true}})
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

async fn client(
    revision: Revision,
    capabilities: Value,
    answer: impl Fn(&str, &Value) -> Result<Value, String> + Send + Sync + 'static,
) -> Client {
    let server = server(&Effects::default(), KEY);
    Client::in_memory(server, revision, Answering::new(capabilities, answer))
        .await
        .expect("connect")
}

#[tokio::test]
async fn a_form_is_answered_in_every_revision_that_has_forms() {
    for revision in Revision::ALL {
        for (answer, text) in [
            (accept(json!({"name": "Ada", "extra": 1})), r#""Hello Ada""#),
            (json!({"action": "decline"}), r#""declined""#),
            (json!({"action": "cancel"}), r#""cancelled""#),
        ] {
            let client = client(revision, everything(), move |method, params| {
                assert_eq!(method, "elicitation/create");
                assert_eq!(params["message"], "What is your name?");
                assert_eq!(params.get("mode").is_some(), revision >= Revision::V2025_11_25);
                Ok(answer.clone())
            })
            .await;
            let got = client.call_tool("name", json!({})).await.expect("call");
            if revision >= Revision::V2025_06_18 {
                assert_eq!(got.text(), text, "{revision}");
            } else {
                assert!(
                    got.is_error && got.text().contains("has no elicitation"),
                    "{}",
                    got.text()
                );
            }
        }
    }
}

#[tokio::test]
async fn answers_that_do_not_fit_are_errors_not_hangs() {
    for answer in [
        json!({}),
        json!({"action": "shrug"}),
        json!({"action": "accept"}),
        accept(json!({"name": 5})),
        accept(json!({"name": ""})),
        accept(json!([])),
        json!(5),
    ] {
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
            let answer = answer.clone();
            let client = client(revision, everything(), move |_, _| Ok(answer.clone())).await;
            match client.call_tool("name", json!({})).await {
                Ok(got) => assert!(
                    got.is_error && got.text().contains("does not fit"),
                    "{revision}: {}",
                    got.text()
                ),
                Err(ClientError::Rpc { code: -32602, message, .. }) => {
                    assert!(message.contains("name"), "{message}")
                }
                Err(other) => panic!("{revision}: {other}"),
            }
        }
    }
}

#[tokio::test]
async fn all_kinds_of_field_go_out_in_the_words_of_the_revision_and_come_back_with_defaults() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let modern = revision >= Revision::V2025_11_25;
        let client = client(revision, everything(), move |_, params| {
            let schema = &params["requestedSchema"];
            let properties = &schema["properties"];
            assert_eq!(properties["agree"], json!({"type": "boolean", "default": true}));
            assert_eq!(properties["mail"]["format"], "email");
            assert_eq!(properties["mail"].get("default").is_some(), modern);
            assert_eq!(
                (&properties["age"]["minimum"], &properties["age"]["maximum"]),
                (&json!(1), &json!(150))
            );
            assert_eq!(properties["color"]["enum"], json!(["red", "green"]));
            assert_eq!(properties["old"]["enumNames"], json!(["A", "B"]));
            if modern {
                assert_eq!(properties["size"]["oneOf"][1], json!({"const": "l", "title": "Large"}));
                assert_eq!(
                    properties["many"]["items"]["anyOf"][0],
                    json!({"const": "x", "title": "X"})
                );
                assert_eq!(properties["many"]["minItems"], 1);
            } else {
                assert_eq!(properties["size"]["enumNames"], json!(["Small", "Large"]));
            }
            assert!(!schema["required"].as_array().expect("required").contains(&json!("day")));
            Ok(accept(json!({"size": "l", "old": "a", "many": ["y"], "day": null})))
        })
        .await;
        let got = client.call_tool("all_fields", json!({})).await.expect("call");
        let mut expected = json!({"mail": "a@b.c", "age": 30, "score": 95.5, "agree": true, "color": "red", "size": "l", "old": "a"});
        if modern {
            expected["many"] = json!(["y"]);
        }
        let text: Value = serde_json::from_str(&got.text()).expect("JSON");
        assert_eq!(text, expected, "{revision}");
    }
}

#[tokio::test]
async fn pages_are_opened_where_the_client_can() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), move |_, params| {
            assert_eq!(
                (&params["mode"], &params["url"]),
                (&json!("url"), &json!("https://example.com/sign-in"))
            );
            assert_eq!(params.get("elicitationId").is_some(), revision == Revision::V2025_11_25);
            Ok(json!({"action": "accept"}))
        })
        .await;
        let got = client.call_tool("open", json!({})).await.expect("call");
        assert_eq!(got.is_error, revision == Revision::V2025_06_18, "{}", got.text());
    }
}

#[tokio::test]
async fn undeclared_capabilities_are_never_asked_for() {
    let cases = [
        ("name", json!({"sampling": {}, "roots": {}}), json!({"elicitation": {"form": {}}})),
        ("open", json!({"elicitation": {}}), json!({"elicitation": {"url": {}}})),
        ("tools", json!({"sampling": {}}), json!({"sampling": {"tools": {}}})),
    ];
    for (tool, declared, required) in cases {
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            let client =
                client(revision, declared.clone(), |method, _| panic!("asked {method}")).await;
            match client.call_tool(tool, json!({})).await {
                Ok(got) => assert!(
                    got.is_error && got.text().contains("cannot be asked"),
                    "{}",
                    got.text()
                ),
                Err(ClientError::Rpc { code: -32021, data, .. }) => {
                    assert_eq!(data["requiredCapabilities"], required, "{tool}");
                }
                Err(other) => panic!("{revision}: {other}"),
            }
        }
    }
    // An empty `elicitation` means forms.
    let client = client(Revision::V2026_07_28, json!({"elicitation": {}}), |_, _| {
        Ok(accept(json!({"name": "Ada"})))
    })
    .await;
    assert_eq!(client.call_tool("name", json!({})).await.expect("call").text(), r#""Hello Ada""#);
}

#[tokio::test]
async fn three_questions_go_out_together() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), |method, params| match method {
            "elicitation/create" => Ok(accept(json!({"name": "Ada"}))),
            "sampling/createMessage" => {
                assert_eq!(params["messages"][0]["content"]["text"], "Capital of France?");
                assert_eq!((&params["maxTokens"], &params["temperature"]), (&json!(100), &json!(0.5)));
                let content = json!({"type": "text", "text": "Paris"});
                Ok(json!({"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}))
            }
            _ => Ok(json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "B"}]})),
        })
        .await;
        let got = client.call_tool("three", json!({})).await.expect("call");
        assert_eq!(got.text(), r#""\"Ada\" Paris 2""#, "{revision}");
    }
    // In 2026-07-28 that is one round.
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let first =
        client.start("tools/call", json!({"name": "three"})).answer().await.expect("result");
    assert_eq!(first["inputRequests"].as_object().map(serde_json::Map::len), Some(3));
    assert!(first.get("ttlMs").is_none() && first["_meta"].is_object());
}

#[tokio::test]
async fn roots_are_asked_once_until_they_change() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let client = client(Revision::V2025_11_25, everything(), move |method, _| match method {
        "roots/list" => {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(json!({"roots": []}))
        }
        "sampling/createMessage" => Err("no model".to_owned()),
        _ => Ok(json!({"action": "decline"})),
    })
    .await;
    for expected in [1, 1] {
        let got = client.call_tool("three", json!({})).await.expect("call");
        assert!(got.is_error && got.text().contains("no model"), "{}", got.text());
        assert_eq!(asked.load(Ordering::SeqCst), expected);
    }
    client.notify("notifications/roots/list_changed", json!({}));
    client.call_tool("three", json!({})).await.expect("call");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn tools_in_sampling_come_with_2025_11_25() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), |_, params| {
            assert_eq!(params["toolChoice"], json!({"mode": "auto"}));
            let content = json!([{"type": "tool_use", "id": "1", "name": "weather", "input": {}}]);
            Ok(json!({"role": "assistant", "content": content, "model": "m", "stopReason": "toolUse"}))
        })
        .await;
        let got = client.call_tool("tools", json!({})).await.expect("call");
        if revision < Revision::V2025_11_25 {
            assert!(
                got.is_error && got.text().contains("no sampling with tools"),
                "{}",
                got.text()
            );
        } else {
            assert_eq!(got.text(), r#""uses weather""#);
        }
    }
}

#[tokio::test]
async fn rounds_follow_rounds_up_to_a_limit() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = client(revision, everything(), |_, params| {
            let turn = params["message"]
                .as_str()
                .and_then(|text| text.chars().nth(7))
                .and_then(|digit| digit.to_digit(10));
            Ok(accept(json!({"n": turn})))
        })
        .await;
        assert_eq!(
            client.call_tool("rounds", json!({"n": 5})).await.expect("call").text(),
            "10",
            "{revision}"
        );
    }
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let mut params = json!({"name": "rounds", "arguments": {"n": 20}});
    for round in 0..16 {
        let asked = client.start("tools/call", params.clone()).answer().await.expect("asked");
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({format!("turn-{round}"): accept(json!({"n": 1}))});
    }
    let end = client.start("tools/call", params).answer().await.expect_err("the end");
    assert!(end.to_string().contains("too many questions"), "{end}");
}

/// Each round is served by another server that shares nothing but the key.
#[tokio::test]
async fn any_replica_goes_on_and_effects_happen_once() {
    let effects = Effects::default();
    let mut params = json!({"name": "charge", "arguments": {"n": 1}});
    for (key, yes) in [("sure", json!(true)), ("really", json!(false))] {
        let keys = format!("# rotated\n{OTHER_KEY}\n{KEY}\n");
        let keys = if key == "sure" { KEY } else { keys.as_str() };
        let replica = Client::in_memory(
            server(&effects, keys),
            Revision::V2026_07_28,
            Answering::new(everything(), |_, _| Ok(json!({}))),
        )
        .await
        .expect("connect");
        let asked = replica.start("tools/call", params.clone()).answer().await.expect("asked");
        assert!(asked["inputRequests"].get(key).is_some(), "{asked}");
        // The same request in another spelling is the same request.
        params = json!({"arguments": {"n": 1}, "name": "charge", "requestState": asked["requestState"], "inputResponses": {key: accept(json!({"yes": yes}))}});
    }
    let keys = format!("{OTHER_KEY}\n{KEY}");
    let last =
        Client::in_memory(server(&effects, &keys), Revision::V2026_07_28, Answering::nothing())
            .await
            .expect("connect");
    let done = last.start("tools/call", params).answer().await.expect("done");
    assert_eq!(done["content"][0]["text"], r#""0 1""#);
    assert_eq!(effects.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_state_belongs_to_its_request_and_all_that_is_wrong_is_said_the_same() {
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let call = |params: Value| client.start("tools/call", params).answer();
    let asked = call(json!({"name": "name", "arguments": {"n": 1}})).await.expect("asked");
    let state = asked["requestState"].as_str().expect("state").to_owned();
    let responses = json!({"name": accept(json!({"name": "Ada"}))});
    let right = json!({"name": "name", "arguments": {"n": 1}, "requestState": state, "inputResponses": responses});
    let with = |key: &str, value: Value| {
        let mut wrong = right.clone();
        wrong[key] = value;
        wrong
    };
    let mut flipped = state.clone().into_bytes();
    flipped[40] ^= 1;
    let stranger = Client::in_memory(
        server(&Effects::default(), OTHER_KEY),
        Revision::V2026_07_28,
        Answering::new(everything(), |_, _| Err(String::new())),
    )
    .await
    .expect("connect");
    let foreign = stranger
        .start("tools/call", json!({"name": "name", "arguments": {"n": 1}}))
        .answer()
        .await
        .expect("asked");
    for wrong in [
        with("requestState", json!(String::from_utf8_lossy(&flipped))),
        with("requestState", json!(&state[..state.len() - 4])),
        with("requestState", json!(format!("{state}-TAMPERED"))),
        with("requestState", json!("")),
        with("requestState", foreign["requestState"].clone()),
        with("arguments", json!({"n": 2})),
        with("name", json!("charge")),
    ] {
        let refused = call(wrong.clone()).await.expect_err("refused");
        assert_eq!(refused.to_string(), "Invalid or expired `requestState` (-32602)", "{wrong}");
    }
    let elsewhere =
        json!({"name": "name_prompt", "requestState": state, "inputResponses": responses});
    let refused = client.start("prompts/get", elsewhere).answer().await.expect_err("refused");
    assert_eq!(refused.to_string(), "Invalid or expired `requestState` (-32602)");
    assert_eq!(call(right).await.expect("done")["content"][0]["text"], r#""Hello Ada""#);
}

#[tokio::test]
async fn answers_may_be_early_partial_or_for_nobody() {
    let client = client(Revision::V2026_07_28, everything(), |_, _| Err(String::new())).await;
    let call = |params: Value| client.start("tools/call", params).answer();
    let name = accept(json!({"name": "Ada"}));
    // Without a state, on the first call.
    let early = call(json!({"name": "name", "inputResponses": {"name": name, "other": 5}}))
        .await
        .expect("done");
    assert_eq!(early["resultType"], "complete");
    let unknown =
        call(json!({"name": "name", "inputResponses": {"nobody": name}})).await.expect("asked");
    assert!(unknown["inputRequests"].get("name").is_some());
    assert!(call(json!({"name": "name", "inputResponses": 5})).await.is_err());
    // Two of three: only the third is asked again, and what is known stays known.
    let roots = json!({"roots": []});
    let asked = call(json!({"name": "three"})).await.expect("asked");
    let partial = json!({"name": "three", "requestState": asked["requestState"], "inputResponses": {"user": name, "roots": roots}});
    let asked = call(partial).await.expect("asked");
    let keys: Vec<_> = asked["inputRequests"].as_object().expect("requests").keys().collect();
    assert_eq!(keys, ["capital"]);
    let sampled =
        json!({"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"});
    let rest = json!({"name": "three", "requestState": asked["requestState"], "inputResponses": {"capital": sampled, "user": accept(json!({"name": "Eve"}))}});
    let done = call(rest).await.expect("done");
    assert_eq!(done["content"][0]["text"], r#""\"Ada\" Paris 0""#);
}

#[tokio::test]
async fn prompts_and_resources_ask_too_and_a_key_is_used_once() {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let client =
            client(revision, everything(), |_, _| Ok(accept(json!({"name": "Ada"})))).await;
        let prompt =
            client.request("prompts/get", json!({"name": "name_prompt"})).await.expect("prompt");
        assert_eq!(prompt["messages"][0]["content"]["text"], r#""Ada""#);
        let resource = client
            .request("resources/read", json!({"uri": "asks://name"}))
            .await
            .expect("resource");
        assert_eq!(resource["contents"][0]["text"], r#""Ada""#);
    }
    let client = client(Revision::V2026_07_28, everything(), |_, _| Ok(accept(json!({})))).await;
    let twice = client.call_tool("twice", json!({})).await.expect("call");
    assert!(twice.is_error && twice.text().contains("mistake in its code"), "{}", twice.text());
}

/// The client closes while a handler waits for its answer: the handler is told.
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_client_that_is_gone_or_silent() {
    let mut peer = crate::raw::raw_with(server(&Effects::default(), KEY));
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": everything(), "clientInfo": {"name": "raw", "version": "0"}}});
    peer.ask(&initialize.to_string()).await;
    let call = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "name"}})
            .to_string()
    };
    // Cancelled: our question is taken back.
    let question = peer.ask(&call(1)).await;
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    let taken_back = peer.receive().await;
    assert_eq!(
        (&taken_back["method"], &taken_back["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    // Silent: after the time for answers the tool fails and the question is taken back.
    peer.ask(&call(2)).await;
    assert_eq!(peer.receive().await["method"], "notifications/cancelled");
    let failed = peer.receive().await;
    assert!(
        failed["result"]["content"][0]["text"].as_str().expect("text").contains("in time"),
        "{failed}"
    );
    // Gone.
    peer.ask(&call(3)).await;
    let mut peer = peer.close_writing().await;
    let failed = peer.receive().await;
    assert!(
        failed["result"]["content"][0]["text"].as_str().expect("text").contains("closed"),
        "{failed}"
    );
}

/// The time a person takes to answer is not the handler's time.
#[tokio::test(start_paused = true)]
async fn waiting_for_an_answer_does_not_use_up_the_time_of_a_call() {
    let limits =
        mcp::Limits { call_timeout: std::time::Duration::from_secs(3), ..mcp::Limits::default() };
    let mut peer = crate::raw::raw_with(server(&Effects::default(), KEY).limits(limits));
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": everything(), "clientInfo": {"name": "raw", "version": "0"}}});
    peer.ask(&initialize.to_string()).await;
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "name"}});
    let question = peer.ask(&call.to_string()).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": "Ada"}))});
    let done = peer.ask(&answer.to_string()).await;
    assert_eq!(done["result"]["content"][0]["text"], r#""Hello Ada""#);
}
