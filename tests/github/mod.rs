//! The GitHub server as a process, and a GitHub that remembers: whole stories, and the one thing
//! only a state can show, that what was asked for once exists once.
//!
//! `pages` reads long lists, `sign_in` is about who the server is and that nobody else learns it.

mod pages;
mod sign_in;

#[path = "../../crates/github-issues/src/tests/contract.rs"]
mod contract;

use std::io::{BufRead, BufReader, Write};
use std::ops::Deref;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use workspace_tests::github::proxy::{Fault, Seen};
use workspace_tests::github::stand::{self, TOKEN};
use workspace_tests::github::token_file;

use crate::{built, clients};
use contract::breach;

/// A stand whose every request must be one GitHub describes.
struct Stand(stand::Stand);

impl Stand {
    fn start() -> Result<Option<Self>> {
        Ok(stand::Stand::start(&built::target_folder())?.map(Self))
    }
}

impl Deref for Stand {
    type Target = stand::Stand;

    fn deref(&self) -> &stand::Stand {
        &self.0
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for Seen { method, path, body, .. } in self.proxy.seen() {
                assert_eq!(breach(&method, &path, &body), None, "{method} {path} {body}");
            }
        }
    }
}

/// The server, spoken to over standard streams.
struct Session {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Session {
    fn start(api_url: &str, token: &str) -> Result<Self> {
        Self::with(api_url, |server| server.env("GITHUB_TOKEN", token))
    }

    /// With what else the test wants of the command.
    fn with(api_url: &str, more: impl FnOnce(&mut Command) -> &mut Command) -> Result<Self> {
        let mut command = Command::new(built::binary("mcp-github-issues"));
        command
            .args(["--repos", "octocat/hello", "--api-url", api_url, "--yes"])
            .args(["--request-timeout-secs", "5", "--write-pause-ms", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut server = more(&mut command).spawn()?;
        let input = server.stdin.take().context("piped")?;
        let output = BufReader::new(server.stdout.take().context("piped")?);
        let mut session = Self { server, input, output, next_id: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "story", "version": "1"}});
        session.request("initialize", &hello)?;
        Ok(session)
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.send(method, params)?;
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "the server has closed");
        Ok(serde_json::from_str(&line)?)
    }

    fn send(&mut self, method: &str, params: &Value) -> Result<()> {
        self.next_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        Ok(writeln!(self.input, "{request}")?)
    }

    /// The text of a call, and whether it succeeded.
    fn call(&mut self, tool: &str, arguments: Value) -> Result<(bool, String)> {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
        let text = text.with_context(|| format!("{tool}: {answer}"))?.to_owned();
        Ok((answer.pointer("/result/isError") != Some(&json!(true)), text))
    }

    /// The text of a call that must succeed.
    fn good(&mut self, tool: &str, arguments: Value) -> Result<String> {
        let (is_good, text) = self.call(tool, arguments.clone())?;
        ensure!(is_good, "{tool} {arguments}: {text}");
        Ok(text)
    }

    /// The text of a call that must succeed, with all of these words in it.
    fn says(&mut self, tool: &str, arguments: Value, words: &[&str]) -> Result<String> {
        let text = self.good(tool, arguments.clone())?;
        for word in words {
            ensure!(text.contains(word), "{tool} {arguments}: no {word:?} in {text}");
        }
        Ok(text)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The whole life of an issue, by official clients in every revision they speak.
#[test]
fn typescript_v1_leads_the_life_of_an_issue() -> Result<()> {
    a_life("v1.mjs", "")
}

#[test]
fn typescript_v2_leads_the_life_of_an_issue() -> Result<()> {
    a_life("v2.mjs", "/api/v3")
}

/// Three times: it opens a connection in three ways, and answers what it is asked before a deletion.
#[test]
fn python_leads_the_life_of_an_issue() -> Result<()> {
    a_life_by(clients::python_at, "")
}

fn a_life(script: &str, prefix: &str) -> Result<()> {
    a_life_by(|command| clients::typescript_at(script, command), prefix)
}

fn a_life_by(client: impl Fn(&[&str]) -> Result<()>, prefix: &str) -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    let server = built::binary("mcp-github-issues").display().to_string();
    let url = format!("{}{prefix}", stand.proxy.url);
    let token = token_file(&built::target_folder())?;
    let mut command = vec![server.as_str(), "--api-url", &url, "--token-file", &token];
    command.extend(["--repos", "octocat/hello", "--write-pause-ms", "0"]);
    client(&command)
}

/// How many issues have this title, asked past the server.
fn count(stand: &Stand, title: &str) -> Result<usize> {
    let list = "/repos/octocat/hello/issues?state=all&per_page=100";
    let issues = stand.ask("GET", list, &Value::Null)?;
    let issues = issues.as_array().context("a list")?;
    Ok(issues.iter().filter(|issue| issue["title"] == title).count())
}

#[test]
fn one_call_one_issue() -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    let mut session = Session::start(&stand.proxy.url, TOKEN)?;
    for (title, fault, is_there) in [
        ("plain", None, true),
        ("dropped after", Some(Fault::DropAfter), true),
        ("502 after success", Some(Fault::AnswerAfter("502 Bad Gateway")), true),
        ("timeout", Some(Fault::Delay(Duration::from_secs(8))), true),
        ("truncated", Some(Fault::Truncate(300)), true),
        ("dropped before", Some(Fault::DropBefore), false),
        ("503 before", Some(Fault::Answer("503 Unavailable", &[])), false),
    ] {
        let create = json!({"title": title, "body": "text"});
        if let Some(fault) = fault {
            stand.proxy.next("POST", "/issues", fault);
        }
        let before = posts(&stand);
        let (is_good, text) = session.call("github_create_issue", create.clone())?;
        ensure!(is_good == is_there, "{title}: {text}");
        ensure!(posts(&stand) == before + 1, "{title}: sent more than once");
        ensure!(count(&stand, title)? == usize::from(is_there), "{title}");
        // The model repeats itself: there is one, now at the latest.
        session.good("github_create_issue", create)?;
        ensure!(count(&stand, title)? == 1, "{title}");
    }
    Ok(())
}

fn posts(stand: &Stand) -> usize {
    stand.proxy.seen().iter().filter(|seen| seen.method == "POST").count()
}

/// The server is killed while GitHub is at it; its successor is asked the same.
#[test]
fn a_killed_server_leaves_one_issue() -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    let create = json!({"title": "killed", "body": "text"});
    stand.proxy.next("POST", "/issues", Fault::Delay(Duration::from_secs(60)));
    let mut session = Session::start(&stand.proxy.url, TOKEN)?;
    session.send("tools/call", &json!({"name": "github_create_issue", "arguments": create}))?;
    while posts(&stand) == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut second = Session::start(&stand.proxy.url, TOKEN)?;
    while count(&stand, "killed")? == 0 {}
    drop(session);
    second.says("github_create_issue", create, &["was there already"])?;
    ensure!(count(&stand, "killed")? == 1);
    Ok(())
}

#[test]
fn a_wrong_token_and_an_unchanged_list() -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    let mut stranger = Session::start(&stand.proxy.url, "ghp_wrong")?;
    let (is_good, text) = stranger.call("issue_list", json!({}))?;
    ensure!(!is_good && text.contains("(401)") && !text.contains("ghp_wrong"), "{text}");
    let mut session = Session::start(&stand.proxy.url, TOKEN)?;
    session.good("github_create_issue", json!({"title": "x"}))?;
    let first = session.good("issue_list", json!({}))?;
    // Nothing has changed, so the proxy sends no body, and the answer is the same.
    ensure!(session.good("issue_list", json!({}))? == first);
    Ok(())
}

/// What a network and GitHub do to requests on their way, met by a real process.
#[test]
fn what_goes_wrong_on_the_way() -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    let mut session = Session::start(&stand.proxy.url, TOKEN)?;
    session.good("github_create_issue", json!({"title": "x", "body": "text"}))?;
    // The repository was renamed: a write is sent once more, to where it is now.
    let moved =
        Fault::Answer("307 Temporary Redirect", &[("location", "/repositories/1/issues/1")]);
    stand.proxy.next("PATCH", "/issues/1", moved);
    session.good("issue_update", json!({"number": 1, "title": "renamed"}))?;
    ensure!(count(&stand, "renamed")? == 1);
    // Elsewhere it is not sent.
    let away = Fault::Answer("307 Temporary Redirect", &[("location", "https://evil.example/x")]);
    stand.proxy.next("PATCH", "/issues/1", away);
    let (is_good, text) = session.call("issue_update", json!({"number": 1, "title": "y"}))?;
    ensure!(!is_good && text.contains("moved"), "{text}");
    for fault in [
        Fault::Answer("429 Too Many Requests", &[("retry-after", "1")]),
        Fault::DropBefore,
        Fault::Answer("502 Bad Gateway", &[]),
        Fault::Truncate(100),
    ] {
        stand.proxy.next("GET", "/issues/1", fault);
        session.says("issue_get", json!({"number": 1}), &["renamed"])?;
    }
    let spent = Fault::Answer(
        "403 Forbidden",
        &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99999999999")],
    );
    stand.proxy.next("GET", "/issues/1", spent);
    let (is_good, text) = session.call("issue_get", json!({"number": 1}))?;
    ensure!(!is_good && text.contains("open again at 5138-11-16"), "{text}");
    // GitHub shows the first 1,000 results of a search; the cursor of a page beyond is refused.
    let beyond = json!({"query": "x", "cursor": "0.q=x%20is%3Aissue&per_page=100&page=11"});
    let (is_good, text) = session.call("issue_search", beyond)?;
    ensure!(!is_good && text.contains("first 1000"), "{text}");
    Ok(())
}
