//! The pipes, or the terminal, between the server and the programs of a call. A program that does
//! not read or does not stop printing is dealt with by threads of its own, and holds up nobody.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::job::Input;
use super::stream::Stream;
use super::system::{self, Owned};
use super::wire::Descriptors;

/// What `write_stdin` may have waiting.
const WAITING_INPUTS: usize = 16;
/// What a person types at a terminal to end the input.
const END_OF_INPUT: u8 = 4;

pub(super) struct Ends {
    pub(super) stdin: Option<File>,
    pub(super) stdout: File,
    /// `None`: comes by `stdout`.
    pub(super) stderr: Option<File>,
    /// The programs'.
    pub(super) theirs: Descriptors,
}

impl Ends {
    pub(super) fn pipes(input: &Input, merge_stderr: bool) -> io::Result<Self> {
        let (stdin, their_stdin) = match input {
            Input::Nothing => (None, system::nothing()?),
            Input::Given(_) | Input::Open => {
                let (reader, writer) = io::pipe()?;
                (Some(file(writer)), reader.into())
            }
        };
        let (stdout, their_stdout) = io::pipe()?;
        let (stderr, their_stderr) = if merge_stderr {
            (None, their_stdout.try_clone()?)
        } else {
            let (reader, writer) = io::pipe()?;
            (Some(file(reader)), writer)
        };
        let theirs = [their_stdin, their_stdout.into(), their_stderr.into()];
        Ok(Self { stdin, stdout: file(stdout), stderr, theirs })
    }

    pub(super) fn terminal() -> io::Result<Self> {
        let (ours, theirs) = system::terminal()?;
        let theirs = [theirs.try_clone()?, theirs.try_clone()?, theirs];
        let stdin = Some(ours.try_clone()?);
        Ok(Self { stdin, stdout: ours, stderr: None, theirs })
    }
}

fn file(pipe: impl Into<Owned>) -> File {
    File::from(pipe.into())
}

/// Until its end. What is much is read on a thread of its own, which is not worth its while for what
/// most programs print.
pub(super) fn read(source: File, into: Arc<Stream>, is_terminal: bool) -> JoinHandle<()> {
    tokio::spawn(async move {
        let rest = if is_terminal {
            Some(source)
        } else {
            system::read_little(source, &into).await.ok().flatten()
        };
        match rest {
            Some(rest) => {
                let _panicked = spawn_blocking(move || into.fill(rest)).await;
            }
            None => into.close(),
        }
    })
}

/// Writes what is given, then what is sent, and then ends the input.
pub(super) fn feed(mut to: File, input: Input, is_terminal: bool) -> Option<mpsc::Sender<Vec<u8>>> {
    let (sender, mut inputs) = mpsc::channel::<Vec<u8>>(WAITING_INPUTS);
    let (first, sender) = match input {
        Input::Nothing => (Vec::new(), None),
        Input::Given(bytes) => (bytes, None),
        Input::Open => (Vec::new(), Some(sender)),
    };
    spawn_blocking(move || {
        let mut next = Some(first);
        while let Some(bytes) = next {
            // The program has ended, or has closed its input.
            if to.write_all(&bytes).is_err() {
                return;
            }
            next = inputs.blocking_recv();
        }
        if is_terminal {
            let _program_gone = to.write_all(&[END_OF_INPUT]);
        }
    });
    sender
}
