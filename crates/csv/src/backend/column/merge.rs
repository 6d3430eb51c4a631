//! Puts what two parts of a file know of a column together, as if one had read both.
//!
//! It is worth the care because the parts are read at the same time: what the later part made of its
//! cells has to be what it would have made of them had it known the earlier ones.

use super::{Column, ColumnType, Mark, TokenCount};

impl Column {
    /// Whether [`Self::append`] gives what reading both parts in turn would have given, to the digit.
    pub(in super::super) fn can_append(&self, later: &Self) -> bool {
        let marks = [self.mark, later.mark];
        let same_mark = self.mark == later.mark || marks.contains(&Mark::Undecided);
        same_mark && later.stats.is_mergeable()
    }

    /// `later` began behind `lines_before` lines.
    pub(in super::super) fn append(&mut self, mut later: Self, lines_before: u64) {
        later.move_down(lines_before);
        self.stats.append(std::mem::take(&mut later.stats), lines_before);
        self.has_other_than_boolean |= later.has_other_than_boolean;
        if self.kind == ColumnType::Text {
            return self.append_to_text(&later);
        }
        if later.kind == ColumnType::Text {
            self.turn_into_text(&mut later);
        }
        if self.mark == Mark::Undecided {
            self.mark = later.mark;
            self.first_marked = later.first_marked.take();
        }
        self.kind = self.kind.max(later.kind);
        self.numbers += later.numbers;
        self.scales |= later.scales;
        self.spaced += later.spaced;
        self.nan += later.nan;
        self.infinite += later.infinite;
        self.append_words(later.null_tokens, later.non_finite_words);
    }

    fn move_down(&mut self, lines: u64) {
        let examples = [&mut self.text_because, &mut self.first_text, &mut self.first_marked];
        examples.into_iter().flatten().for_each(|example| example.line += lines);
        self.dates.decided_at = self.dates.decided_at.map(|line| line + lines);
    }

    /// In a column of text, cells that would be numbers elsewhere are texts as well, and no dates.
    fn append_to_text(&mut self, later: &Self) {
        self.dates.append(&later.dates);
        if later.numbers > 0 || later.has_words() {
            self.dates.rule_out();
            self.has_other_than_boolean = true;
        }
    }

    /// The first text of the later part is a counter-example if any cell before it was a number.
    fn turn_into_text(&mut self, later: &mut Self) {
        self.text_because = later.text_because.take();
        if self.numbers > 0 && self.text_because.is_none() {
            self.text_because = later.first_text.clone();
            later.dates.rule_out();
            self.has_other_than_boolean = true;
        }
        self.first_text = later.first_text.take();
        self.dates = later.dates;
        self.is_zero_padded = later.is_zero_padded;
    }

    fn has_words(&self) -> bool {
        !self.null_tokens.is_empty() || self.nan + self.infinite > 0
    }

    fn append_words(&mut self, null_tokens: Vec<TokenCount>, non_finite_words: Vec<String>) {
        for later in null_tokens {
            match self.null_tokens.iter_mut().find(|seen| seen.token == later.token) {
                Some(seen) => seen.count += later.count,
                None => self.null_tokens.push(later),
            }
        }
        for word in non_finite_words {
            if !self.non_finite_words.contains(&word) {
                self.non_finite_words.push(word);
            }
        }
    }
}
