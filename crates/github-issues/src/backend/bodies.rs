//! Bodies: which were shown to whom asked, and how one is written back.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde_json::json;

use super::api::Api;
use super::edit::{Edit, apply};
use super::error::Error;
use super::model::Issue;
use super::place::Repo;
use super::text::{find_secret, fingerprint};

const MAX_KEPT: usize = 64;

/// The bodies last shown, by their hash, to tell what has changed since.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<VecDeque<(String, String)>>);

impl Shown {
    /// Remembers a body and gives its hash.
    pub(crate) fn keep(&self, body: &str) -> String {
        let hash = fingerprint(body);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(other, _)| *other != hash);
        kept.push_back((hash.clone(), body.to_owned()));
        if kept.len() > MAX_KEPT {
            kept.pop_front();
        }
        hash
    }

    fn get(&self, hash: &str) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(other, _)| other == hash).map(|(_, body)| body.clone())
    }
}

/// How an edit went. The hash is the body's as GitHub holds it now.
#[derive(Debug)]
pub(crate) enum Edited {
    Changed { hash: String },
    Same { hash: String },
    Conflict { issue: Box<Issue>, diff: Option<String> },
}

impl Api<'_> {
    /// Edits the body GitHub holds now, if it is the one expected. GitHub has no way to make
    /// reading and writing one step; what others write within these milliseconds is lost.
    pub(crate) async fn edit_body(
        &self,
        repo: &Repo,
        number: u64,
        edits: &[Edit],
        expect: Option<&str>,
    ) -> Result<Edited, Error> {
        // Only what is new is looked at: a secret that is there must not lock everyone out.
        if let Some(kind) = edits.iter().find_map(|edit| find_secret(added(edit))) {
            return Err(Error::Secret { kind });
        }
        let issue = self.issue(repo, number).await?;
        let shown = &self.backend.shown;
        if let Some(expect) = expect.filter(|expect| *expect != fingerprint(&issue.body)) {
            let diff = shown.get(expect).map(|old| diff(&old, &issue.body));
            return Ok(Edited::Conflict { issue: Box::new(issue), diff });
        }
        let body =
            apply(&issue.body, edits).map_err(|error| Error::BadArguments(error.to_string()))?;
        if body == issue.body {
            return Ok(Edited::Same { hash: shown.keep(&body) });
        }
        let path = repo.issue(number, &[])?;
        let answer = self.patch_scanned(&path, &json!({"body": body})).await?;
        let stored = Issue::read(&answer.value).map_or(body, |issue| issue.body);
        Ok(Edited::Changed { hash: shown.keep(&stored) })
    }
}

fn added(edit: &Edit) -> &str {
    match edit {
        Edit::Replace { text, .. }
        | Edit::Append { text }
        | Edit::Section { text, .. }
        | Edit::Set { text } => text,
        Edit::Check { .. } => "",
    }
}

fn diff(old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new).unified_diff().context_radius(1).to_string()
}
