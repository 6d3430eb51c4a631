//! Reads a cursor chunk by chunk into rows of JSON, and keeps within a budget whatever is in them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt;
use serde::Serialize;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Column as _, Executor, Row as _};

use super::cell;
use super::error::Error;
use super::statement::UserSql;
use super::types::Types;

/// How much of a result may be shown at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) max_rows: usize,
    /// Of all rows together, as JSON.
    pub(crate) max_bytes: usize,
    /// Of one value; a longer one is cut.
    pub(crate) max_cell_bytes: usize,
}

/// Rows read at first, before it is known how large they are.
const FIRST_CHUNK: usize = 32;
const MAX_CHUNK: usize = 2000;

/// However many columns there are, this much of a value is shown.
const MIN_CELL_BYTES: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub(crate) struct Column {
    /// Names may occur twice; the order is that of the values.
    pub(crate) name: String,
    /// PostgreSQL's name of the type.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// PostgreSQL's number of the type.
    pub(crate) oid: u32,
    /// What the values are in JSON.
    pub(crate) json: &'static str,
}

/// One row, ready to be sent.
#[derive(Debug)]
pub(crate) struct JsonRow {
    /// A JSON array.
    pub(crate) json: String,
    /// Values that were cut: which column, counted from 0, and how long the whole is.
    pub(crate) cut: Vec<(usize, usize)>,
    /// Columns with JSON's `null`, which is not NULL.
    pub(crate) json_nulls: Vec<usize>,
}

/// How many rows a call has read so far, for whoever waits for it.
pub(crate) type RowCount = Arc<AtomicUsize>;

/// An open cursor and what was read from it too early.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) columns: Vec<Column>,
    pub(crate) read: RowCount,
    ahead: VecDeque<JsonRow>,
    at_end: bool,
    /// Of the rows so far.
    average_bytes: usize,
}

/// Some rows, and whether there are more.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<JsonRow>,
    pub(crate) has_more: bool,
}

impl Reader {
    pub(crate) fn new(read: RowCount) -> Self {
        Self { read, ..Self::default() }
    }

    /// The next rows, at least one if there is one, whatever its size.
    pub(crate) async fn next(
        &mut self,
        connection: &mut PgConnection,
        types: &Types,
        budget: Budget,
    ) -> Result<Rows, Error> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        loop {
            while let Some(row) = self.ahead.pop_front() {
                let fits = bytes + row.json.len() <= budget.max_bytes || rows.is_empty();
                if rows.len() >= budget.max_rows || !fits {
                    self.ahead.push_front(row);
                    return Ok(Rows { rows, has_more: true });
                }
                bytes += row.json.len() + 1;
                rows.push(row);
            }
            self.read.store(rows.len(), Ordering::Relaxed);
            if self.at_end {
                return Ok(Rows { rows, has_more: false });
            }
            // One more than is wanted tells whether there are more.
            let wanted = budget.max_rows - rows.len() + 1;
            let room = budget.max_bytes.saturating_sub(bytes);
            let chunk = self.chunk(wanted, room);
            self.fetch(connection, types, budget, chunk).await?;
        }
    }

    fn chunk(&self, wanted: usize, room: usize) -> usize {
        if self.columns.is_empty() {
            return wanted.min(FIRST_CHUNK);
        }
        let fitting = room / self.average_bytes.max(1) + 1;
        wanted.min(fitting).min(MAX_CHUNK)
    }

    async fn fetch(
        &mut self,
        connection: &mut PgConnection,
        types: &Types,
        budget: Budget,
        rows: usize,
    ) -> Result<(), Error> {
        let before = self.ahead.len();
        // Rows that came before it was known what their types are.
        let mut untyped: Vec<Cells<'static>> = Vec::new();
        let mut shape = Vec::new();
        let sql = AssertSqlSafe(format!("FETCH FORWARD {rows} FROM mcp_cursor"));
        let mut stream = connection.fetch(sqlx::raw_sql(sql));
        while let Some(row) = stream.next().await {
            let row = row?;
            let cells = Cells::of(&row, budget);
            if self.columns.is_empty() && shape.is_empty() {
                shape = named(row.columns());
                if types.knows(shape.iter().map(|(_, oid)| *oid)) {
                    self.columns = columns(&shape, types);
                }
            }
            if self.columns.is_empty() {
                untyped.push(cells.into_owned());
            } else {
                self.ahead.push_back(cells.json(&self.columns, types));
            }
        }
        drop(stream);
        if self.columns.is_empty() && !shape.is_empty() {
            types.learn(connection, shape.iter().map(|(_, oid)| *oid)).await?;
            self.columns = columns(&shape, types);
        }
        self.ahead.extend(untyped.into_iter().map(|cells| cells.json(&self.columns, types)));
        let fetched = self.ahead.iter().skip(before);
        let (count, bytes) =
            fetched.fold((0, 0), |(n, bytes), row| (n + 1, bytes + row.json.len()));
        self.at_end = count < rows;
        if let Some(average) = usize::checked_div(bytes, count) {
            self.average_bytes = average;
        }
        Ok(())
    }

    /// The columns of a result without rows, which the simple protocol does not tell sqlx.
    pub(crate) async fn describe_empty(
        &mut self,
        connection: &mut PgConnection,
        types: &Types,
        sql: &UserSql,
        arguments: PgArguments,
    ) -> Result<(), Error> {
        let raw = match connection.prepare(sqlx_str("FETCH FORWARD 0 FROM mcp_cursor")).await {
            Ok(statement) => named(sqlx::Statement::columns(&statement)),
            // sqlx does not know some kinds of types; a row of NULLs shows them all the same.
            Err(sqlx::Error::Database(error)) => return Err(sqlx::Error::Database(error).into()),
            Err(_) => {
                sql.declare_shape(connection, arguments).await?;
                let shape = sqlx::raw_sql("FETCH FORWARD 1 FROM mcp_shape");
                named(connection.fetch_one(shape).await?.columns())
            }
        };
        types.learn(connection, raw.iter().map(|(_, oid)| *oid)).await?;
        self.columns = columns(&raw, types);
        Ok(())
    }
}

/// A value as text; `None` for NULL and what is no text.
pub(super) fn text(row: &PgRow, column: usize) -> Option<String> {
    row.try_get_raw(column).ok()?.as_str().ok().map(str::to_owned)
}

fn sqlx_str(sql: &'static str) -> sqlx::SqlStr {
    sqlx::SqlSafeStr::into_sql_str(sql)
}

fn named(columns: &[sqlx::postgres::PgColumn]) -> Vec<(String, u32)> {
    let oid = |column: &sqlx::postgres::PgColumn| column.type_info().oid().map_or(0, |oid| oid.0);
    columns.iter().map(|column| (column.name().to_owned(), oid(column))).collect()
}

fn columns(raw: &[(String, u32)], types: &Types) -> Vec<Column> {
    raw.iter()
        .map(|(name, oid)| {
            let known = types.get(*oid);
            let text = cell::json_type(&super::types::Shape::Text);
            Column {
                name: name.clone(),
                type_name: known.as_ref().map_or("unknown".to_owned(), |known| known.name.clone()),
                oid: *oid,
                json: known.map_or(text, |known| cell::json_type(&known.shape)),
            }
        })
        .collect()
}

/// A row as text, its long values cut, so that what is kept of it is small.
struct Cells<'a> {
    values: Vec<Option<Cow<'a, str>>>,
    cut: Vec<(usize, usize)>,
}

impl<'a> Cells<'a> {
    fn of(row: &'a PgRow, budget: Budget) -> Self {
        // A row of very many columns has less room for each.
        let share = usize::checked_div(budget.max_bytes, row.len()).unwrap_or_default();
        let max_bytes = budget.max_cell_bytes.min(share.max(MIN_CELL_BYTES));
        let mut cut = Vec::new();
        let mut value = |column: usize| {
            // NULL has no bytes. A database without an encoding may hold what is no text.
            let bytes = row.try_get_raw(column).ok()?;
            let text = String::from_utf8_lossy(bytes.as_bytes().ok()?);
            if text.len() <= max_bytes {
                return Some(text);
            }
            cut.push((column, text.len()));
            let end = text.floor_char_boundary(max_bytes);
            Some(text.get(..end).unwrap_or_default().to_owned().into())
        };
        let values = (0..row.len()).map(&mut value).collect();
        Self { values, cut }
    }

    fn into_owned(self) -> Cells<'static> {
        let owned = |value: Option<Cow<'a, str>>| value.map(|value| value.into_owned().into());
        Cells { values: self.values.into_iter().map(owned).collect(), cut: self.cut }
    }

    fn json(self, columns: &[Column], types: &Types) -> JsonRow {
        let mut json = "[".to_owned();
        let mut json_nulls = Vec::new();
        for (index, (value, column)) in self.values.iter().zip(columns).enumerate() {
            if index > 0 {
                json.push(',');
            }
            match value {
                Some(text) if self.cut.iter().any(|(cut, _)| *cut == index) => {
                    cell::string(&mut json, text);
                }
                Some(text) => {
                    if cell::is_json_null(text, column.oid, types) {
                        json_nulls.push(index);
                    }
                    cell::write(&mut json, Some(text), column.oid, types);
                }
                None => json.push_str("null"),
            }
        }
        json.push(']');
        JsonRow { json, cut: self.cut, json_nulls }
    }
}
