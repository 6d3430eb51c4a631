//! When an edit matched lines that are indented otherwise than it says, its new lines are moved to
//! the indentation of the file: by the same depth, in the same kind of blanks.

pub(super) struct Reindent {
    /// Indentation the edit wrote, and what the file has in its place.
    pairs: Vec<(String, String)>,
}

impl Reindent {
    /// From lines of the edit and the lines of the file that they matched.
    pub(super) fn learn(wanted: &[&str], found: &[&str]) -> Self {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (wanted, found) in wanted.iter().zip(found) {
            let pair = (indent_of(wanted), indent_of(found));
            let is_known = pairs.iter().any(|(known, _)| known == pair.0);
            if !wanted.trim().is_empty() && !is_known {
                pairs.push((pair.0.to_owned(), pair.1.to_owned()));
            }
        }
        // The longest first, so that the closest is found first.
        pairs.sort_by_key(|(wanted, _)| std::cmp::Reverse(wanted.len()));
        Self { pairs }
    }

    pub(super) fn apply(&self, new: &str) -> String {
        let width = self.tab_width(new);
        let move_line = |line: &str| {
            if line.trim().is_empty() {
                return line.to_owned();
            }
            let indent = indent_of(line);
            let rest = line.get(indent.len()..).unwrap_or_default();
            self.moved(indent, width) + rest
        };
        new.split_inclusive('\n').map(move_line).collect()
    }

    fn moved(&self, indent: &str, width: usize) -> String {
        for (wanted, found) in &self.pairs {
            if let Some(deeper) = indent.strip_prefix(wanted.as_str()) {
                return found.clone() + &converted(deeper, found, width);
            }
        }
        // Less deep than every line that was matched: as much less in the file.
        let Some((wanted, found)) = self.pairs.last() else {
            return indent.to_owned();
        };
        let Some(missing) = wanted.strip_prefix(indent) else {
            return indent.to_owned();
        };
        let missing = converted(missing, found, width).len();
        found.get(..found.len().saturating_sub(missing)).unwrap_or_default().to_owned()
    }

    /// How many spaces are one tab, where one side has tabs and the other spaces.
    fn tab_width(&self, new: &str) -> usize {
        for (wanted, found) in &self.pairs {
            let (tabs, spaces) =
                if is_all(found, '\t') { (found, wanted) } else { (wanted, found) };
            if is_all(tabs, '\t') && is_all(spaces, ' ') && spaces.len() % tabs.len() == 0 {
                return spaces.len() / tabs.len();
            }
        }
        let depths = new.lines().map(indent_of).filter(|indent| is_all(indent, ' ')).map(str::len);
        depths.min().unwrap_or(4)
    }
}

/// `blanks` in the kind of blanks that `model` is made of.
fn converted(blanks: &str, model: &str, width: usize) -> String {
    if is_all(model, '\t') && is_all(blanks, ' ') {
        "\t".repeat(blanks.len() / width) + &" ".repeat(blanks.len() % width)
    } else if is_all(model, ' ') && is_all(blanks, '\t') {
        " ".repeat(blanks.len() * width)
    } else {
        blanks.to_owned()
    }
}

fn is_all(text: &str, blank: char) -> bool {
    !text.is_empty() && text.chars().all(|character| character == blank)
}

fn indent_of(line: &str) -> &str {
    let rest = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - rest.len()).unwrap_or_default()
}
