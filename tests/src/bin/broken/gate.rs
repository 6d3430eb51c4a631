//! What a request of HTTP must be before its body is looked at, and which headers its body wants.

use crate::catalog;
use crate::defects::Defect;
use crate::http1::Request;
use crate::server::VERSION_KEY;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const MISMATCH: i64 = -32020;

fn is_local(name: &str) -> bool {
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
    ["127.0.0.1", "localhost"].contains(&name)
}

/// The status that refuses a request for where it comes from or is sent to.
pub(crate) fn place(request: &Request, defect: Defect) -> Option<u16> {
    let host = request.header("host").unwrap_or_default();
    if !is_local(host) && !defect.is("any-host") {
        return Some(403);
    }
    let origin = request.header("origin")?;
    let name = origin.split_once("://").map_or("", |(_, name)| name);
    let is_spared = defect.is("origin-only-on-post") && request.method != "POST";
    let is_fine = is_local(name) && !defect.is("no-local-origin");
    (!is_fine && !is_spared).then_some(if defect.is("origin-400") { 400 } else { 403 })
}

/// The status that refuses a POST for what it brings or wants.
pub(crate) fn media(request: &Request, defect: Defect) -> Option<u16> {
    let content_type = request.header("content-type").unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") && !defect.is("any-media-type") {
        return Some(415);
    }
    let takes = |kind| accepts(request, kind);
    let fine = takes("application/json") && takes("text/event-stream");
    (!fine && !defect.is("any-accept")).then_some(406)
}

pub(crate) fn accepts(request: &Request, media_type: &str) -> bool {
    let kind = media_type.split('/').next().unwrap_or_default();
    let accept = request.header("accept").unwrap_or("*/*");
    accept.split(',').any(|range| {
        let range = range.split(';').next().unwrap_or_default().trim();
        range == "*/*" || range == media_type || range.strip_suffix("/*") == Some(kind)
    })
}

/// Whether the headers of a modern request contradict its body, or themselves.
pub(crate) fn contradicts(request: &Request, message: &Value, defect: Defect) -> bool {
    let params = &message["params"];
    let version = params["_meta"][VERSION_KEY].as_str().unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default();
    let mut bad = false;
    if !defect.is("trusts-versions") {
        let spared =
            defect.is("versionless") && one(request, "mcp-protocol-version", defect).is_none();
        bad |= !spared && !agrees(request, "mcp-protocol-version", version, defect);
    }
    bad |= !defect.is("trusts-methods") && !agrees(request, "mcp-method", method, defect);
    let subject = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        "tasks/get" | "tasks/update" | "tasks/cancel" if !defect.is("trusts-task-names") => {
            params["taskId"].as_str()
        }
        _ => None,
    };
    if let Some(subject) = subject.filter(|_| !defect.is("trusts-names")) {
        let given = one(request, "mcp-name", defect);
        let given = given.and_then(|given| {
            if defect.is("no-base64") { Some(given.to_owned()) } else { decoded(given) }
        });
        bad |= given.as_deref() != Some(subject);
    }
    bad || method == "tools/call" && lies_about_arguments(request, params, defect)
}

fn lies_about_arguments(request: &Request, params: &Value, defect: Defect) -> bool {
    if params["name"] != "add" || defect.is("trusts-arguments") {
        return false;
    }
    let given = one(request, catalog::UNIT_HEADER, defect);
    match (params["arguments"]["unit"].as_str(), given) {
        (None, None) => defect.is("wants-absent-arguments"),
        (None, Some(_)) => true,
        (Some(_), None) => true,
        (Some(unit), Some(given)) => match decoded(given) {
            Some(given) => given != unit,
            None => !defect.is("lenient-base64"),
        },
    }
}

fn agrees(request: &Request, name: &str, expected: &str, defect: Defect) -> bool {
    one(request, name, defect).is_some_and(|given| {
        given == expected || defect.is("blind-to-case") && given.eq_ignore_ascii_case(expected)
    })
}

/// The value of a header that comes once.
fn one<'a>(request: &'a Request, name: &'a str, defect: Defect) -> Option<&'a str> {
    if defect.is("sees-small-letters-only") {
        return request.headers.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str());
    }
    let mut all = request.all(name);
    let value = all.next()?;
    if all.next().is_some() && !defect.is("takes-doubles") { None } else { Some(value) }
}

fn decoded(given: &str) -> Option<String> {
    let Some(text) = given.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(given.to_owned());
    };
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}
