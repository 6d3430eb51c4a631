//! All that is to be known about one table: what `table.sql` answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalog::Kind;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Table {
    pub(crate) schema: String,
    pub(crate) name: String,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    /// PostgreSQL's estimate; left out if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_estimate: Option<u64>,
    /// With indexes and TOAST.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// Whether policies decide which rows a role sees.
    row_security: bool,
    /// The query of a view.
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
    /// The table this is a partition of.
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<String>,
    /// How many partitions it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    partitions: Option<u64>,
    pub(crate) columns: Vec<TableColumn>,
    constraints: Vec<Constraint>,
    /// Foreign keys of other tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    referenced_by: Vec<Reference>,
    indexes: Vec<Index>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    triggers: Vec<String>,
    /// What the server's login role may do with it; through this server it only reads.
    privileges: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    nullable: bool,
    /// This role may not read it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    withheld: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    /// The expression it is computed by, or what kind of identity it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    generated: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    /// From the last ANALYZE; left out if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Statistics>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Statistics {
    /// From 0 to 1.
    null_fraction: f64,
    /// Different values; if negative, minus their share of the rows.
    distinct: f64,
    /// The most frequent ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    common_values: Option<Vec<Option<String>>>,
    average_bytes: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Constraint {
    name: String,
    /// `primary_key`, `unique`, `foreign_key`, `check`, `exclusion` or `other`.
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<String>>,
    /// The table a foreign key leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    references: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    references_columns: Option<Vec<String>>,
    definition: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Reference {
    table: String,
    definition: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Index {
    name: String,
    definition: String,
    unique: bool,
    valid: bool,
    size_bytes: u64,
    /// How often it was used since the statistics were reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    scans: Option<u64>,
}
