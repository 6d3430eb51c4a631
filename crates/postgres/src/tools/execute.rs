//! `execute`: there only with `--allow-write`.

use mcp::{Context, Field, Form, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::backend::{Backend, Change, Effect, Proof, Sample};

/// Change data or structure. The statements are tried in one transaction and rolled back; what they
/// would do is shown to the user, who decides. Where the user cannot be asked, the answer has a
/// `confirm` code: show the effect to the user, and call again with it only if they agree. Files are
/// loaded with psql's `\copy`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Execute {
    /// All of them are done or none; one statement in each.
    #[schemars(length(min = 1, max = 100))]
    statements: Vec<String>,
    /// Values for `$1`, `$2`, … where there is one statement only.
    #[serde(default)]
    params: Vec<Value>,
    /// A query and the one row it must give after the statements; otherwise nothing is written.
    #[serde(default)]
    verify: Option<Proof>,
    /// The code from the answer that showed the effect of exactly these statements.
    #[serde(default)]
    confirm: Option<String>,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Executed {
    /// Whether anything was written.
    committed: bool,
    /// For each statement: what was affected or would be.
    rows_affected: Vec<u64>,
    /// What others have to wait for meanwhile.
    locks: Vec<String>,
    /// Some of the rows, of tables up to 64 MiB.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<Sample>,
    /// Give it with the same statements to make the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm: Option<String>,
}

pub(crate) async fn execute(cx: Context<Backend>, input: Execute) -> ToolResult<Executed> {
    let Execute { statements, params, verify, confirm, database } = input;
    let question = question(&statements);
    let change = cx.state.change(database.as_deref(), statements, params, verify)?;
    if let Some(confirm) = confirm {
        let effect = cx.state.confirmed(&confirm, &change)?;
        return make(&cx, &change, effect).await;
    }
    let effect: Effect = cx
        .once("try", async {
            ToolResult::Ok(super::while_reporting(&cx, cx.state.try_out(&change)).await?)
        })
        .await?;
    if !cx.client().capabilities.contains_key("elicitation") {
        let confirm = Some(cx.state.keep(change, effect.clone()));
        return Ok(Executed { confirm, ..Executed::of(effect, false) });
    }
    let form = Form::new(format!("{question}\n\n{}", told(&effect)))
        .field("write", Field::boolean().default(false));
    let answer = cx.elicit("write", form).await?.accepted();
    if answer.and_then(|answer| answer.get("write")?.as_bool()) == Some(true) {
        return make(&cx, &change, effect).await;
    }
    Ok(Executed::of(effect, false))
}

async fn make(cx: &Context<Backend>, change: &Change, effect: Effect) -> ToolResult<Executed> {
    cx.once("make", async {
        ToolResult::Ok(super::while_reporting(cx, cx.state.make(change, &effect)).await?)
    })
    .await?;
    Ok(Executed::of(effect, true))
}

impl Executed {
    fn of(effect: Effect, committed: bool) -> Self {
        let Effect { rows_affected, locks, samples } = effect;
        Self { committed, rows_affected, locks, samples, confirm: None }
    }
}

fn question(statements: &[String]) -> String {
    format!("Write this to the database?\n\n{}", statements.join(";\n"))
}

fn told(effect: &Effect) -> String {
    let rows: Vec<_> = effect.rows_affected.iter().map(u64::to_string).collect();
    let samples: String = effect.samples.iter().map(|sample| format!("\n\n{sample}")).collect();
    format!("Rows affected: {}. Locks: {}.{samples}", rows.join(", "), effect.locks.join(", "))
}
