//! Finds in a plan which columns an index could help with: those a table read from beginning to end
//! is filtered, joined or sorted by.

use serde_json::Value;

use super::plan::number;

/// Columns of one table that an index could have, and what reading it costs without.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) schema: String,
    pub(crate) table: String,
    /// Compared for equality; the order does not matter.
    equal: Vec<String>,
    /// Compared for size, or sorted by: at the end.
    ordered: Option<String>,
    /// That come out of it, by PostgreSQL's estimate.
    pub(crate) rows: f64,
    /// Of the scan, and of the sort above it.
    pub(crate) cost: f64,
}

impl Candidate {
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.equal.iter().chain(&self.ordered).map(String::as_str).collect()
    }
}

/// Needs a plan that was made with VERBOSE, where columns are named with their table.
pub(crate) fn candidates(plan: &Value) -> Vec<Candidate> {
    let mut found = Vec::new();
    node(plan, &[], &mut found);
    found
}

/// `above` are the steps on the way down to this one.
fn node<'a>(plan: &'a Value, above: &[&'a Value], found: &mut Vec<Candidate>) {
    if text(plan, "Node Type") == "Seq Scan" {
        found.extend(filtered(plan, above));
        found.extend(joined(plan, above));
        found.extend(sorted(plan, above));
    }
    let mut path = above.to_vec();
    path.push(plan);
    for child in plan.get("Plans").and_then(Value::as_array).into_iter().flatten() {
        node(child, &path, found);
    }
}

fn filtered(scan: &Value, above: &[&Value]) -> Option<Candidate> {
    let mut candidate = bare(scan);
    let mut rest = false;
    for part in conjuncts(text(scan, "Filter")) {
        match comparison(part, text(scan, "Alias")) {
            Some((column, true)) => candidate.equal.push(column),
            Some((column, false)) if candidate.ordered.is_none() => {
                candidate.ordered = Some(column);
            }
            Some(_) => {}
            None => rest = true,
        }
    }
    candidate.equal.dedup();
    // Both ends of a range on the column that is also compared for equality add nothing.
    if candidate.ordered.as_ref().is_some_and(|column| candidate.equal.contains(column)) {
        candidate.ordered = None;
    }
    if candidate.columns().is_empty() {
        return None;
    }
    if candidate.ordered.is_none() && !rest {
        let key = above.last().and_then(|sort| sort_key(sort, scan));
        candidate.ordered = key.filter(|column| !candidate.equal.contains(column));
    }
    Some(candidate)
}

/// One side of a join is small, so looking its rows up in this table would do.
fn joined(scan: &Value, above: &[&Value]) -> Option<Candidate> {
    let join = above.iter().rev().find(|step| step.get("Plans").is_some_and(has_two))?;
    let condition = ["Hash Cond", "Merge Cond", "Join Filter"];
    let condition = condition.iter().find_map(|key| join.get(key)?.as_str())?;
    let sides = join.get("Plans").and_then(Value::as_array)?;
    let fewest = sides.iter().map(|side| number(side, "Plan Rows")).fold(f64::MAX, f64::min);
    let mut candidate = bare(scan);
    if candidate.rows < 10.0 * fewest {
        return None;
    }
    for part in conjuncts(condition) {
        let (left, right) = part.split_once(" = ")?;
        let alias = text(scan, "Alias");
        candidate.equal.extend(column(left, alias).or_else(|| column(right, alias)));
    }
    candidate.rows = number(join, "Plan Rows").min(candidate.rows);
    (!candidate.equal.is_empty()).then_some(candidate)
}

/// Nothing but the order is wanted, and only the first rows of it.
fn sorted(scan: &Value, above: &[&Value]) -> Option<Candidate> {
    let [.., limit, sort] = above else { return None };
    if text(limit, "Node Type") != "Limit" || scan.get("Filter").is_some() {
        return None;
    }
    let mut candidate = bare(scan);
    candidate.ordered = Some(sort_key(sort, scan)?);
    candidate.rows = number(limit, "Plan Rows");
    candidate.cost = number(sort, "Total Cost");
    Some(candidate)
}

fn bare(scan: &Value) -> Candidate {
    Candidate {
        schema: text(scan, "Schema").to_owned(),
        table: text(scan, "Relation Name").to_owned(),
        equal: Vec::new(),
        ordered: None,
        rows: number(scan, "Plan Rows"),
        cost: number(scan, "Total Cost"),
    }
}

/// The one column that is sorted by.
fn sort_key(sort: &Value, scan: &Value) -> Option<String> {
    if text(sort, "Node Type") != "Sort" {
        return None;
    }
    let [key] = sort.get("Sort Key")?.as_array()?.as_slice() else { return None };
    column(key.as_str()?.trim_end_matches(" DESC"), text(scan, "Alias"))
}

fn has_two(plans: &Value) -> bool {
    plans.as_array().is_some_and(|plans| plans.len() == 2)
}

/// The parts of `((a) AND (b))`.
fn conjuncts(condition: &str) -> Vec<&str> {
    let inner = unwrapped(condition);
    let mut parts = Vec::new();
    let (mut depth, mut start, mut quoted) = (0_i32, 0, false);
    for (at, letter) in inner.char_indices() {
        match letter {
            '\'' | '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ' ' if depth == 0
                && !quoted
                && inner.get(at..).is_some_and(|rest| rest.starts_with(" AND ")) =>
            {
                parts.extend(inner.get(start..at));
                start = at + 5;
            }
            _ => {}
        }
    }
    parts.extend(inner.get(start..));
    parts.into_iter().map(unwrapped).filter(|part| !part.is_empty()).collect()
}

/// Without parentheses around the whole.
fn unwrapped(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else {
        return text;
    };
    let mut depth = 0_i32;
    for letter in inner.chars() {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        // The first one closes before the end: `(a) = (b)`.
        if depth < 0 {
            return text;
        }
    }
    unwrapped(inner)
}

/// The column that is compared with something, and whether for equality.
fn comparison(part: &str, alias: &str) -> Option<(String, bool)> {
    if part.contains(" OR ") {
        return None;
    }
    let (column, rest) = leading_column(part, alias)?;
    let rest = rest.trim_start();
    let operator = rest.split(' ').next()?;
    let is_equal = match operator {
        "=" => true,
        "IS" => rest == "IS NULL",
        "<" | ">" | "<=" | ">=" => false,
        _ => return None,
    };
    (operator != "IS" || is_equal).then_some(())?;
    Some((column, is_equal))
}

/// The name in `t.name`, `(t.name)::text` or `t."Name"`, where there is nothing else.
fn column(text: &str, alias: &str) -> Option<String> {
    let (name, rest) = leading_column(text, alias)?;
    rest.is_empty().then_some(name)
}

/// The same at the beginning, and what follows.
fn leading_column<'a>(text: &'a str, alias: &str) -> Option<(String, &'a str)> {
    let (text, is_cast) = match text.strip_prefix('(') {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let quoted = format!("\"{alias}\"");
    let name =
        text.strip_prefix(&quoted).or_else(|| text.strip_prefix(alias))?.strip_prefix('.')?;
    let (name, rest) = match name.strip_prefix('"') {
        // A quote within is doubled; who names columns so gets no advice.
        Some(name) => name.split_once('"')?,
        None => {
            let plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
            name.split_at(name.find(|letter| !plain(letter)).unwrap_or(name.len()))
        }
    };
    if !is_cast {
        return Some((name.to_owned(), rest));
    }
    let cast = rest.strip_prefix(")::")?;
    Some((name.to_owned(), cast.get(cast.find(' ').unwrap_or(cast.len())..)?))
}

fn text<'a>(node: &'a Value, key: &str) -> &'a str {
    node.get(key).and_then(Value::as_str).unwrap_or_default()
}
