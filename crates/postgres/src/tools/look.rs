//! What there is: databases, schemas, objects, one table.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Diagnosis, Kind, Objects, Schema, Search, Table};

/// List the databases this server has; other tools take their names as `database`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDatabases {
    /// Try to reach each, and tell what is in the way.
    #[serde(default)]
    check: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Databases {
    /// The first is the one that is meant where none is named.
    databases: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Vec<Diagnosis>>,
}

pub(crate) async fn list_databases(
    cx: Context<Backend>,
    input: ListDatabases,
) -> ToolResult<Databases> {
    let checks = if input.check { Some(cx.state.diagnose().await) } else { None };
    Ok(Databases { databases: cx.state.names(), checks })
}

/// List the schemas of a database.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSchemas {
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
    /// PostgreSQL's own schemas too.
    #[serde(default)]
    system: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Schemas {
    schemas: Vec<Schema>,
}

pub(crate) async fn list_schemas(cx: Context<Backend>, input: ListSchemas) -> ToolResult<Schemas> {
    Ok(Schemas { schemas: cx.state.schemas(input.database.as_deref(), input.system).await? })
}

/// List tables, views, sequences, functions, types and extensions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListObjects {
    /// Only this schema.
    #[serde(default)]
    schema: Option<String>,
    /// Only these kinds; all but columns and indexes if left out.
    #[serde(default)]
    kinds: Vec<Kind>,
    /// Partitions of partitioned tables too.
    #[serde(default)]
    partitions: bool,
    /// Most objects to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
    /// Leave out this many from the start.
    #[serde(default)]
    offset: u32,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

fn default_limit() -> u32 {
    100
}

pub(crate) async fn list_objects(cx: Context<Backend>, input: ListObjects) -> ToolResult<Objects> {
    let ListObjects { schema, kinds, partitions, limit, offset, database } = input;
    let search = Search { schema, kinds, partitions, limit, offset, ..Search::default() };
    Ok(cx.state.objects(database.as_deref(), search).await?)
}

/// Find schemas, tables, columns, indexes, functions, types and extensions by name or comment.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchObjects {
    /// Part of the name or comment, in any case; `%` stands for anything.
    #[schemars(length(min = 1))]
    pattern: String,
    /// Only these kinds; all if left out.
    #[serde(default)]
    kinds: Vec<Kind>,
    /// Only this schema; name one of PostgreSQL's own to search it.
    #[serde(default)]
    schema: Option<String>,
    /// Most objects to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
    /// Leave out this many from the start.
    #[serde(default)]
    offset: u32,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

pub(crate) async fn search_objects(
    cx: Context<Backend>,
    input: SearchObjects,
) -> ToolResult<Objects> {
    let SearchObjects { pattern, kinds, schema, limit, offset, database } = input;
    let pattern = Some(pattern);
    let search = Search { schema, kinds, pattern, limit, offset, ..Search::default() };
    Ok(cx.state.objects(database.as_deref(), search).await?)
}

/// Describe one table or view: columns, keys, indexes, sizes, comments and column statistics.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribeTable {
    /// `table` or `schema.table`, without quotes.
    table: String,
    /// The schema, where the table's name has a dot in it.
    #[serde(default)]
    schema: Option<String>,
    /// Which database; the first one if left out.
    #[serde(default)]
    database: Option<String>,
}

pub(crate) async fn describe_table(
    cx: Context<Backend>,
    input: DescribeTable,
) -> ToolResult<Table> {
    let DescribeTable { table, schema, database } = input;
    Ok(cx.state.table(database.as_deref(), schema.as_deref(), &table).await?)
}
