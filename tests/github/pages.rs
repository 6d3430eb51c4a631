//! Long lists, whose next page only GitHub knows how to find: nothing is lost, nothing comes twice,
//! and a cursor is good in another process as well.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Session, Stand, TOKEN};

const REPO: &str = "/repos/octocat/hello";

/// The numbers of the rows, and the cursor of what comes next.
fn read(text: &str) -> (Vec<u64>, Option<String>) {
    let number = |line: &str| line.strip_prefix('#')?.split(' ').next()?.parse().ok();
    let cursor = text.split_once("[more: cursor ").and_then(|(_, rest)| rest.split_once(']'));
    (text.lines().filter_map(number).collect(), cursor.map(|(cursor, _)| cursor.to_owned()))
}

/// All pages, each asked of another process, and how many there were.
fn all(url: &str, tool: &str, mut ask: Value) -> Result<(Vec<u64>, usize)> {
    let mut numbers = Vec::new();
    for page in 1..50 {
        let mut session = Session::start(url, TOKEN)?;
        let text = session.good(tool, ask.clone())?;
        let (some, cursor) = read(&text);
        numbers.extend(some);
        let Some(cursor) = cursor else { return Ok((numbers, page)) };
        ask["cursor"] = json!(cursor);
    }
    anyhow::bail!("a list without an end")
}

fn fill(stand: &Stand, count: u64, body: &str) -> Result<()> {
    for number in 1..=count {
        let issue = json!({"title": format!("Case {number}"), "body": body});
        stand.ask("POST", &format!("{REPO}/issues"), &issue)?;
    }
    Ok(())
}

#[test]
fn every_issue_once_by_cursors_only_github_understands() -> Result<()> {
    for prefix in ["", "/api/v3"] {
        let Some(stand) = Stand::start()? else { return Ok(()) };
        fill(&stand, 8, "text")?;
        let url = format!("{}{prefix}", stand.proxy.url);
        let (numbers, pages) = all(&url, "issue_list", json!({"limit": 3}))?;
        ensure!(numbers == [8, 7, 6, 5, 4, 3, 2, 1] && pages == 3, "{numbers:?} {pages}");
        let lists: Vec<String> = stand.proxy.seen().into_iter().map(|seen| seen.path).collect();
        let cursors = lists.iter().filter(|path| path.contains("after=")).count();
        ensure!(cursors == 2 && !lists.iter().any(|path| path.contains("&page=")), "{lists:?}");
        // Page numbers, which other programs make up, are refused, and GitHub says why.
        let mut session = Session::start(&url, TOKEN)?;
        let made_up = json!({"cursor": "0.state=open&per_page=3&page=2"});
        let (is_good, text) = session.call("issue_list", made_up)?;
        ensure!(!is_good && text.contains("cursor based pagination"), "{text}");
    }
    Ok(())
}

/// An answer that is full in the middle of GitHub's page goes on there.
#[test]
fn every_issue_once_where_answers_are_full() -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    fill(&stand, 60, &"x".repeat(1000))?;
    let ask = json!({"limit": 40, "excerpt": 1000, "ascending": true});
    let (numbers, pages) = all(&stand.proxy.url, "issue_list", ask)?;
    ensure!(numbers == (1..=60).collect::<Vec<u64>>() && pages > 3, "{numbers:?} {pages}");
    Ok(())
}

/// A search is paged by numbers, and so are labels; neither is counted by us.
#[test]
fn searches_and_labels_have_pages_too() -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    fill(&stand, 7, "text")?;
    let mut session = Session::start(&stand.proxy.url, TOKEN)?;
    let mut ask = json!({"query": "Case in:title", "limit": 3, "repo": "octocat/hello"});
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let text = session.says("issue_search", ask.clone(), &["[7 in all]"])?;
        let (some, cursor) = read(&text);
        numbers.extend(some);
        ask["cursor"] = json!(cursor);
    }
    ensure!(ask["cursor"] == Value::Null, "{ask}");
    numbers.sort_unstable();
    ensure!(numbers == [1, 2, 3, 4, 5, 6, 7], "{numbers:?}");
    for number in 0..120 {
        let label = json!({"name": format!("label {number:03}"), "color": "d73a4a"});
        stand.ask("POST", &format!("{REPO}/labels"), &label)?;
    }
    session.says("label_manage", json!({"action": "list"}), &["label 000 ", "label 119 "])?;
    session.good("issue_update", json!({"number": 1, "add_labels": ["LABEL 119"]}))?;
    let issue = stand.ask("GET", &format!("{REPO}/issues/1"), &Value::Null)?;
    let name = issue.pointer("/labels/0/name").context("a label")?;
    ensure!(name == "label 119", "{issue}");
    Ok(())
}
