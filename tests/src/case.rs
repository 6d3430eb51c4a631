//! Checks as data: the lines sent to a server and the shapes that must come back.
//!
//! ```text
//! # M-010 MUST ABCDE: A request without `jsonrpc` is refused, with its id.
//! > {"id":@ID1@,"method":"@PING@"}
//! < {"id":@ID1@,"error":{"code":-32600}}
//! ```
//!
//! The letters name the revisions, oldest `A`. `>` is a line to send, `<` an answer that must
//! come, `<?` one that may; any other answer fails the case, and so does a connection that no
//! longer works afterwards. `? needs tools` skips servers that do not declare it, `? new` sends
//! the lines before anything else was said. `? pipe` skips transports where nothing can be said
//! before a session is opened, `? shared` those where a request has nothing to do with the one
//! before it. `? stdio` and `? http` choose one transport. Lines that begin with
//! `//` are comments.
//!
//! Between `@` signs: `ID1`, `ID2`… fresh ids, `PING` a harmless method, `META` the revision's
//! `_meta`, `xHH` a byte, `REPEAT n text` a text n times over, and from the profile `QUICK_NAME`
//! (a tool), `SLOW` (members of a `tools/call`), `MISSING` (a uri), `PROMPT` (a name).

use crate::check::{Check, Ctx, Level, Outcome, Run, Verdict, ensure, fail, skip};
use crate::client::Client;
use crate::pattern;
use crate::profile::{ToolCall, told};
use crate::revision::Revision;
use crate::transport::Transport;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::sync::OnceLock;

/// One case, borrowed from the text of its file.
pub struct Case {
    id: &'static str,
    level: Level,
    revisions: Vec<Revision>,
    title: &'static str,
    transport: Option<Transport>,
    new: bool,
    pipe: bool,
    shared: bool,
    needs: Vec<&'static str>,
    send: Vec<&'static str>,
    expect: Vec<Expected>,
}

struct Expected {
    required: bool,
    shape: &'static str,
}

/// The case files: the error matrix of the specification, and probes known to break servers.
const FILES: &[(&str, &str)] = &[
    ("matrix.cases", include_str!("../cases/matrix.cases")),
    ("probes.cases", include_str!("../cases/probes.cases")),
];

/// All cases of all files as checks, in the order of the files.
pub fn checks() -> Result<impl Iterator<Item = Check>> {
    static CASES: OnceLock<Result<Vec<Case>, String>> = OnceLock::new();
    let parse_all = || -> Result<Vec<Case>> {
        let mut cases = Vec::new();
        for (name, text) in FILES {
            cases.extend(parse(text).with_context(|| format!("in {name}"))?);
        }
        Ok(cases)
    };
    let cases = CASES.get_or_init(|| parse_all().map_err(|error| format!("{error:#}")));
    let cases = cases.as_ref().map_err(|error| anyhow::anyhow!(error.clone()))?;
    Ok(cases.iter().map(|case| Check {
        id: case.id,
        level: case.level,
        revisions: &case.revisions,
        transport: case.transport,
        title: case.title,
        run: Run::Case(case),
    }))
}

/// Reads the text of a case file.
fn parse(text: &'static str) -> Result<Vec<Case>> {
    let mut cases = Vec::<Case>::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        let place = || format!("line {}: {line}", index + 1);
        if let Some(header) = line.strip_prefix("# ") {
            cases.push(parse_header(header).with_context(place)?);
            continue;
        }
        let case = cases.last_mut().with_context(place)?;
        match line.split_once(' ') {
            Some((">", bytes)) => case.send.push(bytes),
            Some(("<", shape)) => case.expect.push(Expected { required: true, shape }),
            Some(("<?", shape)) => case.expect.push(Expected { required: false, shape }),
            Some(("?", "new")) => case.new = true,
            Some(("?", "pipe")) => case.pipe = true,
            Some(("?", "shared")) => case.shared = true,
            Some(("?", "stdio")) => case.transport = Some(Transport::Stdio),
            Some(("?", "http")) => case.transport = Some(Transport::Http),
            Some(("?", need)) => {
                case.needs.push(need.strip_prefix("needs ").with_context(place)?);
            }
            _ => bail!(place()),
        }
    }
    Ok(cases)
}

fn parse_header(header: &'static str) -> Result<Case> {
    let (head, title) = header.split_once(": ").context("no title")?;
    let fields: Vec<&str> = head.split(' ').collect();
    let [id, level, letters] = fields.as_slice() else { bail!("not `id level revisions`") };
    let level = match *level {
        "MUST" => Level::Must,
        "SHOULD" => Level::Should,
        _ => bail!("neither MUST nor SHOULD"),
    };
    let revisions = letters.chars().map(Revision::from_letter).collect::<Option<Vec<_>>>();
    let revisions = revisions.context("a letter that is no revision")?;
    let (send, expect, needs) = (Vec::new(), Vec::new(), Vec::new());
    let (transport, new, pipe, shared) = (None, false, false, false);
    Ok(Case { id, level, revisions, transport, title, new, pipe, shared, needs, send, expect })
}

/// What follows a slow call may come too late, or over HTTP before it; not each of several times.
const TRIES: usize = 3;

/// Runs one case on the shared connection, or on one of its own.
pub(crate) fn run(case: &Case, ctx: &mut Ctx<'_>) -> Verdict {
    let races = case.send.iter().any(|line| line.contains("@SLOW@"));
    let mut verdict = run_once(case, ctx);
    for _ in 1..TRIES {
        if !races || !matches!(verdict, Err(Outcome::Fail(_))) {
            break;
        }
        // Answers that are still to come are none of the next try's.
        ctx.abandon_shared();
        verdict = run_once(case, ctx);
    }
    verdict
}

fn run_once(case: &Case, ctx: &mut Ctx<'_>) -> Verdict {
    for need in &case.needs {
        ctx.need(need)?;
    }
    if case.pipe && !ctx.is_one_pipe() {
        return Err(skip("over HTTP a session begins with `initialize`"));
    }
    if case.shared && ctx.revision.is_modern() && ctx.transport() == Transport::Http {
        return Err(skip("over HTTP each request stands alone"));
    }
    let mut own = if case.new { Some(ctx.unopened()?) } else { None };
    let ids = Ids::taken_from(match &mut own {
        Some(client) => client,
        None => ctx.client()?,
    });
    let mut sent = Vec::new();
    for line in &case.send {
        sent.push(fill(line, ctx, &ids)?);
    }
    let mut expected = Vec::new();
    for Expected { required, shape } in &case.expect {
        let shape = serde_json::from_slice(&fill(shape, ctx, &ids)?)
            .map_err(|error| fail(format!("the case is not JSON: {error}: {shape}")))?;
        expected.push((*required, shape));
    }
    let client = match &mut own {
        Some(client) => client,
        None => ctx.client()?,
    };
    for mut line in sent {
        line.push(b'\n');
        client.send_raw(line);
    }
    judge(client, expected)
}

fn judge(client: &mut Client, mut expected: Vec<(bool, Value)>) -> Verdict {
    client.barrier()?;
    // A status alone is an answer to what has no id.
    let is_idless = |shape: &Value| shape["id"] == "@none@" && shape.get("error").is_some();
    for _ in 0..std::mem::take(&mut client.bare_refusals) {
        let refused = expected.iter().position(|(_, shape)| is_idless(shape));
        refused.map(|refused| expected.remove(refused));
    }
    let missing = |expected: &[(bool, Value)], inbox: &[Value]| {
        let mut open: Vec<&Value> =
            expected.iter().filter(|(required, _)| *required).map(|(_, shape)| shape).collect();
        for message in inbox {
            if let Some(found) = open.iter().position(|shape| pattern::matches(shape, message)) {
                open.remove(found);
            }
        }
        open.first().map(|shape| shape.to_string())
    };
    client.gather(|inbox| missing(&expected, inbox).is_none());
    let inbox = client.take_inbox();
    if let Some(shape) = missing(&expected, &inbox) {
        let came = inbox.iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
        let came = if came.is_empty() { "nothing came" } else { &came };
        return Err(fail(format!("no {shape}: {came}")));
    }
    // Required shapes are used up before optional ones.
    expected.sort_by_key(|(required, _)| !required);
    for message in inbox.iter().filter(|message| message.get("method").is_none()) {
        let found = expected.iter().position(|(_, shape)| pattern::matches(shape, message));
        ensure(found.is_some(), || format!("also answered {message}"))?;
        found.map(|found| expected.remove(found));
    }
    Ok(())
}

/// Fresh ids for one run of a case: an id may never be used twice on a connection.
struct Ids(Vec<u64>);

impl Ids {
    fn taken_from(client: &mut Client) -> Ids {
        Ids((0..4).map(|_| client.reserve_id()).collect())
    }
}

/// Puts values in the place of the names between `@` signs.
fn fill(template: &str, ctx: &mut Ctx<'_>, ids: &Ids) -> Result<Vec<u8>, Outcome> {
    let mut bytes = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('@') {
        bytes.extend_from_slice(before.as_bytes());
        let Some((name, after)) = after.split_once('@') else {
            return Err(fail(format!("the case has an unpaired @: {template}")));
        };
        bytes.extend(value_of(name, ctx, ids)?);
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

fn value_of(name: &str, ctx: &mut Ctx<'_>, ids: &Ids) -> Result<Vec<u8>, Outcome> {
    let members =
        |call: &ToolCall| format!("\"name\":\"{}\",\"arguments\":{}", call.name, call.arguments);
    let text = match name {
        "PING" => ctx.revision.harmless_method().to_owned(),
        "META" => ctx.revision.meta().to_string(),
        "QUICK_NAME" => told(&ctx.profile()?.quick_call, "quick_call")?.name.clone(),
        "SLOW" => members(told(&ctx.profile()?.slow_call, "slow_call")?),
        "MISSING" => told(&ctx.profile()?.missing, "missing")?.clone(),
        "PROMPT" => told(&ctx.profile()?.prompt, "prompt")?.name.clone(),
        "any" | "none" | "string" | "integer" | "one_of" => format!("@{name}@"),
        _ => return generated(name, ids).ok_or_else(|| fail(format!("unknown name @{name}@"))),
    };
    Ok(text.into_bytes())
}

fn generated(name: &str, ids: &Ids) -> Option<Vec<u8>> {
    if let Some(hex) = name.strip_prefix('x') {
        return u8::from_str_radix(hex, 16).ok().map(|byte| vec![byte]);
    }
    if let Some(number) = name.strip_prefix("ID") {
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        return Some(ids.0.get(index)?.to_string().into_bytes());
    }
    let (count, text) = name.strip_prefix("REPEAT ")?.split_once(' ')?;
    Some(text.repeat(count.parse().ok()?).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_file_reads() {
        let checks: Vec<_> = checks().expect("the case files are well formed").collect();
        let mut ids: Vec<_> = checks.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), checks.len(), "an id is used twice");
    }

    #[test]
    fn malformed_case_files_are_refused() {
        let table = [
            "> before any header",
            "# M-1 MUST ABC no title",
            "# M-1 MAY ABC: level",
            "# M-1 MUST XYZ: revision",
            "# M-1 MUST A: marker\n! x",
            "# M-1 MUST A: need\n? wants tools",
        ];
        for text in table {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn generated_bytes() {
        let ids = Ids(vec![5, 6]);
        assert_eq!(generated("xff", &ids), Some(vec![0xff]));
        assert_eq!(generated("ID2", &ids), Some(b"6".to_vec()));
        assert_eq!(generated("ID9", &ids), None);
        assert_eq!(generated("REPEAT 3 ab", &ids), Some(b"ababab".to_vec()));
        assert_eq!(generated("NOPE", &ids), None);
    }
}
