//! The dialect a tool's schema declares, and what it refers to.

use crate::check::{Check, Ctx, Outcome, Verdict, ensure, skip};
use crate::checks::{list, must, should};
use crate::revision::{MODERN, SINCE_2025_11};
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    must("S-021", SINCE_2025_11, "Arguments are held to the dialect declared.", keeps_dialects),
    must("S-021", SINCE_2025_11, "A dialect nobody knows is an error.", refuses_unknown_dialects),
    should("S-023", MODERN, "Schemas refer to nothing on the network.", stays_local),
];

/// Where the dialects are defined; with the number of a draft or a year.
const KNOWN: &[&str] =
    &["/draft-04/", "/draft-06/", "/draft-07/", "/draft/2019-09/", "/draft/2020-12/"];

fn is_known(dialect: &str) -> bool {
    let rest = dialect.split_once("://json-schema.org").map(|(_, rest)| rest);
    rest.is_some_and(|rest| KNOWN.iter().any(|known| rest.starts_with(known)))
}

/// The tools whose input schema says which dialect it is in.
fn declaring(ctx: &mut Ctx<'_>) -> Result<Vec<(Value, String)>, Outcome> {
    ctx.need("tools")?;
    let tools = list(ctx.client()?, "tools/list")?.into_iter();
    let dialect = |tool: &Value| tool["inputSchema"]["$schema"].as_str().map(str::to_owned);
    Ok(tools.filter_map(|tool| dialect(&tool).map(|dialect| (tool, dialect))).collect())
}

/// Our own validator and the server must agree on the wrong arguments of the profile.
fn keeps_dialects(ctx: &mut Ctx<'_>) -> Verdict {
    let tools = declaring(ctx)?;
    let mut seen = false;
    for call in &ctx.profile()?.refused_calls {
        let tool =
            tools.iter().find(|(tool, dialect)| tool["name"] == call.name && is_known(dialect));
        let Some((tool, dialect)) = tool else { continue };
        let validator = jsonschema::validator_for(&tool["inputSchema"]);
        if validator.is_ok_and(|validator| validator.is_valid(&call.arguments)) {
            continue;
        }
        let params = json!({"name": call.name, "arguments": call.arguments});
        let answer = ctx.client()?.call("tools/call", params)?;
        let refused = answer["result"]["isError"] == true || answer["error"]["code"] == -32602;
        ensure(refused, || format!("{} in {dialect} was answered {answer}", call.arguments))?;
        seen = true;
    }
    if seen { Ok(()) } else { Err(skip("no call of the profile is wrong in a declared dialect")) }
}

/// Arguments that cannot be held to a schema are not to be trusted.
fn refuses_unknown_dialects(ctx: &mut Ctx<'_>) -> Verdict {
    let tools = declaring(ctx)?;
    // The call may well be carried out: only what just reads is tried.
    let is_safe = |tool: &Value| tool["annotations"]["readOnlyHint"] == true;
    let unknown = |(tool, dialect): &&(Value, String)| !is_known(dialect) && is_safe(tool);
    let unknown: Vec<_> = tools.iter().filter(unknown).collect();
    if unknown.is_empty() {
        return Err(skip("no tool that just reads declares a dialect nobody knows"));
    }
    for (tool, dialect) in unknown {
        let params = json!({"name": tool["name"], "arguments": {}});
        let answer = ctx.client()?.call("tools/call", params)?;
        let refused = answer["result"]["isError"] == true || answer["error"].is_object();
        ensure(refused, || format!("a call checked by {dialect} was answered {answer}"))?;
    }
    ctx.client()?.barrier()
}

/// Whether a server follows such a reference cannot be seen from here; without one it need not.
fn stays_local(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tools")?;
    for tool in list(ctx.client()?, "tools/list")? {
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            let own = schema["$id"].as_str().unwrap_or("#");
            let remote = references(schema).into_iter().find(|to| {
                to.contains("://") && !to.starts_with(own) && !to.contains("://json-schema.org/")
            });
            ensure(remote.is_none(), || format!("{} refers to {remote:?}", tool["name"]))?;
        }
    }
    Ok(())
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => {
            let own =
                ["$ref", "$dynamicRef"].into_iter().filter_map(|key| members.get(key)?.as_str());
            let own = own.map(str::to_owned);
            own.chain(members.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects() {
        for (dialect, known) in [
            ("https://json-schema.org/draft/2020-12/schema", true),
            ("http://json-schema.org/draft-07/schema#", true),
            ("https://json-schema.org/draft/2031-01/schema", false),
            ("https://example.com/draft/2020-12/schema", false),
        ] {
            assert_eq!(is_known(dialect), known, "{dialect}");
        }
    }
}
