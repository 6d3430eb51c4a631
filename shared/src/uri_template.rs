//! URI templates of RFC 6570, the two forms resource templates use: `{name}` matches within one
//! path segment, `{+name}` matches across segments.
//!
//! Matching takes one pass and never tries again: the text after the last variable is looked for
//! at the end, `{name}` ends at the first occurrence of the text that follows it, `{+name}` at the
//! last. A variable is never empty. Values are percent-decoded, so the value of `{name}` may hold
//! a `/` that the URI spells `%2F`; whoever makes a path of it has to look.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// A parsed template.
#[derive(Debug, Clone)]
pub(crate) struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Literal(String),
    Variable { name: String, reserved: bool },
}

impl UriTemplate {
    /// `Err` says what is wrong with the template; it is the server author who reads it.
    pub(crate) fn parse(template: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((literal, tail)) = rest.split_once('{') {
            let (expression, tail) =
                tail.split_once('}').ok_or_else(|| format!("`{{` without `}}` in {template}"))?;
            if literal.is_empty() && matches!(parts.last(), Some(Part::Variable { .. })) {
                return Err(format!("two variables side by side in {template}"));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let (name, reserved) = match expression.strip_prefix('+') {
                Some(name) => (name, true),
                None => (expression, false),
            };
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(format!("`{{{expression}}}` is not supported in {template}"));
            }
            parts.push(Part::Variable { name: name.to_owned(), reserved });
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable { name, .. } => Some(name.as_str()),
            Part::Literal(_) => None,
        })
    }

    /// The variables of `uri`, percent-decoded, or `None` when it does not match.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let (mut rest, mut parts) = (uri, self.parts.as_slice());
        if let [before @ .., Part::Variable { .. }, Part::Literal(end)] = parts {
            rest = rest.strip_suffix(end.as_str())?;
            parts = parts.get(..=before.len())?;
        }
        let mut variables = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, reserved } => {
                    let end = match parts.get(index + 1) {
                        Some(Part::Literal(next)) => find(rest, next, *reserved)?,
                        _ => rest.len(),
                    };
                    let (value, tail) = rest.split_at_checked(end)?;
                    if value.is_empty() || (!reserved && value.contains('/')) {
                        return None;
                    }
                    variables.push((name.as_str(), percent_decode(value)?.into_owned()));
                    rest = tail;
                }
            }
        }
        rest.is_empty().then_some(variables)
    }
}

/// Where `next` begins in `text`, the first time or the last, with something before it and
/// something after it.
fn find(text: &str, next: &str, last: bool) -> Option<usize> {
    let first_char = text.chars().next()?.len_utf8();
    let last_char = text.chars().next_back()?.len_utf8();
    let inner = text.get(first_char..text.len().checked_sub(last_char)?)?;
    let found = if last { inner.rfind(next) } else { inner.find(next) };
    found.map(|position| first_char + position)
}

/// `None` when a `%` is not followed by two hex digits or the bytes are not UTF-8.
fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            decoded.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}
