//! What is known of some cells of one column: all of them, or those of one group.
//!
//! Whether the column is numeric is known only at its end, so words such as NA are counted apart
//! and become nulls or texts when the answers are drawn up.

use super::collect::Texts;
use super::column::Class;
use super::exact;
use super::number::{self, Short};
use super::ranks::Numbers;
use super::report::{Answers, Number, Operation, Value};
use super::source;
use super::tally::{Tally, Wanted};
use super::words::is_no_number;

#[derive(Default)]
pub(super) struct Stats {
    tally: Tally,
    empty: u64,
    null_tokens: u64,
    non_finite: u64,
    texts: u64,
    /// Boxed, because most columns and groups do without.
    numbers_kept: Option<Box<Numbers>>,
    texts_kept: Option<Box<Texts>>,
}

impl Stats {
    #[inline]
    pub(super) fn add(
        &mut self,
        cell: &[u8],
        class: Class,
        wanted: Wanted,
        line: &impl Fn() -> u64,
    ) {
        match class {
            Class::Empty => {
                self.empty += 1;
                return;
            }
            Class::Short(short) => {
                self.tally.add_short(short);
                self.keep(short.into(), wanted, line);
            }
            Class::Number(number) => {
                self.tally.add(number);
                self.keep(number, wanted, line);
            }
            Class::NullToken => self.null_tokens += 1,
            Class::NonFinite => self.non_finite += 1,
            Class::Text => self.texts += 1,
        }
        if wanted.texts {
            self.texts_kept.get_or_insert_default().add(cell.trim_ascii());
        }
    }

    /// Where only sums are wanted, this is all there is to do.
    #[inline]
    pub(super) fn add_short(&mut self, short: Short) {
        self.tally.add_short(short);
    }

    #[inline]
    fn keep(&mut self, number: number::Number, wanted: Wanted, line: &impl Fn() -> u64) {
        self.tally.look_at(number, wanted, line);
        if wanted.numbers {
            self.numbers_kept.get_or_insert_default().add(number);
        }
    }

    /// Sums in `f64` depend on the order of their numbers, and what was given up is gone.
    pub(super) fn is_mergeable(&self) -> bool {
        !self.tally.has_inexact() && !self.has_freed_texts()
    }

    /// `later` began behind `lines_before` lines.
    pub(super) fn append(&mut self, later: Self, lines_before: u64) {
        self.tally.append(later.tally, lines_before);
        self.empty += later.empty;
        self.null_tokens += later.null_tokens;
        self.non_finite += later.non_finite;
        self.texts += later.texts;
        if let Some(later) = later.numbers_kept {
            self.numbers_kept.get_or_insert_default().append(*later);
        }
        if let Some(later) = later.texts_kept {
            self.texts_kept.get_or_insert_default().append(*later);
        }
    }

    /// A cell that a short row does not have.
    pub(super) fn add_missing(&mut self) {
        self.empty += 1;
    }

    pub(super) fn count(&self, is_numeric: bool) -> u64 {
        if is_numeric {
            return self.tally.count;
        }
        self.tally.count + self.null_tokens + self.non_finite + self.texts
    }

    pub(super) fn nulls(&self, is_numeric: bool) -> u64 {
        self.empty + if is_numeric { self.null_tokens } else { 0 }
    }

    /// Of the operations asked for, those that have an answer.
    pub(super) fn answers(&self, operations: &[Operation], is_numeric: bool) -> Answers {
        let mut answers = Answers::new();
        for operation in operations {
            if *operation == Operation::Quantiles {
                answers.extend(self.quantiles(is_numeric));
            } else if let Some(answer) = self.answer(*operation, is_numeric) {
                answers.insert(operation.name(), answer);
            }
        }
        answers
    }

    pub(super) fn answer(&self, operation: Operation, is_numeric: bool) -> Option<Number> {
        let tally = Some(&self.tally).filter(|_| is_numeric);
        match operation {
            Operation::Count => Some(exact_count(self.count(is_numeric))),
            Operation::Nulls => Some(exact_count(self.nulls(is_numeric))),
            Operation::Sum => tally.map(Tally::sum),
            Operation::Average => tally.and_then(Tally::average),
            Operation::Min => tally.and_then(Tally::min),
            Operation::Max => tally.and_then(Tally::max),
            Operation::Stddev => tally.and_then(Tally::stddev),
            Operation::Distinct => Some(self.distinct(is_numeric)),
            Operation::Mode => self.mode(is_numeric),
            Operation::Median => {
                self.numbers_kept.as_ref().filter(|_| is_numeric).and_then(|kept| kept.median())
            }
            Operation::Quantiles => None,
        }
    }

    /// Bytes held for medians and distinct counts.
    pub(super) fn kept_bytes(&self) -> usize {
        let numbers = self.numbers_kept.as_ref().map_or(0, |kept| kept.bytes());
        numbers + self.texts_kept.as_ref().map_or(0, |kept| kept.bytes())
    }

    pub(super) fn numbers_mut(&mut self) -> Option<&mut Numbers> {
        self.numbers_kept.as_deref_mut()
    }

    pub(super) fn texts_mut(&mut self) -> Option<&mut Texts> {
        self.texts_kept.as_deref_mut()
    }

    /// Medians were asked for, and cannot be told.
    pub(super) fn has_lost_ranks(&self) -> bool {
        self.numbers_kept.as_ref().is_some_and(|kept| kept.has_lost_some())
    }

    /// Different texts were asked for, and given up.
    pub(super) fn has_freed_texts(&self) -> bool {
        self.texts_kept.as_ref().is_some_and(|kept| kept.is_estimate())
    }

    fn quantiles(&self, is_numeric: bool) -> Vec<(&'static str, Number)> {
        match &self.numbers_kept {
            Some(kept) if is_numeric => Operation::QUANTILES
                .into_iter()
                .filter_map(|(name, percent)| Some((name, kept.quantile(percent)?)))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn distinct(&self, is_numeric: bool) -> Number {
        let Some(kept) = &self.texts_kept else {
            return exact_count(0);
        };
        kept.distinct(|text| !(is_numeric && is_no_number(text)))
    }

    fn mode(&self, is_numeric: bool) -> Option<Number> {
        let is_value = |text: &[u8]| !(is_numeric && is_no_number(text));
        let (text, count) = self.texts_kept.as_ref()?.mode(is_value)?;
        let mut mode = Number::exact(Value::Digits(source::decode(text)));
        mode.occurs = Some(count);
        Some(mode)
    }
}

fn exact_count(count: u64) -> Number {
    Number::exact(exact::from_count(count))
}
