//! Lists of issues, page by page. GitHub mixes pull requests into them, and its next page may
//! only be known by a cursor, so pages are followed by their link and never counted.

use serde_json::Value;

use super::api::Api;
use super::error::Error;
use super::model::Issue;

/// Pages looked at for one answer: among them may be none but pull requests.
const MAX_PAGES: usize = 5;

/// Where to go on: a page's query, and how many entries of it have been seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    query: String,
    skip: usize,
}

/// What whoever collects issues says to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Taken, and there is room for more.
    Taken,
    /// Taken, and it was the last.
    Last,
    /// There was no room for it.
    Full,
}

/// What was seen of a list, beside the issues themselves.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// How many issues were taken.
    pub(crate) issues: usize,
    pub(crate) pull_requests: usize,
    /// Entries that are not issues at all, and what they look like.
    pub(crate) broken: Vec<String>,
    /// All there are, where GitHub says so (search).
    pub(crate) total: Option<u64>,
    pub(crate) incomplete: bool,
    pub(crate) next: Option<Cursor>,
}

impl Cursor {
    pub(crate) fn start(query: String) -> Self {
        Self { query, skip: 0 }
    }

    /// Only a query is taken from a cursor, and the path is the tool's own: one that was made up
    /// cannot lead anywhere else.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let (skip, query) = text.split_once('.').ok_or(Error::BadCursor)?;
        let skip = skip.parse().map_err(|_| Error::BadCursor)?;
        let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'?' | b'"' | b'<');
        if query.len() > 2_000 || !query.bytes().all(fits) {
            return Err(Error::BadCursor);
        }
        Ok(Self { query: query.to_owned(), skip })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.skip, self.query)
    }
}

impl Api<'_> {
    /// Issues from `path`, beginning at the cursor, until `take` has no room for more.
    pub(crate) async fn issues(
        &self,
        path: &str,
        cursor: Cursor,
        mut take: impl FnMut(&Value, Issue) -> Room,
    ) -> Result<Listed, Error> {
        let mut listed = Listed::default();
        let mut cursor = cursor;
        for _ in 0..MAX_PAGES {
            let page = self.get(&format!("{path}?{}", cursor.query)).await?;
            listed.total = super::model::number(&page.value, "total_count");
            listed.incomplete |= page.value.get("incomplete_results") == Some(&Value::Bool(true));
            let items = match page.value.get("items").and_then(Value::as_array) {
                Some(items) => items,
                None => page.items(),
            };
            for (index, item) in items.iter().enumerate().skip(cursor.skip) {
                let seen = match listed.add(item, &mut take) {
                    Room::Taken => continue,
                    Room::Last => index + 1,
                    Room::Full => index,
                };
                let here = Cursor { query: cursor.query, skip: seen };
                let next = page.next.clone().map(Cursor::start);
                listed.next = if seen < items.len() { Some(here) } else { next };
                return Ok(listed);
            }
            listed.next = page.next.clone().map(Cursor::start);
            match &listed.next {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
        Ok(listed)
    }

    /// All entries of a list that is short by nature (labels, milestones), at most 1,000.
    pub(crate) async fn all(&self, path: &str, query: &str) -> Result<Vec<Value>, Error> {
        let mut entries = Vec::new();
        let mut query = format!("{query}&per_page=100").trim_start_matches('&').to_owned();
        for _ in 0..10 {
            let page = self.get(&format!("{path}?{query}")).await?;
            entries.extend(page.items().iter().cloned());
            match page.next {
                Some(next) => query = next,
                None => break,
            }
        }
        Ok(entries)
    }
}

impl Listed {
    fn add(&mut self, item: &Value, take: &mut impl FnMut(&Value, Issue) -> Room) -> Room {
        match Issue::read(item) {
            Some(issue) if issue.is_pull_request => self.pull_requests += 1,
            Some(issue) => {
                let room = take(item, issue);
                self.issues += usize::from(room != Room::Full);
                return room;
            }
            None => {
                let title = super::model::text(item, "title").unwrap_or_default();
                self.broken.push(super::text::line(&title, 60));
            }
        }
        Room::Taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_as_they_went_and_forged_ones_hold_no_path() {
        for query in ["per_page=30&page=2", "after=Y3Vyc29yOnYyOpHPAAA%3D&per_page=1"] {
            let cursor = Cursor { query: query.to_owned(), skip: 7 };
            assert_eq!(Cursor::parse(&cursor.to_string()).unwrap(), cursor);
        }
        for bad in ["", "x", "page=2", "-1.a=b", "1.a b", "1.a=b#c", "1.a\r\nX: y", "1.é", "1.a?b"]
        {
            assert!(Cursor::parse(bad).is_err(), "{bad}");
        }
    }
}
