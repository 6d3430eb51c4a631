//! Aggregates over whole columns, or over the rows of each group.

use super::filter::Filter;
use super::group::{self, Aggregate, Grouping};
use super::page::Page;
use super::reader::TableFile;
use super::report::{Analysis, Operation};
use super::scan::Scan;
use super::tally::Wanted;
use super::{Error, Observer, narrow, summary};

/// What to compute of a file.
#[derive(Default)]
pub(crate) struct Analyze {
    pub(crate) operations: Vec<Operation>,
    /// Names as the answer gives them, or `#3` for the third column; `None` is every column.
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) filter: Option<Filter>,
    /// Empty: everything is one group.
    pub(crate) group_by: Vec<String>,
}

pub(super) fn analyze(
    file: &TableFile,
    request: &Analyze,
    observer: &dyn Observer,
) -> Result<Analysis, Error> {
    if !request.group_by.is_empty() {
        return by_group(file, request, observer);
    }
    let test = Filter::compile(request.filter.as_ref(), file, observer)?;
    let table = file.open()?;
    let places = table.select(request.columns.as_deref())?;
    let mut scan = Scan::new(table, places)?;
    let wanted = Wanted::by(&request.operations);
    scan.read(file, wanted, &test, observer)?;
    narrow::settle(file, &mut scan, &request.operations, &test, observer)?;
    Ok(summary::analysis(scan, &request.operations, request.filter.is_some()))
}

fn by_group(
    file: &TableFile,
    request: &Analyze,
    observer: &dyn Observer,
) -> Result<Analysis, Error> {
    let table = file.open()?;
    let keys = table.places_of(&request.group_by)?;
    let places = table.select(request.columns.as_deref())?;
    let columns = places.into_iter().filter(|place| !keys.contains(place));
    let aggregates = columns.flat_map(|place| {
        let of_column = |operation: &Operation| Aggregate {
            operation: *operation,
            column: format!("#{}", place + 1),
        };
        request.operations.iter().map(of_column).collect::<Vec<_>>()
    });
    let grouping = Grouping {
        keys: request.group_by.clone(),
        aggregates: aggregates.collect(),
        filter: request.filter.clone(),
        page: Page::default(),
        ..Grouping::default()
    };
    let mut grouped = group::group(file, &grouping, observer)?;
    grouped.table.drop_empty_columns();
    Ok(Analysis {
        rows: grouped.rows,
        matched: grouped.matched,
        columns: grouped.columns,
        more_columns: 0,
        groups: Some(grouped.table),
        assumptions: grouped.assumptions,
        uncertain_mark: grouped.uncertain_mark,
    })
}
