//! What the model can call. A tool is an input struct, an output struct and a function; the doc
//! comments are all the description there is.

use std::sync::Arc;

use mcp::{Context, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::{Analysis, Analyze, Backend, Error, Observer, Operation};

/// Compute exact sums, averages, counts and more over the columns of a CSV file, reading all of it
/// once. Every number says whether it is exact. Delimiter, header, encoding and column types are
/// found out from the whole file and reported with their evidence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnalyzeCsv {
    /// Path of the file, relative to a served directory.
    filepath: String,
    /// What to compute for each column.
    #[schemars(length(min = 1))]
    operations: Vec<Operation>,
    /// Only these columns: names from the header, or `#3` for the third. All if left out.
    #[serde(default)]
    columns: Option<Vec<String>>,
}

pub(crate) async fn analyze_csv(cx: Context<Backend>, input: AnalyzeCsv) -> ToolResult<Analysis> {
    let AnalyzeCsv { filepath, operations, columns } = input;
    if operations.is_empty() {
        return Err(ToolError::new(
            "`operations` is empty. Name at least one, for example \"sum\".",
        ));
    }
    let request = Analyze { filepath, operations, columns };
    let backend = Arc::clone(&cx.state);
    let observer = cx.clone();
    Ok(cx.blocking(move || backend.analyze(&request, &observer)).await?)
}

/// A scan reports to the client that asked for it.
impl Observer for Context<Backend> {
    fn progress(&self, bytes_done: u64, bytes_total: u64, rows: u64) {
        Context::progress(self, bytes_done, Some(bytes_total), &format!("{rows} rows"));
    }

    fn cancelled(&self) -> bool {
        self.is_cancelled()
    }
}

/// The one place where a failure of the backend becomes words for the model.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Read(cause) => Self::new(text).caused_by(&cause),
            // Nothing is behind these but arguments, which have no place in a log.
            _ => Self::new(text),
        }
    }
}
