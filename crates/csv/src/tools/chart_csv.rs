//! `chart_csv`: a picture, and the numbers in it.

use mcp::{Content, Context, Resource, ToolResult, WithContent};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Chart, ChartKind, Charting, Filter, Input, Operation, Reading};

/// Draw a column or two of a CSV file: a PNG, a link to the same as SVG, and the numbers drawn.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChartCsv {
    /// Relative to a served directory; a pattern such as logs/*.csv is several files as one table.
    filepath: String,
    kind: ChartKind,
    /// A column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    x: Option<String>,
    /// A column of numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    y: Option<String>,
    /// Of y, in a bar or line; its sum if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation: Option<Operation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    filter: Option<Filter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::as_in_analyze_csv")]
    read: Option<Reading>,
}

pub(crate) async fn chart_csv(
    cx: Context<Backend>,
    input: ChartCsv,
) -> ToolResult<WithContent<Chart>> {
    let (file, request) = input.clone().split();
    let draw = |backend: &Backend, file: &Input, request: &Charting, watch: &super::Watch| {
        let chart = backend.chart(file, request, watch)?;
        let png = chart.png()?;
        Ok((chart, png))
    };
    let (chart, png) = super::asking(&cx, file, request, None, draw).await?;
    let assumptions = chart.assumptions.iter().map(|text| format!("\n- {text}"));
    let text = format!(
        "{}, {} points{}",
        chart.title,
        chart.points.len(),
        assumptions.collect::<String>()
    );
    let content = vec![
        Content::image(&png, "image/png"),
        Content::ResourceLink(input.link(&chart)),
        Content::text(text),
    ];
    Ok(WithContent { data: chart, content })
}

impl ChartCsv {
    pub(crate) fn split(self) -> (Input, Charting) {
        let Self { filepath, kind, x, y, operation, filter, read } = self;
        let file = Input { filepath, reading: read.unwrap_or_default() };
        (file, Charting { kind, x, y, operation, filter })
    }

    /// The question is the name, so that any server of the same files can answer it.
    fn link(mut self, chart: &Chart) -> Resource {
        if chart.dates.is_some() {
            self.read.get_or_insert_default().dates = chart.dates;
        }
        let question = serde_json::to_string(&self).unwrap_or_default();
        Resource {
            uri: format!("csv-chart:///{}", utf8_percent_encode(&question, NON_ALPHANUMERIC)),
            name: format!("{}.svg", chart.title),
            mime_type: Some("image/svg+xml".to_owned()),
            ..Resource::default()
        }
    }
}
