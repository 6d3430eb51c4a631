//! Tools: lists, schemas, validated input, structured output, failures.

use crate::check::{Check, Ctx, Level, Verdict, ensure, fail, skip};
use crate::checks::{declared_iff_served, list, must, observed, same_everywhere, should};
use crate::profile::told;
use crate::revision::{ALL, MIDDLE, MODERN, ONLY_2025_11, SINCE_2025_06, SINCE_2025_11};
use serde_json::Value;

pub(super) const CHECKS: &[Check] = &[
    must("S-140", ALL, "`tools` is declared exactly when tools are served.", is_declared),
    must("S-141", MODERN, "`tools/list` depends on nothing but the request.", does_not_vary),
    must("S-142", SINCE_2025_11, "Every input schema is rooted in an object.", has_object_schemas),
    must("S-143", SINCE_2025_06, "Structured results fit the output schema.", fits_output_schema),
    should(
        "S-143",
        SINCE_2025_06,
        "A structured result is also given as JSON text.",
        repeats_as_text,
    ),
    must("S-144", ALL, "Arguments that do not fit the schema are refused.", validates_arguments),
    should(
        "S-144",
        SINCE_2025_11,
        "The refusal is for the model to read and names the field.",
        names_the_field,
    ),
    observed(Level::Must, "S-145", MIDDLE, "Structured results and their schemas are objects."),
    observed(Level::Must, "S-146", ALL, "Content is of types this revision has, and well formed."),
    must("S-147", ALL, "A failure of the tool is a result with `isError`.", reports_failure),
    should("S-147", ALL, "An unknown tool is an invalid parameter.", refuses_unknown_tool),
    must("S-148", ONLY_2025_11, "A tool that needs a task is unknown without one.", demands_task),
];

fn is_declared(ctx: &mut Ctx<'_>) -> Verdict {
    declared_iff_served(ctx, "tools", "tools/list")
}

fn does_not_vary(ctx: &mut Ctx<'_>) -> Verdict {
    same_everywhere(ctx, "tools", &["tools/list"])
}

fn has_object_schemas(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tools")?;
    let tools = list(ctx.client()?, "tools/list")?;
    let odd = tools.iter().find(|tool| tool["inputSchema"]["type"] != "object");
    ensure(odd.is_none(), || format!("the input schema of {odd:?}"))
}

fn fits_output_schema(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tools")?;
    let profile = ctx.profile()?;
    let quick = told(&profile.quick_call, "quick_call")?;
    let client = ctx.client()?;
    let tools = list(client, "tools/list")?;
    for call in [Some(quick), profile.slow_call.as_ref()].into_iter().flatten() {
        let result = client.result("tools/call", call.params())?;
        let structured = &result["structuredContent"];
        if let Some(expected) = &call.structured {
            ensure(structured == expected, || format!("{} gave {result}", call.name))?;
        }
        let tool = tools.iter().find(|tool| tool["name"] == call.name.as_str());
        let Some(schema) = tool.and_then(|tool| tool.get("outputSchema")) else {
            continue;
        };
        if let Err(error) = jsonschema::validate(schema, structured) {
            return Err(fail(format!("{} gave {structured}: {error}", call.name)));
        }
    }
    Ok(())
}

fn repeats_as_text(ctx: &mut Ctx<'_>) -> Verdict {
    let quick = told(&ctx.profile()?.quick_call, "quick_call")?;
    let result = ctx.client()?.result("tools/call", quick.params())?;
    let Some(structured) = result.get("structuredContent") else {
        return Err(skip("the call has no structured result"));
    };
    let texts = result["content"].as_array().into_iter().flatten();
    let mut values =
        texts.filter_map(|block| serde_json::from_str::<Value>(block["text"].as_str()?).ok());
    // Some SDKs wrap what is no object in `result`, and repeat what is inside.
    let inner =
        structured.get("result").filter(|_| structured.as_object().map(|all| all.len()) == Some(1));
    ensure(values.any(|value| value == *structured || Some(&value) == inner), || {
        format!("no text block repeats it: {result}")
    })
}

fn validates_arguments(ctx: &mut Ctx<'_>) -> Verdict {
    let calls = &ctx.profile()?.refused_calls;
    if calls.is_empty() {
        return Err(skip("the profile has no `refused_calls`"));
    }
    for call in calls {
        let params = serde_json::json!({"name": call.name, "arguments": call.arguments});
        let answer = ctx.client()?.call("tools/call", params)?;
        let refused = answer["result"]["isError"] == true || answer["error"]["code"] == -32602;
        ensure(refused, || format!("{} was answered {answer}", call.arguments))?;
    }
    ctx.client()?.barrier()
}

fn names_the_field(ctx: &mut Ctx<'_>) -> Verdict {
    let calls = &ctx.profile()?.refused_calls;
    if calls.is_empty() {
        return Err(skip("the profile has no `refused_calls`"));
    }
    for call in calls {
        let params = serde_json::json!({"name": call.name, "arguments": call.arguments});
        let result = ctx.client()?.result("tools/call", params)?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let useful = result["isError"] == true && text.contains(&call.names);
        ensure(useful, || format!("{} was answered {result}", call.arguments))?;
    }
    Ok(())
}

fn reports_failure(ctx: &mut Ctx<'_>) -> Verdict {
    let call = told(&ctx.profile()?.failing_call, "failing_call")?;
    let result = ctx.client()?.result("tools/call", call.params())?;
    let explained = result["content"].as_array().is_some_and(|content| !content.is_empty());
    ensure(result["isError"] == true && explained, || format!("answered {result}"))
}

fn refuses_unknown_tool(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tools")?;
    let params = serde_json::json!({"name": "no_such_tool", "arguments": {}});
    ctx.client()?.refusal("tools/call", params, &[-32602]).map(drop)
}

fn demands_task(ctx: &mut Ctx<'_>) -> Verdict {
    ctx.need("tools")?;
    let client = ctx.client()?;
    let tools = list(client, "tools/list")?;
    let required = tools.iter().find(|tool| tool["execution"]["taskSupport"] == "required");
    let tool = required.ok_or_else(|| skip("no tool needs a task"))?;
    let params = serde_json::json!({"name": tool["name"], "arguments": {}});
    client.refusal("tools/call", params, &[-32601]).map(drop)
}
