//! Tables as resources: `postgres://{database}/{schema}/{table}`, and the form that documentation
//! of the reference server uses, `postgres://{database}/{table}/schema`.

pub(crate) mod watch;

use mcp::{
    Completing, Context, Error, Resource, ResourceContents, ResourceOptions, ResourceResult, Server,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Kind, RowCount, Search};
use crate::tools::query::QueryResult;

pub(crate) const TABLE: &str = "postgres://{database}/{schema}/{table}";
pub(crate) const PAGE: &str = "postgres-result://{cursor}";
pub(crate) const COLUMN: &str = "postgres://{database}/{schema}/{table}/{column}";
pub(crate) const COLUMNS: &str = "postgres://{database}/{table}/schema";

/// Tables named in the list; more are found by `search_objects` and read all the same.
const LISTED_TABLES: u32 = 1000;

/// What need not be encoded in a segment of a URI (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const TABLES: [Kind; 5] =
    [Kind::Table, Kind::PartitionedTable, Kind::ForeignTable, Kind::View, Kind::MaterializedView];

pub(crate) fn json(name: &str) -> ResourceOptions {
    ResourceOptions::new(name).mime_type("application/json")
}

/// The server with suggestions for every part of the URIs.
pub(crate) fn completed(server: Server<Backend>) -> Server<Backend> {
    server
        .complete_template(COLUMNS, "database", complete_database)
        .complete_template(COLUMNS, "table", complete_table)
        .complete_template(COLUMN, "database", complete_database)
        .complete_template(COLUMN, "schema", complete_schema)
        .complete_template(COLUMN, "table", complete_table)
        .complete_template(COLUMN, "column", complete_column)
        .complete_template(TABLE, "database", complete_database)
        .complete_template(TABLE, "schema", complete_schema)
        .complete_template(TABLE, "table", complete_table)
}

/// Columns, keys, indexes, sizes, comments and statistics of one table or view.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct TableUri {
    database: String,
    schema: String,
    table: String,
}

pub(crate) async fn table(
    cx: Context<Backend>,
    input: TableUri,
) -> ResourceResult<ResourceContents> {
    let TableUri { database, schema, table } = input;
    let found = cx.state.table(Some(&database), Some(&schema), &table).await;
    ResourceContents::json(cx.subject(), &found.map_err(|error| failure(&cx, error))?)
}

/// Names and types of the columns of one table or view on the search path.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ColumnsUri {
    database: String,
    table: String,
}

#[derive(Serialize)]
struct ColumnType<'a> {
    column_name: &'a str,
    data_type: &'a str,
}

pub(crate) async fn columns(
    cx: Context<Backend>,
    input: ColumnsUri,
) -> ResourceResult<ResourceContents> {
    let ColumnsUri { database, table } = input;
    match cx.state.table(Some(&database), None, &table).await {
        Ok(found) => {
            let columns = found.columns.iter().map(|column| ColumnType {
                column_name: &column.name,
                data_type: &column.type_name,
            });
            ResourceContents::json(cx.subject(), &columns.collect::<Vec<_>>())
        }
        // The same URI is that of a table called `schema`.
        Err(backend::Error::NotFound { .. }) => {
            let found = cx.state.table(Some(&database), Some(&table), "schema").await;
            ResourceContents::json(cx.subject(), &found.map_err(|error| failure(&cx, error))?)
        }
        Err(error) => Err(failure(&cx, error)),
    }
}

/// Type, comment and statistics of one column.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ColumnUri {
    database: String,
    schema: String,
    table: String,
    column: String,
}

pub(crate) async fn column(
    cx: Context<Backend>,
    input: ColumnUri,
) -> ResourceResult<ResourceContents> {
    let ColumnUri { database, schema, table, column } = input;
    let found = cx.state.table(Some(&database), Some(&schema), &table).await;
    let columns = found.map_err(|error| failure(&cx, error))?.columns;
    let found = columns.iter().find(|other| other.name == column);
    let found = found.ok_or_else(|| Error::resource_not_found(cx.subject()))?;
    ResourceContents::json(cx.subject(), found)
}

pub(crate) async fn complete_column(
    cx: Context<Backend>,
    typed: Completing,
) -> Result<Vec<String>, Error> {
    let chosen = |name| typed.arguments.get(name).map(String::as_str);
    let Some(table) = chosen("table") else { return Ok(Vec::new()) };
    match cx.state.table(chosen("database"), chosen("schema"), table).await {
        Ok(found) => Ok(typed.filter(found.columns.into_iter().map(|column| column.name))),
        Err(backend::Error::NotFound { .. }) => Ok(Vec::new()),
        Err(error) => Err(failure(&cx, error)),
    }
}

/// The next rows of a result. Each page can be read once, within two minutes; it names the next.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PageUri {
    cursor: String,
}

/// What one page holds at most besides the limit of bytes.
const PAGE_ROWS: usize = 100_000;

pub(crate) async fn page(cx: Context<Backend>, input: PageUri) -> ResourceResult<ResourceContents> {
    let page = cx.state.fetch(&input.cursor, PAGE_ROWS, RowCount::default()).await;
    let page = QueryResult::of(page.map_err(|error| failure(&cx, error))?);
    let page = page.map_err(|error| Error::internal(&error))?;
    let text = serde_json::to_string(&page).map_err(|error| Error::internal(&error))?;
    Ok(ResourceContents::text(cx.subject(), "application/json", text))
}

pub(crate) fn page_uri(cursor: &str) -> String {
    PAGE.replace("{cursor}", cursor)
}

/// Every table of every database that can be reached.
pub(crate) async fn list(cx: Context<Backend>) -> ResourceResult<Vec<Resource>> {
    let mut resources = Vec::new();
    for database in cx.state.names() {
        let search = Search { kinds: TABLES.to_vec(), limit: LISTED_TABLES, ..Search::default() };
        let found = match cx.state.objects(Some(&database), search).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(database, "its tables are not listed: {error:?}");
                continue;
            }
        };
        resources.extend(found.objects.into_iter().map(|object| Resource {
            uri: uri(&[&database, &object.schema, &object.name]),
            name: format!("{}.{}", object.schema, object.name),
            description: object.comment,
            mime_type: Some("application/json".to_owned()),
            ..Resource::default()
        }));
    }
    Ok(resources)
}

pub(crate) async fn complete_database(
    cx: Context<Backend>,
    typed: Completing,
) -> Result<Vec<String>, Error> {
    Ok(typed.filter(cx.state.names()))
}

pub(crate) async fn complete_schema(
    cx: Context<Backend>,
    typed: Completing,
) -> Result<Vec<String>, Error> {
    let database = typed.arguments.get("database").map(String::as_str);
    let schemas = cx.state.schemas(database, false).await.map_err(|error| failure(&cx, error))?;
    Ok(typed.filter(schemas.into_iter().map(|schema| schema.name)))
}

pub(crate) async fn complete_table(
    cx: Context<Backend>,
    typed: Completing,
) -> Result<Vec<String>, Error> {
    let database = typed.arguments.get("database").map(String::as_str);
    let schema = typed.arguments.get("schema").cloned();
    let search =
        Search { schema, kinds: TABLES.to_vec(), limit: LISTED_TABLES, ..Search::default() };
    let found = cx.state.objects(database, search).await.map_err(|error| failure(&cx, error))?;
    let mut names: Vec<_> = found.objects.into_iter().map(|object| object.name).collect();
    names.sort();
    names.dedup();
    Ok(typed.filter(names))
}

fn uri(segments: &[&str]) -> String {
    let encoded: Vec<_> =
        segments.iter().map(|segment| utf8_percent_encode(segment, SEGMENT).to_string()).collect();
    format!("postgres://{}", encoded.join("/"))
}

/// The one place where a failure of the backend becomes an answer about a resource.
fn failure(cx: &Context<Backend>, error: backend::Error) -> Error {
    match error {
        backend::Error::NotFound { .. }
        | backend::Error::UnknownDatabase { .. }
        | backend::Error::CursorGone { .. } => Error::resource_not_found(cx.subject()),
        other => Error::internal(&other),
    }
}
