//! Many at a time: idle connections, sessions opened and left, streams cut, ids guessed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::json;
use workspace_tests::clock::{Instant, PATIENCE};
use workspace_tests::web::Ask;

use super::site::{Site, initialize, modern, post, until};

/// As many as may be open in this process and in the server's, but no more than wanted.
fn affordable(wanted: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
    let most = line.split_whitespace().nth(3).and_then(|most| most.parse().ok()).unwrap_or(1_024);
    wanted.min(most * 9 / 10 - 100)
}

#[test]
fn idle_connections_cost_little_and_are_given_back() {
    let count = affordable(10_000);
    let site = Site::start(&[]);
    let (before, descriptors) = (site.kib(), site.server.descriptors().unwrap());
    let idle: Vec<_> = (0..count).map(|_| site.connect()).collect();
    site.is_well();
    until("all are taken", || site.gauge("mcp_connections") >= count as u64);
    let grown = site.kib().saturating_sub(before);
    assert!(grown / (count as u64 / 1_000) < 20 * 1_000, "{grown} KiB for {count}");
    drop(idle);
    site.returns_to(descriptors);
    site.is_well();
}

/// One connection that sends one request after the other.
struct Line {
    socket: BufReader<TcpStream>,
}

impl Line {
    fn new(site: &Site) -> Self {
        site.connect().set_nodelay(true).unwrap();
        Self { socket: BufReader::new(site.connect()) }
    }

    /// Sends a message and reads the head and the body of its answer.
    fn post(&mut self, headers: &str, body: &str) -> (u16, String) {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        self.socket.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            self.socket.read_line(&mut line).unwrap();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head += &line;
        }
        let mut body = vec![0; length];
        self.socket.read_exact(&mut body).unwrap();
        (head.get(9..12).unwrap().parse().unwrap(), head)
    }
}

#[test]
fn abandoned_sessions_are_given_back() {
    // Each of two rounds; a long run is MCP_TEST_SESSIONS=50000.
    let wanted = std::env::var("MCP_TEST_SESSIONS").ok();
    let sessions = wanted.map_or(5_000_u64, |wanted| wanted.parse().unwrap());
    let site = Site::start(&["--session-idle-secs", "2", "--max-sessions", "200000"]);
    let body = initialize().to_string();
    let mut line = Line::new(&site);
    let round = |line: &mut Line| {
        let before = site.kib();
        for _ in 0..sessions {
            let (status, head) = line.post("", &body);
            assert!(status == 200 && head.contains("mcp-session-id"), "{head}");
        }
        let grown = site.kib().saturating_sub(before);
        until("the sessions are gone", || site.gauge("mcp_sessions") == 0);
        grown
    };
    let before = site.kib();
    let grown = round(&mut line);
    // Some of the first may be gone before the last is opened.
    assert!(grown < 20 * sessions, "{grown} KiB for {sessions}");
    let kept = site.kib().saturating_sub(before);
    round(&mut line);
    let again = site.kib().saturating_sub(before);
    // What the allocator keeps it uses again.
    assert!(again < kept + 8 * 1024, "{kept} KiB, and after another round {again} KiB");
    site.is_well();
}

#[test]
fn more_sessions_than_there_may_be_end_the_oldest() {
    let site = Site::start(&["--max-sessions", "100"]);
    let (body, mut line) = (initialize().to_string(), Line::new(&site));
    for _ in 0..2_000 {
        assert_eq!(line.post("", &body).0, 200);
    }
    assert_eq!(site.gauge("mcp_sessions"), 100);
    site.is_well();
}

#[test]
fn streams_that_are_cut_are_given_back() {
    let count = affordable(2_000);
    let site = Site::start(&["--max-sessions", "5000", "--session-idle-secs", "1"]);
    let (before, descriptors) = (site.kib(), site.server.descriptors().unwrap());
    let notifications =
        json!({"toolsListChanged": true, "resourceSubscriptions": ["calculator://countdowns"]});
    let body = modern("subscriptions/listen", json!({"notifications": notifications})).to_string();
    for round in 0..5 {
        let listens: Vec<_> = (0..count).map(|_| listen(&site, &body)).collect();
        assert!(site.gauge("mcp_event_streams") >= count as u64);
        site.is_well();
        drop(listens);
        until("the streams are gone", || site.gauge("mcp_event_streams") == 0);
        site.returns_to(descriptors);
        let grown = site.kib().saturating_sub(before);
        assert!(grown < 60 * 1024, "{grown} KiB after round {round}");
    }
    // Those of 2024-11-05 are sessions as well.
    let downs: Vec<_> = (0..200).map(|_| Ask::get(site.server.sse_url()).send().unwrap()).collect();
    assert_eq!(site.gauge("mcp_sessions"), 200);
    drop(downs);
    until("the sessions are gone", || site.gauge("mcp_sessions") == 0);
    site.returns_to(descriptors);
}

/// A listen stream that has been acknowledged.
fn listen(site: &Site, body: &str) -> TcpStream {
    let mut socket = site.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    socket
}

#[test]
fn guessed_sessions_are_not_found_and_harm_nobody() {
    let site = Site::start(&[]);
    let session = site.open();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let mut line = Line::new(&site);
    let mut guesses: Vec<String> = (0..2_000).map(|number| format!("{number:032x}")).collect();
    // One character beside the right one, at each place.
    for place in 0..session.len() {
        let mut guess = session.clone().into_bytes();
        guess[place] = if guess[place] == b'a' { b'b' } else { b'a' };
        guesses.push(String::from_utf8(guess).unwrap());
    }
    guesses.extend(["", "*", "%", "../", "null", "undefined", "0"].map(str::to_owned));
    guesses.push(session.to_uppercase());
    for guess in guesses.iter().filter(|guess| **guess != session) {
        let (status, _) = line.post(&format!("Mcp-Session-Id: {guess}\r\n"), &ping);
        assert_eq!(status, 404, "{guess}");
    }
    assert_eq!(line.post(&format!("Mcp-Session-Id: {session}\r\n"), &ping).0, 200);
    // Of 2024-11-05's sessions Streamable HTTP knows nothing, and the other way round.
    let other =
        Ask::post(site.server.sibling(&format!("/messages?sessionId={session}")), &initialize());
    assert_eq!(other.send().unwrap().status(), 404);
}

/// What a request that is over has said may wait for its client to come back, but is in nobody's
/// way while it does.
#[test]
fn streams_nobody_comes_back_for_are_in_nobodys_way() {
    let site = Site::start(&["--max-in-flight", "8"]);
    let session = site.open();
    let headers = format!("Mcp-Session-Id: {session}\r\n");
    let meta = json!({"progressToken": 1});
    let arguments = json!({"from": 2, "tick_ms": 1});
    let params = json!({"name": "countdown", "arguments": arguments, "_meta": meta});
    let is_over = || site.gauge("mcp_requests_in_flight") == 0;
    for is_read in [false, true] {
        for id in 0..100 {
            let body =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            let body = body.to_string();
            let headers = format!("{headers}Content-Length: {}\r\n", body.len());
            let mut socket = site.connect();
            socket.write_all(post(&headers, &body).as_bytes()).unwrap();
            let mut answer = vec![0; 12];
            socket.read_exact(&mut answer).unwrap();
            assert_eq!(answer, b"HTTP/1.1 200", "{id}, read: {is_read}");
            if is_read {
                socket.read_to_end(&mut answer).unwrap();
            }
            drop(socket);
            until("the call is over", is_over);
        }
    }
    site.is_well();
    // The last of them is still there for whoever comes back.
    let back = |event: &str| {
        let ask = Ask::get(site.server.url()).with("mcp-session-id", &session);
        ask.with("last-event-id", event).send().unwrap()
    };
    let mut stream = back("200-0");
    let events: Vec<_> = std::iter::from_fn(|| stream.event(Instant::now() + PATIENCE))
        .map(|event| event.id)
        .collect();
    assert!(events.len() >= 2 && events[0].as_deref() == Some("200-1"), "{events:?}");
    // What no stream has said yet cannot have been seen.
    for unseen in ["200-100", "0-1", "201-0", "1-0", "18446744073709551615-0", "-", "200"] {
        assert_eq!(back(unseen).status(), 400, "{unseen}");
    }
    assert_eq!(back(&format!("200-{}", events.len())).status(), 200);
}
