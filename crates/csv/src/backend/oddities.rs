//! What is irregular in a file, counted while it is read, and the sentences that say so.

use schemars::JsonSchema;
use serde::Serialize;

/// Absent where there is nothing to tell.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Oddities {
    /// Rows with fewer fields than the header; the missing cells count as nulls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rows", default)]
    pub(crate) short_rows: Option<Rows>,
    /// Rows with more fields than the header; the fields beyond it were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rows", default)]
    pub(crate) long_rows: Option<Rows>,
    /// Rows with a quote inside an unquoted field, or text after a closing quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rows", default)]
    pub(crate) stray_quotes: Option<Rows>,
    /// Rows that repeat an earlier row, every field of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rows", default)]
    pub(crate) duplicate_rows: Option<Rows>,
    /// Empty lines between records, skipped.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) blank_lines: u64,
    /// A quote that is never closed: nothing from its record on was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Place", default)]
    pub(crate) unterminated_quote: Option<Place>,
    /// The file changed while it was read, so the numbers may mix two states of it.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(default)]
    pub(crate) changed_while_read: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Rows {
    pub(crate) count: u64,
    /// Physical lines of the first five.
    pub(crate) first_lines: Vec<u64>,
    /// Of each of those lines, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) files: Vec<String>,
}

/// From a line counted through all files to its file, where there are several, and its line there.
pub(super) type Placing<'a> = &'a dyn Fn(u64) -> (Option<String>, u64);

pub(super) fn line_text(line: u64, place: Placing<'_>) -> String {
    match place(line) {
        (None, line) => format!("line {line}"),
        (Some(file), line) => format!("line {line} of {file:?}"),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Place {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub(crate) file: Option<String>,
    /// Physical line, counted from 1.
    pub(crate) line: u64,
}

const MAX_LINES: usize = 5;

impl Rows {
    #[inline]
    pub(super) fn note(rows: &mut Option<Self>, line: impl Fn() -> u64) {
        let rows = rows.get_or_insert_default();
        rows.count += 1;
        if rows.first_lines.len() < MAX_LINES {
            rows.first_lines.push(line());
        }
    }

    /// Appends those of a later part of the file, which begins behind so many lines.
    pub(super) fn append(rows: &mut Option<Self>, later: Option<Self>, lines_before: u64) {
        let Some(later) = later else {
            return;
        };
        let rows = rows.get_or_insert_default();
        rows.count += later.count;
        let lines = later.first_lines.into_iter().map(|line| line + lines_before);
        rows.first_lines.extend(lines);
        rows.first_lines.truncate(MAX_LINES);
    }

    fn sentence(&self, what: &str, place: Placing<'_>) -> String {
        let line = |line: &u64| match place(*line) {
            (None, line) => line.to_string(),
            (Some(file), line) => format!("{line} of {file:?}"),
        };
        let lines: Vec<_> = self.first_lines.iter().map(line).collect();
        let more = if self.count > lines.len() as u64 { ", …" } else { "" };
        format!("{what}: {} rows, at line {}{more}", self.count, lines.join(", "))
    }

    fn place_lines(&mut self, place: Placing<'_>) {
        let places: Vec<_> = self.first_lines.iter().map(|line| place(*line)).collect();
        self.first_lines = places.iter().map(|(_, line)| *line).collect();
        self.files = places.into_iter().filter_map(|(file, _)| file).collect();
    }
}

impl Oddities {
    /// Those noted row by row in a later part of the file, which begins behind so many lines.
    pub(super) fn append(&mut self, later: Self, lines_before: u64) {
        for (rows, later) in [
            (&mut self.short_rows, later.short_rows),
            (&mut self.long_rows, later.long_rows),
            (&mut self.stray_quotes, later.stray_quotes),
        ] {
            Rows::append(rows, later, lines_before);
        }
    }

    pub(super) fn place_lines(&mut self, place: Placing<'_>) {
        let rows = [
            &mut self.short_rows,
            &mut self.long_rows,
            &mut self.stray_quotes,
            &mut self.duplicate_rows,
        ];
        rows.into_iter().flatten().for_each(|rows| rows.place_lines(place));
        if let Some(Place { line, file }) = &mut self.unterminated_quote {
            (*file, *line) = place(*line);
        }
    }

    /// For answers that do not carry the table itself.
    pub(super) fn sentences(&self, is_one_column: bool, place: Placing<'_>) -> Vec<String> {
        let rows = [
            (&self.short_rows, "rows with too few fields, whose missing cells count as nulls"),
            (
                &self.long_rows,
                "rows with more fields than the header, whose further fields were not read",
            ),
            (&self.stray_quotes, "rows with quotes in odd places, read literally"),
        ];
        let noted =
            rows.into_iter().filter_map(|(rows, what)| Some(rows.as_ref()?.sentence(what, place)));
        let mut all: Vec<String> = noted.collect();
        if is_one_column && self.blank_lines > 0 {
            all.push(format!(
                "{} blank lines were skipped, though in a file of one column they may be nulls",
                self.blank_lines
            ));
        }
        if let Some(Place { line, .. }) = &self.unterminated_quote {
            let opened_at = line_text(*line, place);
            all.push(format!("the quote opened at {opened_at} is never closed: nothing from its record on was counted"));
        }
        if self.changed_while_read {
            all.push("the file changed while it was read, so the numbers may mix two states of it; ask again".into());
        }
        all
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
fn is_false(flag: &bool) -> bool {
    !*flag
}
