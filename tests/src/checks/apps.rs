//! Pages for hosts to show (`ui://`), the extension MCP Apps.

use crate::check::{Check, Ctx, Outcome, Verdict, ensure, skip};
use crate::checks::{list, must};
use crate::profile::told;
use crate::revision::SINCE_2025_11;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const MIME_TYPE: &str = "text/html;profile=mcp-app";

pub(super) const CHECKS: &[Check] = &[
    must("S-255", SINCE_2025_11, "A page is there, and HTML by type and content.", serves_pages),
    must("S-255", SINCE_2025_11, "A tool with a page says something without it, too.", says_more),
];

/// The uri of the page a tool names; the flat form is the older one.
fn page_of(tool: &Value) -> Option<&str> {
    let meta = &tool["_meta"];
    meta["ui"]["resourceUri"].as_str().or(meta["ui/resourceUri"].as_str())
}

/// The pages that tools name or that are listed.
fn pages(ctx: &mut Ctx<'_>) -> Result<BTreeSet<String>, Outcome> {
    let capabilities = ctx.capabilities()?;
    let client = ctx.client()?;
    let mut pages = BTreeSet::new();
    if capabilities["tools"].is_object() {
        let tools = list(client, "tools/list")?;
        pages.extend(tools.iter().filter_map(page_of).map(str::to_owned));
    }
    if capabilities["resources"].is_object() {
        let listed = list(client, "resources/list")?;
        let uris = listed.iter().filter_map(|resource| resource["uri"].as_str());
        pages.extend(uris.filter(|uri| uri.starts_with("ui://")).map(str::to_owned));
    }
    if pages.is_empty() { Err(skip("the server has no pages")) } else { Ok(pages) }
}

fn serves_pages(ctx: &mut Ctx<'_>) -> Verdict {
    for uri in pages(ctx)? {
        ensure(uri.starts_with("ui://"), || format!("a tool names the page {uri}"))?;
        let result = ctx.client()?.result("resources/read", json!({ "uri": uri }))?;
        let content = &result["contents"][0];
        ensure(content["mimeType"] == MIME_TYPE, || format!("{uri} is {}", content["mimeType"]))?;
        let blob = content["blob"].as_str().and_then(|blob| STANDARD.decode(blob).ok());
        let blob = blob.and_then(|bytes| String::from_utf8(bytes).ok());
        let page = content["text"].as_str().map(str::to_owned).or(blob).unwrap_or_default();
        let head = page.trim_start().to_ascii_lowercase();
        let is_html = head.starts_with("<!doctype html") && head.contains("</html>");
        ensure(is_html, || format!("{uri} is no HTML document"))?;
    }
    Ok(())
}

fn says_more(ctx: &mut Ctx<'_>) -> Verdict {
    let quick = told(&ctx.profile()?.quick_call, "quick_call")?;
    let client = ctx.client()?;
    let tools = list(client, "tools/list")?;
    let tool = tools.iter().find(|tool| tool["name"] == quick.name.as_str());
    if tool.and_then(page_of).is_none() {
        return Err(skip("the call of the profile has no page"));
    }
    let result = client.result("tools/call", quick.params())?;
    let says = result["content"].as_array().is_some_and(|content| !content.is_empty());
    ensure(says, || format!("nothing but a page: {result}"))
}
