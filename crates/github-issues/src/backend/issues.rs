//! One issue and its comments.

use std::ops::Range;

use http::Method;
use serde_json::{Value, json};

use super::api::Api;
use super::error::Error;
use super::model::{Comment, Issue};
use super::place::Repo;

const PAGE: usize = 100;

impl Api<'_> {
    pub(crate) async fn issue(&self, repo: &Repo, number: u64) -> Result<Issue, Error> {
        let answer = self.get(&repo.issue(number, &[])?).await?;
        let issue = Issue::read(&answer.value)
            .ok_or_else(|| Error::Unreadable { cause: "an issue without a number".to_owned() })?;
        if issue.is_pull_request {
            return Err(Error::BadArguments(format!(
                "#{number} is a pull request; this server is for issues."
            )));
        }
        Ok(issue)
    }

    /// The comments at these places, counted from the oldest.
    pub(crate) async fn comments(
        &self,
        repo: &Repo,
        number: u64,
        wanted: Range<usize>,
    ) -> Result<Vec<Comment>, Error> {
        let path = repo.issue(number, &["comments"])?;
        let mut comments = Vec::new();
        let first_page = wanted.start / PAGE;
        let mut at = first_page * PAGE;
        while at < wanted.end {
            let page = self.get(&format!("{path}?per_page={PAGE}&page={}", at / PAGE + 1)).await?;
            let items = page.items();
            let from = wanted.start.saturating_sub(at);
            let to = wanted.end - at;
            let within = items.iter().take(to).skip(from);
            comments.extend(within.filter_map(Comment::read));
            if items.len() < PAGE {
                break;
            }
            at += PAGE;
        }
        Ok(comments)
    }

    pub(crate) async fn comment(&self, repo: &Repo, id: u64) -> Result<Comment, Error> {
        let answer = self.get(&comment_path(repo, id)?).await?;
        read_comment(&answer.value)
    }

    pub(crate) async fn edit_comment(
        &self,
        repo: &Repo,
        id: u64,
        body: &str,
    ) -> Result<Comment, Error> {
        let answer = self.patch(&comment_path(repo, id)?, &json!({"body": body})).await?;
        read_comment(&answer.value)
    }

    pub(crate) async fn delete_comment(&self, repo: &Repo, id: u64) -> Result<(), Error> {
        self.request(Method::DELETE, &comment_path(repo, id)?, None).await.map(drop)
    }

    /// GitHub's REST API pins comments; issues it does not.
    pub(crate) async fn pin_comment(
        &self,
        repo: &Repo,
        id: u64,
        pinned: bool,
    ) -> Result<(), Error> {
        let path = repo.path(&["issues", "comments", &id.to_string(), "pin"])?;
        let method = if pinned { Method::PUT } else { Method::DELETE };
        self.request(method, &path, None).await.map(drop)
    }

    pub(crate) async fn add_labels(
        &self,
        repo: &Repo,
        number: u64,
        labels: &[String],
    ) -> Result<(), Error> {
        let path = repo.issue(number, &["labels"])?;
        self.post(&path, &json!({"labels": labels})).await.map(drop)
    }

    /// Whether the issue had it.
    pub(crate) async fn remove_label(
        &self,
        repo: &Repo,
        number: u64,
        label: &str,
    ) -> Result<bool, Error> {
        let path = repo.issue(number, &["labels", label])?;
        match self.request(Method::DELETE, &path, None).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn lock(
        &self,
        repo: &Repo,
        number: u64,
        locked: bool,
        reason: Option<Value>,
    ) -> Result<(), Error> {
        let path = repo.issue(number, &["lock"])?;
        let body = reason.map(|reason| json!({"lock_reason": reason}));
        let method = if locked { Method::PUT } else { Method::DELETE };
        self.request(method, &path, body.as_ref()).await.map(drop)
    }
}

fn comment_path(repo: &Repo, id: u64) -> Result<String, Error> {
    repo.path(&["issues", "comments", &id.to_string()])
}

fn read_comment(value: &Value) -> Result<Comment, Error> {
    Comment::read(value)
        .ok_or_else(|| Error::Unreadable { cause: "a comment without an id".to_owned() })
}
