//! What a client can read by URI: each table as its description, each column as its numbers.

use std::sync::Arc;
use std::time::Duration;

use mcp::{Changes, Completing, Context, Error, Resource, ResourceContents, ResourceResult};
use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{self, Analyze, Backend, Describe, Input, Operation};
use crate::tools::{ChartCsv, Watch};

pub(crate) const TABLE: &str = "csv:///{+path}";
pub(crate) const CHART: &str = "csv-chart:///{+arguments}";
/// Registered before [`TABLE`], which matches these URIs as well.
pub(crate) const COLUMN: &str = "csv:///{+path}/column/{name}";

/// How a CSV file is written, the type of each column, what is irregular, and the first rows.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Table {
    /// Relative to a served directory.
    path: String,
}

/// The numbers of one column: count, nulls, distinct, extremes, sum, average, quantiles, mode.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Column {
    /// Relative to a served directory.
    path: String,
    /// From the header, or `#3` for the third.
    name: String,
}

pub(crate) async fn table(cx: Context<Backend>, input: Table) -> ResourceResult<ResourceContents> {
    let file = Input { filepath: input.path, ..Input::default() };
    let request = Describe { sample_rows: 5, first_column: 0 };
    let described = read(&cx, move |backend, watch| backend.describe(&file, &request, watch));
    ResourceContents::json(cx.subject(), &described.await?)
}

pub(crate) async fn column(
    cx: Context<Backend>,
    input: Column,
) -> ResourceResult<ResourceContents> {
    let file = Input { filepath: input.path, ..Input::default() };
    let request = Analyze {
        operations: Operation::ALL.to_vec(),
        columns: Some(vec![input.name]),
        ..Analyze::default()
    };
    let analysed = read(&cx, move |backend, watch| backend.analyze(&file, &request, watch));
    ResourceContents::json(cx.subject(), &analysed.await?)
}

/// A chart as `chart_csv` draws it, from its arguments as JSON.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Picture {
    /// JSON.
    arguments: String,
}

pub(crate) async fn chart(
    cx: Context<Backend>,
    input: Picture,
) -> ResourceResult<ResourceContents> {
    let question: ChartCsv = serde_json::from_str(&input.arguments)
        .map_err(|error| Error::invalid_params(format!("the chart's arguments: {error}")))?;
    let (file, request) = question.split();
    let drawn = read(&cx, move |backend, watch| backend.chart(&file, &request, watch)?.svg());
    Ok(ResourceContents::text(cx.subject(), "image/svg+xml", drawn.await?))
}

pub(crate) async fn list(cx: Context<Backend>) -> Result<Vec<Resource>, Error> {
    let tables = tables(&cx).await;
    let resource = |path: String| Resource {
        uri: format!("csv:///{}", encoded(&path)),
        name: path,
        mime_type: Some("application/json".to_owned()),
        ..Resource::default()
    };
    Ok(tables.into_iter().map(resource).collect())
}

pub(crate) async fn complete_path(
    cx: Context<Backend>,
    typed: Completing,
) -> Result<Vec<String>, Error> {
    Ok(typed.filter(tables(&cx).await))
}

/// Names of the columns of the file that was chosen.
pub(crate) async fn complete_column(
    cx: Context<Backend>,
    typed: Completing,
) -> Result<Vec<String>, Error> {
    let path = typed.arguments.get("path").or_else(|| typed.arguments.get("filepath"));
    let Some(path) = path.cloned() else {
        return Ok(Vec::new());
    };
    let file = Input { filepath: path, ..Input::default() };
    let names = read(&cx, move |backend, _| backend.column_names(&file)).await;
    // A file that cannot be read has no names to suggest.
    Ok(typed.filter(names.unwrap_or_default()))
}

async fn tables(cx: &Context<Backend>) -> Vec<String> {
    let backend = Arc::clone(&cx.state);
    cx.blocking(move || backend.tables()).await
}

async fn read<T: Send + 'static>(
    cx: &Context<Backend>,
    work: impl FnOnce(&Backend, &Watch) -> Result<T, backend::Error> + Send + 'static,
) -> Result<T, Error> {
    crate::tools::in_turn(cx, None, work).await.map_err(|error| match error {
        backend::Error::Read(cause) => Error::internal(&cause),
        backend::Error::NotFound { .. } | backend::Error::Outside { .. } => {
            Error::resource_not_found(cx.subject())
        }
        other => Error::invalid_params(other.to_string()),
    })
}

/// A file that is written all the time is told of no more often than this.
const BETWEEN_NOTIFICATIONS: Duration = Duration::from_millis(50);

/// Tells subscribers of tables and columns what has changed, as long as the server runs.
pub(crate) fn watch(backend: &Backend, changes: Changes) {
    changes.watch(BETWEEN_NOTIFICATIONS, |wake| {
        let mut watch = backend.watch(wake);
        move |uris| {
            let path = |uri: &String| Some((path_of(uri)?, uri.clone()));
            let by_path: Vec<(String, String)> = uris.iter().filter_map(path).collect();
            let paths = by_path.iter().map(|(path, _)| path.clone()).collect();
            let changed = watch.changes(&paths);
            let of_changed = by_path.into_iter().filter(|(path, _)| changed.contains(path));
            of_changed.map(|(_, uri)| uri).collect()
        }
    });
}

/// The file behind the URI of a table or of one of its columns.
pub(crate) fn path_of(uri: &str) -> Option<String> {
    let path = uri.strip_prefix("csv:///")?;
    let path = path.rsplit_once("/column/").map_or(path, |(table, _)| table);
    percent_decode_str(path).decode_utf8().ok().map(Into::into)
}

/// Percent-encodes what a URI's path must not hold.
fn encoded(path: &str) -> String {
    path.bytes().fold(String::new(), |mut uri, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
        uri
    })
}
