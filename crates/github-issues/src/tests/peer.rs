//! A GitHub made of one function: each request is recorded and given to it, and it says what to
//! do. Written on the socket itself, because half an answer is what no HTTP server library sends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::contract::breach;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    /// All header lines, in lower case.
    pub(crate) head: String,
    /// The credentials as they came.
    pub(crate) authorization: String,
    pub(crate) body: Value,
}

impl Seen {
    /// `GET /path`, without the query.
    pub(crate) fn what(&self) -> String {
        format!("{} {}", self.method, self.path.split('?').next().unwrap())
    }
}

/// What the peer does with a request.
pub(crate) enum Act {
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Close the connection without a word.
    Drop,
    /// Say nothing for as long as the test lasts.
    Hang,
    /// Promise more bytes than come.
    Truncate(Vec<u8>),
}

pub(crate) fn json(status: u16, body: &Value) -> Act {
    Act::Answer { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

impl Act {
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

pub(crate) struct Peer {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// What paths begin with before GitHub's own begin.
    pub(crate) prefix: &'static str,
    /// The test makes the server send what GitHub does not describe.
    pub(crate) is_forged: bool,
}

/// Every request must be one GitHub describes.
impl Drop for Peer {
    fn drop(&mut self) {
        if std::thread::panicking() || self.is_forged {
            return;
        }
        for seen in self.seen() {
            let path = seen.path.strip_prefix(self.prefix).unwrap_or(&seen.path);
            let breach = breach(&seen.method, path, &seen.body);
            assert_eq!(breach, None, "{} {} {}", seen.method, seen.path, seen.body);
        }
    }
}

type Handler = dyn FnMut(&Seen) -> Act + Send;

impl Peer {
    pub(crate) async fn start(handler: impl FnMut(&Seen) -> Act + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let handler: Arc<Mutex<Box<Handler>>> = Arc::new(Mutex::new(Box::new(handler)));
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                tokio::spawn(serve(stream, Arc::clone(&log), Arc::clone(&handler)));
            }
        });
        Self { url, seen, prefix: "", is_forged: false }
    }

    /// One that answers every request with the same.
    pub(crate) async fn always(status: u16, body: Value) -> Self {
        Self::start(move |_| json(status, &body)).await
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The requests that write.
    pub(crate) fn writes(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.method != "GET").collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    log: Arc<Mutex<Vec<Seen>>>,
    handler: Arc<Mutex<Box<Handler>>>,
) {
    let Some(seen) = read(&mut stream).await else { return };
    log.lock().unwrap().push(seen.clone());
    let act = (handler.lock().unwrap())(&seen);
    match act {
        Act::Drop => {}
        Act::Hang => tokio::time::sleep(Duration::from_secs(3600)).await,
        Act::Truncate(body) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len() + 1000);
            let _ = stream.write_all(&[head.as_bytes(), body.as_slice()].concat()).await;
        }
        Act::Answer { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            head += &format!("content-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(&[head.as_bytes(), body.as_slice()].concat()).await;
            let _ = stream.shutdown().await;
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let (first, headers) = head.split_once("\r\n").unwrap();
    let authorization = headers.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then(|| value.to_owned())
    });
    let headers = headers.to_lowercase();
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + 4 + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or_default();
    let authorization = authorization.unwrap_or_default();
    Some(Seen { method, path, head: headers, authorization, body })
}
