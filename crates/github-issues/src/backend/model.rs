//! GitHub's objects as far as we show them. They are read by hand from JSON and no field but an
//! issue's number is needed: GitHub, its Enterprise versions and deleted accounts leave out or
//! null almost any of the others, and one odd item must not cost a page.

use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) number: u64,
    /// The database id, which sub-issues and dependencies are addressed by.
    pub(crate) id: Option<u64>,
    pub(crate) title: String,
    pub(crate) body: String,
    /// `open`, `closed`, or what GitHub may come up with.
    pub(crate) state: String,
    pub(crate) state_reason: Option<String>,
    pub(crate) author: Author,
    pub(crate) labels: Vec<String>,
    pub(crate) assignees: Vec<String>,
    pub(crate) milestone: Option<(u64, String)>,
    pub(crate) comments: u64,
    pub(crate) locked: bool,
    /// Bug, Task and the like, where the organisation has types.
    pub(crate) kind: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) url: String,
    pub(crate) is_pull_request: bool,
    /// How many sub-issues there are, and how many are done.
    pub(crate) sub_issues: Option<(u64, u64)>,
}

/// Who wrote something, and what they are to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Author {
    /// `ghost` is GitHub's own name for a deleted account.
    pub(crate) login: String,
    /// `OWNER`, `MEMBER`, `COLLABORATOR`, `CONTRIBUTOR`, `NONE` …
    pub(crate) association: String,
}

impl Default for Author {
    fn default() -> Self {
        Self { login: "ghost".to_owned(), association: "NONE".to_owned() }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    pub(crate) author: Author,
    pub(crate) body: String,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) url: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) color: String,
    pub(crate) description: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Milestone {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) state: String,
    pub(crate) description: String,
    pub(crate) due_on: Option<String>,
    pub(crate) open_issues: u64,
    pub(crate) closed_issues: u64,
}

impl Issue {
    /// `None` for what has no number at all and so cannot be an issue.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let summary = value.get("sub_issues_summary");
        let count = |name| summary.and_then(|summary| number(summary, name));
        Some(Self {
            number: number(value, "number").or_else(|| number_in_url(value))?,
            id: number(value, "id"),
            title: text(value, "title").unwrap_or_default(),
            body: text(value, "body").unwrap_or_default(),
            state: text(value, "state").unwrap_or_else(|| "unknown".to_owned()),
            state_reason: text(value, "state_reason"),
            author: Author::read(value),
            labels: names(value, "labels", "name"),
            assignees: names(value, "assignees", "login"),
            milestone: value
                .get("milestone")
                .and_then(Milestone::read)
                .map(|milestone| (milestone.number, milestone.title)),
            comments: number(value, "comments").unwrap_or_default(),
            locked: value.get("locked") == Some(&Value::Bool(true)),
            kind: value.get("type").and_then(|kind| text(kind, "name")),
            created_at: text(value, "created_at").unwrap_or_default(),
            updated_at: text(value, "updated_at").unwrap_or_default(),
            url: text(value, "html_url").unwrap_or_default(),
            is_pull_request: value.get("pull_request").is_some_and(|pull| !pull.is_null()),
            sub_issues: count("total")
                .filter(|total| *total > 0)
                .map(|total| (total, count("completed").unwrap_or_default())),
        })
    }
}

impl Author {
    fn read(value: &Value) -> Self {
        let association = text(value, "author_association");
        Self {
            login: value
                .get("user")
                .and_then(|user| text(user, "login"))
                .unwrap_or_else(|| "ghost".to_owned()),
            association: association.unwrap_or_else(|| "NONE".to_owned()),
        }
    }

    /// Has a say in the repository.
    pub(crate) fn is_trusted(&self) -> bool {
        matches!(self.association.as_str(), "OWNER" | "MEMBER" | "COLLABORATOR")
    }
}

impl Comment {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        Some(Self {
            id: number(value, "id")?,
            author: Author::read(value),
            body: text(value, "body").unwrap_or_default(),
            created_at: text(value, "created_at").unwrap_or_default(),
            updated_at: text(value, "updated_at").unwrap_or_default(),
            url: text(value, "html_url").unwrap_or_default(),
        })
    }
}

impl Label {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let name = value.as_str().map(str::to_owned).or_else(|| text(value, "name"))?;
        Some(Self {
            name,
            color: text(value, "color").unwrap_or_default(),
            description: text(value, "description").unwrap_or_default(),
        })
    }
}

impl Milestone {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        Some(Self {
            number: number(value, "number")?,
            title: text(value, "title").unwrap_or_default(),
            state: text(value, "state").unwrap_or_else(|| "unknown".to_owned()),
            description: text(value, "description").unwrap_or_default(),
            due_on: text(value, "due_on"),
            open_issues: number(value, "open_issues").unwrap_or_default(),
            closed_issues: number(value, "closed_issues").unwrap_or_default(),
        })
    }
}

/// The string `name`, if there is one.
pub(crate) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

pub(crate) fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name)?.as_u64()
}

fn number_in_url(value: &Value) -> Option<u64> {
    text(value, "url")?.rsplit_once("/issues/")?.1.parse().ok()
}

/// What the entries of a list are called, whether they are objects or plain strings.
fn names(value: &Value, list: &str, name: &str) -> Vec<String> {
    let entries = value.get(list).and_then(Value::as_array).into_iter().flatten();
    entries
        .filter_map(|entry| entry.as_str().map(str::to_owned).or_else(|| text(entry, name)))
        .collect()
}
