//! How issues hang together: sub-issues, dependencies, and issues that say the same.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};

use super::api::Api;
use super::error::Error;
use super::model::Issue;
use super::pages::{Cursor, Room};
use super::place::{Repo, query};

/// Issues compared for likeness: the newest, and what the search finds.
const NEWEST: usize = 100;
const MAX_ALIKE: usize = 5;
/// Below this two issues are not called alike.
const MIN_LIKENESS: f64 = 0.35;

/// Issues that stand in one relation to another, or why that is not known.
pub(crate) type Related = (&'static str, Result<Vec<Issue>, Error>);

/// An issue that says much the same.
#[derive(Debug)]
pub(crate) struct Alike {
    pub(crate) issue: Issue,
    /// 0 to 1.
    pub(crate) likeness: f64,
    /// Words both have, rarest first.
    pub(crate) words: Vec<String>,
}

impl Api<'_> {
    /// All relations of an issue. Older Enterprise Servers lack some of them.
    pub(crate) async fn relations(&self, repo: &Repo, number: u64) -> Result<Vec<Related>, Error> {
        let mut all: Vec<Related> = Vec::new();
        let parent = match self.get(&repo.issue(number, &["parent"])?).await {
            Ok(answer) => Ok(Issue::read(&answer.value).into_iter().collect()),
            Err(error) => Err(error),
        };
        all.push(("parent", parent));
        for (name, path) in [
            ("sub-issues", &["sub_issues"][..]),
            ("blocked by", &["dependencies", "blocked_by"][..]),
            ("blocks", &["dependencies", "blocking"][..]),
        ] {
            let found = self.all(&repo.issue(number, path)?, "").await;
            all.push((name, found.map(|items| items.iter().filter_map(Issue::read).collect())));
        }
        Ok(all)
    }

    /// GitHub relates issues by database ids, which nobody knows; we take numbers.
    pub(crate) async fn issue_id(&self, repo: &Repo, number: u64) -> Result<u64, Error> {
        let issue = self.issue(repo, number).await?;
        issue.id.ok_or_else(|| Error::Unreadable { cause: "an issue without an id".to_owned() })
    }

    pub(crate) async fn add_sub_issue(
        &self,
        repo: &Repo,
        number: u64,
        id: u64,
    ) -> Result<(), Error> {
        let path = repo.issue(number, &["sub_issues"])?;
        self.post(&path, &json!({"sub_issue_id": id})).await.map(drop)
    }

    pub(crate) async fn remove_sub_issue(
        &self,
        repo: &Repo,
        number: u64,
        id: u64,
    ) -> Result<(), Error> {
        let path = repo.issue(number, &["sub_issue"])?;
        self.request(Method::DELETE, &path, Some(&json!({"sub_issue_id": id}))).await.map(drop)
    }

    pub(crate) async fn add_blocker(&self, repo: &Repo, number: u64, id: u64) -> Result<(), Error> {
        let path = repo.issue(number, &["dependencies", "blocked_by"])?;
        self.post(&path, &json!({"issue_id": id})).await.map(drop)
    }

    pub(crate) async fn remove_blocker(
        &self,
        repo: &Repo,
        number: u64,
        id: u64,
    ) -> Result<(), Error> {
        let path = repo.issue(number, &["dependencies", "blocked_by", &id.to_string()])?;
        self.request(Method::DELETE, &path, None).await.map(drop)
    }

    /// Issues of the repository that say much the same as this one, most alike first.
    pub(crate) async fn alike(&self, repo: &Repo, number: u64) -> Result<Vec<Alike>, Error> {
        let issue = self.issue(repo, number).await?;
        let mut others = BTreeMap::new();
        let mut take = |_: &Value, other: Issue| {
            others.insert(other.number, other);
            if others.len() >= NEWEST { Room::Last } else { Room::Taken }
        };
        let newest = Cursor::start("state=all&per_page=100".to_owned());
        self.issues(&repo.path(&["issues"])?, newest, &mut take).await?;
        let words: Vec<String> = words(&issue.title).into_iter().take(6).collect();
        if !words.is_empty() {
            let terms = format!("{} is:issue repo:{repo}", words.join(" OR "));
            let found = query(&[("q", &terms), ("per_page", "30")]);
            // The search is a help, not a need: it has a small limit of its own.
            let search = self.get(&format!("/search/issues?{found}")).await;
            let items = search.iter().filter_map(|answer| answer.value.get("items")?.as_array());
            let issues = items.flatten().filter_map(Issue::read);
            others.extend(
                issues.filter(|other| !other.is_pull_request).map(|other| (other.number, other)),
            );
        }
        others.remove(&number);
        Ok(rank(&issue, others.into_values().collect()))
    }
}

/// By the words they share, weighted by how few issues have them, and by how the titles are spelt.
fn rank(issue: &Issue, others: Vec<Issue>) -> Vec<Alike> {
    let bags: Vec<BTreeSet<String>> = others.iter().map(bag).collect();
    let mine = bag(issue);
    let weight = |word: &String| {
        let having = bags.iter().filter(|bag| bag.contains(word)).count() as f64;
        ((bags.len() as f64 + 1.0) / (having + 0.5)).ln().max(0.0)
    };
    let sum = |bag: &BTreeSet<String>| bag.iter().map(&weight).sum::<f64>();
    let mut alike: Vec<Alike> = others
        .into_iter()
        .zip(&bags)
        .map(|(other, bag)| {
            let shared: BTreeSet<String> = mine.intersection(bag).cloned().collect();
            let smaller = sum(&mine).min(sum(bag)).max(f64::MIN_POSITIVE);
            let spelt = match shared.is_empty() {
                true => 0.0,
                false => {
                    strsim::sorensen_dice(&issue.title.to_lowercase(), &other.title.to_lowercase())
                }
            };
            let likeness = 0.5 * (sum(&shared) / smaller).min(1.0) + 0.5 * spelt;
            let mut words: Vec<String> = shared.into_iter().collect();
            words.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
            words.truncate(5);
            Alike { issue: other, likeness, words }
        })
        .filter(|alike| alike.likeness >= MIN_LIKENESS)
        .collect();
    alike.sort_by(|a, b| b.likeness.total_cmp(&a.likeness));
    alike.truncate(MAX_ALIKE);
    alike
}

fn bag(issue: &Issue) -> BTreeSet<String> {
    let beginning: String = issue.body.chars().take(2_000).collect();
    words(&format!("{} {beginning}", issue.title)).into_iter().collect()
}

/// Words worth comparing, in order, each once.
fn words(text: &str) -> Vec<String> {
    const COMMON: &[&str] =
        &["the", "and", "for", "when", "with", "not", "that", "this", "from", "does", "but"];
    let mut words = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        let word = word.to_lowercase();
        if word.chars().count() > 2 && !COMMON.contains(&word.as_str()) && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_the_same_comes_first_and_the_rest_not_at_all() {
        let issue = |number, title: &str, body: &str| Issue {
            number,
            title: title.to_owned(),
            body: body.to_owned(),
            ..Issue::default()
        };
        let others = vec![
            issue(2, "Add a dark theme", "It is too bright at night."),
            issue(
                3,
                "App crashes when opening settings",
                "Segfault in the settings dialog on Wayland.",
            ),
            issue(4, "Typo in the manual", "Page 3."),
            issue(5, "Settings crash", "On Wayland the settings dialog ends in a segfault."),
        ];
        let mine =
            issue(1, "Crash when opening settings", "The settings dialog segfaults on Wayland.");
        let alike = rank(&mine, others);
        let numbers: Vec<u64> = alike.iter().map(|alike| alike.issue.number).collect();
        assert_eq!(numbers, [3, 5]);
        assert!(alike[0].words.contains(&"wayland".to_owned()), "{:?}", alike[0].words);
        assert!(rank(&issue(1, "", ""), vec![issue(2, "", "")]).is_empty());
    }
}
