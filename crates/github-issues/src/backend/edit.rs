//! Changing a body without touching the rest of it: every byte that was not asked about stays,
//! line ends included.

use std::ops::Range;

/// One change to a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// The one place where `find` stands becomes `text`.
    Replace { find: String, text: String },
    /// A new paragraph at the end.
    Append { text: String },
    /// The checklist item of this text is ticked, or not.
    Check { item: String, checked: bool },
    /// What stands under the heading becomes `text`; the heading stays.
    Section { heading: String, text: String },
    /// All of it.
    Set { text: String },
}

/// Why an edit cannot be made, for a model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadEdit {
    #[error("{what:?} is not in the body. Copy it exactly, from a fresh issue_get.")]
    Missing { what: String },
    #[error("{what:?} is in the body {times} times. Give more of what is around it.")]
    Ambiguous { what: String, times: usize },
    #[error("`find` is empty.")]
    Empty,
}

/// The body after all edits, in order.
pub(crate) fn apply(body: &str, edits: &[Edit]) -> Result<String, BadEdit> {
    edits.iter().try_fold(body.to_owned(), |body, edit| one(&body, edit))
}

fn one(body: &str, edit: &Edit) -> Result<String, BadEdit> {
    let eol = if body.contains("\r\n") { "\r\n" } else { "\n" };
    match edit {
        Edit::Set { text } => Ok(text.clone()),
        Edit::Append { text } => {
            let eols = match body {
                "" => 0,
                body if body.ends_with("\n\n") || body.ends_with("\r\n\r\n") => 0,
                body if body.ends_with('\n') => 1,
                _ => 2,
            };
            Ok([body, &eol.repeat(eols), &with_eol(text, eol)].concat())
        }
        Edit::Replace { find, text } => replace(body, find, text, eol),
        Edit::Check { item, checked } => {
            let boxes = lines(body).into_iter().filter(|line| !line.in_code).filter_map(|line| {
                let (mark, text) = checkbox(body, &line.range)?;
                (text == item.trim()).then_some(mark)
            });
            let boxes: Vec<_> = boxes.collect();
            match boxes.as_slice() {
                // Already so: a capital X stays one.
                [mark] if *checked != (body.get(mark.clone()) == Some(" ")) => Ok(body.to_owned()),
                [mark] => Ok(splice(body, mark.clone(), if *checked { "x" } else { " " })),
                found => Err(not_one(item, found.len())),
            }
        }
        Edit::Section { heading, text } => {
            let place = section(body, heading)?;
            let text = with_eol(text.trim_matches(['\r', '\n']), eol);
            let is_last = place.end == body.len();
            let gap = if is_last { "" } else { eol };
            let text =
                if text.is_empty() { eol.to_owned() } else { [eol, &text, eol, gap].concat() };
            // A heading at the very end of the body has no line end yet.
            let missing = if body.get(..place.start).is_some_and(|head| head.ends_with('\n')) {
                ""
            } else {
                eol
            };
            Ok(splice(body, place, &[missing, &text].concat()))
        }
    }
}

fn replace(body: &str, find: &str, text: &str, eol: &str) -> Result<String, BadEdit> {
    if find.is_empty() {
        return Err(BadEdit::Empty);
    }
    // As it is; else with the body's line ends, which a model does not see.
    let exact: Vec<_> = body.match_indices(find).map(|(at, _)| at).collect();
    if let [at] = exact.as_slice() {
        let text = if find.contains("\r\n") { text.to_owned() } else { with_eol(text, eol) };
        return Ok(splice(body, *at..*at + find.len(), &text));
    }
    let native = with_eol(find, eol);
    let found: Vec<_> = match exact.is_empty() {
        true => body.match_indices(native.as_str()).map(|(at, _)| at).collect(),
        false => exact,
    };
    match found.as_slice() {
        [at] => Ok(splice(body, *at..*at + native.len(), &with_eol(text, eol))),
        found => Err(not_one(find, found.len())),
    }
}

fn splice(body: &str, place: Range<usize>, text: &str) -> String {
    let before = body.get(..place.start).unwrap_or_default();
    let after = body.get(place.end..).unwrap_or_default();
    [before, text, after].concat()
}

fn with_eol(text: &str, eol: &str) -> String {
    if eol == "\n" { text.to_owned() } else { text.replace("\r\n", "\n").replace('\n', eol) }
}

fn not_one(what: &str, times: usize) -> BadEdit {
    let what = super::text::excerpt(what, 80);
    if times == 0 { BadEdit::Missing { what } } else { BadEdit::Ambiguous { what, times } }
}

/// A line of a body.
struct Line {
    /// Without the line end.
    range: Range<usize>,
    in_code: bool,
}

fn lines(body: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    // What closes the code block we are in.
    let mut fence: Option<String> = None;
    for whole in body.split_inclusive('\n') {
        let text = whole.trim_end_matches(['\r', '\n']);
        let bare = text.trim_start();
        let mark: String = bare.chars().take_while(|c| bare.starts_with(*c)).collect();
        let is_fence = mark.len() >= 3 && mark.starts_with(['`', '~']);
        let in_code = fence.is_some() || is_fence;
        match &fence {
            None if is_fence => fence = Some(mark),
            Some(open)
                if is_fence && mark.starts_with(open.as_str()) && bare.trim_end() == mark =>
            {
                fence = None;
            }
            _ => {}
        }
        lines.push(Line { range: start..start + text.len(), in_code });
        start += whole.len();
    }
    lines
}

/// Where the mark between the brackets is, and the item's text.
fn checkbox<'a>(body: &'a str, line: &Range<usize>) -> Option<(Range<usize>, &'a str)> {
    let text = body.get(line.clone())?;
    let bullet = text.trim_start();
    let rest = bullet.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match rest.len() == bullet.len() {
        true => rest.strip_prefix(['-', '*', '+'])?,
        false => rest.strip_prefix(['.', ')'])?,
    };
    let rest = rest.trim_start().strip_prefix('[')?;
    let (mark, item) = rest.split_at_checked(1)?;
    let item = item.strip_prefix(']')?;
    if !matches!(mark, " " | "x" | "X") || !item.starts_with([' ', '\t']) {
        return None;
    }
    let at = line.end - rest.len();
    Some((at..at + 1, item.trim()))
}

/// From behind the heading's line to the next heading that is not below it.
fn section(body: &str, heading: &str) -> Result<Range<usize>, BadEdit> {
    let wanted = heading.trim_start_matches('#').trim();
    let headings: Vec<(Range<usize>, usize, &str)> = lines(body)
        .into_iter()
        .filter(|line| !line.in_code)
        .filter_map(|line| {
            let text = body.get(line.range.clone())?;
            let level = text.chars().take_while(|c| *c == '#').count();
            let rest = text.trim_start_matches('#');
            let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
            is_heading.then(|| (line.range, level, rest.trim_end_matches('#').trim()))
        })
        .collect();
    let found: Vec<_> = headings.iter().filter(|(_, _, text)| *text == wanted).collect();
    let [(line, level, _)] = found.as_slice() else {
        return Err(not_one(heading, found.len()));
    };
    let rest = body.get(line.end..).unwrap_or_default();
    let start = line.end + rest.find('\n').map_or(rest.len(), |at| at + 1);
    let next = headings.iter().find(|(other, deep, _)| other.start > line.start && deep <= level);
    Ok(start..next.map_or(body.len(), |(other, ..)| other.start))
}
