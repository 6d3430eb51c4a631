//! Creating exactly once. When the answer to a POST is lost, the issue or comment may exist; and
//! the caller may repeat a call whose answer it never saw, even to another process. So what was
//! just created with the same text by the same account is looked for, before and after.
//!
//! The lists are asked, not the search, whose index is minutes behind.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::api::Api;
use super::error::Error;
use super::model::{Author, Comment, Issue};
use super::place::Repo;

/// A text that came this long ago from the same account is taken for the same call.
const SAME_CALL: Duration = Duration::from_secs(10 * 60);
/// Looks for what a lost answer may have created; GitHub's replicas can be a little behind.
const LOOKS: u32 = 3;

/// What was created, and how.
#[derive(Debug)]
pub(crate) struct Created<T> {
    pub(crate) item: T,
    /// It was there already, or GitHub's answer was lost and it was found.
    pub(crate) found: bool,
}

/// An issue to create; names are resolved.
#[derive(Debug)]
pub(crate) struct NewIssue {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) labels: Vec<String>,
    pub(crate) assignees: Vec<String>,
    pub(crate) milestone: Option<u64>,
}

impl Api<'_> {
    /// Creates an issue unless it has just been created. `even_if_same` skips the look before.
    pub(crate) async fn create_issue(
        &self,
        repo: &Repo,
        new: &NewIssue,
        even_if_same: bool,
    ) -> Result<Created<Issue>, Error> {
        let _one_at_a_time = self.backend.creating.lock().await;
        let path = repo.path(&["issues"])?;
        if !even_if_same && let Some(item) = self.find_issue(&path, new).await? {
            return Ok(Created { item, found: true });
        }
        let mut body = json!({"title": new.title, "body": new.body});
        if let Some(members) = body.as_object_mut() {
            if !new.labels.is_empty() {
                members.insert("labels".to_owned(), json!(new.labels));
            }
            if !new.assignees.is_empty() {
                members.insert("assignees".to_owned(), json!(new.assignees));
            }
            if let Some(milestone) = new.milestone {
                members.insert("milestone".to_owned(), json!(milestone));
            }
        }
        let lost = match self.post(&path, &body).await {
            Ok(answer) => match Issue::read(&answer.value) {
                Some(item) => return Ok(Created { item, found: false }),
                None => Error::Unconfirmed { cause: "the answer holds no issue".to_owned() },
            },
            Err(error @ (Error::Unconfirmed { .. } | Error::Unreadable { .. })) => error,
            Err(error) => return Err(error),
        };
        for look in 0..LOOKS {
            self.before_look(look).await;
            if let Ok(Some(item)) = self.find_issue(&path, new).await {
                return Ok(Created { item, found: true });
            }
        }
        Err(lost)
    }

    /// Comments unless the same comment has just been made.
    pub(crate) async fn create_comment(
        &self,
        repo: &Repo,
        number: u64,
        text: &str,
        even_if_same: bool,
    ) -> Result<Created<Comment>, Error> {
        let _one_at_a_time = self.backend.creating.lock().await;
        let path = repo.issue(number, &["comments"])?;
        if !even_if_same && let Some(item) = self.find_comment(&path, text).await? {
            return Ok(Created { item, found: true });
        }
        let lost = match self.post(&path, &json!({"body": text})).await {
            Ok(answer) => match Comment::read(&answer.value) {
                Some(item) => return Ok(Created { item, found: false }),
                None => Error::Unconfirmed { cause: "the answer holds no comment".to_owned() },
            },
            Err(error @ (Error::Unconfirmed { .. } | Error::Unreadable { .. })) => error,
            Err(error) => return Err(error),
        };
        for look in 0..LOOKS {
            self.before_look(look).await;
            if let Ok(Some(item)) = self.find_comment(&path, text).await {
                return Ok(Created { item, found: true });
            }
        }
        Err(lost)
    }

    /// Who the token belongs to; `None` where GitHub does not say (Actions, App installations).
    pub(crate) async fn me(&self) -> Option<String> {
        let ask = || async {
            match self.get("/user").await {
                Ok(answer) => Ok(super::model::text(&answer.value, "login")),
                Err(Error::Forbidden { .. } | Error::Unauthorized | Error::NotFound { .. }) => {
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        };
        self.backend.me.get_or_try_init(ask).await.ok().cloned().flatten()
    }

    async fn before_look(&self, look: u32) {
        tokio::time::sleep(self.backend.governor.pauses.retry * 2_u32.pow(look)).await;
    }

    async fn find_issue(&self, path: &str, new: &NewIssue) -> Result<Option<Issue>, Error> {
        let newest = "state=all&sort=created&direction=desc&per_page=50";
        let answer = self.get(&format!("{path}?{newest}")).await?;
        let me = self.me().await;
        let now = answer.time();
        let mut issues = answer.items().iter().filter_map(Issue::read);
        Ok(issues.find(|issue| {
            !issue.is_pull_request
                && is_recent(&issue.created_at, now)
                && is_mine(&issue.author, me.as_deref())
                && same(&issue.title, &new.title)
                && same(&issue.body, &new.body)
        }))
    }

    async fn find_comment(&self, path: &str, text: &str) -> Result<Option<Comment>, Error> {
        let since = SystemTime::now().checked_sub(SAME_CALL * 2).unwrap_or(SystemTime::UNIX_EPOCH);
        let since = humantime::format_rfc3339_seconds(since);
        let answer = self.get(&format!("{path}?since={since}&per_page=100")).await?;
        let me = self.me().await;
        let now = answer.time();
        let comments: Vec<&Value> = answer.items().iter().rev().collect();
        let mut comments = comments.into_iter().filter_map(Comment::read);
        Ok(comments.find(|comment| {
            is_recent(&comment.created_at, now)
                && is_mine(&comment.author, me.as_deref())
                && same(&comment.body, text)
        }))
    }
}

fn is_recent(created_at: &str, now: SystemTime) -> bool {
    humantime::parse_rfc3339_weak(created_at)
        .is_ok_and(|created| now.duration_since(created).unwrap_or_default() <= SAME_CALL)
}

/// A token GitHub gives no user for belongs to a bot.
fn is_mine(author: &Author, me: Option<&str>) -> bool {
    match me {
        Some(me) => author.login.eq_ignore_ascii_case(me),
        None => author.login.ends_with("[bot]"),
    }
}

/// GitHub trims texts and may change line ends.
fn same(stored: &str, sent: &str) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n").trim().to_owned();
    plain(stored) == plain(sent)
}
