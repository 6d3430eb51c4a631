//! What there is in a database, read from the system catalogues.
//!
//! Each question is one statement that gives one JSON text, which becomes the struct beside it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sqlx::{Executor, Row};

use super::database::Database;
use super::error::Error;
use super::lease::{Access, Lease};

/// A schema that this role may look into.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Schema {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    /// Tables, partitioned and foreign ones too.
    tables: u64,
    /// Views, materialized ones too.
    views: u64,
    functions: u64,
}

/// Something with a name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Object {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
    /// The table of a column or an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    table: Option<String>,
    /// The type of a column, the arguments and the result of a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// PostgreSQL's estimate; left out if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows_estimate: Option<u64>,
    /// With indexes and TOAST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Schema,
    Table,
    PartitionedTable,
    ForeignTable,
    View,
    MaterializedView,
    Sequence,
    Index,
    Column,
    Function,
    Procedure,
    Type,
    Extension,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Table => "table",
            Self::PartitionedTable => "partitioned_table",
            Self::ForeignTable => "foreign_table",
            Self::View => "view",
            Self::MaterializedView => "materialized_view",
            Self::Sequence => "sequence",
            Self::Index => "index",
            Self::Column => "column",
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::Type => "type",
            Self::Extension => "extension",
        }
    }
}

/// Which objects are wanted.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) schema: Option<String>,
    /// Everything but columns, indexes and partitions if empty.
    pub(crate) kinds: Vec<Kind>,
    /// Part of a name or comment, any case; `%` stands for anything.
    pub(crate) pattern: Option<String>,
    pub(crate) system: bool,
    pub(crate) partitions: bool,
    pub(crate) limit: u32,
    pub(crate) offset: u32,
}

/// A part of what was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Objects {
    pub(crate) objects: Vec<Object>,
    /// How many there are in all.
    pub(crate) total: u64,
}

const SCHEMAS: &str = include_str!("sql/schemas.sql");
const OBJECTS: &str = include_str!("sql/objects.sql");
const TABLE: &str = include_str!("sql/table.sql");

pub(crate) async fn schemas(database: &Arc<Database>, system: bool) -> Result<Vec<Schema>, Error> {
    ask(database, SCHEMAS, &[Some(system.to_string())]).await
}

pub(crate) async fn objects(database: &Arc<Database>, search: Search) -> Result<Objects, Error> {
    let kinds: Vec<_> = search.kinds.iter().map(|kind| kind.as_str()).collect();
    let pattern = search.pattern.map(|pattern| {
        if pattern.contains('%') { pattern } else { format!("%{}%", escape_like(&pattern)) }
    });
    let parameters = [
        search.schema,
        (!kinds.is_empty()).then(|| kinds.join(",")),
        pattern,
        Some(search.system.to_string()),
        Some(search.partitions.to_string()),
        Some(search.limit.to_string()),
        Some(search.offset.to_string()),
    ];
    ask(database, OBJECTS, &parameters).await
}

/// A table, view or the like by its name, or `schema.name`. Without a schema the search path
/// decides, then any schema that has it.
pub(crate) async fn table(
    database: &Arc<Database>,
    schema: Option<&str>,
    name: &str,
) -> Result<super::table::Table, Error> {
    let (schema, name) = match (schema, name.split_once('.')) {
        (None, Some((schema, name))) => (Some(schema), name),
        (schema, _) => (schema, name),
    };
    let parameters = [schema.map(str::to_owned), Some(name.to_owned())];
    let found: Option<_> = ask(database, TABLE, &parameters).await?;
    found.ok_or_else(|| Error::NotFound {
        what: match schema {
            Some(schema) => format!("table or view `{name}` in the schema `{schema}`"),
            None => format!("table or view `{name}`"),
        },
    })
}

/// Runs one statement of ours in a read-only transaction; its one value is JSON.
pub(super) async fn ask<T: DeserializeOwned>(
    database: &Arc<Database>,
    sql: &'static str,
    parameters: &[Option<String>],
) -> Result<T, Error> {
    let mut lease = Lease::begin(database, Access::Read).await?;
    let answer = ask_within(&mut lease, sql, parameters).await;
    lease.rollback().await;
    answer
}

pub(super) async fn ask_within<T: DeserializeOwned>(
    lease: &mut Lease,
    sql: &'static str,
    parameters: &[Option<String>],
) -> Result<T, Error> {
    let query = parameters.iter().fold(sqlx::query(sql), |query, value| query.bind(value));
    let row = lease.connection()?.fetch_one(query.persistent(false)).await?;
    let json: Option<String> = row.try_get(0).map_err(Error::from)?;
    serde_json::from_str(json.as_deref().unwrap_or("null"))
        .map_err(|error| Error::Unexpected(error.to_string()))
}

fn escape_like(text: &str) -> String {
    text.replace('\\', "\\\\").replace('_', "\\_")
}
