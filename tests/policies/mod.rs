//! The common flags, each over every server: what is over a limit is refused clearly, and the
//! server goes on. A flag that `--help` names and no row here proves is a failure, too.

mod http;
pub(crate) mod running;
mod subject;
mod tasks;
pub(crate) mod web;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use running::{Running, Stopwatch, Took};
use subject::Subject;

type Proof = fn(&Subject);

/// By flag, in the order of `--help`.
const PROOFS: &[(&str, Proof)] = &[
    ("--log", log),
    ("--log-format", log_format),
    ("--audit-log", audit_log),
    ("--audit-arguments", audit_arguments),
    ("--timeout-secs", timeout),
    ("--ask-timeout-secs", ask_timeout),
    ("--drain-secs", drain),
    ("--max-message-bytes", max_message_bytes),
    ("--max-depth", max_depth),
    ("--max-in-flight", max_in_flight),
    ("--max-subscriptions", max_subscriptions),
    ("--task-ttl-secs", tasks::ttl),
    ("--max-tasks", tasks::number),
    ("--rate-limit", rate_limit),
    ("--state-key-file", state_key_file),
    ("--http", http::http),
    ("--allow-host", http::allow_host),
    ("--allow-origin", http::allow_origin),
    ("--auth-token-file", http::auth_token_file),
    ("--max-http-connections", http::max_connections),
    ("--max-sessions", http::max_sessions),
    ("--session-idle-secs", http::session_idle),
];

const CANARY: &str = "canary-5f2c9b";

#[test]
fn each_flag_holds_over_each_server() {
    let failed: Vec<String> = thread::scope(|scope| {
        let subjects = subject::all();
        let servers: Vec<_> =
            subjects.into_iter().map(|subject| scope.spawn(move || failures(&subject))).collect();
        servers.into_iter().flat_map(|server| server.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "the reasons are above: {failed:?}");
}

fn failures(subject: &Subject) -> Vec<String> {
    let mut failed = Vec::new();
    let proven: BTreeSet<_> = PROOFS.iter().map(|(flag, _)| (*flag).to_owned()).collect();
    if common_flags(subject) != proven {
        failed.push(format!("{}: --help has {:?}", subject.name, common_flags(subject)));
    }
    for (flag, proof) in PROOFS {
        if catch_unwind(AssertUnwindSafe(|| proof(subject))).is_err() {
            failed.push(format!("{} {flag}", subject.name));
        }
    }
    failed
}

fn common_flags(subject: &Subject) -> BTreeSet<String> {
    let output = Command::new(&subject.command(&[])[0]).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, common) = help.split_once("Common options:").expect("common options");
    // Those of one server alone, and tested with it.
    let common = common.split("OAuth options:").next().unwrap_or_default();
    let flags = common.lines().filter_map(|line| line.trim().strip_prefix("--"));
    let name = |flag: &str| format!("--{}", flag.split([' ', '\n']).next().unwrap_or_default());
    flags.map(name).collect()
}

fn log(subject: &Subject) {
    for (level, is_said) in [("off", false), ("error", false), ("info", true)] {
        let server = subject.start(&["--log", level]);
        assert_eq!(server.terminate().log.contains("told to stop"), is_said, "{level}");
    }
}

fn log_format(subject: &Subject) {
    let ended = subject.start(&["--log", "info", "--log-format", "json"]).terminate();
    assert!(!ended.log.is_empty());
    for line in ended.log.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
    }
}

/// One line for each call, whatever became of it, with 64 of them on their way at once.
fn audit_log(subject: &Subject) {
    let path = subject.fresh_path();
    let mut server = subject.start(&["--audit-log", &path]);
    let refused = &subject.refused[0];
    let calls =
        (0..64).map(|number| if number % 4 == 3 { refused } else { &subject.quick }.clone());
    for id in server.requests("tools/call", &calls.collect::<Vec<_>>()) {
        server.answer(id);
    }
    let unknown = json!({"name": "no_such_tool", "arguments": {"a": 1}});
    server.call(&unknown);
    let mut expected =
        vec![("ok", &subject.quick, 48), ("tool_error", refused, 16), ("error", &unknown, 1)];
    if let Some(endless) = &subject.endless {
        let id = server.request("tools/call", endless);
        works(&mut server, subject);
        server.cancel(id);
        works(&mut server, subject);
        expected.push(("cancelled", endless, 1));
        expected[0].2 += 2;
    }
    assert_eq!(server.close().code, Some(0));
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&path).unwrap());
        assert_eq!(mode & 0o777, 0o600, "the log is its owner's alone");
    }
    let mut lines = audit_lines(&path);
    for (outcome, call, count) in expected {
        let fits = |line: &Value| line["outcome"] == outcome && line["name"] == call["name"];
        let (fitting, rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(fits);
        assert_eq!(fitting.len(), count, "{outcome}: {fitting:?}, besides {rest:?}");
        let digests: BTreeSet<_> =
            fitting.iter().map(|line| line["arguments_digest"].to_string()).collect();
        assert_eq!(digests.len(), 1, "{digests:?}");
        for line in &fitting {
            check_audit_line(line, call);
        }
        lines = rest;
    }
    assert!(lines.is_empty(), "nobody asked for {lines:?}");
}

fn check_audit_line(line: &Value, call: &Value) {
    assert_eq!(line["client"], "policies");
    assert_eq!(line["revision"], "2025-11-25");
    assert_eq!(line["kind"], "tool");
    assert_eq!(line["bytes_in"], call["arguments"].to_string().len());
    assert_eq!(line["bytes_out"] == 0, line["outcome"] == "cancelled", "{line}");
    assert!(line["duration_ms"].as_f64().is_some_and(|duration| duration >= 0.0), "{line}");
    assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
    assert!(line.get("arguments").is_none(), "{line}");
}

fn audit_lines(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// A secret in arguments is in no log unless somebody wants the arguments there.
fn audit_arguments(subject: &Subject) {
    for wanted in [false, true] {
        let path = subject.fresh_path();
        let mut flags = vec!["--log", "trace", "--audit-log", &path];
        flags.extend(wanted.then_some("--audit-arguments"));
        let mut server = subject.start(&flags);
        for call in [&subject.quick].into_iter().chain(&subject.refused) {
            for call in with_canaries(call) {
                server.call(&call);
            }
        }
        let log = server.close().log;
        assert!(!log.is_empty(), "a log that says nothing proves nothing");
        let leak = log.lines().find(|line| line.contains(CANARY));
        assert!(leak.is_none(), "{leak:?}");
        assert_eq!(fs::read_to_string(&path).unwrap().contains(CANARY), wanted);
    }
    let mut alone = Command::new(&subject.command(&[])[0]);
    let output = alone.args(&subject.command(&["--audit-arguments"])[1..]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "it needs --audit-log");
}

/// The call with a secret in an argument nobody asked for, and in place of each argument.
fn with_canaries(call: &Value) -> Vec<Value> {
    let arguments = call["arguments"].as_object().expect("arguments");
    let places = arguments.keys().map(String::as_str).chain(["password"]);
    let put = |place: &str| {
        let mut call = call.clone();
        call["arguments"][place] = json!(CANARY);
        call
    };
    places.map(put).collect()
}

fn timeout(subject: &Subject) {
    let mut server = subject.start(&["--timeout-secs", "1", "--ask-timeout-secs", "2"]);
    if let Some(endless) = &subject.endless {
        let started = Stopwatch::start();
        let answer = server.call(endless);
        // The time a call waits for its client is not its own.
        let (text, secs) =
            if subject.asking.is_some() { ("No answer", 2) } else { ("Stopped after 1 s", 1) };
        assert!(failed_with(&answer, text), "{answer}");
        in_time(started.took(), secs);
    }
    works(&mut server, subject);
}

fn ask_timeout(subject: &Subject) {
    let mut server = subject.start(&["--ask-timeout-secs", "1"]);
    if let Some(asking) = &subject.asking {
        let started = Stopwatch::start();
        let answer = server.call(asking);
        assert!(failed_with(&answer, "No answer to the question came in time"), "{answer}");
        in_time(started.took(), 1);
    }
    works(&mut server, subject);
}

/// Calls in flight are answered when the server is told to stop or its input ends; those that would
/// go on for ever are not waited for longer than the drain period.
fn drain(subject: &Subject) {
    for end in [Running::close, Running::terminate] {
        if let Some(brief) = &subject.brief {
            let mut server = subject.start(&["--drain-secs", "50"]);
            let ids = server.requests("tools/call", &vec![brief.clone(); 3]);
            // Whoever is answered after them proves that they have been read.
            works(&mut server, subject);
            let ended = end(server);
            for id in ids {
                let answer = ended.messages.iter().find(|message| message["id"] == id);
                assert!(answer.is_some_and(is_success), "{id}: {answer:?}");
            }
            assert_eq!(ended.code, Some(0), "{}", ended.log);
        }
        let mut server = subject.start(&["--drain-secs", "1"]);
        if let Some(endless) = &subject.endless {
            server.request("tools/call", endless);
            works(&mut server, subject);
            let ended = end(server);
            // A question is over when there is nobody left to answer it.
            let asks = subject.asking.is_some();
            in_time(ended.took, if asks { 0 } else { 1 });
            assert_eq!(ended.code, Some(0), "{}", ended.log);
        } else {
            works(&mut server, subject);
            assert_eq!(end(server).code, Some(0));
        }
    }
}

fn max_message_bytes(subject: &Subject) {
    let mut server = subject.start(&["--max-message-bytes", "2000"]);
    let mut long = subject.quick.clone();
    long["_meta"] = json!({"com.example/padding": "x".repeat(2000)});
    let answer = server.call(&long);
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("2000"), "{answer}");
    works(&mut server, subject);
}

fn max_depth(subject: &Subject) {
    let nested = |levels: usize| {
        let mut call = subject.quick.clone();
        // The message, its parameters and `_meta` are three.
        let value = (3..levels).fold(json!(0), |inner, _| json!([inner]));
        call["_meta"] = json!({"com.example/nested": value, "com.example/text": "[[{".repeat(200)});
        call
    };
    for (flags, most) in [(["--max-depth", "10"].as_slice(), 10), (&[], 128)] {
        let mut server = subject.start(flags);
        assert!(is_success(&server.call(&nested(most))), "{most}");
        let answer = server.call(&nested(most + 1));
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(&format!("{most} levels")), "{answer}");
        works(&mut server, subject);
    }
    for wrong in ["7", "129"] {
        let mut command = Command::new(&subject.command(&[])[0]);
        let output = command.args(["--max-depth", wrong]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

fn max_in_flight(subject: &Subject) {
    let mut server = subject.start(&["--max-in-flight", "2"]);
    let Some(endless) = &subject.endless else {
        return works(&mut server, subject);
    };
    let running = server.requests("tools/call", &[endless.clone(), endless.clone()]);
    let answer = server.call(&subject.quick);
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("in flight"), "{answer}");
    server.cancel(running.start);
    works(&mut server, subject);
}

fn max_subscriptions(subject: &Subject) {
    let mut server = Running::spawn(&subject.command(&["--max-subscriptions", "1"]));
    let listen = |uris: &[&str]| {
        let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": uris});
        modern(json!({"notifications": wanted}))
    };
    let acknowledged = |server: &mut Running| {
        let method = "notifications/subscriptions/acknowledged";
        server.wait_for(|message| message["method"] == method)
    };
    let first = server.request("subscriptions/listen", &listen(&["no://a"]));
    acknowledged(&mut server);
    for (uris, reason) in
        [(["no://a"].as_slice(), "Too many"), (&["no://a", "no://b"], "More than 1")]
    {
        let id = server.request("subscriptions/listen", &listen(uris));
        let answer = server.answer(id);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(reason), "{answer}");
    }
    server.cancel(first);
    server.request("subscriptions/listen", &listen(&[]));
    acknowledged(&mut server);
}

/// 1,000 calls a second, evenly spread, against a limit of 50.
fn rate_limit(subject: &Subject) {
    const SECS: u64 = 2;
    let mut server = subject.start(&["--rate-limit", "50"]);
    let (started, watch) = (Instant::now(), Stopwatch::start());
    let mut ids = Vec::new();
    for tick in 1..=SECS * 100 {
        ids.extend(server.requests("tools/call", &vec![subject.quick.clone(); 10]));
        let due = started + Duration::from_millis(tick * 10);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let sent_for = watch.took().lived.as_secs_f64();
    let answers: Vec<_> = ids.into_iter().map(|id| server.answer(id)).collect();
    let answered_for = watch.took().wall.as_secs_f64();
    let (served, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| is_success(answer));
    // A server that was kept from reading for a moment has served fewer, but no such part of them.
    let (least, most) = (0.5 * 50.0 * sent_for, 50.0 * answered_for + 6.0);
    let count = served.len() as f64;
    assert!(least <= count && count <= most, "{least} ≤ {count} ≤ {most}");
    for answer in &refused {
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("Too many calls; try again in"), "{answer}");
    }
    http::rate_limit_spares_others(subject);
    let last = refused.last().expect("most are refused");
    let wait_ms = last["error"]["data"]["retryAfterMs"].as_u64().expect("when to try again");
    assert!(wait_ms <= 1_000, "{last}");
    thread::sleep(Duration::from_millis(wait_ms));
    works(&mut server, subject);
}

/// A process goes on with what another one with the same keys has begun, and with nothing else.
fn state_key_file(subject: &Subject) {
    let (ours, theirs, broken) = (subject.fresh_path(), subject.fresh_path(), subject.fresh_path());
    for (path, text) in [
        (&ours, "A".repeat(42) + "E="),
        (&theirs, "B".repeat(42) + "E="),
        (&broken, "short".to_owned()),
    ] {
        fs::write(path, text).unwrap();
    }
    for path in [&broken, &subject.fresh_path()] {
        let ended = Running::spawn(&subject.command(&["--state-key-file", path])).close();
        assert_eq!(ended.code, Some(1));
        assert!(ended.log.contains("--state-key-file"), "{}", ended.log);
    }
    works(&mut subject.start(&["--state-key-file", &ours]), subject);
    let Some(asking) = &subject.asking else {
        return;
    };
    let asked = Running::spawn(&subject.command(&["--state-key-file", &ours]))
        .call(&modern(asking.clone()));
    let mut retry = modern(asking.clone());
    retry["requestState"] = asked["result"]["requestState"].clone();
    let order = json!({"dish": "soup", "portions": 1, "hot": false});
    let requests = asked["result"]["inputRequests"].as_object().expect("questions");
    let answers =
        requests.keys().map(|key| (key.clone(), json!({"action": "accept", "content": order})));
    retry["inputResponses"] = answers.collect();
    for (keys, is_known) in [(&ours, true), (&theirs, false)] {
        let answer = Running::spawn(&subject.command(&["--state-key-file", keys])).call(&retry);
        assert_eq!(answer["result"]["structuredContent"]["order"] == order, is_known, "{answer}");
        assert_eq!(answer.get("error").is_some(), !is_known, "{answer}");
    }
}

/// The parameters with what every request of 2026-07-28 carries.
fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "policies", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    params
}

fn works(server: &mut Running, subject: &Subject) {
    let answer = server.call(&subject.quick);
    assert!(is_success(&answer), "{answer}");
}

fn is_success(answer: &Value) -> bool {
    answer.get("result").is_some_and(|result| result["isError"] != true)
}

fn failed_with(answer: &Value, text: &str) -> bool {
    let shown = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    answer["result"]["isError"] == true && shown.contains(text)
}

/// Not before it is due, and well before it would be due by itself: a machine may be busy.
fn in_time(took: Took, due_secs: u64) {
    let due = Duration::from_secs(due_secs);
    let tolerance = Duration::from_millis(50);
    assert!(
        due <= took.wall + tolerance && took.lived < due + Duration::from_secs(30),
        "{took:?}, not {due:?}"
    );
}
