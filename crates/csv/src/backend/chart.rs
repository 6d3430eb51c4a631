//! What a chart shows: few enough points to draw and to read, each an answer as the other tools give.
//!
//! `axis` finds round numbers for the axes, `dates` counts days, and `draw` turns it all to pixels.

mod axis;
mod dated;
mod draw;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::{Filter, Test};
use super::group::{self, Aggregate, Grouping};
use super::page::Page;
use super::parts::{self, Gather};
use super::pick::Sample;
use super::reader::{TableFile, TableReader};
use super::reading::DateOrder;
use super::report::{Operation, Value};
use super::typed::{self, Cell, Typed};
use super::{Error, Observer, exact, summary};
use axis::Axis;

/// `histogram` of x. `bar`: y, or rows, by the texts of x. `line`: y, or rows, by the dates of x.
/// `scatter` of x and y. `box`: quartiles and extremes of y, by the texts of x if given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ChartKind {
    Histogram,
    Bar,
    Line,
    Scatter,
    Box,
}

pub(crate) struct Charting {
    pub(crate) kind: ChartKind,
    pub(crate) x: Option<String>,
    pub(crate) y: Option<String>,
    /// Of y; its sum if left out.
    pub(crate) operation: Option<Operation>,
    pub(crate) filter: Option<Filter>,
}

/// The answer to `chart_csv`, beside the picture.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Chart {
    pub(crate) kind: ChartKind,
    /// Data rows in the file.
    pub(crate) rows: u64,
    pub(crate) columns: Vec<String>,
    /// What is drawn, in the order of `columns`.
    pub(crate) points: Vec<Vec<Option<Value>>>,
    /// What the file does not prove, what is irregular in it, and what is not shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
    #[serde(skip)]
    pub(crate) title: String,
    /// The order of day and month it was read with.
    #[serde(skip)]
    pub(crate) dates: Option<DateOrder>,
}

const MAX_BARS: usize = 30;
const MAX_BOXES: usize = 12;
const MAX_BINS: u32 = 20;
/// Of a scatter plot: some 8 KiB of numbers.
const MAX_POINTS: usize = 400;

pub(super) fn chart(
    file: &TableFile,
    request: &Charting,
    observer: &dyn Observer,
) -> Result<Chart, Error> {
    let mut chart = match request.kind {
        ChartKind::Histogram => histogram(file, request, observer)?,
        ChartKind::Bar => bars(file, request, observer)?,
        ChartKind::Line => dated::line(file, request, observer)?,
        ChartKind::Scatter => scatter(file, request, observer)?,
        ChartKind::Box => boxes(file, request, observer)?,
    };
    chart.dates = file.reading.dates;
    Ok(chart)
}

impl Chart {
    pub(crate) fn png(&self) -> Result<Vec<u8>, Error> {
        draw::png(self).ok_or(Error::Drawing)
    }

    pub(crate) fn svg(&self) -> Result<String, Error> {
        draw::svg(self).ok_or(Error::Drawing)
    }

    fn of(request: &Charting, table: &TableReader, columns: &[&str]) -> Self {
        Self {
            kind: request.kind,
            rows: table.rows,
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            points: Vec::new(),
            assumptions: summary::table_assumptions(table),
            title: String::new(),
            dates: None,
        }
    }
}

impl Charting {
    fn x(&self) -> Result<&str, Error> {
        self.x.as_deref().ok_or(Error::Option { text: "this `kind` of chart needs `x`" })
    }

    fn y(&self) -> Result<&str, Error> {
        self.y.as_deref().ok_or(Error::Option { text: "this `kind` of chart needs `y`" })
    }

    /// What is computed of y, if there is one.
    fn aggregate(&self) -> Result<Option<Aggregate>, Error> {
        let operation = self.operation.unwrap_or(Operation::Sum);
        if operation == Operation::Quantiles {
            return Err(Error::Option { text: "`quantiles` are several numbers; ask for a `box`" });
        }
        let of = |column: &String| Aggregate { operation, column: column.clone() };
        Ok(self.y.as_ref().map(of))
    }
}

fn bars(file: &TableFile, request: &Charting, observer: &dyn Observer) -> Result<Chart, Error> {
    let aggregate = request.aggregate()?;
    let shown = aggregate.as_ref().map_or(1, |_| 2);
    let grouping = Grouping {
        keys: vec![request.x()?.to_owned()],
        aggregates: aggregate.into_iter().collect(),
        filter: request.filter.clone(),
        page: Page { offset: 0, limit: Some(MAX_BARS) },
        ..Grouping::default()
    };
    let grouped = group::group(file, &grouping, observer)?;
    let names: Vec<String> =
        grouped.table.columns.iter().map(|column| column.name.clone()).collect();
    let name = |place: usize| names.get(place).cloned().unwrap_or_default();
    let mut assumptions = grouped.assumptions;
    if grouped.groups as usize > MAX_BARS {
        let groups = grouped.groups;
        assumptions
            .push(format!("of {groups} groups, the {MAX_BARS} with the most rows are shown"));
    }
    let pick = |row: &Vec<Option<Value>>| vec![cell(row, 0), cell(row, shown)];
    Ok(Chart {
        kind: request.kind,
        rows: grouped.rows,
        title: format!("{} by {}", name(shown), name(0)),
        columns: vec![name(0), name(shown)],
        points: grouped.table.rows.iter().map(pick).collect(),
        assumptions,
        dates: None,
    })
}

fn boxes(file: &TableFile, request: &Charting, observer: &dyn Observer) -> Result<Chart, Error> {
    let y = request.y()?;
    let of = |operation| Aggregate { operation, column: y.to_owned() };
    let grouping = Grouping {
        keys: request.x.iter().cloned().collect(),
        aggregates: [Operation::Min, Operation::Quantiles, Operation::Max].map(of).to_vec(),
        filter: request.filter.clone(),
        page: Page { offset: 0, limit: Some(MAX_BOXES) },
        ..Grouping::default()
    };
    let grouped = group::group(file, &grouping, observer)?;
    let keys = grouping.keys.len();
    // Behind the key and the rows: min, p5, p25, p50, p75, p95, max.
    let pick = |row: &Vec<Option<Value>>| {
        let name = if keys == 1 { cell(row, 0) } else { Some(Value::Digits(y.to_owned())) };
        let numbers = [1, 3, 4, 5, 7].map(|place| cell(row, keys + place));
        std::iter::once(name).chain(numbers).collect()
    };
    let mut assumptions = grouped.assumptions;
    if grouped.groups as usize > MAX_BOXES {
        let groups = grouped.groups;
        assumptions
            .push(format!("of {groups} groups, the {MAX_BOXES} with the most rows are shown"));
    }
    let by = request.x.as_ref().map(|x| format!(" by {x}")).unwrap_or_default();
    Ok(Chart {
        kind: request.kind,
        rows: grouped.rows,
        title: format!("{y}{by}"),
        columns: ["group", "min", "p25", "median", "p75", "max"].map(str::to_owned).to_vec(),
        points: grouped.table.rows.iter().map(pick).collect(),
        assumptions,
        dates: None,
    })
}

fn cell(row: &[Option<Value>], place: usize) -> Option<Value> {
    row.get(place).cloned().flatten()
}

/// A column of numbers, or why it cannot be drawn as one.
fn numeric(file: &TableFile, name: &str, observer: &dyn Observer) -> Result<Typed, Error> {
    let place = file.open()?.place_of(name)?;
    let column = typed::find_out(file, &[place], observer)?.into_iter().next();
    column.filter(Typed::is_numeric).ok_or_else(|| Error::NotNumeric { column: name.to_owned() })
}

/// The extremes of a column, then how many of its numbers are in each bin.
struct Bins<'a> {
    test: &'a Test,
    column: &'a Typed,
    /// Not known in the first pass.
    axis: Option<Axis>,
    counts: Vec<u64>,
    extremes: Option<(f64, f64)>,
}

impl Gather for Bins<'_> {
    fn fresh(&self) -> Self {
        Self { counts: vec![0; self.counts.len()], extremes: None, ..*self }
    }

    fn add_row(&mut self, table: &TableReader) {
        if !self.test.matches(table) {
            return;
        }
        let Cell::Number(number) = self.column.read(table.field(self.column.place)) else {
            return;
        };
        let value = number.to_f64();
        let Some(axis) = self.axis else {
            let (min, max) = self.extremes.unwrap_or((value, value));
            self.extremes = Some((min.min(value), max.max(value)));
            return;
        };
        let last = self.counts.len().saturating_sub(1);
        if let Some(count) = self.counts.get_mut(axis.step_of(value).min(last)) {
            *count += 1;
        }
    }

    fn can_append(&self, _: &Self) -> bool {
        true
    }

    fn append(&mut self, later: Self, _: u64) {
        self.counts.iter_mut().zip(later.counts).for_each(|(mine, theirs)| *mine += theirs);
        if let Some((min, max)) = later.extremes {
            let (lowest, highest) = self.extremes.unwrap_or((min, max));
            self.extremes = Some((lowest.min(min), highest.max(max)));
        }
    }
}

fn histogram(
    file: &TableFile,
    request: &Charting,
    observer: &dyn Observer,
) -> Result<Chart, Error> {
    let column = &numeric(file, request.x()?, observer)?;
    let test = &Filter::compile(request.filter.as_ref(), file, observer)?;
    let mut bins = Bins { test, column, axis: None, counts: Vec::new(), extremes: None };
    parts::read(&mut file.open()?, file, &mut bins, observer)?;
    let (min, max) = bins.extremes.unwrap_or((0.0, 0.0));
    let axis = Axis::around(min, max, MAX_BINS);
    let mut bins = Bins { axis: Some(axis), counts: vec![0; axis.steps as usize], ..bins };
    let mut table = file.open()?;
    parts::read(&mut table, file, &mut bins, observer)?;
    let mut chart = Chart::of(request, &table, &["from", "to", "count"]);
    chart.title = format!("histogram of {}", request.x()?);
    chart.points = (0..)
        .zip(&bins.counts)
        .map(|(step, count)| {
            let edge = |step: u32| Some(axis.value(step));
            vec![edge(step), edge(step + 1), Some(exact::from_count(*count))]
        })
        .collect();
    chart.assumptions.push("a number on the edge of two bins counts in the upper one".to_owned());
    Ok(chart)
}

fn scatter(file: &TableFile, request: &Charting, observer: &dyn Observer) -> Result<Chart, Error> {
    let columns = [request.x()?, request.y()?];
    let [x, y] = columns;
    let [x, y] = [numeric(file, x, observer)?, numeric(file, y, observer)?];
    let test = Filter::compile(request.filter.as_ref(), file, observer)?;
    let mut table = file.open()?;
    let number = |column: &Typed, cell: Option<&[u8]>| match column.read(cell) {
        Cell::Number(number) => Some(number),
        _ => None,
    };
    let mut sample = Sample::new(MAX_POINTS, 0);
    let mut pairs = 0;
    while table.advance(observer)? {
        let has_both =
            [&x, &y].iter().all(|column| number(column, table.field(column.place)).is_some());
        if has_both && test.matches(&table) {
            sample.offer(pairs, &table, &[x.place, y.place])?;
            pairs += 1;
        }
    }
    let mut chart = Chart::of(request, &table, &columns);
    chart.title = columns.join(" and ");
    for row in sample.into_rows() {
        let cells = [&x, &y].into_iter().zip(&row.cells);
        let value = |(column, cell): (&Typed, &Option<String>)| {
            number(column, cell.as_ref().map(String::as_bytes)).map(super::number::Number::to_value)
        };
        chart.points.push(cells.map(value).collect());
    }
    if pairs > MAX_POINTS as u64 {
        let text = format!("of {pairs} points a random sample of {MAX_POINTS} is shown");
        chart.assumptions.push(text);
    }
    Ok(chart)
}
