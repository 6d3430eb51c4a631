//! The flags of HTTP, each over every server.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use workspace_tests::clock::{self, PATIENCE};
use workspace_tests::web::Ask;

use super::is_success;
use super::subject::Subject;
use super::web::{Web, answer, refused_start, status};

const SECRET: &str = "s3cret-Token.1";

/// Both eras on one address, stopped like any other server; beyond this machine only with a token.
pub(super) fn http(subject: &Subject) {
    let web = Web::start(subject, &[]);
    let call = answer(web.modern("tools/call", subject.quick.clone()).send().unwrap());
    assert!(is_success(&call), "{call}");
    let session = web.open();
    let call = answer(web.within(&session, "tools/call", &subject.quick).send().unwrap());
    assert!(is_success(&call), "{call}");
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(status(&Ask::get(web.server.sibling(path))), 200, "{path}");
    }
    assert!(web.server.terminate());
    until("it has stopped", || !web.server.is_running());
    for (address, code, reason) in [
        ("0.0.0.0:0", 1, "--auth-token-file"),
        ("[::]:0", 1, "--auth-token-file"),
        ("nonsense", 2, "expected an address with a port"),
        ("127.0.0.1", 2, "expected an address with a port"),
    ] {
        let (found, log) = refused_start(&subject.command(&["--http", address]));
        assert!(found == Some(code) && log.contains(reason), "{address}: {found:?} {log}");
    }
    let token = written(subject, SECRET);
    drop(Web::start_at(subject, "0.0.0.0:0", &["--auth-token-file", &token]));
    unix(subject);
}

impl Web {
    fn start_at(subject: &Subject, address: &str, flags: &[&str]) -> Self {
        Self::spawn(&subject.command(&[&["--http", address], flags].concat()))
    }
}

/// A socket of the file system is its owner's alone, and one a dead server has left is taken over.
fn unix(subject: &Subject) {
    let path = subject.fresh_path();
    for _ in 0..2 {
        let web = Web::start_at(subject, &format!("unix:{path}"), &[]);
        assert_eq!(web.server.url(), format!("unix:{path}"));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{mode:o}");
        let mut socket = UnixStream::connect(&path).unwrap();
        let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        socket.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        // Killed, so that it cannot tidy up.
        drop(web);
    }
    let running = Web::start_at(subject, &format!("unix:{path}"), &[]);
    let (code, log) = refused_start(&subject.command(&["--http", &format!("unix:{path}")]));
    assert!(code == Some(1) && log.contains("cannot listen"), "{code:?} {log}");
    assert!(running.server.terminate());
    until("the socket is gone", || !fs::exists(&path).unwrap());
}

pub(super) fn allow_host(subject: &Subject) {
    let web = Web::start(subject, &["--allow-host", "mcp.example", "--allow-host", "b.example"]);
    let plain = Web::start(subject, &[]);
    for (host, allowed) in [
        ("mcp.example", true),
        ("MCP.example:8080", true),
        ("b.example", true),
        ("localhost", true),
        ("evil.example", false),
        ("mcp.example.evil", false),
        ("mcp.example@evil", false),
    ] {
        let expected = if allowed { 200 } else { 403 };
        assert_eq!(status(&web.discover().with("host", host)), expected, "{host}");
        let expected = if host == "localhost" { 200 } else { 403 };
        assert_eq!(status(&plain.discover().with("host", host)), expected, "{host}");
    }
    needs_http(subject, &["--allow-host", "mcp.example"]);
}

pub(super) fn allow_origin(subject: &Subject) {
    let web = Web::start(subject, &["--allow-origin", "https://app.example"]);
    for (origin, allowed) in [
        ("https://app.example", true),
        ("HTTPS://APP.EXAMPLE", true),
        ("http://localhost:5173", true),
        ("http://app.example", false),
        ("https://app.example:8443", false),
        ("https://app.example.evil", false),
        ("null", false),
    ] {
        let reply = web.discover().with("origin", origin).send().unwrap();
        assert_eq!(reply.status(), if allowed { 200 } else { 403 }, "{origin}");
        let shared = reply.header("access-control-allow-origin");
        assert_eq!(shared.as_deref(), allowed.then_some(origin), "{origin}");
    }
    needs_http(subject, &["--allow-origin", "https://app.example"]);
}

pub(super) fn auth_token_file(subject: &Subject) {
    let file = written(subject, &format!("{SECRET}\n"));
    let flags = ["--auth-token-file", &file, "--log", "trace"];
    guards(&Web::start(subject, &flags));
    // The variable does the same.
    let mut command = vec!["env".to_owned(), format!("MCP_AUTH_TOKEN={SECRET}")];
    command.extend(subject.command(&["--http", "127.0.0.1:0"]));
    guards(&Web::spawn(&command));
    for (content, reason) in [("", "printable"), ("two words", "printable")] {
        let file = written(subject, content);
        let flags = ["--http", "127.0.0.1:0", "--auth-token-file", &file];
        let (code, log) = refused_start(&subject.command(&flags));
        assert!(code == Some(1) && log.contains(reason), "{code:?} {log}");
    }
    let missing = subject.fresh_path();
    let flags = ["--http", "127.0.0.1:0", "--auth-token-file", &missing];
    assert_eq!(refused_start(&subject.command(&flags)).0, Some(1));
    needs_http(subject, &["--auth-token-file", &file]);
}

/// Only the token opens, from its one place; what an orchestrator asks for is open to all.
fn guards(web: &Web) {
    let refused = |ask: &Ask, what: &str| {
        let reply = ask.send().unwrap();
        let challenge = reply.header("www-authenticate").unwrap_or_default();
        assert_eq!((reply.status(), challenge.starts_with("Bearer")), (401, true), "{what}");
    };
    let bearer = format!("Bearer {SECRET}");
    refused(&web.discover(), "none");
    for wrong in ["Bearer", "Bearer x", &format!("Basic {SECRET}"), SECRET, &format!("{bearer}x")] {
        refused(&web.discover().with("authorization", wrong), wrong);
    }
    refused(&web.discover().and("authorization", &bearer).and("authorization", &bearer), "twice");
    for query in ["token", "access_token", "auth", "authorization"] {
        let mut ask = web.discover();
        ask.url = format!("{}?{query}={SECRET}", ask.url);
        refused(&ask, "in the query");
    }
    for path in ["/mcp", "/sse", "/messages?sessionId=x", "/metrics", "/nothing"] {
        refused(&Ask::get(web.server.sibling(path)), path);
    }
    assert_eq!(status(&web.discover().with("authorization", &bearer)), 200);
    assert_eq!(status(&Ask::get(web.server.sibling("/healthz"))), 200);
    let log = web.server.stderr();
    assert!(!log.contains(SECRET), "{log}");
}

/// One connection more waits until another has gone.
pub(super) fn max_connections(subject: &Subject) {
    let web = Web::start(subject, &["--max-http-connections", "2"]);
    let address = web.server.sibling("").replace("http://", "");
    let connect = || {
        let mut socket = TcpStream::connect(&address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        socket
    };
    let is_answered = |socket: &mut TcpStream| {
        let mut bytes = [0; 512];
        socket.read(&mut bytes).is_ok_and(|count| bytes[..count].starts_with(b"HTTP/1.1 200"))
    };
    let (mut one, mut two) = (connect(), connect());
    assert!(is_answered(&mut one) && is_answered(&mut two));
    let mut third = connect();
    third.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(!is_answered(&mut third), "more are served than may be");
    third.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    drop(one);
    assert!(is_answered(&mut third));
    // Those that were served go on.
    two.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert!(is_answered(&mut two));
}

/// One session more ends the one that was idle longest; one that is in use stays.
pub(super) fn max_sessions(subject: &Subject) {
    let web = Web::start(subject, &["--max-sessions", "2"]);
    let busy = web.open();
    let stream = Ask::get(web.server.url()).with("mcp-session-id", &busy).send().unwrap();
    assert_eq!(stream.status(), 200);
    let idle = web.open();
    let last = web.open();
    assert_eq!([&busy, &idle, &last].map(|session| web.ping(session)), [200, 404, 200]);
    let second = Ask::get(web.server.url()).with("mcp-session-id", &last).send().unwrap();
    assert_eq!(second.status(), 200);
    // Nobody is put out who is being served.
    let none = web.within(
        "",
        "initialize",
        &json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "policies", "version": "1.0.0"},
        }),
    );
    let reply = none.without("mcp-session-id").send().unwrap();
    let retry = reply.header("retry-after");
    assert_eq!((reply.status(), retry.is_some()), (503, true));
    assert_eq!([&busy, &last].map(|session| web.ping(session)), [200, 200]);
}

pub(super) fn session_idle(subject: &Subject) {
    const TRIES: usize = 5;
    // Of a session that could not be used in time for one moment nothing can be said.
    assert!((0..TRIES).any(|_| idle_ones_end(subject)), "a session in use does not live on");
}

fn idle_ones_end(subject: &Subject) -> bool {
    let web = Web::start(subject, &["--session-idle-secs", "1"]);
    let (opened, lived) = (Instant::now(), clock::Instant::now());
    let (idle, used, read) = (web.open(), web.open(), web.open());
    let stream = Ask::get(web.server.url()).with("mcp-session-id", &read).send().unwrap();
    assert_eq!(stream.status(), 200);
    let sessions = || {
        let metrics = Ask::get(web.server.sibling("/metrics")).send().unwrap().body().unwrap();
        let metrics = String::from_utf8(metrics).unwrap();
        let line = metrics.lines().find_map(|line| line.strip_prefix("mcp_sessions "));
        line.expect("a gauge").parse::<u32>().unwrap()
    };
    // Asked for the idle one, the server would take it for used.
    while sessions() > 2 {
        if web.ping(&used) != 200 {
            return false;
        }
        assert!(lived.elapsed() < PATIENCE, "an idle session lives on");
        sleep(Duration::from_millis(50));
    }
    assert!(opened.elapsed() >= Duration::from_millis(950), "{:?}", opened.elapsed());
    assert_eq!([&idle, &read].map(|session| web.ping(session)), [404, 200]);
    true
}

/// The limit is each client's own: one that is over it is in nobody's way.
pub(super) fn rate_limit_spares_others(subject: &Subject) {
    let greedy = Web::start(subject, &["--rate-limit", "5"]);
    let call = || answer(greedy.modern("tools/call", subject.quick.clone()).send().unwrap());
    let answers: Vec<_> = (0..40).map(|_| call()).collect();
    let refused = answers.iter().filter(|answer| !is_success(answer)).count();
    assert!(refused > 0, "40 calls at once are all served");
    let modest = greedy.at("127.0.0.2");
    let answer = answer(modest.modern("tools/call", subject.quick.clone()).send().unwrap());
    assert!(is_success(&answer), "another client is refused: {answer}");
}

fn needs_http(subject: &Subject, flags: &[&str]) {
    let (code, log) = refused_start(&subject.command(flags));
    assert!(code == Some(2) && log.contains("--http"), "{flags:?}: {code:?} {log}");
}

fn written(subject: &Subject, content: &str) -> String {
    let path = subject.fresh_path();
    fs::write(&path, content).unwrap();
    path
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = clock::Instant::now() + PATIENCE;
    while !holds() {
        assert!(clock::Instant::now() < deadline, "it is not so that {what}");
        sleep(Duration::from_millis(10));
    }
}
