//! Reads how PostgreSQL writes arrays and composites as text: `{1,NULL,"a,b"}` and `(1,,"a b")`.

/// One element or field; `None` is NULL. Quotes and escapes are gone.
pub(crate) type Item = Option<String>;

/// An array as written, its nesting kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Nested {
    Item(Item),
    Array(Vec<Nested>),
}

/// Deeper than PostgreSQL's own six dimensions is no array.
const MAX_DEPTH: usize = 6;

/// The explicit bounds, where the array has others than 1, and its elements. `None` if the text is
/// no array.
pub(crate) fn array(text: &str, delimiter: char) -> Option<(Option<&str>, Nested)> {
    let (bounds, body) = match text.split_once('=') {
        Some((bounds, body)) if text.starts_with('[') => (Some(bounds), body),
        _ => (None, text),
    };
    let mut rest = body.char_indices().peekable();
    let nested = array_body(&mut rest, delimiter, 1)?;
    rest.next().is_none().then_some((bounds, nested))
}

type Letters<'a> = std::iter::Peekable<std::str::CharIndices<'a>>;

fn array_body(rest: &mut Letters<'_>, delimiter: char, depth: usize) -> Option<Nested> {
    if depth > MAX_DEPTH || rest.next()?.1 != '{' {
        return None;
    }
    let mut elements = Vec::new();
    if rest.next_if(|(_, letter)| *letter == '}').is_some() {
        return Some(Nested::Array(elements));
    }
    loop {
        elements.push(match rest.peek()?.1 {
            '{' => array_body(rest, delimiter, depth + 1)?,
            '"' => Nested::Item(Some(quoted(rest)?)),
            _ => Nested::Item(unquoted(rest, delimiter)),
        });
        match rest.next()?.1 {
            '}' => return Some(Nested::Array(elements)),
            letter if letter == delimiter => {}
            _ => return None,
        }
    }
}

fn unquoted(rest: &mut Letters<'_>, delimiter: char) -> Item {
    let mut text = String::new();
    while let Some((_, letter)) = rest.next_if(|(_, l)| *l != delimiter && *l != '}') {
        text.push(letter);
    }
    (text != "NULL").then_some(text)
}

/// In an array a quote in quotes is escaped by a backslash.
fn quoted(rest: &mut Letters<'_>) -> Option<String> {
    rest.next();
    let mut text = String::new();
    loop {
        match rest.next()?.1 {
            '"' => return Some(text),
            '\\' => text.push(rest.next()?.1),
            letter => text.push(letter),
        }
    }
}

/// The fields of a composite, or `None` if the text is none. Here a quote in quotes is doubled,
/// and nothing at all is NULL.
pub(crate) fn composite(text: &str) -> Option<Vec<Item>> {
    let body = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut fields = Vec::new();
    let mut rest = body.chars().peekable();
    loop {
        let mut field: Item = None;
        let mut in_quotes = false;
        loop {
            match rest.peek() {
                None if in_quotes => return None,
                None => {
                    fields.push(field);
                    return Some(fields);
                }
                Some(',') if !in_quotes => break,
                Some(_) => {}
            }
            let text = field.get_or_insert_default();
            match rest.next()? {
                '"' if in_quotes && rest.next_if_eq(&'"').is_some() => text.push('"'),
                '"' => in_quotes = !in_quotes,
                '\\' => text.push(rest.next()?),
                letter => text.push(letter),
            }
        }
        rest.next();
        fields.push(field);
    }
}
