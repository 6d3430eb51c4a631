//! Holds a query's plan against what a query may cost, after PostgreSQL has accepted it and before
//! it runs.
//!
//! A cursor reads only as many rows as are wanted, so `SELECT * FROM huge` costs little, and the
//! same with ORDER BY everything: what counts is the part of each step that will be done.

use serde_json::Value;
use sqlx::Row;
use sqlx::postgres::{PgArguments, PgConnection};

use super::error::Error;
use super::plan::{number, title};
use super::statement::Declared;

/// What a query may cost by PostgreSQL's own estimate; 0: as much as it likes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CostLimits {
    /// In PostgreSQL's unit, about one page read in sequence.
    pub(crate) max_cost: u64,
    /// Rows times width that one step of the plan handles.
    pub(crate) max_step_bytes: u64,
    /// Of one table read from beginning to end.
    pub(crate) max_scan_bytes: u64,
}

/// Whether somebody has agreed to what a query may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    On,
    Overruled,
}

/// Why a query was not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Concern {
    /// For example `it would read 12.0 GB of table a`.
    what: String,
    /// The limit and its flag.
    limit: String,
    /// For example `Seq Scan on a`.
    step: String,
    cheaper: String,
}

impl std::fmt::Display for Concern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, limit, step, cheaper } = self;
        write!(f, "{what}, more than {limit}, most of it in the step `{step}`. Cheaper: {cheaper}")
    }
}

/// Refuses what would cost too much. `rows` is how many will be read.
pub(super) async fn check(
    connection: &mut PgConnection,
    declared: Declared<'_>,
    arguments: PgArguments,
    limits: CostLimits,
    rows: usize,
) -> Result<(), Error> {
    if limits.max_cost == 0 && limits.max_step_bytes == 0 && limits.max_scan_bytes == 0 {
        return Ok(());
    }
    let plan = root(&declared.explain(connection, arguments.clone()).await?)?;
    let estimate = Estimate::of(&plan, rows);
    if let Some(concern) = estimate.concern(limits) {
        return Err(Error::Costly(concern));
    }
    // A scan costs at least a tenth of a unit for each page, whatever the settings.
    let pages = limits.max_scan_bytes as f64 / PAGE_BYTES;
    if limits.max_scan_bytes == 0 || estimate.largest_scan_cost < pages / 10.0 {
        return Ok(());
    }
    // The schema is told with VERBOSE only, which is slow to read for nothing else.
    let plan = declared.sql.explain(connection, "FORMAT JSON, VERBOSE", arguments).await?;
    let plan = root(&plan)?;
    for scan in Estimate::of(&plan, rows).scans {
        if let Some(concern) = scan.concern(connection, limits.max_scan_bytes).await? {
            return Err(Error::Costly(concern));
        }
    }
    Ok(())
}

const PAGE_BYTES: f64 = 8192.0;
const MANY_ROWS: f64 = 10_000.0;

pub(super) fn root(text: &str) -> Result<Value, Error> {
    let mut whole: Value =
        serde_json::from_str(text).map_err(|error| Error::Unexpected(error.to_string()))?;
    let plan = whole.pointer_mut("/0/Plan").map(Value::take);
    plan.ok_or_else(|| Error::Unexpected("no plan".to_owned()))
}

/// What a plan comes to, as far as it will be carried out.
#[derive(Debug, Default)]
struct Estimate {
    cost: f64,
    /// The step with most bytes, and these.
    largest: (String, f64),
    /// The step that costs most by itself, and that.
    hottest: (String, f64),
    /// Two sides of a join that nothing joins.
    unjoined: Option<String>,
    /// Whether many rows are put in order.
    sorts: bool,
    scans: Vec<Scan>,
    largest_scan_cost: f64,
}

/// A table read from beginning to end, or the part of it that is read.
#[derive(Debug)]
struct Scan {
    schema: String,
    table: String,
    fraction: f64,
}

impl Estimate {
    fn of(root: &Value, rows: usize) -> Self {
        let mut estimate = Self::default();
        let fraction = part(rows as f64 + 1.0, number(root, "Plan Rows"));
        let (startup, total) = (number(root, "Startup Cost"), number(root, "Total Cost"));
        estimate.cost = startup + (total - startup) * fraction;
        estimate.node(root, fraction);
        estimate
    }

    /// `fraction` of the node's rows will be read.
    fn node(&mut self, node: &Value, fraction: f64) {
        let children = node.get("Plans").and_then(Value::as_array);
        let children = children.map(Vec::as_slice).unwrap_or_default();
        let kind = text(node, "Node Type");
        // A function gives all its rows before the first is read.
        let fraction = if kind == "Function Scan" { 1.0 } else { fraction };
        if kind == "Function Scan" {
            self.cost = self.cost.max(number(node, "Total Cost"));
        }
        self.sorts |= kind == "Sort" && number(node, "Plan Rows") > MANY_ROWS;
        let rows = number(node, "Plan Rows") * fraction;
        let bytes = rows * number(node, "Plan Width").max(1.0);
        if bytes > self.largest.1 {
            self.largest = (title(node), bytes);
        }
        let below: f64 = children.iter().map(|child| number(child, "Total Cost")).sum();
        let own = (number(node, "Total Cost") - below) * fraction;
        if own > self.hottest.1 {
            self.hottest = (title(node), own);
        }
        if is_unjoined(node, children) {
            let sides: Vec<String> = children.iter().map(relations).collect();
            self.unjoined.get_or_insert(sides.join(" and "));
        }
        if kind == "Seq Scan" {
            self.largest_scan_cost =
                self.largest_scan_cost.max(number(node, "Total Cost") * fraction);
            let (schema, table) = (text(node, "Schema"), text(node, "Relation Name"));
            self.scans.push(Scan { schema: schema.into(), table: table.into(), fraction });
        }
        for child in children {
            let child_rows = number(child, "Plan Rows");
            // What must be whole before the first row of the node comes: a sort, a hash table.
            let is_whole = number(node, "Startup Cost") >= number(child, "Total Cost")
                || ["InitPlan", "SubPlan"].contains(&text(child, "Parent Relationship"));
            let is_limit = kind == "Limit";
            self.node(
                child,
                match (is_whole, is_limit) {
                    (true, _) => 1.0,
                    (false, true) => part(rows, child_rows),
                    (false, false) => fraction,
                },
            );
        }
    }

    fn concern(&self, limits: CostLimits) -> Option<Concern> {
        let (max_cost, max_bytes) = (limits.max_cost as f64, limits.max_step_bytes as f64);
        let bytes = self.largest.1;
        let (what, limit, step) = if max_bytes > 0.0 && bytes > max_bytes {
            let what = format!("one step of it would handle {}", size(bytes));
            (what, format!("{} (--max-step-bytes)", size(max_bytes)), &self.largest.0)
        } else if max_cost > 0.0 && self.cost > max_cost {
            let what = format!("PostgreSQL estimates its cost at {:.0}", self.cost);
            (what, format!("{max_cost:.0} (--max-cost)"), &self.hottest.0)
        } else {
            return None;
        };
        Some(Concern { what, limit, step: step.clone(), cheaper: self.cheaper() })
    }

    fn cheaper(&self) -> String {
        if let Some(sides) = &self.unjoined {
            return format!("add the condition that joins {sides}");
        }
        if self.sorts {
            return "leave ORDER BY out, or order by an indexed column together with LIMIT".into();
        }
        match self.scans.iter().map(|scan| &scan.table).next() {
            Some(table) => format!(
                "a narrower WHERE on an indexed column, or a sample: \
                 FROM {table} TABLESAMPLE SYSTEM (1)"
            ),
            None => "a narrower WHERE, or LIMIT inside the query".into(),
        }
    }
}

impl Scan {
    async fn concern(
        &self,
        connection: &mut PgConnection,
        max_bytes: u64,
    ) -> Result<Option<Concern>, Error> {
        let query = sqlx::query(
            "SELECT pg_catalog.pg_table_size(c.oid)::pg_catalog.float8,
                (SELECT pg_catalog.string_agg(DISTINCT attname::text, ', ')
                FROM pg_catalog.pg_index JOIN pg_catalog.pg_attribute
                    ON attrelid = indrelid AND attnum = indkey[0] WHERE indrelid = c.oid)
            FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
            WHERE nspname = $1 AND relname = $2",
        );
        let query = query.bind(&self.schema).bind(&self.table).persistent(false);
        let Some(row) = sqlx::Executor::fetch_optional(connection, query).await? else {
            return Ok(None);
        };
        let bytes = row.try_get::<f64, _>(0)? * self.fraction;
        let max_bytes = max_bytes as f64;
        if bytes <= max_bytes {
            return Ok(None);
        }
        let Self { schema, table, .. } = self;
        let percent = (max_bytes / bytes * 100.0).clamp(0.001, 100.0);
        let percent = format!("{percent:.3}");
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        let mut cheaper = format!("a sample: FROM {schema}.{table} TABLESAMPLE SYSTEM ({percent})");
        if let Some(indexed) = row.try_get::<Option<String>, _>(1)? {
            cheaper = format!("a condition on an indexed column ({indexed}), or {cheaper}");
        }
        Ok(Some(Concern {
            what: format!("it would read {} of {schema}.{table}", size(bytes)),
            limit: format!("{} (--max-scan-bytes)", size(max_bytes)),
            step: format!("Seq Scan on {table}"),
            cheaper,
        }))
    }
}

fn part(of: f64, whole: f64) -> f64 {
    if whole > 0.0 { (of / whole).clamp(0.0, 1.0) } else { 1.0 }
}

/// A nested loop over two sides of several rows, where nothing says which belong together.
fn is_unjoined(node: &Value, children: &[Value]) -> bool {
    let bare = |child: &Value| {
        number(child, "Plan Rows") > 1.0
            && child.get("Index Cond").is_none()
            && child.get("Function Name").is_none()
            && child.get("Cache Key").is_none()
    };
    text(node, "Node Type") == "Nested Loop"
        && node.get("Join Filter").is_none()
        && children.iter().all(bare)
        // Each row of one side with each of the other.
        && number(node, "Plan Rows")
            >= 0.9 * children.iter().map(|child| number(child, "Plan Rows")).product::<f64>()
}

/// The tables below a step.
fn relations(node: &Value) -> String {
    let name = node.get("Alias").or_else(|| node.get("Relation Name")).and_then(Value::as_str);
    if let Some(name) = name {
        return name.to_owned();
    }
    let children = node.get("Plans").and_then(Value::as_array);
    let names: Vec<_> = children.into_iter().flatten().map(relations).collect();
    names.join(", ")
}

fn text<'a>(node: &'a Value, key: &str) -> &'a str {
    node.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn size(bytes: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(factor, _)| bytes >= *factor) {
        Some((factor, unit)) => format!("{:.1} {unit}", bytes / factor),
        None => format!("{bytes:.0} bytes"),
    }
}
