//! What one column turns out to be, decided by all of its cells.
//!
//! A column starts empty and only ever moves towards text: integer, decimal, float, text. Once it
//! is text its cells are only counted, which is also what makes wide text files fast.

mod mark;
mod merge;

use std::sync::Arc;

use super::dates::{DateFormat, Dates};
use super::notation;
use super::number::{self, Number, Short};
use super::reading::{Notation, Reading};
use super::report::{
    ColumnReport, ColumnType, CounterExample, Hint, Operation, Reason, TokenCount,
};
use super::source;
use super::stats::Stats;
use super::tally::Wanted;
use super::words::{is_blank, is_boolean_word, is_infinite, is_nan, is_null_token};

pub(super) use mark::Mark;

#[derive(Default)]
pub(super) struct Column {
    kind: ColumnType,
    mark: Mark,
    stats: Stats,
    numbers: u64,
    /// Null words, which are nulls only if the column is otherwise numeric.
    null_tokens: Vec<TokenCount>,
    nan: u64,
    infinite: u64,
    /// How NaN and infinity are written.
    non_finite_words: Vec<String>,
    /// Numbers with spaces around them.
    spaced: u64,
    text_because: Option<CounterExample>,
    /// The cell that made it text.
    first_text: Option<CounterExample>,
    is_zero_padded: bool,
    has_other_than_boolean: bool,
    /// Bit `n` is set when a number with `n` decimals was seen.
    scales: u64,
    first_marked: Option<CounterExample>,
    dates: Dates,
    /// What the caller wants read otherwise than by default.
    rules: Option<Arc<Reading>>,
    /// Money or percent, where that is read as a number, and how many numbers had it.
    unit: Option<&'static str>,
    with_unit: u64,
    first_with_unit: Option<CounterExample>,
}

/// What a cell is, in the light of the cells of its column before it.
#[derive(Clone, Copy)]
pub(super) enum Class {
    Empty,
    Short(Short),
    Number(Number),
    /// A word such as NA.
    NullToken,
    /// NaN or infinite.
    NonFinite,
    Text,
}

impl Column {
    pub(super) fn new(mark: Mark, rules: Option<Arc<Reading>>) -> Self {
        Self { mark, rules, ..Self::default() }
    }

    /// As it was before any cell.
    pub(super) fn fresh(&self) -> Self {
        let mark = if self.first_marked.is_some() { Mark::Undecided } else { self.mark };
        Self::new(mark, self.rules.clone())
    }

    #[inline]
    pub(super) fn push(&mut self, cell: &[u8], wanted: Wanted, line: &impl Fn() -> u64) {
        if wanted.only_sums()
            && self.kind != ColumnType::Text
            && let Some(short) = number::parse_short(cell, self.mark.byte())
        {
            self.note_short(short);
            self.stats.add_short(short);
            return;
        }
        self.push_any(cell, wanted, line);
    }

    /// As [`Self::push`], without its short way.
    fn push_any(&mut self, cell: &[u8], wanted: Wanted, line: &impl Fn() -> u64) {
        let class = self.classify(cell, line);
        self.stats.add(cell, class, wanted, line);
    }

    /// A cell that a short row does not have.
    pub(super) fn push_missing(&mut self) {
        self.stats.add_missing();
    }

    /// For a cell that is no part of the answer but of what the column is.
    #[inline]
    pub(super) fn classify(&mut self, cell: &[u8], line: &impl Fn() -> u64) -> Class {
        if cell.is_empty() {
            Class::Empty
        } else if self.kind == ColumnType::Text {
            self.classify_text(cell, line)
        } else if let Some(short) = number::parse_short(cell, self.mark.byte()) {
            self.note_short(short);
            Class::Short(short)
        } else {
            self.classify_odd(cell, line)
        }
    }

    pub(super) fn is_numeric(&self) -> bool {
        self.kind != ColumnType::Text && self.numbers > 0
    }

    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(super) fn stats_mut(&mut self) -> &mut Stats {
        &mut self.stats
    }

    pub(super) fn decimal_mark(&self) -> Option<(Mark, u64)> {
        let first = self.first_marked.as_ref().filter(|_| self.is_numeric())?;
        Some((self.mark, first.line))
    }

    /// The first cell that has one.
    pub(super) fn first_marked(&self) -> Option<&str> {
        self.first_marked.as_ref().map(|example| example.value.as_str())
    }

    /// Every decimal mark has three digits behind it, as a separator of thousands would.
    pub(super) fn may_separate_thousands(&self) -> bool {
        self.first_marked.is_some() && self.scales & !1 == 1 << 3
    }

    pub(super) fn has_spaced_numbers(&self) -> bool {
        self.is_numeric() && self.spaced > 0
    }

    pub(super) fn has_non_finite(&self) -> bool {
        self.is_numeric() && self.nan + self.infinite > 0
    }

    /// Turns the column into text rather than give numbers that may be a thousand times too small.
    pub(super) fn refuse_mark(&mut self) {
        self.kind = ColumnType::Text;
        self.text_because = self.first_marked.take();
    }

    /// Bare numbers among sums of money are of an unknown unit.
    pub(super) fn refuse_mixed_units(&mut self) {
        if self.is_numeric() && self.with_unit > 0 && self.with_unit < self.numbers {
            self.kind = ColumnType::Text;
            let example = self.first_with_unit.take();
            self.text_because =
                example.map(|example| CounterExample { reason: Reason::MixedUnits, ..example });
        }
    }

    pub(super) fn kind(&self) -> ColumnType {
        let has_words = !self.null_tokens.is_empty() || self.nan > 0 || self.infinite > 0;
        // Words that would be nulls among numbers are text where there is no number.
        if self.kind == ColumnType::Empty && has_words { ColumnType::Text } else { self.kind }
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    pub(super) fn rules(&self) -> Option<&Arc<Reading>> {
        self.rules.as_ref()
    }

    pub(super) fn text_because(&self) -> Option<&CounterExample> {
        self.text_because.as_ref()
    }

    /// The most decimals of a number.
    pub(super) fn max_scale(&self) -> u32 {
        self.scales.checked_ilog2().unwrap_or(0)
    }

    /// Words that have no value in a numeric column, as they are written.
    pub(super) fn null_words(&self) -> Vec<String> {
        let told = self.rules.iter().flat_map(|rules| rules.null_tokens.iter().cloned());
        let found = self.null_tokens.iter().map(|seen| seen.token.clone());
        let non_finite = self.non_finite_words.iter().cloned();
        told.chain(found).chain(non_finite).collect()
    }

    /// How the cells of a column of dates are written.
    pub(super) fn date_format(&self) -> Option<DateFormat> {
        let told = self.rules.as_ref().and_then(|rules| rules.dates);
        self.dates.format(told).filter(|_| self.kind == ColumnType::Text)
    }

    /// Consumes what is reported.
    pub(super) fn report(
        mut self,
        name: String,
        index: usize,
        operations: &[Operation],
    ) -> ColumnReport {
        let kind = self.kind();
        let is_numeric = self.is_numeric();
        let mut report = ColumnReport {
            name,
            index,
            kind,
            hints: self.hints(kind),
            text_because: self.text_because.take(),
            unit: self.unit.filter(|_| is_numeric),
            null_tokens: Vec::new(),
            nan: 0,
            infinite: 0,
            answers: self.stats.answers(operations, is_numeric),
        };
        if is_numeric {
            report.null_tokens = std::mem::take(&mut self.null_tokens);
            report.nan = self.nan;
            report.infinite = self.infinite;
        }
        report
    }

    pub(super) fn hints(&self, kind: ColumnType) -> Vec<Hint> {
        let can_be_boolean = matches!(kind, ColumnType::Integer | ColumnType::Text);
        let is_boolean_like = can_be_boolean
            && !self.has_other_than_boolean
            && self.null_tokens.is_empty()
            && self.nan + self.infinite == 0;
        let hints = [(self.is_zero_padded, Hint::ZeroPadded), (is_boolean_like, Hint::BooleanLike)];
        let hints = hints.into_iter().filter(|(applies, _)| *applies).map(|(_, hint)| hint);
        hints.chain(self.date_format().map(DateFormat::hint)).collect()
    }

    #[inline]
    fn note_short(&mut self, short: Short) {
        self.numbers += 1;
        if short.has_mark {
            self.scales |= 1 << short.scale;
            self.kind = self.kind.max(ColumnType::Decimal);
        } else {
            self.has_other_than_boolean |= !matches!(short.mantissa, 0 | 1);
            self.kind = self.kind.max(ColumnType::Integer);
        }
    }

    fn note_number(&mut self, number: Number) -> Class {
        self.numbers += 1;
        let kind = match number {
            Number::Integer(decimal) => {
                self.has_other_than_boolean |= !matches!(decimal.mantissa, 0 | 1);
                ColumnType::Integer
            }
            Number::Fraction(decimal) => {
                self.scales |= 1 << decimal.scale;
                ColumnType::Decimal
            }
            Number::Inexact(_) => ColumnType::Float,
        };
        self.kind = self.kind.max(kind);
        Class::Number(number)
    }

    #[inline]
    fn classify_text(&mut self, cell: &[u8], line: &impl Fn() -> u64) -> Class {
        if is_blank(cell) || (self.rules.is_some() && self.is_told_null(cell)) {
            return Class::Empty;
        }
        self.dates.narrow(cell, line);
        if !self.has_other_than_boolean {
            self.has_other_than_boolean = !is_boolean_word(cell);
        }
        Class::Text
    }

    /// Everything that is neither a short number nor empty, in a column that is not text yet.
    #[cold]
    fn classify_odd(&mut self, cell: &[u8], line: &impl Fn() -> u64) -> Class {
        let word = cell.trim_ascii();
        if let Some(number) = number::parse(word, self.mark.byte()) {
            self.spaced += u64::from(word.len() < cell.len());
            self.note_number(number)
        } else if word.is_empty() || self.is_told_null(word) {
            Class::Empty
        } else if is_null_token(word) {
            self.count_null_token(word);
            Class::NullToken
        } else if is_nan(word) || is_infinite(word) {
            self.count_non_finite(word);
            Class::NonFinite
        } else if let Some(number) = self.decide_mark(word, line) {
            self.note_number(number)
        } else if let Some(number) = self.undress(word, line) {
            self.note_number(number)
        } else {
            self.become_text(word, line);
            Class::Text
        }
    }

    fn is_told_null(&self, cell: &[u8]) -> bool {
        let word = cell.trim_ascii();
        let is_word = |token: &String| token.as_bytes() == word;
        self.rules.as_ref().is_some_and(|rules| rules.null_tokens.iter().any(is_word))
    }

    /// Money, percents and separated thousands, where they are asked for and of one unit.
    fn undress(&mut self, word: &[u8], line: &impl Fn() -> u64) -> Option<Number> {
        let found = notation::read(word, self.rules.as_ref()?, self.mark)?;
        if let Some(unit) = found.unit {
            let is_first = self.with_unit == 0;
            if !is_first && self.unit != Some(unit) {
                return None;
            }
            self.with_unit += 1;
            self.unit = Some(unit);
            if is_first {
                self.first_with_unit = Some(counter_example(word, line(), Reason::MixedUnits));
            }
        }
        Some(found.number)
    }

    fn decide_mark(&mut self, word: &[u8], line: &impl Fn() -> u64) -> Option<Number> {
        let separates_thousands =
            |rules: &Arc<Reading>| rules.numbers.contains(&Notation::Thousands);
        if self.mark != Mark::Undecided || self.rules.as_ref().is_some_and(separates_thousands) {
            return None;
        }
        let (mark, number) = [Mark::Comma, Mark::Point]
            .into_iter()
            .find_map(|mark| Some((mark, number::parse(word, mark.byte())?)))?;
        self.mark = mark;
        self.first_marked = Some(counter_example(word, line(), Reason::AmbiguousMark));
        Some(number)
    }

    fn become_text(&mut self, word: &[u8], line: &impl Fn() -> u64) {
        let marks = [Mark::Point, Mark::Comma].map(Mark::byte);
        self.is_zero_padded = marks.iter().any(|mark| number::is_zero_padded(word, *mark));
        let reason = if self.is_zero_padded { Reason::LeadingZero } else { Reason::NotANumber };
        self.first_text = Some(counter_example(word, line(), reason));
        if self.is_zero_padded || self.numbers > 0 {
            self.text_because = self.first_text.clone();
            self.dates.rule_out();
        }
        self.dates.narrow(word, line);
        self.has_other_than_boolean |= self.numbers > 0 || !is_boolean_word(word);
        self.kind = ColumnType::Text;
    }

    fn count_non_finite(&mut self, word: &[u8]) {
        let count = if is_nan(word) { &mut self.nan } else { &mut self.infinite };
        *count += 1;
        let text = source::decode(word);
        if !self.non_finite_words.contains(&text) {
            self.non_finite_words.push(text);
        }
    }

    fn count_null_token(&mut self, word: &[u8]) {
        let token = source::decode(word);
        match self.null_tokens.iter_mut().find(|seen| seen.token == token) {
            Some(seen) => seen.count += 1,
            None => self.null_tokens.push(TokenCount { token, count: 1 }),
        }
    }
}

/// Cells and names are shown up to this many characters.
const MAX_SHOWN_CHARS: usize = 80;

pub(super) fn shown(cell: &[u8]) -> String {
    // Decoding a whole huge cell for its first characters would be waste.
    let head = cell.get(..MAX_SHOWN_CHARS * 4 + 4).unwrap_or(cell);
    let text = source::decode(head);
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn counter_example(cell: &[u8], line: u64, reason: Reason) -> CounterExample {
    CounterExample { file: None, line, value: shown(cell), reason }
}
