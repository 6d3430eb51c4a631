//! What a request says before its body: where it is from, who it is for, and said twice or slowly.

use std::io::{Read, Write};
use std::net::Shutdown;

use serde_json::json;

use super::site::{Site, initialize, post};

#[test]
fn no_page_from_elsewhere_gets_in_by_any_path_or_method() {
    let site = Site::start(&[]);
    for path in
        ["/mcp", "/sse", "/messages?sessionId=x", "/healthz", "/readyz", "/metrics", "/", "/x"]
    {
        for method in ["GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"] {
            for place in [
                "Host: evil.example",
                "Host: 127.0.0.1.evil.example",
                "Host: localhost@evil.example",
                "Host: localhost\r\nHost: evil.example",
                "X-No-Host: 1",
                "Host: localhost\r\nOrigin: http://evil.example",
                "Host: localhost\r\nOrigin: null",
                "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example",
                "Host: localhost\r\nOrigin: http://localhost.evil.example",
            ] {
                let request =
                    format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{place}\r\n\r\n");
                assert_eq!(site.status(&request), 403, "{request}");
            }
        }
    }
    // An absolute target does not stand in for the header.
    let request = "GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example\r\n\
                   Connection: close\r\n\r\n";
    assert_eq!(site.status(request), 403);
    site.is_well();
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let site = Site::start(&[]);
    let body = initialize().to_string();
    let length = body.len();
    for headers in [
        format!("Content-Length: {length}\r\nContent-Length: {}\r\n", length + 1),
        format!("Content-Length: {length}, {}\r\n", length + 1),
        format!("Content-Length: +{length}\r\n"),
        format!("Content-Length : {length}\r\n"),
        "Content-Length: -1\r\n".to_owned(),
        "Content-Length: 99999999999999999999999\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding: gzip\r\n".to_owned(),
        format!("Content-Length: {length}\r\nContent-Type: text/plain\r\n"),
        format!("Content-Length: {length}\r\nMcp-Session-Id: a\r\nMcp-Session-Id: b\r\n"),
        format!(
            "Content-Length: {length}\r\nMCP-Protocol-Version: a\r\nMcp-Protocol-Version: b\r\n"
        ),
        format!("Content-Length: {length}\r\nMcp-Method: a\r\nMcp-Method: initialize\r\n"),
        format!("Content-Length: {length}\r\nMcp-Param-A: a\r\nmcp-param-a: b\r\n"),
    ] {
        let answer = site.talk(post(&headers, &body));
        let status = answer.get(9..12).unwrap_or("none");
        assert!(["none", "400", "404", "415", "501"].contains(&status), "{headers}: {answer}");
        assert!(!answer.contains("protocolVersion"), "{headers}: {answer}");
    }
    site.is_well();
}

/// A request hidden behind the body of another is not carried out, whoever a proxy believed.
#[test]
fn nothing_is_smuggled_behind_a_body() {
    let site = Site::start(&[]);
    let hidden = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let body = format!("0\r\n\r\n{hidden}");
    let headers = format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", body.len());
    let answer = site.talk(post(&headers, &body).replace("Connection: close\r\n", ""));
    assert!(!answer.contains("mcp_connections"), "{answer}");
    site.is_well();
}

#[test]
fn bytes_that_belong_in_no_head_are_refused() {
    let site = Site::start(&[]);
    for bytes in [
        b"GET /mcp\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n".as_slice(),
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX Y: a\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded: a\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\r\n\r\n\r\n\r\nnonsense\r\n\r\n",
    ] {
        let mut socket = site.connect();
        socket.write_all(bytes).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let refused = answer.is_empty()
            || answer.starts_with("HTTP/1.1 4")
            || answer.starts_with("HTTP/1.1 5");
        assert!(refused, "{:?}: {answer}", String::from_utf8_lossy(bytes));
    }
    site.is_well();
}

/// What a client says of itself comes back in headers here and there, but never makes new ones.
#[test]
fn no_header_of_ours_is_made_of_theirs() {
    let site = Site::start(&["--allow-origin", "http://a.example"]);
    for injected in ["%0d%0aX-Injected: yes", "\\r\\nX-Injected: yes", "\tX-Injected: yes"] {
        let preflight = format!(
            "OPTIONS /mcp?{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Origin: http://a.example\r\nAccess-Control-Request-Headers: a{injected}\r\n\r\n",
            injected.replace([' ', '\t'], "+")
        );
        let answer = site.talk(preflight).to_ascii_lowercase();
        assert!(!answer.contains("\r\nx-injected"), "{answer}");
    }
    let body = initialize().to_string();
    let headers = format!("Content-Length: {}\r\nMcp-Session-Id: a\u{e9}b\r\n", body.len());
    assert!([400, 404].contains(&site.status(post(&headers, &body))));
}

#[test]
fn a_long_head_is_refused() {
    let site = Site::start(&[]);
    let before = site.kib();
    for head in [
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(1 << 20)),
        format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(1 << 20)),
        format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: a\r\n".repeat(100_000)),
    ] {
        let status = site.status(&head);
        assert!([0, 400, 414, 431].contains(&status), "{status}");
    }
    assert!(site.kib() < before + 4 * 1024, "{} KiB", site.kib() - before);
    site.is_well();
}

/// Heads and bodies that come a byte at a time wait; nobody else does.
#[test]
fn slow_requests_are_in_nobodys_way() {
    let site = Site::start(&[]);
    let descriptors = site.server.descriptors().unwrap();
    let request = post("Content-Length: 1000\r\n", "{\"jsonrpc\":");
    let mut slow: Vec<_> = (0..500).map(|_| site.connect()).collect();
    for step in request.as_bytes().chunks(request.len() / 8) {
        for socket in &mut slow {
            socket.write_all(step).unwrap();
        }
        site.is_well();
    }
    drop(slow);
    site.returns_to(descriptors);
}

/// Who closes one side is taken for gone: a client that hangs up looks the same at first. It gets
/// its answer or none, but is never waited for.
#[test]
fn half_closed_sockets_are_given_back() {
    let site = Site::start(&[]);
    let descriptors = site.server.descriptors().unwrap();
    for _ in 0..50 {
        let mut socket = site.connect();
        let body = initialize().to_string();
        let headers = format!("Content-Length: {}\r\n", body.len());
        socket.write_all(post(&headers, &body).as_bytes()).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    // Half a request, and then nothing more to come.
    let mut halves = Vec::new();
    for cut in [10, 60, 120, 170] {
        let mut socket = site.connect();
        let whole = post("Content-Length: 100\r\n", &json!({"jsonrpc": "2.0"}).to_string());
        socket.write_all(&whole.as_bytes()[..cut]).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        halves.push(socket);
    }
    site.is_well();
    site.returns_to(descriptors);
}
