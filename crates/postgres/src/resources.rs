//! Tables as resources: `postgres://{database}/{schema}/{table}`, and the form that documentation
//! of the reference server uses, `postgres://{database}/{table}/schema`.

use mcp::{Completing, Context, Error, Resource, ResourceContents, ResourceResult};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Kind, Search};

pub(crate) const TABLE: &str = "postgres://{database}/{schema}/{table}";
pub(crate) const COLUMNS: &str = "postgres://{database}/{table}/schema";

/// Tables named in the list; more are found by `search_objects` and read all the same.
const LISTED_TABLES: u32 = 1000;

/// What need not be encoded in a segment of a URI (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const TABLES: [Kind; 5] =
    [Kind::Table, Kind::PartitionedTable, Kind::ForeignTable, Kind::View, Kind::MaterializedView];

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
        backend::Error::NotFound { .. } | backend::Error::UnknownDatabase { .. } => {
            Error::resource_not_found(cx.subject())
        }
        other => Error::internal(&other),
    }
}
