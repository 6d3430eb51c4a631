//! `query` and `fetch_rows`.

use std::sync::Arc;

use mcp::{Content, Context, Output, Reply, Resource, Schema, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::backend::{Backend, Column, Guard, JsonRow, Page, RowCount};
use crate::resources;

/// Run one SELECT, VALUES, TABLE or WITH query. It cannot write: the transaction is read-only and
/// rolled back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// One statement; parameters are `$1`, `$2`, …
    sql: String,
    /// Values for the parameters, in order. Write dates and other types as text.
    #[serde(default)]
    params: Vec<Value>,
    /// Most rows to return; `next_cursor` leads to the rest.
    #[serde(default = "default_rows")]
    #[schemars(range(min = 1, max = 100_000))]
    max_rows: usize,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

fn default_rows() -> usize {
    100
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct QueryResult {
    columns: Vec<Column>,
    /// One array for each row, its values in the order of `columns`.
    #[schemars(with = "Vec<Vec<Value>>")]
    rows: Box<RawValue>,
    row_count: usize,
    /// Whether there are more rows than these.
    truncated: bool,
    /// Give it to `fetch_rows` for the next rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Values too long to show whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_values: Vec<CutValue>,
    /// `[row, column]` of values that are JSON's null, not SQL's NULL; both counted from 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    json_nulls: Vec<[usize; 2]>,
    elapsed_ms: f64,
}

/// A value of which only the beginning is shown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CutValue {
    /// Counted from 0.
    row: usize,
    /// Counted from 0.
    column: usize,
    /// Length of the whole value.
    bytes: usize,
}

pub(crate) async fn query(cx: Context<Backend>, input: Query) -> ToolResult<Linked> {
    let Query { sql, params, max_rows, database } = input;
    let run = |guard| {
        let read = RowCount::default();
        let (sql, counted) = (sql.clone(), Arc::clone(&read));
        let page = cx.state.query(database.as_deref(), sql, &params, max_rows, guard, counted);
        super::while_reading(&cx, read, page)
    };
    let page = match super::unless_costly(&cx, run(Guard::On).await).await? {
        Some(page) => page,
        None => run(Guard::Overruled).await?,
    };
    QueryResult::of(page).map(Linked)
}

/// Fetch the next rows of a result, from the same snapshot.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FetchRows {
    /// `next_cursor` of the last answer. It is good for one use.
    cursor: String,
    /// Most rows to return.
    #[serde(default = "default_rows")]
    #[schemars(range(min = 1, max = 100_000))]
    max_rows: usize,
}

pub(crate) async fn fetch_rows(cx: Context<Backend>, input: FetchRows) -> ToolResult<Linked> {
    let read = RowCount::default();
    let page = cx.state.fetch(&input.cursor, input.max_rows, Arc::clone(&read));
    QueryResult::of(super::while_reading(&cx, read, page).await?).map(Linked)
}

/// The rows, and a link to the rest of them where there is more.
pub(crate) struct Linked(QueryResult);

impl Output for Linked {
    fn schema() -> Option<Schema> {
        <QueryResult as Output>::schema()
    }

    fn into_reply(self) -> Result<Reply, ToolError> {
        let Some(cursor) = &self.0.next_cursor else { return self.0.into_reply() };
        let link = Content::ResourceLink(Resource {
            uri: resources::page_uri(cursor),
            name: "next rows".to_owned(),
            mime_type: Some("application/json".to_owned()),
            ..Resource::default()
        });
        let text = serde_json::to_string(&self.0).map_err(|error| {
            ToolError::new("The result could not be written as JSON").caused_by(&error)
        })?;
        Ok(self.0.into_reply()?.with(Content::text(text)).with(link))
    }
}

impl QueryResult {
    pub(crate) fn of(page: Page) -> ToolResult<Self> {
        let Page { columns, rows, cursor, elapsed } = page;
        let marks = |row: usize, columns: &[usize]| {
            columns.iter().map(|column| [row, *column]).collect::<Vec<_>>()
        };
        let numbered = || rows.rows.iter().enumerate();
        let cut = numbered().flat_map(|(row, JsonRow { cut, .. })| {
            cut.iter().map(move |(column, bytes)| CutValue { row, column: *column, bytes: *bytes })
        });
        Ok(Self {
            cut_values: cut.collect(),
            json_nulls: numbered().flat_map(|(row, found)| marks(row, &found.json_nulls)).collect(),
            row_count: rows.rows.len(),
            truncated: rows.has_more,
            rows: array(&rows.rows)?,
            columns,
            next_cursor: cursor,
            elapsed_ms: (elapsed.as_secs_f64() * 100_000.0).round() / 100.0,
        })
    }
}

fn array(rows: &[JsonRow]) -> ToolResult<Box<RawValue>> {
    let mut json =
        String::with_capacity(rows.iter().map(|row| row.json.len() + 1).sum::<usize>() + 2);
    json.push('[');
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json += &row.json;
    }
    json.push(']');
    let whole = RawValue::from_string(json);
    whole.map_err(|error| ToolError::new("A value could not be written as JSON").caused_by(&error))
}
