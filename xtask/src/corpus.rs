//! `cargo xtask corpus`: plays the corpus of messy CSV files to a server and says which of its answers
//! are right, refused, or wrong without a word. Ours is held to every value in `expected.json`; of
//! another server only the sums are asked, in the words of its own tool, and a reply counts as right if
//! the right number is anywhere in it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::session::Session;
use crate::workspace::{Profile, Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server whose corpus it is
    #[arg(value_parser = ["csv"])]
    name: String,
    /// Ask another server: the command that starts it, words separated by spaces
    #[arg(long, value_name = "CMD", requires = "call")]
    stdio: Option<String>,
    /// With --stdio: a `tools/call` as JSON, with {path} for the file and {column} for the column to sum
    #[arg(long, value_name = "JSON", requires = "stdio")]
    call: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Refused,
    Wrong,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let fixtures = workspace.root.join("crates/csv/fixtures");
    let path = fixtures.join("messy/expected.json");
    let text = std::fs::read(&path).with_context(|| format!("no {}", path.display()))?;
    let cases: Vec<Value> = serde_json::from_slice(&text)?;
    let rows = match (&args.stdio, &args.call) {
        (Some(command), Some(call)) => foreign(command, call, &cases, &fixtures)?,
        _ => ours(workspace, &args.name, &cases)?,
    };
    let count = |wanted| rows.iter().filter(|verdict| **verdict == wanted).count();
    let (right, refused, wrong) =
        (count(Verdict::Right), count(Verdict::Refused), count(Verdict::Wrong));
    println!("{right} right, {refused} refused, {wrong} wrong without a word");
    ensure!(wrong == 0, "{wrong} answers are wrong");
    Ok(())
}

fn ours(workspace: &Workspace, name: &str, cases: &[Value]) -> Result<Vec<Verdict>> {
    let servers = workspace.select(&[name.to_owned()])?;
    workspace.build(&servers, Profile::Debug)?;
    let server = servers.first().context("no such server")?;
    let mut session = Session::start(&workspace.demo_command(server, Profile::Debug)?)?;
    session.initialize()?;
    let mut verdicts = Vec::new();
    for case in cases {
        let call = json!({"name": case.get("tool"), "arguments": case.get("arguments")});
        let answer = session.request("tools/call", call)?;
        let is_error = is_error(&answer);
        let structured = answer.get("structuredContent").unwrap_or(&Value::Null);
        let verdict = match case.get("refused").and_then(Value::as_str) {
            Some(words) if is_error && answer.to_string().contains(words) => Verdict::Right,
            Some(_) => Verdict::Wrong,
            None if is_error => Verdict::Refused,
            None if holds(structured, case.get("right").unwrap_or(&Value::Null)) => Verdict::Right,
            None => Verdict::Wrong,
        };
        verdicts.push(print(verdict, text(case, "file"), text(case, "what")));
    }
    session.close()?;
    Ok(verdicts)
}

/// `right` has values by JSON pointer; null stands for absent.
fn holds(answer: &Value, right: &Value) -> bool {
    let is_same = |got: &Value, right: &Value| match (got.as_f64(), right.as_f64()) {
        (Some(got), Some(right)) => got.total_cmp(&right).is_eq(),
        _ => got == right,
    };
    let Some(right) = right.as_object() else {
        return false;
    };
    right
        .iter()
        .all(|(pointer, right)| is_same(answer.pointer(pointer).unwrap_or(&Value::Null), right))
}

fn foreign(command: &str, call: &str, cases: &[Value], fixtures: &Path) -> Result<Vec<Verdict>> {
    let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let mut session = Session::start(&command)?;
    session.initialize()?;
    let mut verdicts = Vec::new();
    for case in cases {
        // What was asked for with overrides is no fault of a server that was asked without them.
        let is_plain = case.pointer("/arguments/read").is_none();
        let sums = case.get("sums").and_then(Value::as_object).filter(|_| is_plain);
        for (column, sum) in sums.into_iter().flatten() {
            let file: PathBuf = fixtures.join("messy").join(text(case, "file"));
            let sum = sum.as_str().unwrap_or_default();
            let verdict = ask(&mut session, call, &file, column, sum)?;
            verdicts.push(print(verdict, text(case, "file"), &format!("sum of {column} is {sum}")));
        }
    }
    Ok(verdicts)
}

fn ask(session: &mut Session, call: &str, file: &Path, column: &str, sum: &str) -> Result<Verdict> {
    let escaped = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted.trim_matches('"').to_owned()
    };
    let call = call.replace("{path}", &escaped(&file.display().to_string()));
    let call = call.replace("{column}", &escaped(column));
    let params: Value = serde_json::from_str(&call).context("--call is no JSON")?;
    if params.get("name").is_none() {
        bail!("--call has no \"name\"");
    }
    let Ok(answer) = session.request("tools/call", params) else {
        return Ok(Verdict::Refused);
    };
    let reply = answer.get("content").unwrap_or(&Value::Null).to_string();
    Ok(match numbers(&reply).any(|number| number == plain(sum)) {
        true => Verdict::Right,
        false if is_error(&answer) => Verdict::Refused,
        false => Verdict::Wrong,
    })
}

fn is_error(answer: &Value) -> bool {
    answer.get("isError").and_then(Value::as_bool) == Some(true)
}

/// Every run of characters in a reply that could be a number, in its plain form.
fn numbers(reply: &str) -> impl Iterator<Item = String> {
    let runs = reply.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')));
    runs.filter(|run| run.contains(|c: char| c.is_ascii_digit())).map(plain)
}

/// Without a plus sign and without zeros or a point at its end: 5.50 and 5.5 are one number.
fn plain(number: &str) -> String {
    let number = number.trim_start_matches('+').trim_end_matches(['-', '+']);
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number.to_owned(),
    }
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn print(verdict: Verdict, file: &str, what: &str) -> Verdict {
    let word = match verdict {
        Verdict::Right => "right",
        Verdict::Refused => "refused",
        Verdict::Wrong => "WRONG",
    };
    println!("{word:8} {file:32} {what}");
    verdict
}
