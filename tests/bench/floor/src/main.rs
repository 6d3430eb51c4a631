//! Lower bounds for a server, to tell "slow" from "as fast as the machine allows".
//!
//! `http`: hyper by itself, see `http.rs`.
//!
//! `blocking`: standard blocking reads and writes. `inline`: a current-thread runtime on
//! non-blocking pipes, each request a boxed future polled once on the spot. Both parse the request
//! and serialise the reply honestly (`answer.rs`); neither knows revisions, limits or cancellation.
mod answer;
mod http;

use std::future::Future;
use std::io::{BufRead, BufReader, Result, Write};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

const READ_BUFFER_BYTES: usize = 64 * 1024;
const KEEP_BUFFER_BYTES: usize = 1024 * 1024;

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("blocking") => blocking(),
        Some("http") => http::serve(),
        Some("inline") => tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?
            .block_on(inline()),
        _ => Err(std::io::Error::other("usage: bench-floor blocking|inline|http")),
    }
}

fn blocking() -> Result<()> {
    let mut input = BufReader::with_capacity(READ_BUFFER_BYTES, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let (mut line, mut replies) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        answer::answer(&line, &mut replies);
        line.clear();
        if no_further_line(input.buffer()) {
            output.write_all(&replies)?;
            output.flush()?;
            recycle(&mut replies);
        }
    }
    Ok(())
}

async fn inline() -> Result<()> {
    let stdin = pipe::Receiver::from_owned_fd(std::io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut output = pipe::Sender::from_owned_fd(std::io::stdout().as_fd().try_clone_to_owned()?)?;
    let mut input = tokio::io::BufReader::with_capacity(READ_BUFFER_BYTES, stdin);
    let (mut line, mut replies) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line).await? > 0 {
        let mut handler = handler(std::mem::take(&mut line));
        match handler
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(reply) => replies.extend_from_slice(&reply),
            Poll::Pending => {
                return Err(std::io::Error::other("the floor has no waiting handlers"));
            }
        }
        if no_further_line(input.buffer()) {
            output.write_all(&replies).await?;
            recycle(&mut replies);
        }
    }
    Ok(())
}

type Handler = Pin<Box<dyn Future<Output = Vec<u8>> + Send>>;

fn handler(line: Vec<u8>) -> Handler {
    Box::pin(async move {
        let mut reply = Vec::with_capacity(192);
        answer::answer(&line, &mut reply);
        reply
    })
}

/// One write per readable batch: replies wait until the read buffer holds no complete line.
fn no_further_line(buffered: &[u8]) -> bool {
    memchr::memchr(b'\n', buffered).is_none()
}

fn recycle(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(KEEP_BUFFER_BYTES);
}
