//! The names in a piece of SQL, read as PostgreSQL reads them: not those in strings and comments,
//! but those in quotes, and those spelled with Unicode escapes.
//!
//! It need not understand SQL. What matters is never to take for a string or a comment what
//! PostgreSQL takes for code; it is right for `standard_conforming_strings = on`, which every
//! transaction here sets.

/// Every identifier, as PostgreSQL would look it up: folded to lower case unless quoted.
pub(crate) fn names(sql: &str) -> Vec<String> {
    let mut lexer = Lexer { rest: sql };
    let mut names = Vec::new();
    while !lexer.rest.is_empty() {
        if let Some(name) = lexer.step() {
            names.push(name);
        }
    }
    names
}

struct Lexer<'a> {
    rest: &'a str,
}

impl Lexer<'_> {
    /// Reads one token; gives its name if it is an identifier.
    fn step(&mut self) -> Option<String> {
        let first = self.rest.chars().next()?;
        if self.eat("--") {
            self.skip_until(|letter| letter == '\n' || letter == '\r');
        } else if self.eat("/*") {
            self.block_comment();
        } else if first == '\'' {
            self.skip(1);
            self.string(false);
        } else if first == '"' {
            self.skip(1);
            return Some(self.quoted());
        } else if first == '$' {
            self.dollar();
        } else if is_start(first) {
            return self.word();
        } else if first.is_ascii_digit() {
            // The letters of `1e5` are no name; `$` cannot follow a number as a quote.
            self.skip_until(|letter| !letter.is_ascii_alphanumeric() && letter != '_');
        } else {
            self.skip(first.len_utf8());
        }
        None
    }

    fn word(&mut self) -> Option<String> {
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (word, after) = self.rest.split_at_checked(end)?;
        let prefix = word.to_ascii_lowercase();
        // A letter directly before a quote belongs to the string; `U&` is one longer.
        if prefix == "e" && after.starts_with('\'') {
            self.skip(2);
            self.string(true);
            return None;
        }
        if ["b", "x", "n"].contains(&prefix.as_str()) && after.starts_with('\'') {
            self.skip(2);
            self.string(false);
            return None;
        }
        if prefix == "u" && after.starts_with("&'") {
            self.skip(3);
            self.string(false);
            return None;
        }
        if prefix == "u" && after.starts_with("&\"") {
            self.skip(3);
            let escaped = self.quoted();
            return Some(unescape(&escaped, self.escape_character()));
        }
        self.rest = after;
        Some(word.to_ascii_lowercase())
    }

    /// After the opening quote. In one with escapes a backslash takes the next character with it.
    fn string(&mut self, has_escapes: bool) {
        loop {
            self.skip_until(|letter| letter == '\'' || (has_escapes && letter == '\\'));
            if self.eat("\\") {
                let skipped = self.rest.chars().next().map_or(0, char::len_utf8);
                self.skip(skipped);
            } else if !self.eat("''") {
                self.skip(1);
                if !(has_escapes && self.string_continues()) {
                    return;
                }
            }
        }
    }

    /// A quote after nothing but white space with a line break in it goes on with the same string,
    /// by the same rules.
    fn string_continues(&mut self) -> bool {
        let mut ahead = Lexer { rest: self.rest };
        let mut has_break = false;
        loop {
            if ahead.eat("--") {
                ahead.skip_until(|letter| letter == '\n' || letter == '\r');
            }
            match ahead.rest.chars().next() {
                Some(letter) if is_space(letter) => {
                    has_break |= letter == '\n' || letter == '\r';
                    ahead.skip(1);
                }
                Some('-') if ahead.rest.starts_with("--") => {}
                _ => break,
            }
        }
        let continues = has_break && ahead.eat("'");
        if continues {
            self.rest = ahead.rest;
        }
        continues
    }

    /// After the opening quote.
    fn quoted(&mut self) -> String {
        let mut name = String::new();
        loop {
            let end = self.rest.find('"').unwrap_or(self.rest.len());
            name += self.rest.get(..end).unwrap_or_default();
            self.skip(end);
            if self.eat("\"\"") {
                name.push('"');
            } else {
                self.skip(1);
                return name;
            }
        }
    }

    /// Comments nest.
    fn block_comment(&mut self) {
        let mut depth = 1;
        while depth > 0 && !self.rest.is_empty() {
            if self.eat("/*") {
                depth += 1;
            } else if self.eat("*/") {
                depth -= 1;
            } else {
                let first = self.rest.chars().next().map_or(0, char::len_utf8);
                self.skip(first);
            }
        }
    }

    /// `$tag$ … $tag$`, or a parameter, or a lone `$`.
    fn dollar(&mut self) {
        self.skip(1);
        let Some((tag, body)) = self.rest.split_once('$') else { return };
        let is_tag = tag.chars().all(|letter| is_part(letter) && letter != '$')
            && !tag.starts_with(|letter: char| letter.is_ascii_digit());
        if is_tag {
            let end = format!("${tag}$");
            self.rest = body.split_once(end.as_str()).map_or("", |(_, after)| after);
        }
    }

    /// What follows `U&"…"`: `UESCAPE '!'`, or the usual backslash.
    fn escape_character(&self) -> char {
        let mut ahead = Lexer { rest: self.rest };
        ahead.skip_blank();
        let word = ahead.rest.get(..7).filter(|word| word.eq_ignore_ascii_case("uescape"));
        if word.is_none() {
            return '\\';
        }
        ahead.skip(7);
        ahead.skip_blank();
        // The string may be one with a prefix.
        let quoted = ahead.rest.trim_start_matches(['e', 'E', 'n', 'N']).strip_prefix('\'');
        quoted.and_then(|quoted| quoted.chars().next()).unwrap_or('\\')
    }

    fn skip_blank(&mut self) {
        loop {
            if self.eat("--") {
                self.skip_until(|letter| letter == '\n' || letter == '\r');
            } else if self.eat("/*") {
                self.block_comment();
            } else if self.rest.starts_with(is_space) {
                self.skip(1);
            } else {
                return;
            }
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn skip_until(&mut self, ends: impl Fn(char) -> bool) {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        self.skip(end);
    }
}

/// White space as PostgreSQL has it: no other is any.
fn is_space(letter: char) -> bool {
    [' ', '\t', '\n', '\r', '\u{c}', '\u{b}'].contains(&letter)
}

fn is_start(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_' || !letter.is_ascii()
}

fn is_part(letter: char) -> bool {
    is_start(letter) || letter.is_ascii_digit() || letter == '$'
}

/// `\0070` and `\+000070` are characters by number, a doubled escape is itself.
fn unescape(text: &str, escape: char) -> String {
    let mut name = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(escape) {
        name += before;
        let (digits, skip) =
            if after.starts_with('+') { (after.get(1..7), 7) } else { (after.get(..4), 4) };
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match number.and_then(char::from_u32) {
            Some(letter) => {
                name.push(letter);
                rest = after.get(skip..).unwrap_or_default();
            }
            None => {
                name.push(escape);
                rest = after.strip_prefix(escape).unwrap_or(after);
            }
        }
    }
    name + rest
}
