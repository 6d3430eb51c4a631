//! A proxy that breaks things: it stands between the server and the emulator, adds what the
//! emulator lacks (401, ETags, repositories by number, cursors, the prefix of an Enterprise Server,
//! the end of a search) and does to single requests what a test has asked for.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::message::Message;
use super::paging;
use super::stand::TOKEN;

/// What paths begin with on an Enterprise Server; requests without it pass as well.
const PREFIX: &str = "/api/v3";
/// The seeded repository, by name and as redirects name it.
pub(super) const REPO: &str = "/repos/octocat/hello";
pub(super) const REPO_BY_NUMBER: &str = "/repositories/1";
/// GitHub shows no more results of any search.
const MAX_SEARCH_PAGE: u64 = 10;
const NO_MORE: &[u8] = br#"{"message":"Only the first 1000 search results are available"}"#;

/// What happens to one request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The emulator never sees it; this status, with these headers, is the answer.
    Answer(&'static str, &'static [(&'static str, &'static str)]),
    /// The same with this body instead of headers.
    Says(&'static str, &'static [u8]),
    /// The emulator never sees it, and the connection is closed.
    DropBefore,
    /// The emulator carries it out, and the connection is closed.
    DropAfter,
    /// The emulator carries it out, and this is the answer instead.
    AnswerAfter(&'static str),
    /// The emulator carries it out, and the answer comes this late.
    Delay(Duration),
    /// The emulator carries it out, and only so many bytes of the answer come.
    Truncate(usize),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `POST` and the like.
    pub method: String,
    /// With the query, without the prefix.
    pub path: String,
    /// The credentials as they came; empty if there were none.
    pub authorization: String,
    /// `null` if there was none.
    pub body: Value,
}

#[derive(Default)]
struct State {
    /// Method, a part of the path, what happens; each is used once.
    faults: Vec<(&'static str, &'static str, Fault)>,
    seen: Vec<Seen>,
    /// Handed out to GitHub Apps.
    tokens: Vec<String>,
}

/// Listens until the process ends.
pub struct Proxy {
    /// Without a slash at the end.
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// # Errors
    /// If there is no port to listen on.
    pub fn start(emulator: SocketAddr) -> Result<Self> {
        Self::listen("127.0.0.1:0", emulator)
    }

    /// # Errors
    /// If the address cannot be listened on.
    pub fn listen(address: &str, emulator: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address)?;
        let url = format!("http://{}", listener.local_addr()?);
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                // A connection the server gave up is no matter of ours.
                std::thread::spawn(move || serve(stream, emulator, &state).ok());
            }
        });
        Ok(Self { url, state })
    }

    /// The next request of this method to a path with `part` in it meets the fault.
    pub fn next(&self, method: &'static str, part: &'static str, fault: Fault) {
        lock(&self.state).faults.push((method, part, fault));
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.state).seen.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, emulator: SocketAddr, state: &Mutex<State>) -> Result<()> {
    let request = Message::read(&mut stream)?;
    let mut words = request.first_line().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (prefix, path) = match path.strip_prefix(PREFIX) {
        Some(path) => (PREFIX, path),
        None => ("", path),
    };
    let body = serde_json::from_slice(request.body()).unwrap_or_default();
    let (fault, is_known) = {
        let mut state = lock(state);
        let authorization = request.header("authorization").unwrap_or_default().to_owned();
        state.seen.push(Seen {
            method: method.to_owned(),
            path: path.to_owned(),
            authorization,
            body,
        });
        let planned =
            state.faults.iter().position(|(m, part, _)| *m == method && path.contains(part));
        (planned.map(|index| state.faults.remove(index).2), may_enter(&request, path, &state))
    };
    if !is_known {
        let body = br#"{"message":"Bad credentials"}"#;
        return respond(&mut stream, "401 Unauthorized", &[], body);
    }
    if let Some(refusal) = no_such_page(path) {
        return respond(&mut stream, "422 Unprocessable Entity", &[], refusal);
    }
    match fault {
        Some(Fault::DropBefore) => return Ok(()),
        Some(Fault::Answer(status, headers)) => {
            return respond(&mut stream, status, headers, b"{}");
        }
        Some(Fault::Says(status, body)) => {
            remember_token(path, body, state);
            return respond(&mut stream, status, &[], body);
        }
        _ => {}
    }
    let base = format!("http://{}{prefix}", request.header("host").unwrap_or_default());
    let answer = paging::relinked(forward(&request, method, path, emulator)?, &base);
    remember_token(path, answer.body(), state);
    match fault {
        Some(Fault::DropAfter) => Ok(()),
        Some(Fault::AnswerAfter(status)) => {
            respond(&mut stream, status, &[], b"<html>Unicorn!</html>")
        }
        Some(Fault::Truncate(bytes)) => {
            Ok(stream.write_all(answer.bytes.get(..bytes).unwrap_or(&answer.bytes))?)
        }
        Some(Fault::Delay(time)) => {
            std::thread::sleep(time);
            Ok(stream.write_all(&answer.bytes)?)
        }
        _ => answer_with_etag(&mut stream, &request, method, &answer),
    }
}

/// To the emulator any stranger is the administrator. It refuses all of an App's own requests, as
/// it takes the private key for the public one.
fn may_enter(request: &Message, path: &str, state: &State) -> bool {
    let given = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    given.is_some_and(|token| {
        token == TOKEN || path.starts_with("/app/") || state.tokens.iter().any(|t| t == token)
    })
}

fn remember_token(path: &str, answer: &[u8], state: &Mutex<State>) {
    let text = String::from_utf8_lossy(answer);
    if path.ends_with("/access_tokens")
        && let Some((_, rest)) = text.split_once("\"token\":\"")
        && let Some((token, _)) = rest.split_once('"')
    {
        lock(state).tokens.push(token.to_owned());
    }
}

fn no_such_page(path: &str) -> Option<&'static [u8]> {
    let page = path.split(['?', '&']).find_map(|pair| pair.strip_prefix("page="));
    let page = page.and_then(|page| page.parse::<u64>().ok());
    if path.starts_with("/search/") && page.is_some_and(|page| page > MAX_SEARCH_PAGE) {
        return Some(NO_MORE);
    }
    paging::is_by_number(path).then_some(paging::NOT_BY_NUMBER)
}

fn respond(
    stream: &mut TcpStream,
    status: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<()> {
    let mut head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    Ok(stream.write_all(&[head.as_bytes(), body].concat())?)
}

/// One connection a request, closed by the emulator: where it ends needs no parsing then.
fn forward(request: &Message, method: &str, path: &str, emulator: SocketAddr) -> Result<Message> {
    let path = paging::for_the_emulator(path);
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {emulator}\r\nconnection: close\r\n");
    for line in request.head().lines().skip(1) {
        let name = line.split(':').next().unwrap_or_default().to_lowercase();
        if !matches!(name.as_str(), "host" | "connection" | "") {
            head += &format!("{line}\r\n");
        }
    }
    let mut stream = TcpStream::connect(emulator)?;
    stream.write_all(&[head.as_bytes(), b"\r\n", request.body()].concat())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Message::whole(bytes).context("the emulator's answer has no head")
}

/// GitHub answers 304 where nothing has changed; the emulator does not.
fn answer_with_etag(
    stream: &mut TcpStream,
    request: &Message,
    method: &str,
    answer: &Message,
) -> Result<()> {
    if method != "GET" || !answer.first_line().contains(" 200 ") {
        return Ok(stream.write_all(&answer.bytes)?);
    }
    let mut hasher = DefaultHasher::new();
    answer.body().hash(&mut hasher);
    let etag = format!("\"{:x}\"", hasher.finish());
    if request.header("if-none-match") == Some(etag.as_str()) {
        return Ok(stream.write_all(b"HTTP/1.1 304 Not Modified\r\nconnection: close\r\n\r\n")?);
    }
    let head = format!("{}\r\netag: {etag}\r\n\r\n", answer.head());
    Ok(stream.write_all(&[head.as_bytes(), answer.body()].concat())?)
}
