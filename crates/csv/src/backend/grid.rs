//! Groups as a table: keys written and read back, rows in order, and each column's exactness.

use std::cmp::Ordering;

use super::Error;
use super::group::{Aggregate, Grouping, Groups};
use super::number;
use super::reader::TableReader;
use super::report::{Grid, GridColumn, Number, Operation, Value};
use super::{exact, source};

const NULL_LEN: [u8; 4] = u32::MAX.to_le_bytes();

/// Appends one field of a key: its length and its text, without the spaces around it.
#[inline]
pub(super) fn push_key(key: &mut Vec<u8>, cell: Option<&[u8]>) {
    let text = cell.unwrap_or_default().trim_ascii();
    match u32::try_from(text.len()) {
        Ok(len) if len > 0 => {
            key.extend_from_slice(&len.to_le_bytes());
            key.extend_from_slice(text);
        }
        _ => key.extend_from_slice(&NULL_LEN),
    }
}

/// The fields of a key; `None` where the cell was empty.
pub(super) fn key_fields(mut key: &[u8]) -> Vec<Option<&[u8]>> {
    let mut fields = Vec::new();
    while let Some((len, rest)) = key.split_first_chunk::<4>() {
        let text_len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(0);
        let split = if *len == NULL_LEN { None } else { rest.split_at_checked(text_len) };
        let (field, rest) = split.map_or((None, rest), |(text, rest)| (Some(text), rest));
        fields.push(field);
        key = rest;
    }
    fields
}

/// The page of groups asked for, in the order asked for.
pub(super) fn of_groups(
    table: &TableReader,
    keys: &[usize],
    request: &Grouping,
    groups: Groups,
    columns: &[(usize, bool)],
) -> Result<Grid, Error> {
    let mut answers = Vec::new();
    let mut names: Vec<String> = keys.iter().map(|place| name(table, *place)).collect();
    names.push("rows".to_owned());
    for aggregate in &request.aggregates {
        let place = table.place_of(&aggregate.column)?;
        let slot = columns.iter().position(|(other, _)| *other == place);
        let is_numeric = columns.iter().any(|(other, is_numeric)| *other == place && *is_numeric);
        for part in parts(aggregate) {
            names.push(format!("{part}({})", name(table, place)));
            answers.push((aggregate.operation, part, slot.unwrap_or_default(), is_numeric));
        }
    }
    let order = match &request.order_by {
        None => keys.len(),
        Some(wanted) => names
            .iter()
            .position(|name| name == wanted)
            .ok_or_else(|| Error::Order { name: wanted.clone(), available: names.join(", ") })?,
    };
    let mut all: Vec<Vec<Option<Number>>> = groups
        .into_iter()
        .map(|(key, group)| {
            let key = key_fields(&key).into_iter().map(|field| field.map(text));
            let rows = std::iter::once(Some(Number::exact(exact::from_count(group.rows))));
            let cells = answers.iter().map(|(operation, part, slot, is_numeric)| {
                group.stats.get(*slot)?.answers(&[*operation], *is_numeric).remove(part)
            });
            key.chain(rows).chain(cells).collect()
        })
        .collect();
    let is_ascending = request.ascending;
    all.sort_by(|left, right| {
        let by_cell = compare(left.get(order), right.get(order), is_ascending);
        by_cell.then_with(|| compare_all(left, right))
    });
    Ok(page(names, all, request))
}

fn page(names: Vec<String>, all: Vec<Vec<Option<Number>>>, request: &Grouping) -> Grid {
    let method = |place: usize| {
        let cells = all.iter().filter_map(|row| row.get(place)?.as_ref());
        cells.into_iter().find_map(|number| number.method)
    };
    let columns = names
        .into_iter()
        .enumerate()
        .map(|(place, name)| GridColumn { inexact: method(place), name })
        .collect();
    let total = all.len();
    let values = |row: Vec<Option<Number>>| {
        row.into_iter().map(|number| number.map(|number| number.value)).collect()
    };
    let wanted: Vec<Vec<Option<Value>>> = all
        .into_iter()
        .skip(request.page.offset)
        .take(request.page.max_rows())
        .map(values)
        .collect();
    let rows = request.page.fitting(wanted);
    let more_rows = total.saturating_sub(request.page.offset + rows.len()) as u64;
    Grid { columns, rows, more_rows }
}

impl Grid {
    /// Columns of text have no sum in any group.
    pub(super) fn drop_empty_columns(&mut self) {
        let is_used: Vec<bool> = (0..self.columns.len())
            .map(|place| self.rows.iter().any(|row| row.get(place).is_some_and(Option::is_some)))
            .collect();
        let mut used = is_used.iter();
        self.columns.retain(|_| used.next().copied().unwrap_or(true));
        for row in &mut self.rows {
            let mut used = is_used.iter();
            row.retain(|_| used.next().copied().unwrap_or(true));
        }
    }
}

fn parts(aggregate: &Aggregate) -> Vec<&'static str> {
    match aggregate.operation {
        Operation::Quantiles => Operation::QUANTILES.map(|(name, _)| name).to_vec(),
        operation => vec![operation.name()],
    }
}

fn name(table: &TableReader, place: usize) -> String {
    table.names.get(place).cloned().unwrap_or_default()
}

fn text(field: &[u8]) -> Number {
    Number::exact(Value::Digits(source::decode(field)))
}

/// Groups without a value come last in either order.
fn compare(
    left: Option<&Option<Number>>,
    right: Option<&Option<Number>>,
    is_ascending: bool,
) -> Ordering {
    match (left.and_then(Option::as_ref), right.and_then(Option::as_ref)) {
        (Some(left), Some(right)) => {
            let order = left.value.compare(&right.value);
            if is_ascending { order } else { order.reverse() }
        }
        (left, right) => left.is_none().cmp(&right.is_none()),
    }
}

/// No two groups are equal: `1` and `1.0` are one number and two keys.
fn compare_all(left: &[Option<Number>], right: &[Option<Number>]) -> Ordering {
    let text = |cell: &Option<Number>| cell.as_ref().map(|number| number.value.to_text());
    let cells = || left.iter().zip(right);
    let by_number = cells().map(|(left, right)| compare(Some(left), Some(right), true));
    let by_text = cells().map(|(left, right)| text(left).cmp(&text(right)));
    by_number.chain(by_text).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

impl Value {
    /// As numbers where both are, digits kept in strings included; as texts otherwise.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        if let (Self::Integer(left), Self::Integer(right)) = (self, other) {
            return left.cmp(right);
        }
        let (left, right) = (self.to_text(), other.to_text());
        let number = |text: &str| number::parse(text.as_bytes(), b'.');
        match (number(&left), number(&right)) {
            (Some(left), Some(right)) => left.compare(right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => left.cmp(&right),
        }
    }

    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Digits(text) => text.clone(),
        }
    }
}
