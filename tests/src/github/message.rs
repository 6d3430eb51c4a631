//! Requests and answers of HTTP/1.1 as bytes, as far as the proxy must understand them: half an
//! answer is what no library sends.

use std::io::Read;
use std::net::TcpStream;

use anyhow::{Result, ensure};

const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Head and body of a request or an answer.
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
    /// Where the blank line begins.
    end: usize,
}

impl Message {
    /// A request; its length is what its head says.
    pub(super) fn read(stream: &mut TcpStream) -> Result<Self> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 16 * 1024];
        loop {
            if let Some(message) = Self::whole(bytes.clone()) {
                let length = message.header("content-length").and_then(|text| text.parse().ok());
                if message.body().len() >= length.unwrap_or(0) {
                    return Ok(message);
                }
            }
            let count = stream.read(&mut buffer)?;
            ensure!(count > 0 && bytes.len() < MAX_BYTES, "closed, or too long");
            bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
    }

    /// What has a blank line.
    pub(super) fn whole(bytes: Vec<u8>) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        Some(Self { bytes, end })
    }

    pub(super) fn head(&self) -> &str {
        std::str::from_utf8(self.bytes.get(..self.end).unwrap_or_default()).unwrap_or_default()
    }

    pub(super) fn first_line(&self) -> &str {
        self.head().lines().next().unwrap_or_default()
    }

    pub(super) fn body(&self) -> &[u8] {
        self.bytes.get(self.end + 4..).unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head().lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}
