//! Changing many issues alike: first as a plan nobody but us has seen, then one by one, in steps
//! that can be interrupted, gone on with and taken back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::api::Api;
use super::error::Error;
use super::model::Issue;
use super::place::Repo;

const MAX_PLANS: usize = 32;

/// What shall be so for one issue afterwards; what is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) add_labels: Vec<String>,
    pub(crate) remove_labels: Vec<String>,
    pub(crate) assign: Vec<String>,
    pub(crate) unassign: Vec<String>,
    /// `Some(None)` clears it.
    pub(crate) milestone: Option<Option<u64>>,
    /// State and its reason.
    pub(crate) state: Option<(String, Option<String>)>,
}

/// Changes to apply, in order.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) id: String,
    pub(crate) repo: Repo,
    pub(crate) steps: Vec<(u64, Change)>,
    progress: Mutex<Progress>,
    /// Held while it is applied: of two calls at once each step is taken by one.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Progress {
    /// How many steps are behind us.
    done: usize,
    /// What takes them back.
    undo: Vec<(u64, Change)>,
}

/// The plans made lately; the oldest is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<VecDeque<Arc<Plan>>>);

impl Plans {
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Plan>> {
        let plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plans.iter().find(|plan| plan.id == id).cloned()
    }

    fn keep(&self, plan: Plan) -> Arc<Plan> {
        let plan = Arc::new(plan);
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plans.push_back(Arc::clone(&plan));
        if plans.len() > MAX_PLANS {
            plans.pop_front();
        }
        plan
    }
}

impl Plan {
    pub(crate) fn done(&self) -> usize {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).done
    }

    /// The steps that take back what has been done so far, last first.
    pub(crate) fn undo(&self) -> Vec<(u64, Change)> {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.undo.iter().rev().cloned().collect()
    }

    fn step_done(&self, undo: Option<(u64, Change)>) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.done += 1;
        progress.undo.extend(undo);
    }
}

impl Api<'_> {
    pub(crate) fn plan(&self, repo: Repo, steps: Vec<(u64, Change)>) -> Arc<Plan> {
        let id = self.backend.mark(&format!("{repo} {steps:?} {:?}", std::time::SystemTime::now()));
        let id = id.get(..8).unwrap_or(&id).to_owned();
        let (progress, turn) = Default::default();
        self.backend.plans.keep(Plan { id, repo, steps, progress, turn })
    }

    /// Applies the next step to the issue as it is now, and says what it did. A step that fails
    /// for good counts as done; one to try again later does not.
    pub(crate) async fn next_step(&self, plan: &Plan) -> Result<String, Error> {
        let Some((number, change)) = plan.steps.get(plan.done()) else {
            return Ok("nothing left".to_owned());
        };
        let applied = match self.issue(&plan.repo, *number).await {
            Ok(issue) => self.apply_change(&plan.repo, &issue, change).await,
            Err(error) => Err(error),
        };
        match applied {
            Ok(None) => {
                plan.step_done(None);
                Ok(format!("#{number} is so already"))
            }
            Ok(Some((fields, undo))) => {
                plan.step_done(Some((*number, undo)));
                Ok(format!("#{number} {}", fields.keys().cloned().collect::<Vec<_>>().join(", ")))
            }
            Err(
                error @ (Error::RateLimited { .. }
                | Error::Unreachable { .. }
                | Error::Unconfirmed { .. }
                | Error::Unauthorized
                | Error::ReadOnly),
            ) => Err(error),
            Err(error) => {
                plan.step_done(None);
                Ok(format!("#{number} failed: {error}"))
            }
        }
    }

    async fn apply_change(
        &self,
        repo: &Repo,
        issue: &Issue,
        change: &Change,
    ) -> Result<Option<(Map<String, Value>, Change)>, Error> {
        let (fields, undo) = change.fields(issue);
        if fields.is_empty() {
            return Ok(None);
        }
        self.patch(&repo.issue(issue.number, &[])?, &Value::Object(fields.clone())).await?;
        Ok(Some((fields, undo)))
    }
}

impl Change {
    /// The members of the PATCH that make it so, and the change back.
    pub(crate) fn fields(&self, issue: &Issue) -> (Map<String, Value>, Self) {
        let mut fields = Map::new();
        let mut undo = Self::default();
        let labels = edited(&issue.labels, &self.add_labels, &self.remove_labels);
        if let Some((labels, added, removed)) = labels {
            fields.insert("labels".to_owned(), json!(labels));
            (undo.remove_labels, undo.add_labels) = (added, removed);
        }
        let assignees = edited(&issue.assignees, &self.assign, &self.unassign);
        if let Some((assignees, added, removed)) = assignees {
            fields.insert("assignees".to_owned(), json!(assignees));
            (undo.unassign, undo.assign) = (added, removed);
        }
        let milestone = issue.milestone.as_ref().map(|(number, _)| *number);
        if let Some(wanted) = self.milestone.filter(|wanted| *wanted != milestone) {
            fields.insert("milestone".to_owned(), json!(wanted));
            undo.milestone = Some(milestone);
        }
        if let Some((state, reason)) = &self.state
            && (*state != issue.state || (reason.is_some() && *reason != issue.state_reason))
        {
            fields.insert("state".to_owned(), json!(state));
            if let Some(reason) = reason {
                fields.insert("state_reason".to_owned(), json!(reason));
            }
            undo.state = Some((issue.state.clone(), issue.state_reason.clone()));
        }
        (fields, undo)
    }
}

type Edit = (Vec<String>, Vec<String>, Vec<String>);

/// The list afterwards, what came and what went; `None` if it stays as it is.
fn edited(now: &[String], add: &[String], remove: &[String]) -> Option<Edit> {
    let has =
        |list: &[String], name: &str| list.iter().any(|other| other.eq_ignore_ascii_case(name));
    let added: Vec<String> = add.iter().filter(|name| !has(now, name)).cloned().collect();
    let removed: Vec<String> =
        now.iter().filter(|name| has(remove, name) && !has(add, name)).cloned().collect();
    if added.is_empty() && removed.is_empty() {
        return None;
    }
    let kept = now.iter().filter(|name| !has(&removed, name));
    Some((kept.chain(&added).cloned().collect(), added, removed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_change_and_its_undo_lead_back() {
        let issue = Issue {
            labels: list(&["a", "b"]),
            assignees: list(&["x"]),
            milestone: Some((3, "v1".to_owned())),
            state: "open".to_owned(),
            ..Issue::default()
        };
        let change = Change {
            add_labels: list(&["B", "c"]),
            remove_labels: list(&["A", "zzz"]),
            assign: list(&["y"]),
            milestone: Some(None),
            state: Some(("closed".to_owned(), Some("not_planned".to_owned()))),
            ..Change::default()
        };
        let (fields, undo) = change.fields(&issue);
        assert_eq!(
            Value::Object(fields),
            json!({"labels": ["b", "c"], "assignees": ["x", "y"], "milestone": null,
                "state": "closed", "state_reason": "not_planned"})
        );
        let changed = Issue {
            labels: list(&["b", "c"]),
            assignees: list(&["x", "y"]),
            state: "closed".to_owned(),
            state_reason: Some("not_planned".to_owned()),
            ..Issue::default()
        };
        assert!(change.fields(&changed).0.is_empty());
        let (fields, _) = undo.fields(&changed);
        assert_eq!(
            Value::Object(fields),
            json!({"labels": ["b", "a"], "assignees": ["x"], "milestone": 3, "state": "open"})
        );
    }
}
