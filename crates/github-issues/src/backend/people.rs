//! Who and what there is beside a repository's issues: its assignees, an owner's repositories.

use super::api::Api;
use super::error::Error;
use super::model::{Issue, text};
use super::place::{Repo, path};

impl Api<'_> {
    /// Logins that issues can be assigned to, at most 1,000.
    pub(crate) async fn assignees(&self, repo: &Repo) -> Result<Vec<String>, Error> {
        let entries = self.all(&repo.path(&["assignees"])?, "").await?;
        Ok(entries.iter().filter_map(|entry| text(entry, "login")).collect())
    }

    /// The repositories of a user or an organisation that were changed last.
    pub(crate) async fn repos_of(&self, owner: &str) -> Result<Vec<Repo>, Error> {
        let is_me = self.me().await.is_some_and(|me| me.eq_ignore_ascii_case(owner));
        let list = match is_me {
            true => "/user/repos?affiliation=owner&sort=updated&per_page=100".to_owned(),
            false => format!("{}?sort=updated&per_page=100", path(&["users", owner, "repos"])?),
        };
        let page = self.get(&list).await?;
        let names = page.items().iter().filter_map(|item| text(item, "full_name"));
        Ok(names.filter_map(|name| Repo::parse(&name).ok()).collect())
    }

    /// The newest open issues, one page of them.
    pub(crate) async fn newest_open(&self, repo: &Repo) -> Result<Vec<Issue>, Error> {
        let list = repo.path(&["issues"])?;
        let page = self.get(&format!("{list}?state=open&per_page=100")).await?;
        let issues = page.items().iter().filter_map(Issue::read);
        Ok(issues.filter(|issue| !issue.is_pull_request).collect())
    }

    /// Who the token belongs to, where it matters: under `--lockdown` one's own texts are shown.
    pub(crate) async fn me_if_locked_down(&self) -> Option<String> {
        if self.backend.policy.lockdown { self.me().await } else { None }
    }
}
