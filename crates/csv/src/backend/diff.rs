//! What changed between two files with a common key: rows added, removed and changed.
//!
//! The old file is held as one fingerprint for each row; the cells of the rows to show are read in a
//! third pass.

use std::collections::{BTreeMap, HashMap};

use foldhash::quality::RandomState;
use schemars::JsonSchema;
use serde::Serialize;

use super::duplicates::Fingerprints;
use super::grid;
use super::oddities::is_zero;
use super::page::Page;
use super::reader::{TableFile, TableReader};
use super::source;
use super::{Error, Observer, summary};

/// How to compare.
pub(crate) struct Diff {
    pub(crate) keys: Vec<String>,
    pub(crate) page: Page,
}

/// The answer to `diff_csv`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Differences {
    pub(crate) added: u64,
    pub(crate) removed: u64,
    pub(crate) changed: u64,
    pub(crate) unchanged: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) columns_added: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) columns_removed: Vec<String>,
    /// Added and changed rows in the order of the new file, then removed ones.
    pub(crate) rows: Vec<Difference>,
    /// Left out: see `offset`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) more_rows: u64,
    /// What the files do not prove and what is irregular in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Difference {
    pub(crate) change: Change,
    pub(crate) key: Vec<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    pub(crate) old_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    pub(crate) new_line: Option<u64>,
    /// Old and new text of each column that changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub(crate) cells: BTreeMap<String, [Option<String>; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Change {
    Added,
    Removed,
    Changed,
}

struct Old {
    fingerprint: u128,
    line: u64,
    is_met: bool,
}

type Rows = HashMap<Box<[u8]>, Old, RandomState>;

/// A row to show, before its old cells are known.
struct Shown {
    difference: Difference,
    raw_key: Vec<u8>,
    cells: Vec<Option<String>>,
}

pub(super) fn diff(
    old: &TableFile,
    new: &TableFile,
    request: &Diff,
    observer: &dyn Observer,
) -> Result<Differences, Error> {
    let hashing = Fingerprints::default();
    let (mut old_table, mut table) = (old.open()?, new.open()?);
    let sides = Sides::of(&old_table, &table, &request.keys)?;
    let mut rows = read_old(&mut old_table, &sides, &hashing, observer)?;
    let mut found = Found { page: request.page, total: 0, shown: Vec::new(), bytes: 0 };
    let (mut added, mut changed, mut unchanged) = (0, 0, 0);
    let mut key = Vec::new();
    let mut met = Met::default();
    while table.advance(observer)? {
        push_key(&mut key, &table, &sides.new_keys);
        match rows.get_mut(key.as_slice()) {
            Some(row) if row.is_met => return Err(repeated("new", row.line, &table)),
            Some(row) => {
                row.is_met = true;
                let is_same = row.fingerprint == fingerprint(&table, &sides.new, &hashing);
                if is_same {
                    unchanged += 1;
                } else {
                    changed += 1;
                    found.push(Change::Changed, &key, &table, &sides.new, Some(row.line));
                }
                row.line = table.records.line();
            }
            None => {
                meet(&mut met, &key, &table)?;
                added += 1;
                found.push(Change::Added, &key, &table, &sides.new, None);
            }
        }
    }
    let removed = found.push_removed(&rows);
    found.add_old_cells(old, &sides, observer)?;
    let (rows, more_rows) = found.into_page();
    let mut assumptions = summary::table_assumptions(&table);
    assumptions.extend(
        summary::table_assumptions(&old_table).into_iter().map(|text| format!("old file: {text}")),
    );
    Ok(Differences {
        added,
        removed,
        changed,
        unchanged,
        columns_added: sides.added,
        columns_removed: sides.removed,
        rows,
        more_rows,
        assumptions,
    })
}

type Met = HashMap<Box<[u8]>, u64, RandomState>;

/// Keys that only the new file has must not repeat either.
fn meet(met: &mut Met, key: &[u8], table: &TableReader) -> Result<(), Error> {
    if let Some(first) = met.insert(key.into(), table.records.line()) {
        return Err(repeated("new", first, table));
    }
    match met.len() * BYTES_PER_ROW > MAX_BYTES {
        true => Err(Error::TooLarge { what: "the keys of the new file" }),
        false => Ok(()),
    }
}

const MAX_BYTES: usize = 64 << 20;
const BYTES_PER_ROW: usize = 96;

/// The columns both files have, in the order of the new one.
struct Sides {
    old: Vec<usize>,
    new: Vec<usize>,
    names: Vec<String>,
    old_keys: Vec<usize>,
    new_keys: Vec<usize>,
    added: Vec<String>,
    removed: Vec<String>,
}

impl Sides {
    fn of(old: &TableReader, new: &TableReader, keys: &[String]) -> Result<Self, Error> {
        let (old_keys, new_keys) = (old.places_of(keys)?, new.places_of(keys)?);
        let missing = |from: &TableReader, other: &TableReader| {
            from.names.iter().filter(|name| !other.names.contains(name)).cloned().collect()
        };
        let both = new.names.iter().enumerate().filter_map(|(place, name)| {
            let old_place = old.names.iter().position(|other| other == name)?;
            (!new_keys.contains(&place)).then(|| (old_place, place, name.clone()))
        });
        let (mut places, mut others, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (old_place, place, name) in both {
            others.push(old_place);
            places.push(place);
            names.push(name);
        }
        let (added, removed) = (missing(new, old), missing(old, new));
        Ok(Self { old: others, new: places, names, old_keys, new_keys, added, removed })
    }
}

fn read_old(
    table: &mut TableReader,
    sides: &Sides,
    hashing: &Fingerprints,
    observer: &dyn Observer,
) -> Result<Rows, Error> {
    let mut rows = Rows::default();
    let (mut key, mut bytes) = (Vec::new(), 0);
    while table.advance(observer)? {
        push_key(&mut key, table, &sides.old_keys);
        bytes += key.len() + BYTES_PER_ROW;
        if bytes > MAX_BYTES {
            return Err(Error::TooLarge { what: "the keys of the old file" });
        }
        let fingerprint = fingerprint(table, &sides.old, hashing);
        let row = Old { fingerprint, line: table.records.line(), is_met: false };
        if let Some(first) = rows.insert(key.as_slice().into(), row) {
            return Err(repeated("old", first.line, table));
        }
    }
    Ok(rows)
}

struct Found {
    page: Page,
    total: usize,
    shown: Vec<Shown>,
    bytes: usize,
}

impl Found {
    fn push(
        &mut self,
        change: Change,
        key: &[u8],
        table: &TableReader,
        places: &[usize],
        old_line: Option<u64>,
    ) {
        let is_shown = self.is_next_shown();
        let shown = places.iter().filter(|_| is_shown);
        let cells = shown.map(|place| table.field(*place).map(source::decode)).collect();
        let new_line = is_shown.then(|| table.records.line());
        self.show(change, key, cells, old_line, new_line);
    }

    fn show(
        &mut self,
        change: Change,
        key: &[u8],
        cells: Vec<Option<String>>,
        old_line: Option<u64>,
        new_line: Option<u64>,
    ) {
        if self.is_next_shown() {
            self.bytes += key.len() + cells.iter().flatten().map(String::len).sum::<usize>();
            let fields = grid::key_fields(key);
            let key_texts = fields.into_iter().map(|field| field.map(source::decode)).collect();
            let difference =
                Difference { change, key: key_texts, old_line, new_line, cells: BTreeMap::new() };
            self.shown.push(Shown { difference, raw_key: key.to_vec(), cells });
        }
        self.total += 1;
    }

    fn is_next_shown(&self) -> bool {
        self.total >= self.page.offset && self.page.has_room(self.shown.len(), self.bytes)
    }

    /// In the order of the old file.
    fn push_removed(&mut self, rows: &Rows) -> u64 {
        let mut removed: Vec<(u64, &[u8])> = rows
            .iter()
            .filter(|(_, row)| !row.is_met)
            .map(|(key, row)| (row.line, &**key))
            .collect();
        removed.sort_unstable();
        for (line, key) in &removed {
            self.show(Change::Removed, key, Vec::new(), Some(*line), None);
        }
        removed.len() as u64
    }

    /// Reads the old file again for the rows that changed.
    fn add_old_cells(
        &mut self,
        old: &TableFile,
        sides: &Sides,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let is_changed = |shown: &&mut Shown| shown.difference.change == Change::Changed;
        let mut wanted: HashMap<Vec<u8>, &mut Shown> = self
            .shown
            .iter_mut()
            .filter(is_changed)
            .map(|shown| (shown.raw_key.clone(), shown))
            .collect();
        let (mut table, mut key) = (old.open()?, Vec::new());
        while !wanted.is_empty() && table.advance(observer)? {
            push_key(&mut key, &table, &sides.old_keys);
            let Some(shown) = wanted.remove(&key) else {
                continue;
            };
            let new = std::mem::take(&mut shown.cells);
            for ((name, place), new) in sides.names.iter().zip(&sides.old).zip(new) {
                let old = table.field(*place).map(source::decode);
                if old.as_deref().map(str::trim) != new.as_deref().map(str::trim) {
                    shown.difference.cells.insert(name.clone(), [old, new]);
                }
            }
        }
        Ok(())
    }

    fn into_page(self) -> (Vec<Difference>, u64) {
        let rows = self.shown.into_iter().map(|shown| shown.difference).collect();
        let rows = self.page.fitting(rows);
        let more = self.total.saturating_sub(self.page.offset + rows.len());
        (rows, more as u64)
    }
}

fn push_key(key: &mut Vec<u8>, table: &TableReader, places: &[usize]) {
    key.clear();
    places.iter().for_each(|place| grid::push_key(key, table.field(*place)));
}

/// Of the cells that both files have, without the spaces around them.
fn fingerprint(table: &TableReader, places: &[usize], hashing: &Fingerprints) -> u128 {
    let cells: Vec<Option<&[u8]>> =
        places.iter().map(|place| table.field(*place).map(<[u8]>::trim_ascii)).collect();
    hashing.of(cells)
}

fn repeated(side: &'static str, first: u64, table: &TableReader) -> Error {
    Error::RepeatedKey { side, first, again: table.records.line() }
}
