//! The rows of a run, and the forms in which they leave it: a table, JSON, JUnit XML.

use crate::check::{Check, Level, Outcome};
use crate::revision::Revision;
use crate::transport::Transport;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What came of one check on one server in one revision.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: Cow<'static, str>,
    pub level: Level,
    pub revision: Revision,
    pub transport: Transport,
    pub server: String,
    pub title: Cow<'static, str>,
    pub outcome: Outcome,
    /// The bytes sent and got, where the row is not green.
    pub evidence: Vec<String>,
}

/// All rows of a run.
#[derive(Clone, Debug)]
pub struct Report {
    pub server: String,
    pub rows: Vec<Row>,
}

impl Row {
    pub(crate) fn new(
        server: &str,
        transport: Transport,
        revision: Revision,
        check: &Check,
        outcome: Outcome,
        evidence: Vec<String>,
    ) -> Row {
        Row {
            id: check.id.into(),
            level: check.level,
            revision,
            transport,
            server: server.to_owned(),
            title: check.title.into(),
            outcome,
            evidence,
        }
    }

    /// True when a requirement is broken, binding or not.
    pub fn is_red(&self) -> bool {
        matches!(self.outcome, Outcome::Fail(_))
    }

    /// True when the row alone makes the run fail.
    pub fn is_fatal(&self) -> bool {
        self.is_red() && self.level == Level::Must
    }

    /// The row as one line of text.
    pub fn line(&self) -> String {
        let Row { id, level, revision, transport, title, outcome, .. } = self;
        let detail = if outcome.detail().is_empty() { title } else { outcome.detail() };
        format!("{:7} {id:6} {level:6} {revision} {transport:5} {detail}", outcome.word())
    }
}

impl Report {
    pub(crate) fn new(server: &str) -> Report {
        Report { server: server.to_owned(), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Puts the rows in the order of revisions; within one they are in order already.
    pub(crate) fn finish(&mut self) {
        self.rows.sort_by_key(|row| row.revision);
        let none_claimed =
            self.rows.iter().all(|row| row.id == "R-001" && row.outcome != Outcome::Pass);
        if none_claimed && let Some(row) = self.rows.first_mut() {
            row.outcome = Outcome::Fail("the server claims none of the revisions".to_owned());
        }
    }

    /// The exit rule: no binding requirement is broken.
    pub fn passed(&self) -> bool {
        !self.rows.iter().any(Row::is_fatal)
    }

    /// One line per transport and revision with counts, then every row that is not green.
    pub fn table(&self) -> String {
        let mut text = format!("{}\n", self.server);
        text.push_str("revision     transport  pass  fail  warn  skipped\n");
        for ((transport, revision), counts) in self.counts() {
            let count = |word| counts.get(word).copied().unwrap_or(0);
            let (pass, fail) = (count("pass"), count("fail"));
            let (warn, skipped) = (count("warn"), count("skipped"));
            // Writing to a String cannot fail.
            let _ =
                writeln!(text, "{revision}   {transport:9} {pass:5} {fail:5} {warn:5} {skipped:8}");
        }
        let loud = |row: &&Row| matches!(row.outcome, Outcome::Fail(_) | Outcome::Warn(_));
        for row in self.rows.iter().filter(loud) {
            let _ = writeln!(text, "{}\n        {}", row.line(), row.title);
        }
        text
    }

    /// `{"checks": […]}`, one object per row.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(row_json).collect();
        json!({ "checks": rows })
    }

    /// One JUnit test suite per transport and revision, for the test views of CI systems.
    pub fn junit(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for ((transport, revision), counts) in self.counts() {
            let suite = (transport, revision);
            let rows = self.rows.iter().filter(|row| (row.transport, row.revision) == suite);
            let failures = rows.clone().filter(|row| row.is_fatal()).count();
            let skipped = counts.get("skipped").copied().unwrap_or(0);
            let suite = format!("{} {transport} {revision}", self.server);
            let _ = writeln!(
                xml,
                "<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\">",
                escaped(&suite),
                rows.clone().count(),
            );
            rows.for_each(|row| xml.push_str(&row_junit(row)));
            xml.push_str("</testsuite>\n");
        }
        xml.push_str("</testsuites>\n");
        xml
    }

    fn counts(&self) -> BTreeMap<(Transport, Revision), BTreeMap<&'static str, usize>> {
        let mut counts = BTreeMap::<_, BTreeMap<_, usize>>::new();
        for row in &self.rows {
            let suite = counts.entry((row.transport, row.revision)).or_default();
            *suite.entry(row.outcome.word()).or_default() += 1;
        }
        counts
    }
}

fn row_json(row: &Row) -> Value {
    let mut value = json!({
        "id": row.id,
        "level": row.level,
        "revision": row.revision.date(),
        "transport": row.transport.to_string(),
        "server": row.server,
        "title": row.title,
        "outcome": row.outcome.word(),
        "detail": row.outcome.detail(),
    });
    if !row.evidence.is_empty() {
        value["evidence"] = json!(row.evidence);
    }
    value
}

fn row_junit(row: &Row) -> String {
    let name = escaped(&format!("{} {}", row.id, row.title));
    let class = escaped(&format!("{}.{}.{}", row.server, row.transport, row.revision));
    let detail = escaped(row.outcome.detail());
    let body = match &row.outcome {
        Outcome::Fail(_) if row.is_fatal() => {
            let evidence = escaped(&row.evidence.join("\n"));
            format!("<failure message=\"{detail}\">{evidence}</failure>")
        }
        Outcome::Fail(_) | Outcome::Warn(_) => format!("<system-out>{detail}</system-out>"),
        Outcome::Skipped(_) => format!("<skipped message=\"{detail}\"/>"),
        Outcome::Pass => String::new(),
    };
    format!("<testcase classname=\"{class}\" name=\"{name}\">{body}</testcase>\n")
}

/// Text for XML; characters XML cannot hold at all are replaced.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\n' | '\t' => xml.push(c),
            c if c < ' ' || ('\u{fffe}'..='\u{ffff}').contains(&c) => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
    xml
}
