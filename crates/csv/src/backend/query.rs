//! Rows as they stand in the file, each with where it stands: filtered, sorted, sampled, by pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dates::DateFormat;
use super::filter::Filter;
use super::page::Page;
use super::pick::{Sample, Sorted};
use super::reader::{TableFile, TableReader};
use super::source;
use super::typed;
use super::{Error, Observer, summary};

/// Which rows to give.
#[derive(Default)]
pub(crate) struct Query {
    pub(crate) filter: Option<Filter>,
    /// All if left out.
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) sort: Option<Order>,
    /// A random choice of this many rows.
    pub(crate) sample: Option<usize>,
    pub(crate) seed: u64,
    /// Physical line to start at.
    pub(crate) from_line: u64,
    pub(crate) limit: Option<usize>,
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Order {
    pub(crate) column: String,
    #[serde(default)]
    pub(crate) descending: bool,
}

/// The answer to `query_rows`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Queried {
    /// Data rows in the file.
    pub(crate) rows: u64,
    /// Rows that the conditions let through.
    pub(crate) matched: u64,
    pub(crate) columns: Vec<String>,
    pub(crate) found: Vec<FoundRow>,
    /// Give it back for the rows that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) cursor: Option<String>,
    /// What the file does not prove and what is irregular in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct FoundRow {
    /// Data row, from 1.
    pub(crate) row: u64,
    /// Where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) file: Option<String>,
    /// Physical line on which it starts, from 1.
    pub(crate) line: u64,
    /// Byte at which it starts; of the decoded text in UTF-16 and compressed files.
    pub(crate) offset: u64,
    /// As they stand in the file; null where a short row has none.
    pub(crate) cells: Vec<Option<String>>,
}

pub(super) fn query(
    file: &TableFile,
    request: &Query,
    observer: &dyn Observer,
) -> Result<Queried, Error> {
    let test = Filter::compile(request.filter.as_ref(), file, observer)?;
    let mut table = file.open()?;
    let places = match &request.columns {
        Some(names) => table.places_of(names)?,
        None => table.select(None)?,
    };
    let digest = table.chain.digest();
    let page =
        Page { offset: read_cursor(request.cursor.as_deref(), digest)?, limit: request.limit };
    let mut picked = picker(file, &table, request, page, observer)?;
    let mut matched = 0;
    while table.advance(observer)? {
        let is_before = request.from_line > 1 && table.records.line() < request.from_line;
        if is_before || !test.matches(&table) {
            continue;
        }
        picked.offer(matched, &table, &places)?;
        matched += 1;
    }
    let found = page.fitting(picked.into_rows(page.offset));
    let next = page.offset + found.len();
    let has_more = !found.is_empty() && (next as u64) < matched && request.sample.is_none();
    let name = |place: &usize| table.names.get(*place).cloned().unwrap_or_default();
    Ok(Queried {
        rows: table.rows,
        matched,
        columns: places.iter().map(name).collect(),
        found,
        cursor: has_more.then(|| format!("{next:x}-{digest:x}")),
        assumptions: summary::table_assumptions(&table),
    })
}

fn read_cursor(cursor: Option<&str>, digest: u64) -> Result<usize, Error> {
    let Some(cursor) = cursor else {
        return Ok(0);
    };
    let parts = cursor.split_once('-').and_then(|(next, of_file)| {
        let next = usize::from_str_radix(next, 16).ok()?;
        Some((next, u64::from_str_radix(of_file, 16).ok()?))
    });
    match parts {
        Some((next, of_file)) if of_file == digest => Ok(next),
        Some(_) => Err(Error::StaleCursor),
        None => Err(Error::Option { text: "`cursor` is not one this tool gave" }),
    }
}

/// Rows kept while the file is read.
enum Picker {
    /// In file order.
    Page(Page, Vec<FoundRow>, usize),
    Sorted(Sorted),
    Sampled(Sample),
}

fn picker(
    file: &TableFile,
    table: &TableReader,
    request: &Query,
    page: Page,
    observer: &dyn Observer,
) -> Result<Picker, Error> {
    match (&request.sort, request.sample) {
        (Some(_), Some(_)) => Err(Error::Option { text: "give `sort` or `sample`, not both" }),
        (None, Some(size)) => Ok(Picker::Sampled(Sample::new(size, request.seed))),
        (None, None) => Ok(Picker::Page(page, Vec::new(), 0)),
        (Some(order), None) => {
            let place = table.place_of(&order.column)?;
            let column = typed::find_out(file, &[place], observer)?.into_iter().next();
            let column = column.ok_or(Error::Option { text: "`sort` needs a column" })?;
            if column.dates == Some(DateFormat::Ambiguous) {
                return Err(Error::AmbiguousDates { column: order.column.clone() });
            }
            Sorted::new(column, order.descending, page.end()).map(Picker::Sorted)
        }
    }
}

impl Picker {
    fn offer(&mut self, number: u64, table: &TableReader, places: &[usize]) -> Result<(), Error> {
        match self {
            Self::Page(page, rows, bytes) => {
                if number >= page.offset as u64 && page.has_room(rows.len(), *bytes) {
                    rows.push(found(table, places));
                    *bytes += rows.last().map_or(0, FoundRow::bytes);
                }
                Ok(())
            }
            Self::Sorted(sorted) => sorted.offer(table, places),
            Self::Sampled(sample) => sample.offer(number, table, places),
        }
    }

    /// Those of the page, which starts at `offset`.
    fn into_rows(self, offset: usize) -> Vec<FoundRow> {
        match self {
            Self::Page(_, rows, _) => rows,
            Self::Sorted(sorted) => sorted.into_rows().into_iter().skip(offset).collect(),
            Self::Sampled(sample) => sample.into_rows(),
        }
    }
}

pub(super) fn found(table: &TableReader, places: &[usize]) -> FoundRow {
    let cell = |place: &usize| table.field(*place).map(source::decode);
    let (file, line) = table.chain.place(table.records.line());
    FoundRow {
        row: table.rows,
        file,
        line,
        offset: table.records.offset(),
        cells: places.iter().map(cell).collect(),
    }
}

impl FoundRow {
    pub(super) fn bytes(&self) -> usize {
        let text = |cell: &Option<String>| {
            size_of::<Option<String>>() + cell.as_ref().map_or(0, String::len)
        };
        size_of::<Self>() + self.cells.iter().map(text).sum::<usize>()
    }
}
