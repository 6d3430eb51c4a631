//! A small server that is correct in every revision, except for the one defect it is told to have.
//!
//! It exists to prove the engine: without a defect every check must be green, and with one exactly
//! the checks that are about it must turn red. `broken NAME` starts it with the defect NAME on its
//! pipes, `broken --http NAME` over HTTP.
//!
//! Reading order: this file feeds lines and timers to `server.rs`, which answers; `work.rs` holds
//! the methods every revision has, `ask.rs` the tools that ask, `tasks.rs` the one whose calls go on as tasks, `catalog.rs` what is served; `defects.rs` spoils what goes in
//! and out. Over HTTP `front.rs` takes requests
//! and serves the newest revision, `sessions.rs` the others; `http1.rs` reads, `gate.rs` judges, `guard.rs` demands a token, `streams.rs` sorts what the server says into their responses.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a JSON value by a key it lacks gives null; slices are read with `get`"
)]

mod server;
mod work;
mod ask;
mod tasks;
mod catalog;
mod defects;
mod front;
mod sessions;
mod http1;
mod gate;
mod guard;
mod streams;

use defects::{Defect, Spoiled};
use guard::Guard;
use server::Server;
use std::io::{self, BufRead, Read};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;

/// Longer lines are dropped up to their newline and refused.
const LINE_BYTES: u64 = 8 * 1024 * 1024;
/// Bounded, so that a server that cannot write stops reading as well.
const QUEUED_LINES: usize = 64;

/// One line of input, or why there is none.
pub(crate) enum Input {
    Line(Vec<u8>),
    TooLong,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let over_http = arguments.next_if_eq("--http").is_some();
    let defect = Defect::named(&arguments.next().unwrap_or_default());
    if over_http {
        let Some(guard) = Guard::of(&arguments.collect::<Vec<_>>()) else {
            return ExitCode::FAILURE;
        };
        return front::serve(defect, guard);
    }
    let (sender, lines) = mpsc::sync_channel(QUEUED_LINES);
    thread::spawn(move || read_lines(&sender));
    run(defect, &lines)
}

/// Serves line after line to the end of input.
pub(crate) fn run(defect: Defect, lines: &Receiver<Input>) -> ExitCode {
    let mut server = Server::new(defect);
    while let Some(input) = next_input(lines, &mut server) {
        match input {
            Input::TooLong => server.refuse_line(),
            Input::Line(line) => match defect.spoil_input(line) {
                Spoiled::Serve(line) => server.serve_line(&line),
                Spoiled::Ignore => {}
                Spoiled::Die => return ExitCode::FAILURE,
            },
        }
    }
    defect.at_end()
}

/// Waits for a line and meanwhile runs what is due; `None` at the end of input.
fn next_input(lines: &Receiver<Input>, server: &mut Server) -> Option<Input> {
    loop {
        let received = match server.next_due() {
            Some(wait) => lines.recv_timeout(wait),
            None => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok(input) => return Some(input),
            Err(RecvTimeoutError::Timeout) => server.run_due(),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn read_lines(lines: &SyncSender<Input>) {
    let mut stdin = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = (&mut stdin).take(LINE_BYTES).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        let complete = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES;
        let input = if complete { Input::Line(line) } else { Input::TooLong };
        if !complete && stdin.skip_until(b'\n').is_err() || lines.send(input).is_err() {
            return;
        }
    }
}
