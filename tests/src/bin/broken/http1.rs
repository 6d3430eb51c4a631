//! Just enough HTTP/1.1: one request after the other on a connection, bodies of known length.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A longer body is read past.
const BODY_BYTES: usize = 8 * 1024 * 1024;

pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// Names as they came.
    pub(crate) headers: Vec<(String, String)>,
    /// `None` if it was too long.
    pub(crate) body: Option<Vec<u8>>,
}

/// A response but for its body.
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
}

pub(crate) fn head(status: u16) -> Head {
    Head { status, headers: Vec::new() }
}

impl Head {
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Head {
        self.headers.push((name, value.into()));
        self
    }
}

impl Request {
    pub(crate) fn read(from: &mut BufReader<TcpStream>) -> Option<Request> {
        let line = line(from)?;
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (path, query) = (path.to_owned(), query.to_owned());
        let mut headers = Vec::new();
        loop {
            let line = self::line(from)?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut request = Request { method, path, query, headers, body: None };
        let length = request.header("content-length").and_then(|length| length.parse().ok());
        request.body = body(from, length.unwrap_or(0)).ok()?;
        Some(request)
    }

    pub(crate) fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let same = move |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.headers.iter().filter(same).map(|(_, value)| value.as_str())
    }
}

fn line(from: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).ok().filter(|count| *count > 0)?;
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn body(from: &mut BufReader<TcpStream>, length: usize) -> io::Result<Option<Vec<u8>>> {
    if length > BODY_BYTES {
        io::copy(&mut from.take(length as u64), &mut io::sink())?;
        return Ok(None);
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(body))
}

/// A whole response; the connection may go on.
pub(crate) fn answer(to: &mut TcpStream, head: Head, body: &[u8]) -> io::Result<()> {
    let head = head.with("content-length", body.len().to_string());
    to.write_all(&[written(&head).as_bytes(), body].concat())
}

/// The beginning of a response that ends with its connection.
pub(crate) fn begin(to: &mut TcpStream, head: Head) -> io::Result<()> {
    to.write_all(written(&head.with("connection", "close")).as_bytes())
}

fn written(head: &Head) -> String {
    let headers = head.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    format!("HTTP/1.1 {} Broken\r\n{}\r\n", head.status, headers.collect::<String>())
}

/// Whether the peer has closed its side, without waiting.
pub(crate) fn has_gone(stream: &TcpStream) -> bool {
    let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let gone = match looked {
        Ok(count) => count == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    };
    stream.set_nonblocking(false).is_err() || gone
}
