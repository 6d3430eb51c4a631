//! One request line in, one reply line out: the work no server can leave out. Borrowed envelope,
//! parameters kept as raw JSON until the tool's own type parses them, no value tree.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct SumInput {
    a: f64,
    b: f64,
}

#[derive(Deserialize)]
struct EchoInput<'a> {
    #[serde(borrow)]
    message: Cow<'a, str>,
}

#[derive(Serialize)]
struct Reply<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

#[derive(Serialize)]
struct CallResult<'a, S> {
    content: [Text<'a>; 1],
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    structured: Option<S>,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct SumOutput {
    sum: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: &'static str,
    capabilities: Capabilities,
    server_info: Info,
}

#[derive(Serialize)]
struct Capabilities {
    tools: NoOptions,
}

#[derive(Serialize)]
struct NoOptions {}

#[derive(Serialize)]
struct Info {
    name: &'static str,
    version: &'static str,
}

/// A line that is no well-formed request gets no reply; the bench sends none.
pub fn answer(line: &[u8], out: &mut Vec<u8>) {
    if let Some(reply_written) = try_answer(line, out)
        && reply_written
    {
        out.push(b'\n');
    }
}

fn try_answer(line: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let request: Request<'_> = serde_json::from_slice(line).ok()?;
    let Some(id) = request.id else { return Some(false) };
    if request.method != "tools/call" {
        return write(out, id, handshake());
    }
    let call: Call<'_> = serde_json::from_str(request.params?.get()).ok()?;
    if call.name == "echo" {
        let input: EchoInput<'_> = serde_json::from_str(call.arguments.get()).ok()?;
        return write(out, id, CallResult { content: [text(&input.message)], structured: None::<()> });
    }
    let input: SumInput = serde_json::from_str(call.arguments.get()).ok()?;
    let output = SumOutput { sum: input.a + input.b };
    let json = serde_json::to_string(&output).ok()?;
    write(out, id, CallResult { content: [text(&json)], structured: Some(output) })
}

fn write<T: Serialize>(out: &mut Vec<u8>, id: &RawValue, result: T) -> Option<bool> {
    serde_json::to_writer(out, &Reply { jsonrpc: "2.0", id, result }).ok()?;
    Some(true)
}

fn text(text: &str) -> Text<'_> {
    Text { r#type: "text", text }
}

fn handshake() -> Initialized {
    Initialized {
        protocol_version: "2025-11-25",
        capabilities: Capabilities { tools: NoOptions {} },
        server_info: Info { name: "floor", version: "0.1.0" },
    }
}
