//! What PostgreSQL plans for a query, and what in it deserves a look.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sqlx::Executor;

use super::database::Database;
use super::denied;
use super::error::Error;
use super::guard::{self, Guard};
use super::lease::{Access, Lease};
use super::params;
use super::statement::UserSql;

/// A plan, read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Plan {
    /// PostgreSQL's own unit: about the cost of reading one page in sequence.
    pub(crate) total_cost: f64,
    pub(crate) rows_estimate: f64,
    /// With `analyze` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    planning_ms: Option<f64>,
    /// The step that costs most by itself, without the steps below it.
    hottest: Step,
    /// The step whose number of rows was guessed worst; with `analyze` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_estimate: Option<Estimate>,
    /// Tables that are read from beginning to end.
    sequential_scans: Vec<Step>,
    /// The whole plan as PostgreSQL gives it.
    #[schemars(with = "serde_json::Map<String, Value>")]
    plan: Value,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Step {
    /// For example `Seq Scan on order`.
    step: String,
    /// Of the cost or, with `analyze`, the time of the whole, from 0 to 1.
    share: f64,
    rows_estimate: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Estimate {
    step: String,
    rows_estimate: f64,
    rows_actual: f64,
    /// How many times too few or too many.
    factor: f64,
}

/// The plan of a statement, which is run only if `analyze` is set, and then rolled back.
pub(crate) async fn explain(
    database: &Arc<Database>,
    sql: UserSql,
    parameters: &[Value],
    analyze: bool,
    guard: Guard,
) -> Result<Plan, Error> {
    denied::check(sql.text())?;
    let mut lease = Lease::begin(database, Access::Read).await?;
    let text = text(&mut lease, &sql, parameters, analyze, guard).await;
    lease.rollback().await;
    read(&text?)
}

async fn text(
    lease: &mut Lease,
    sql: &UserSql,
    parameters: &[Value],
    analyze: bool,
    guard: Guard,
) -> Result<String, Error> {
    let limits = lease.database().map(|database| database.limits.cost);
    let connection = lease.connection()?;
    let arguments = params::bind(connection, sql, parameters).await?;
    if !analyze {
        return sql.explain(connection, "FORMAT JSON", arguments).await;
    }
    // What runs must be what could have run as a query.
    let declared = sql.declare(connection, arguments.clone()).await?;
    connection.execute(sqlx::raw_sql("CLOSE mcp_cursor")).await?;
    if let (Some(limits), Guard::On) = (limits, guard) {
        guard::check(connection, declared, arguments.clone(), limits, usize::MAX).await?;
    }
    sql.explain(connection, "FORMAT JSON, ANALYZE, BUFFERS", arguments).await
}

fn read(text: &str) -> Result<Plan, Error> {
    let mut whole: Vec<Value> =
        serde_json::from_str(text).map_err(|error| Error::Unexpected(error.to_string()))?;
    let whole = whole.pop().unwrap_or_default();
    let root = whole.get("Plan").cloned();
    // Utility statements have no plan.
    let root = root.ok_or_else(|| Error::Input("This statement has no plan".to_owned()))?;
    let mut reading = Reading::default();
    reading.node(&root);
    let total = if reading.analyzed { total_ms(&root) } else { number(&root, "Total Cost") };
    let shares = |mut step: Step| {
        step.share = if total > 0.0 { (step.share / total * 1000.0).round() / 1000.0 } else { 0.0 };
        step
    };
    let hottest = reading.hottest.ok_or_else(|| Error::Unexpected("an empty plan".to_owned()))?;
    let millis = |key| whole.get(key).and_then(Value::as_f64);
    Ok(Plan {
        total_cost: number(&root, "Total Cost"),
        rows_estimate: number(&root, "Plan Rows"),
        execution_ms: millis("Execution Time"),
        planning_ms: millis("Planning Time"),
        hottest: shares(hottest),
        worst_estimate: reading.worst,
        sequential_scans: reading.scans.into_iter().map(shares).collect(),
        plan: root,
    })
}

/// What has been seen on the way through the plan. Shares are absolute until the end.
#[derive(Default)]
struct Reading {
    analyzed: bool,
    hottest: Option<Step>,
    worst: Option<Estimate>,
    scans: Vec<Step>,
}

impl Reading {
    fn node(&mut self, node: &Value) {
        let children = node.get("Plans").and_then(Value::as_array);
        let children = children.map(Vec::as_slice).unwrap_or_default();
        self.analyzed |= node.get("Actual Loops").is_some();
        let weight = |node: &Value| {
            if self.analyzed { total_ms(node) } else { number(node, "Total Cost") }
        };
        let below: f64 = children.iter().map(weight).sum();
        let step = Step {
            step: title(node),
            share: (weight(node) - below).max(0.0),
            rows_estimate: number(node, "Plan Rows"),
            filter: node.get("Filter").and_then(Value::as_str).map(str::to_owned),
        };
        if node.get("Node Type").and_then(Value::as_str) == Some("Seq Scan") {
            self.scans.push(step.clone());
        }
        if self.hottest.as_ref().is_none_or(|hottest| step.share > hottest.share) {
            self.hottest = Some(step);
        }
        self.estimate(node);
        children.iter().for_each(|child| self.node(child));
    }

    fn estimate(&mut self, node: &Value) {
        let Some(actual) = node.get("Actual Rows").and_then(Value::as_f64) else { return };
        let planned = number(node, "Plan Rows");
        // A step that never ran tells nothing; less than a row is none.
        if number(node, "Actual Loops") < 1.0 {
            return;
        }
        let (more, less) = (planned.max(actual).max(1.0), planned.min(actual).max(1.0));
        let factor = (more / less * 10.0).round() / 10.0;
        if self.worst.as_ref().is_none_or(|worst| factor > worst.factor) {
            let step = title(node);
            let estimate = Estimate { step, rows_estimate: planned, rows_actual: actual, factor };
            self.worst = Some(estimate);
        }
    }
}

fn total_ms(node: &Value) -> f64 {
    number(node, "Actual Total Time") * number(node, "Actual Loops")
}

pub(super) fn title(node: &Value) -> String {
    let text = |key| node.get(key).and_then(Value::as_str);
    let mut title = text("Node Type").unwrap_or("?").to_owned();
    for (word, key) in [("on", "Relation Name"), ("using", "Index Name")] {
        if let Some(name) = text(key) {
            title += &format!(" {word} {name}");
        }
    }
    title
}

pub(super) fn number(node: &Value, key: &str) -> f64 {
    node.get(key).and_then(Value::as_f64).unwrap_or_default()
}
