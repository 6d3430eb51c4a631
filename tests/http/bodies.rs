//! Bodies that are longer than they may be, or than they say, and readers that do not read.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::json;
use workspace_tests::clock::{Instant, PATIENCE};
use workspace_tests::web::Ask;

use super::site::{Site, modern, post, until};

const MEGABYTE: usize = 1 << 20;

/// Sends a body in pieces for as long as the server takes them, and gives its answer.
fn flood(site: &Site, headers: &str, pieces: usize, piece: &[u8], end: &[u8]) -> String {
    let mut socket = site.connect();
    socket.write_all(post(headers, "").as_bytes()).unwrap();
    for _ in 0..pieces {
        if socket.write_all(piece).is_err() {
            break;
        }
    }
    let _ = socket.write_all(end);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn oversized_bodies_cost_no_memory_and_are_told_why() {
    let site = Site::start(&["--max-message-bytes", "100000"]);
    let before = site.kib();
    let piece = vec![b'x'; MEGABYTE];
    let chunk = [format!("{MEGABYTE:x}\r\n").as_bytes(), &piece, b"\r\n"].concat();
    let length = format!("Content-Length: {}\r\n", 64 * MEGABYTE);
    for answer in [
        flood(&site, &length, 64, &piece, b""),
        flood(&site, "Transfer-Encoding: chunked\r\n", 64, &chunk, b"0\r\n\r\n"),
        flood(&site, "Content-Length: 100001\r\n", 100_001, b"x", b""),
    ] {
        assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("100000"), "{answer}");
    }
    let grown = site.kib().saturating_sub(before);
    assert!(grown < 4 * 1024, "{grown} KiB");
    // One that promises much and sends nothing holds nothing.
    let promise = format!("Content-Length: {}\r\n", 99_999);
    let waiting: Vec<_> = (0..1_000).map(|_| begin(&site, &post(&promise, ""))).collect();
    site.is_well();
    let grown = site.kib().saturating_sub(before);
    assert!(grown < 40 * 1024, "{grown} KiB for {} promises", waiting.len());
}

fn begin(site: &Site, bytes: &str) -> TcpStream {
    let mut socket = site.connect();
    socket.write_all(bytes.as_bytes()).unwrap();
    socket
}

#[test]
fn chunks_of_any_size_make_one_message() {
    let site = Site::start(&[]);
    let body = modern("server/discover", json!({})).to_string();
    let routing = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n";
    for size in [1, 7, 100, 10_000] {
        let chunks: String = body
            .as_bytes()
            .chunks(size)
            .map(|part| format!("{:x}\r\n{}\r\n", part.len(), String::from_utf8_lossy(part)))
            .collect();
        let headers = format!("Transfer-Encoding: chunked\r\n{routing}");
        let answer = site.talk(post(&headers, &format!("{chunks}0\r\n\r\n")));
        assert!(answer.contains("supportedVersions"), "{answer}");
    }
    for broken in ["zz\r\nabc\r\n", "ffffffffffffffffff\r\n", "3\r\nabcdef\r\n0\r\n\r\n", "-1\r\n"]
    {
        let answer = site.talk(post("Transfer-Encoding: chunked\r\n", broken));
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{broken}: {answer}");
    }
    site.is_well();
}

/// Streams nobody reads: what waits for them is bounded, and the others go on.
#[test]
fn readers_that_never_read_cost_a_bounded_amount() {
    const READERS: usize = 40;
    let site = Site::start(&[]);
    let before = site.kib();
    let arguments = json!({"from": 3600, "tick_ms": 1});
    let token = "t".repeat(1_000);
    let call = json!({
        "name": "countdown", "arguments": arguments, "_meta": {"progressToken": token},
    });
    let body = modern("tools/call", call).to_string();
    let headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: countdown\r\n\
         Content-Length: {}\r\n",
        body.len()
    );
    let readers: Vec<_> = (0..READERS).map(|_| begin(&site, &post(&headers, &body))).collect();
    let most = Cell::new(0);
    until("the calls are over", || {
        most.set(most.get().max(site.kib()));
        site.is_well();
        thread::sleep(Duration::from_millis(100));
        running(&site) == 0
    });
    // Each call says 4 MB in all.
    let grown = most.get().saturating_sub(before);
    assert!(grown < 40 * 1024, "{grown} KiB for {READERS} readers");
    drop(readers);
}

fn running(site: &Site) -> u64 {
    let uri = "calculator://countdowns";
    let ask = site.modern("resources/read", json!({"uri": uri})).with("mcp-name", uri);
    let answer = ask.send().unwrap().message().unwrap();
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_default().to_owned();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["running"].as_u64().unwrap()
}

/// Changes nobody reads are one change.
#[test]
fn a_session_that_reads_nothing_hears_of_a_change_once() {
    let site = Site::start(&[]);
    let session = site.open();
    let uri = json!({"uri": "calculator://countdowns"});
    assert_eq!(site.within(&session, "resources/subscribe", &uri).status(), 200);
    let before = site.kib();
    let call = json!({"name": "countdown", "arguments": {"from": 1, "tick_ms": 1}});
    for _ in 0..500 {
        site.modern("tools/call", call.clone()).send().unwrap().message().unwrap();
    }
    assert!(site.kib() < before + 6 * 1024, "{} KiB", site.kib() - before);
    let mut stream = Ask::get(site.server.url()).with("mcp-session-id", &session).send().unwrap();
    assert!(stream.event(Instant::now() + PATIENCE).is_some());
    assert_eq!(stream.event(Instant::now() + Duration::from_millis(500)), None);
}

/// A client of 2024-11-05 that sends without reading is not taken from any more once 8 MiB wait
/// for it, and goes on when it reads.
#[test]
fn who_does_not_read_its_stream_is_held_back() {
    let site = Site::start(&[]);
    let mut down = site.connect();
    down.write_all(b"GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut heard = String::new();
    while !heard.contains("sessionId=") || !heard.ends_with("\n\r\n") {
        let mut bytes = [0; 512];
        let count = down.read(&mut bytes).unwrap();
        heard += &String::from_utf8_lossy(&bytes[..count]);
    }
    let (_, id) = heard.split_once("sessionId=").unwrap();
    let path = format!("/messages?sessionId={}", id.split_whitespace().next().unwrap());
    let before = site.kib();
    let ping = json!({"jsonrpc": "2.0", "id": "x".repeat(100_000), "method": "ping"}).to_string();
    let headers = format!("Content-Length: {}\r\n", ping.len());
    let ping = post(&headers, &ping).replace("POST /mcp", &format!("POST {path}"));
    let send = |patience: Duration| {
        let mut socket = site.connect();
        socket.set_read_timeout(Some(patience)).unwrap();
        // What is not taken may not be sent either.
        let (mut status, mut writing) = ([0; 12], socket.try_clone().unwrap());
        let ping = ping.clone();
        thread::spawn(move || writing.write_all(ping.as_bytes()));
        socket.read_exact(&mut status).map(|()| (status, socket))
    };
    // What the system holds for a reader comes on top.
    let taken = (0..400).take_while(|_| send(Duration::from_secs(1)).is_ok()).count();
    assert!((80..400).contains(&taken), "{taken}");
    assert!(site.kib() < before + 32 * 1024, "{} KiB", site.kib() - before);
    site.is_well();
    let reader = thread::spawn(move || std::io::copy(&mut down, &mut std::io::sink()));
    assert_eq!(&send(PATIENCE).unwrap().0, b"HTTP/1.1 202");
    drop((site, reader));
}

/// However many bodies are begun and never ended, they share a bounded memory; short ones do not
/// need it.
#[test]
fn bodies_that_never_end_share_what_there_is() {
    let site = Site::start(&["--max-message-bytes", "1000000"]);
    let before = site.kib();
    let whole = "x".repeat(900_000);
    let headers = format!("Content-Length: {}\r\n", whole.len());
    let begun: Vec<_> =
        (0..100).map(|_| begin(&site, &post(&headers, &whole[..800_000]))).collect();
    until("they share it", || {
        site.is_well();
        site.status(post(&headers, &whole)) == 503
    });
    let grown = site.kib().saturating_sub(before);
    assert!(grown < 60 * 1024, "{grown} KiB for {} bodies", begun.len());
    drop(begun);
    until("it is given back", || site.status(post(&headers, &whole)) == 400);
    site.is_well();
}
