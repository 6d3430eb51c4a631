//! Rows of two files side by side: the second is held in memory, the first streams past it.

use std::collections::HashMap;

use foldhash::quality::RandomState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid;
use super::oddities::is_zero;
use super::page::Page;
use super::reader::{TableFile, TableReader};
use super::source;
use super::{Error, Observer, summary};

/// How to join.
pub(crate) struct Join {
    /// Columns whose texts must be the same, by their names in both files.
    pub(crate) on: Vec<Pair>,
    pub(crate) kind: JoinKind,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) right_columns: Option<Vec<String>>,
    pub(crate) page: Page,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Pair {
    pub(crate) left: String,
    pub(crate) right: String,
}

/// `left` keeps rows without a partner, `anti` gives only those, `semi` only those with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum JoinKind {
    #[default]
    Inner,
    Left,
    Anti,
    Semi,
}

/// The answer to `join_csv`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Joined {
    pub(crate) left_rows: u64,
    pub(crate) right_rows: u64,
    /// Rows of the left file with a partner in the right one.
    pub(crate) left_matched: u64,
    /// Keys of the right file, and those of them that no left row has.
    pub(crate) right_keys: u64,
    pub(crate) right_keys_unused: u64,
    /// Rows of the right file that repeat a key, which multiplies left rows.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) right_rows_repeating_a_key: u64,
    pub(crate) joined_rows: u64,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
    /// Joined rows left out: see `offset`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) more_rows: u64,
    /// What the files do not prove and what is irregular in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) assumptions: Vec<String>,
}

type Cells = Vec<Option<String>>;

#[derive(Default)]
struct Partners {
    rows: Vec<Cells>,
    is_used: bool,
}

/// The right file by its keys.
#[derive(Default)]
struct Right {
    by_key: HashMap<Box<[u8]>, Partners, RandomState>,
    names: Vec<String>,
    rows: u64,
    repeating: u64,
    assumptions: Vec<String>,
}

pub(super) fn join(
    left: &TableFile,
    right: &TableFile,
    request: &Join,
    observer: &dyn Observer,
) -> Result<Joined, Error> {
    let mut table = left.open()?;
    let names =
        |side: fn(&Pair) -> &String| request.on.iter().map(side).cloned().collect::<Vec<_>>();
    let keys = table.places_of(&names(|pair| &pair.left))?;
    let places = chosen(&table, request.columns.as_deref(), &[])?;
    let mut right = read_right(right, &names(|pair| &pair.right), request, observer)?;
    let mut out = Output { page: request.page, rows: Vec::new(), bytes: 0, total: 0 };
    let (mut key, mut matched) = (Vec::new(), 0);
    let nothing = vec![None; right.names.len()];
    while table.advance(observer)? {
        let mut partners = match key_of(&table, &keys, &mut key) {
            true => right.by_key.get_mut(key.as_slice()),
            false => None,
        };
        if let Some(partners) = &mut partners {
            partners.is_used = true;
            matched += 1;
        }
        match (request.kind, partners) {
            (JoinKind::Inner | JoinKind::Left, Some(partners)) => {
                for partner in &partners.rows {
                    out.push(&table, &places, partner);
                }
            }
            (JoinKind::Left, None) => out.push(&table, &places, &nothing),
            (JoinKind::Semi, Some(_)) | (JoinKind::Anti, None) => out.push(&table, &places, &[]),
            (JoinKind::Inner | JoinKind::Semi, None) | (JoinKind::Anti, Some(_)) => {}
        }
    }
    Ok(conclude(&table, &places, right, out, matched, request.kind))
}

fn read_right(
    file: &TableFile,
    keys: &[String],
    request: &Join,
    observer: &dyn Observer,
) -> Result<Right, Error> {
    const MAX_BYTES: usize = 64 << 20;
    const BYTES_PER_ROW: usize = 96;
    let mut table = file.open()?;
    let keys = table.places_of(keys)?;
    let places = match request.kind {
        JoinKind::Anti | JoinKind::Semi => Vec::new(),
        JoinKind::Inner | JoinKind::Left => {
            chosen(&table, request.right_columns.as_deref(), &keys)?
        }
    };
    let mut right = Right { names: names_of(&table, &places), ..Right::default() };
    let (mut key, mut bytes) = (Vec::new(), 0);
    while table.advance(observer)? {
        if !key_of(&table, &keys, &mut key) {
            continue;
        }
        let cells = cells_of(&table, &places);
        bytes += BYTES_PER_ROW + key.len();
        bytes += cells.iter().map(|cell| 24 + cell.as_ref().map_or(0, String::len)).sum::<usize>();
        if bytes > MAX_BYTES {
            return Err(Error::TooLarge {
                what: "the right file; put the smaller file there or choose `right_columns`",
            });
        }
        let partners = right.by_key.entry(key.as_slice().into()).or_default();
        right.repeating += u64::from(!partners.rows.is_empty());
        partners.rows.push(cells);
    }
    right.rows = table.rows;
    right.assumptions = summary::table_assumptions(&table);
    Ok(right)
}

struct Output {
    page: Page,
    rows: Vec<Cells>,
    bytes: usize,
    total: u64,
}

impl Output {
    fn push(&mut self, table: &TableReader, places: &[usize], partner: &[Option<String>]) {
        let is_after = self.total >= self.page.offset as u64;
        if is_after && self.page.has_room(self.rows.len(), self.bytes) {
            let cells = cells_of(table, places).into_iter().chain(partner.iter().cloned());
            let row: Cells = cells.collect();
            self.bytes += row.iter().flatten().map(String::len).sum::<usize>();
            self.rows.push(row);
        }
        self.total += 1;
    }
}

fn conclude(
    table: &TableReader,
    places: &[usize],
    right: Right,
    out: Output,
    left_matched: u64,
    kind: JoinKind,
) -> Joined {
    let unused = right.by_key.values().filter(|partners| !partners.is_used).count();
    let mut columns = names_of(table, places);
    if matches!(kind, JoinKind::Inner | JoinKind::Left) {
        columns.extend(
            right
                .names
                .iter()
                .map(|name| match columns.contains(name) {
                    true => format!("right.{name}"),
                    false => name.clone(),
                })
                .collect::<Vec<_>>(),
        );
    }
    let rows = out.page.fitting(out.rows);
    let more_rows = out.total.saturating_sub((out.page.offset + rows.len()) as u64);
    let mut assumptions = vec![
        "keys are compared as texts, so 1 and 1.0 differ; rows with an empty key have no partner"
            .to_owned(),
    ];
    assumptions.extend(summary::table_assumptions(table));
    assumptions.extend(right.assumptions.iter().map(|text| format!("right file: {text}")));
    Joined {
        left_rows: table.rows,
        right_rows: right.rows,
        left_matched,
        right_keys: right.by_key.len() as u64,
        right_keys_unused: unused as u64,
        right_rows_repeating_a_key: right.repeating,
        joined_rows: out.total,
        columns,
        rows,
        more_rows,
        assumptions,
    }
}

/// `false` if a part of the key is empty.
fn key_of(table: &TableReader, places: &[usize], key: &mut Vec<u8>) -> bool {
    key.clear();
    let fields = places.iter().map(|place| table.field(*place));
    fields.fold(true, |is_whole, field| {
        grid::push_key(key, field);
        is_whole && field.is_some_and(|field| !field.trim_ascii().is_empty())
    })
}

/// Places of the columns named, or of all but `but`.
fn chosen(
    table: &TableReader,
    names: Option<&[String]>,
    but: &[usize],
) -> Result<Vec<usize>, Error> {
    match names {
        Some(names) => table.places_of(names),
        None => Ok(table.select(None)?.into_iter().filter(|place| !but.contains(place)).collect()),
    }
}

fn names_of(table: &TableReader, places: &[usize]) -> Vec<String> {
    places.iter().map(|place| table.names.get(*place).cloned().unwrap_or_default()).collect()
}

fn cells_of(table: &TableReader, places: &[usize]) -> Cells {
    places.iter().map(|place| table.field(*place).map(source::decode)).collect()
}
