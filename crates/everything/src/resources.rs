//! Resources: a text, bytes, a template, one that changes, a page for hosts to show.

use mcp::{
    CacheHint, Completing, Context, Error, ResourceContents, ResourceOptions, ResourceResult,
    Server,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::backend::{Backend, PNG};

pub(crate) const WATCHED: &str = "test://watched-resource";
const PAGE: &str = "ui://everything/hello";
/// What MCP Apps have pages be.
const PAGE_TYPE: &str = "text/html;profile=mcp-app";
const TEMPLATE: &str = "test://template/{id}/data";

pub(crate) fn add(server: Server<Backend>) -> Server<Backend> {
    let cache = CacheHint { ttl_ms: 60_000, public: true };
    server
        .resource(
            "test://static-text",
            ResourceOptions::new("static-text")
                .description("A text that never changes.")
                .mime_type("text/plain")
                .cache(cache),
            static_text,
        )
        .resource(
            "test://static-binary",
            ResourceOptions::new("static-binary")
                .description("A red pixel.")
                .mime_type("image/png")
                .cache(cache),
            static_binary,
        )
        .resource(
            WATCHED,
            ResourceOptions::new("watched-resource")
                .description("How often it has been touched; `test_touch_resource` does.")
                .mime_type("text/plain"),
            watched,
        )
        .resource(
            PAGE,
            ResourceOptions::new("hello-page")
                .description("A page for hosts that show some (MCP Apps).")
                .mime_type(PAGE_TYPE)
                .cache(cache),
            page,
        )
        .resource_template(
            TEMPLATE,
            ResourceOptions::new("template").mime_type("application/json"),
            template,
        )
        .complete_template(TEMPLATE, "id", complete_id)
}

async fn static_text(cx: Context<Backend>) -> ResourceResult<ResourceContents> {
    let text = "This is the content of the static text resource.";
    Ok(ResourceContents::text(cx.subject(), "text/plain", text))
}

async fn static_binary(cx: Context<Backend>) -> ResourceResult<ResourceContents> {
    Ok(ResourceContents::blob(cx.subject(), "image/png", PNG))
}

async fn watched(cx: Context<Backend>) -> ResourceResult<ResourceContents> {
    let text = format!("Touched {} times.", cx.state.touches());
    Ok(ResourceContents::text(cx.subject(), "text/plain", text))
}

async fn page(cx: Context<Backend>) -> ResourceResult<ResourceContents> {
    let html = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Hello</title></head>\
                <body><p>Hello from a page.</p></body></html>";
    Ok(ResourceContents::text(cx.subject(), PAGE_TYPE, html))
}

/// Data made for an id.
#[derive(Deserialize, JsonSchema)]
struct Template {
    /// Any id.
    id: String,
}

async fn template(cx: Context<Backend>, input: Template) -> ResourceResult<ResourceContents> {
    let data = format!("Data for ID: {}", input.id);
    let data = json!({"id": input.id, "templateTest": true, "data": data});
    Ok(ResourceContents::text(cx.subject(), "application/json", data.to_string()))
}

async fn complete_id(_: Context<Backend>, typed: Completing) -> Result<Vec<String>, Error> {
    Ok(typed.filter(["123", "124", "200"]))
}
