//! OAuth over HTTP: a server of ours, and an authorization server that hands out good tokens and
//! every kind of bad one.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use workspace_tests::clock::{Instant, PATIENCE};

use crate::built;

const RESOURCE: &str = "http://mcp.test/mcp";

/// Key pairs made for this test and for nothing else: name, private key, x, y.
const KEYS: [(&str, &str, &str, &str); 2] = [
    (
        "first",
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLHCYSSGhWEZpIMvwrFy3pFIQC14nsOxcTMi+NB8Pzr6hRANCAAQu3lWFddx2M5BSBk4+40RXBLax11NvmzdvVwB8q4AT0zArRxldmoqWgN/FC1kUVH8PP+6Y4vLwCEVFDPJK7o0A",
        "Lt5VhXXcdjOQUgZOPuNEVwS2sddTb5s3b1cAfKuAE9M",
        "MCtHGV2aipaA38ULWRRUfw8_7pji8vAIRUUM8krujQA",
    ),
    (
        "second",
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjxbNFHIU/P7Kp/q2fptFIoqi3hf794ylG2iFgN3bnqyhRANCAAQagEgk1LmeUX9Z2eCRFt+5I5R4/BUjebTrc4l1AK47Z0MUQTisVMUZAbONc0NRj63GSvPGBNMrrggpas+lKRjv",
        "GoBIJNS5nlF_WdngkRbfuSOUePwVI3m063OJdQCuO2c",
        "QxRBOKxUxRkBs41zQ1GPrcZK88YE0yuuCClqz6UpGO8",
    ),
];

const FIRST: usize = 0;
const SECOND: usize = 1;

#[test]
fn only_tokens_for_us_and_of_our_authorization_server_open() {
    let issuer = AuthorizationServer::start();
    let server = Server::start(&issuer, &["--oauth-scope", "mcp:use"]);
    let now = now();
    let with = |change: Value| {
        let mut claims = issuer.claims("ada");
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    };
    let good = sign(FIRST, &issuer.claims("ada"));
    let unsigned = format!(
        "{}.{}.",
        URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#),
        URL_SAFE_NO_PAD.encode(issuer.claims("ada").to_string())
    );
    let (head, rest) = good.split_once('.').unwrap();
    let (_, signature) = rest.split_once('.').unwrap();
    let forged = URL_SAFE_NO_PAD.encode(issuer.claims("eve").to_string());
    for (token, status, why) in [
        (Some(good.clone()), 200, "good"),
        (Some(sign(FIRST, &with(json!({"aud": ["other", RESOURCE]})))), 200, "among audiences"),
        (Some(sign(FIRST, &with(json!({"exp": now - 30})))), 200, "within the clocks' difference"),
        (None, 401, "none"),
        (Some(String::new()), 401, "empty"),
        (Some("not.a.token".to_owned()), 401, "nonsense"),
        (Some(sign(FIRST, &with(json!({"aud": "https://other.test"})))), 401, "for another"),
        (Some(sign(FIRST, &with(json!({"aud": null})))), 401, "for nobody"),
        (Some(sign(FIRST, &with(json!({"iss": "https://other.test"})))), 401, "of another issuer"),
        (Some(sign(FIRST, &with(json!({"exp": now - 120})))), 401, "expired"),
        (Some(sign(FIRST, &with(json!({"nbf": now + 120})))), 401, "not valid yet"),
        (Some(sign(FIRST, &with(json!({"sub": ""})))), 401, "of nobody"),
        (Some(sign(SECOND, &issuer.claims("ada"))), 401, "by an unknown key"),
        (Some(sign_as(SECOND, "first", &issuer.claims("ada"))), 401, "by another key"),
        (Some(by_secret(&issuer.claims("ada"))), 401, "signed by the public key as a secret"),
        (Some(unsigned), 401, "alg: none"),
        (Some(format!("{head}.{forged}.{signature}")), 401, "with other claims"),
        (Some(sign(FIRST, &with(json!({"scope": "other"})))), 403, "without the scope"),
    ] {
        let reply = server.post(token.as_deref(), "", &list_tools());
        assert_eq!(reply.status, status, "{why}: {}", reply.body);
        let challenge = reply.headers.get("www-authenticate").map(String::as_str);
        let error = match (status, &token) {
            (200, _) => None,
            (401, None) => Some(""),
            (401, _) => Some(", error=\"invalid_token\""),
            _ => Some(", error=\"insufficient_scope\""),
        };
        let right = error.map(|error| {
            let metadata = "http://mcp.test/.well-known/oauth-protected-resource/mcp";
            format!("Bearer resource_metadata=\"{metadata}\", scope=\"mcp:use\"{error}")
        });
        assert_eq!(challenge, right.as_deref(), "{why}");
        assert!(!reply.body.contains("ada"), "{why}");
    }
    let in_query = server.post(None, &format!("?access_token={good}"), &list_tools());
    assert_eq!(in_query.status, 401);
}

#[test]
fn everybody_may_read_who_issues_the_tokens() {
    let issuer = AuthorizationServer::start();
    let server = Server::start(&issuer, &["--oauth-scope", "mcp:use"]);
    for path in
        ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]
    {
        let reply = server.request("GET", path, &[], "");
        let document: Value = serde_json::from_str(&reply.body).unwrap();
        let right = json!({
            "resource": RESOURCE,
            "authorization_servers": [issuer.url],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["mcp:use"],
        });
        assert_eq!((reply.status, document), (200, right), "{path}");
    }
}

#[test]
fn a_tool_may_need_a_scope_of_its_own() {
    let issuer = AuthorizationServer::start();
    let server = Server::start(&issuer, &["--oauth-tool-scope", "greet=greeting"]);
    let mut claims = issuer.claims("ada");
    let call = call("greet", &json!({"name": "you"}));
    let refused = server.post(Some(&sign(FIRST, &claims)), "", &call);
    assert_eq!(refused.status, 403);
    assert!(refused.headers["www-authenticate"].contains("scope=\"greeting\""));
    claims["scope"] = json!("mcp:use greeting");
    let served = server.post(Some(&sign(FIRST, &claims)), "", &call);
    assert!(served.status == 200 && served.body.contains("Hello, you!"), "{}", served.body);
}

#[test]
fn new_keys_are_asked_for_and_old_ones_serve_while_nobody_answers() {
    let issuer = AuthorizationServer::start();
    let server = Server::start(&issuer, &[]);
    let of = |key| sign(key, &issuer.claims("ada"));
    assert_eq!(server.post(Some(&of(FIRST)), "", &list_tools()).status, 200);
    issuer.state.lock().unwrap().keys = vec![FIRST, SECOND];
    let deadline = Instant::now() + PATIENCE;
    // Whoever sends unknown keys all the time must not make us ask all the time.
    while server.post(Some(&of(SECOND)), "", &list_tools()).status != 200 {
        assert!(Instant::now() < deadline, "the new key is never asked for");
        thread::sleep(Duration::from_millis(50));
    }
    issuer.state.lock().unwrap().keys = vec![];
    assert_eq!(server.post(Some(&of(FIRST)), "", &list_tools()).status, 200);
}

#[test]
fn without_its_authorization_server_a_server_says_so() {
    let issuer = AuthorizationServer::start();
    let server = Server::start(&issuer, &[]);
    issuer.state.lock().unwrap().is_down = true;
    let token = sign(FIRST, &issuer.claims("ada"));
    assert_eq!(server.post(Some(&token), "", &list_tools()).status, 503);
    issuer.state.lock().unwrap().is_down = false;
    assert_eq!(server.post(Some(&token), "", &list_tools()).status, 200);
}

#[test]
fn a_session_is_its_principals() {
    let issuer = AuthorizationServer::start();
    let server = Server::start(&issuer, &[]);
    let bearer = |name: &str| format!("Bearer {}", sign(FIRST, &issuer.claims(name)));
    let (ada, eve) = (bearer("ada"), bearer("eve"));
    let opened = server.request("POST", "/mcp", &[("authorization", &ada)], &initialize());
    let session = opened.headers["mcp-session-id"].clone();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    for (who, status) in [(&ada, 200), (&eve, 404)] {
        let headers = [("authorization", who.as_str()), ("mcp-session-id", session.as_str())];
        assert_eq!(server.request("POST", "/mcp", &headers, &ping).status, status);
    }
}

#[test]
fn tokens_that_only_the_authorization_server_can_read_are_asked_about() {
    let issuer = AuthorizationServer::start();
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("client");
    std::fs::write(&credentials, "mcp:secret\n").unwrap();
    let url = format!("{}/introspect", issuer.url);
    let credentials = credentials.to_str().unwrap();
    let server = Server::start(
        &issuer,
        &["--oauth-introspection-url", &url, "--oauth-client-file", credentials],
    );
    for (token, status) in
        [("good", 200), ("good", 200), ("inactive", 401), ("other-audience", 401), ("expired", 401)]
    {
        assert_eq!(server.post(Some(token), "", &list_tools()).status, status, "{token}");
    }
    let asked = issuer.state.lock().unwrap().introspections.clone();
    let good: Vec<_> = asked.iter().filter(|asked| asked.contains("token=good")).collect();
    assert_eq!(good.len(), 1, "a token that was good is believed for a while");
    let credentials = STANDARD.encode("mcp:secret");
    assert!(asked.iter().all(|asked| asked.contains(&format!("Basic {credentials}"))));
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn sign(key: usize, claims: &Value) -> String {
    sign_as(key, KEYS[key].0, claims)
}

fn sign_as(key: usize, name: &str, claims: &Value) -> String {
    let header = Header { kid: Some(name.to_owned()), ..Header::new(Algorithm::ES256) };
    let key = EncodingKey::from_ec_der(&STANDARD.decode(KEYS[key].1).unwrap());
    encode(&header, claims, &key).unwrap()
}

/// What a checker takes for good that lets the token choose how it is checked.
fn by_secret(claims: &Value) -> String {
    let header = Header { kid: Some("first".to_owned()), ..Header::new(Algorithm::HS256) };
    let key = EncodingKey::from_secret(KEYS[FIRST].2.as_bytes()).unwrap();
    encode(&header, claims, &key).unwrap()
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn list_tools() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}})
        .to_string()
}

fn call(name: &str, arguments: &Value) -> String {
    let params = json!({"name": name, "arguments": arguments, "_meta": meta()});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn initialize() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "oauth", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

struct Server {
    child: Child,
    address: String,
}

struct Reply {
    status: u16,
    headers: HashMap<String, String>,
    body: String,
}

impl Server {
    fn start(issuer: &AuthorizationServer, flags: &[&str]) -> Server {
        let mut child = Command::new(built::binary("mcp-everything"))
            .args(["--http", "127.0.0.1:0", "--oauth-issuer", &issuer.url])
            .args(["--oauth-resource", RESOURCE, "--log", "off"])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        Server { child, address: address.expect("a URL").to_owned() }
    }

    /// A request of 2026-07-28 with all the headers it needs.
    fn post(&self, token: Option<&str>, query: &str, body: &str) -> Reply {
        let message: Value = serde_json::from_str(body).unwrap();
        let method = message["method"].as_str().unwrap();
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend(message["params"]["name"].as_str().map(|name| ("mcp-name", name)));
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        self.request("POST", &format!("/mcp{query}"), &headers, body)
    }

    fn request(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut head = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n");
        head += "connection: close\r\ncontent-type: application/json\r\n";
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        Reply {
            status: status.parse().unwrap(),
            headers: lines.map(header).collect(),
            body: body.to_owned(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct AuthorizationServer {
    url: String,
    state: Arc<Mutex<State>>,
}

struct State {
    /// The keys that are published.
    keys: Vec<usize>,
    is_down: bool,
    /// What was asked about tokens, heads and all.
    introspections: Vec<String>,
}

impl AuthorizationServer {
    fn start() -> AuthorizationServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = State { keys: vec![FIRST], is_down: false, introspections: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let server = AuthorizationServer { url: url.clone(), state: Arc::clone(&state) };
        // It ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &url, &state);
            }
        });
        server
    }

    fn claims(&self, name: &str) -> Value {
        json!({
            "iss": self.url,
            "aud": RESOURCE,
            "sub": name,
            "exp": now() + 600,
            "scope": "mcp:use",
        })
    }
}

fn serve(mut stream: TcpStream, url: &str, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {}
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let mut state = state.lock().unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let answer = match path {
        _ if state.is_down => None,
        "/.well-known/oauth-authorization-server" => {
            Some(json!({"issuer": url, "jwks_uri": format!("{url}/keys")}))
        }
        "/keys" => {
            let key = |key: &usize| {
                let (name, _, x, y) = KEYS[*key];
                json!({"kty": "EC", "crv": "P-256", "kid": name, "alg": "ES256", "x": x, "y": y})
            };
            Some(json!({"keys": state.keys.iter().map(key).collect::<Vec<_>>()}))
        }
        "/introspect" => {
            let body = String::from_utf8(body).unwrap();
            state.introspections.push(format!("{head}{body}"));
            let token = body.split('&').find_map(|pair| pair.strip_prefix("token="));
            Some(introspect(token.unwrap_or_default()))
        }
        _ => None,
    };
    let status = if answer.is_some() { "200 OK" } else { "404 Not Found" };
    let body = answer.unwrap_or_default().to_string();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n");
    // The asker may have given up.
    let _ =
        write!(stream, "{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
}

fn introspect(token: &str) -> Value {
    let good = json!({"active": true, "sub": "ada", "aud": RESOURCE, "exp": now() + 600});
    match token {
        "good" => good,
        "other-audience" => json!({"active": true, "sub": "ada", "aud": "https://other.test"}),
        "expired" => json!({"active": true, "sub": "ada", "aud": RESOURCE, "exp": now() - 1}),
        _ => json!({"active": false}),
    }
}

#[test]
fn the_flags_are_checked_at_the_start() {
    for flags in [
        vec!["--oauth-issuer", "http://issuer.example", "--oauth-resource", RESOURCE],
        vec!["--oauth-issuer", "https://issuer.example"],
        vec!["--oauth-resource", RESOURCE],
    ] {
        let output = Command::new(built::binary("mcp-everything"))
            .args(["--http", "127.0.0.1:0"])
            .args(&flags)
            .output()
            .unwrap();
        assert!(!output.status.success(), "{flags:?}");
        assert!(!output.stderr.is_empty(), "{flags:?}");
    }
}
