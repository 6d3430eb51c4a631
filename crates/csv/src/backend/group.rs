//! Aggregates over the rows that share the texts of some columns.
//!
//! All groups are held at once. Where they do not fit into memory the call is refused with an
//! estimate of how many there are, because the sums of some groups are no answer.

use foldhash::quality::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collect::HyperLogLog;
use super::column::Column;
use super::filter::{Filter, Test};
use super::grid;
use super::page::Page;
use super::parts::{self, Gather};
use super::reader::{TableFile, TableReader};
use super::report::{ColumnReport, Grid, Operation, UncertainMark};
use super::scan::{self, MAX_KEPT_BYTES, Scan};
use super::stats::Stats;
use super::tally::Wanted;
use super::{Error, Observer, summary};

/// What to compute for each group.
#[derive(Default)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<String>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) filter: Option<Filter>,
    /// A column of the answer; the number of rows if left out.
    pub(crate) order_by: Option<String>,
    pub(crate) ascending: bool,
    pub(crate) page: Page,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Aggregate {
    pub(crate) operation: Operation,
    pub(crate) column: String,
}

/// The answer to `group_csv`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Grouped {
    /// Data rows in the file.
    pub(crate) rows: u64,
    /// Rows that met the filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    pub(crate) matched: Option<u64>,
    pub(crate) groups: u64,
    /// The keys, `rows`, and each aggregate. A null key is an empty cell.
    pub(crate) table: Grid,
    /// What the file does not prove and what is irregular in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
    #[serde(skip)]
    pub(crate) columns: Vec<ColumnReport>,
    #[serde(skip)]
    pub(crate) uncertain_mark: Option<UncertainMark>,
}

/// One group while the file is read.
#[derive(Default)]
pub(super) struct Group {
    pub(super) rows: u64,
    /// One for each column that is aggregated.
    pub(super) stats: Vec<Stats>,
}

impl Group {
    fn append(&mut self, later: Self, lines_before: u64) {
        self.rows += later.rows;
        for (mine, theirs) in self.stats.iter_mut().zip(later.stats) {
            mine.append(theirs, lines_before);
        }
    }
}

/// The groups by their keys, each key as [`grid::push_key`] writes it.
pub(super) type Groups = HashMap<Box<[u8]>, Group, RandomState>;

pub(super) fn group(
    file: &TableFile,
    request: &Grouping,
    observer: &dyn Observer,
) -> Result<Grouped, Error> {
    let test = Filter::compile(request.filter.as_ref(), file, observer)?;
    let table = file.open()?;
    let keys = table.places_of(&request.keys)?;
    let mut places: Vec<usize> = Vec::new();
    for aggregate in &request.aggregates {
        let place = table.place_of(&aggregate.column)?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let wanted = wanted_by_column(&table, request, &places)?;
    let mut scan = Scan::new(table, places)?;
    let columns = std::mem::take(&mut scan.columns);
    let mut gathering = Gathering::new(columns, &keys, &wanted, &test);
    parts::read(&mut scan.table, file, &mut gathering, observer)?;
    gathering.stay_within_memory();
    if let Some(sketch) = &gathering.too_many {
        return Err(Error::TooManyGroups { estimate: sketch.count() });
    }
    (scan.columns, scan.matched) = (gathering.columns, gathering.matched);
    scan.settle();
    conclude(scan, &keys, gathering.groups, request)
}

fn wanted_by_column(
    table: &TableReader,
    request: &Grouping,
    places: &[usize],
) -> Result<Vec<Wanted>, Error> {
    let mut operations = vec![Vec::new(); places.len()];
    for aggregate in &request.aggregates {
        let place = table.place_of(&aggregate.column)?;
        let slots = places.iter().zip(&mut operations);
        slots
            .filter(|(other, _)| **other == place)
            .for_each(|(_, of_column)| of_column.push(aggregate.operation));
    }
    Ok(operations.iter().map(|operations| Wanted::by(operations)).collect())
}

/// The groups, and what their columns are.
struct Gathering<'a> {
    columns: Vec<(usize, Column)>,
    matched: u64,
    keys: &'a [usize],
    wanted: &'a [Wanted],
    test: &'a Test,
    groups: Groups,
    /// Bytes of the keys.
    key_bytes: usize,
    key: Vec<u8>,
    /// All keys, once the groups have been given up.
    too_many: Option<HyperLogLog>,
}

impl Gather for Gathering<'_> {
    fn fresh(&self) -> Self {
        let columns = self.columns.iter().map(|(place, column)| (*place, column.fresh()));
        Self::new(columns.collect(), self.keys, self.wanted, self.test)
    }

    #[inline]
    fn add_row(&mut self, table: &TableReader) {
        self.count_row(table);
        if table.rows.is_multiple_of(4096) {
            self.stay_within_memory();
        }
    }

    fn can_append(&self, later: &Self) -> bool {
        let is_mergeable = |group: &Group| group.stats.iter().all(Stats::is_mergeable);
        scan::can_append(&self.columns, &later.columns)
            && later.too_many.is_none()
            && later.groups.values().all(is_mergeable)
    }

    fn append(&mut self, later: Self, lines_before: u64) {
        self.matched += later.matched;
        scan::append(&mut self.columns, later.columns, lines_before);
        for (key, theirs) in later.groups {
            if let Some(sketch) = &mut self.too_many {
                sketch.add(&key);
            } else {
                let columns = self.wanted.len();
                let mine = group_of(&mut self.groups, &key, columns, &mut self.key_bytes);
                mine.append(theirs, lines_before);
            }
        }
        self.stay_within_memory();
    }
}

impl<'a> Gathering<'a> {
    fn new(
        columns: Vec<(usize, Column)>,
        keys: &'a [usize],
        wanted: &'a [Wanted],
        test: &'a Test,
    ) -> Self {
        let (groups, key) = (Groups::default(), Vec::new());
        Self { columns, matched: 0, keys, wanted, test, groups, key_bytes: 0, key, too_many: None }
    }

    #[inline]
    fn count_row(&mut self, table: &TableReader) {
        let (row, is_counted) = (table.row(), self.test.matches(table));
        if is_counted {
            self.matched += 1;
            self.key.clear();
            for place in self.keys {
                grid::push_key(&mut self.key, row.field(*place));
            }
            if let Some(sketch) = &mut self.too_many {
                sketch.add(&self.key);
                return;
            }
        }
        let mut group = is_counted
            .then(|| group_of(&mut self.groups, &self.key, self.wanted.len(), &mut self.key_bytes));
        if let Some(group) = &mut group {
            group.rows += 1;
        }
        let line = || table.records.line();
        let mut stats = group.map(|group| group.stats.iter_mut());
        for ((place, column), wanted) in self.columns.iter_mut().zip(self.wanted) {
            let stats = stats.as_mut().and_then(Iterator::next);
            match (row.field(*place), stats) {
                (Some(cell), Some(stats)) => {
                    let class = column.classify(cell, &line);
                    stats.add(cell, class, *wanted, &line);
                }
                (Some(cell), None) => {
                    column.classify(cell, &line);
                }
                (None, Some(stats)) => stats.add_missing(),
                (None, None) => {}
            }
        }
    }

    fn stay_within_memory(&mut self) {
        /// Two pointers and the entry of the map, and the sums of a column.
        const BYTES_PER_GROUP: usize = 96;
        const BYTES_PER_SUM: usize = 48;
        if self.too_many.is_some() {
            return;
        }
        let per_group = BYTES_PER_GROUP + self.wanted.len() * (size_of::<Stats>() + BYTES_PER_SUM);
        let keeps = self.wanted.iter().any(|wanted| wanted.numbers || wanted.texts);
        let kept = |group: &Group| group.stats.iter().map(Stats::kept_bytes).sum::<usize>();
        let kept_bytes = if keeps { self.groups.values().map(kept).sum() } else { 0 };
        if self.key_bytes + self.groups.len() * per_group + kept_bytes > MAX_KEPT_BYTES {
            let mut sketch = HyperLogLog::default();
            self.groups.keys().for_each(|key| sketch.add(key));
            self.groups = Groups::default();
            self.too_many = Some(sketch);
        }
    }
}

#[inline]
fn group_of<'a>(
    groups: &'a mut Groups,
    key: &[u8],
    columns: usize,
    key_bytes: &mut usize,
) -> &'a mut Group {
    match groups.entry_ref(key) {
        EntryRef::Occupied(group) => group.into_mut(),
        EntryRef::Vacant(place) => {
            *key_bytes += key.len();
            let stats = std::iter::repeat_with(Stats::default).take(columns).collect();
            place.insert_with_key(key.into(), Group { rows: 0, stats })
        }
    }
}

fn conclude(
    scan: Scan,
    keys: &[usize],
    groups: Groups,
    request: &Grouping,
) -> Result<Grouped, Error> {
    let operations: Vec<Operation> =
        request.aggregates.iter().map(|aggregate| aggregate.operation).collect();
    let assumptions = summary::assumptions(&scan, &operations);
    let uncertain_mark = summary::uncertain_mark(&scan);
    let count = groups.len() as u64;
    let is_numeric: Vec<(usize, bool)> =
        scan.columns.iter().map(|(place, column)| (*place, column.is_numeric())).collect();
    let table = grid::of_groups(&scan.table, keys, request, groups, &is_numeric)?;
    let matched = request.filter.as_ref().map(|_| scan.matched);
    let rows = scan.table.rows;
    let names = &scan.table.names;
    let report = |(place, column): (usize, Column)| {
        let name = names.get(place).cloned().unwrap_or_default();
        let mut report = column.report(name, place + 1, &[]);
        report.place_lines(|line| scan.table.chain.place(line));
        report
    };
    let columns = scan.columns.into_iter().map(report).collect();
    Ok(Grouped { rows, matched, groups: count, table, assumptions, columns, uncertain_mark })
}
