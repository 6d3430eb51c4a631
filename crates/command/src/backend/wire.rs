//! What the server and the helper process say to each other: one JSON line each, over a pair of
//! sockets. The first byte of a task carries the descriptors the programs get as their standard
//! input, output and error.
//!
//! The socket is also the life line: whichever side reads its end knows that the other is gone.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

/// What a helper can do before it has a task. It is the first thing it is sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Ahead {
    pub(crate) max_processes: u64,
    /// What the confinement of most programs begins with. `None`: they are not confined.
    pub(crate) confinement: Option<Confinement>,
    /// The directory for its programs, to be removed if the server cannot.
    pub(crate) scratch: PathBuf,
}

/// Everything the helper must know to run one call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Programs whose standard outputs feed the next one's input; one at least.
    pub(crate) stages: Vec<Stage>,
    pub(crate) cwd: PathBuf,
    pub(crate) limits: Limits,
    /// Of the view of the file system its programs have; outer ones first.
    pub(crate) mounts: Vec<Mount>,
    /// What is there only because of the call, to be removed if the server cannot.
    pub(crate) placeholders: Vec<PathBuf>,
    /// The three descriptors are a terminal.
    pub(crate) tty: bool,
    /// Run nothing if a stage cannot be confined as it should be.
    pub(crate) must_confine: bool,
}

/// A place that cannot be renamed, nor written to if it is read-only.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
    pub(crate) read_only: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stage {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The whole environment.
    pub(crate) env: Vec<(String, String)>,
    /// `None`: as free as the server itself.
    pub(crate) confinement: Option<Confinement>,
}

/// What the kernel lets a program do; everything else is refused to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Confinement {
    pub(crate) read: Vec<PathBuf>,
    /// Includes reading.
    pub(crate) write: Vec<PathBuf>,
    /// Files, or directories of files, that may be started.
    pub(crate) execute: Vec<PathBuf>,
    /// Once the program has begun, neither it nor what descends from it starts any program at all.
    pub(crate) starts_nothing: bool,
    pub(crate) network: bool,
    /// Sockets to services of this machine.
    pub(crate) unix_sockets: bool,
}

impl Confinement {
    /// It is `base` and more places.
    pub(crate) fn begins_with(&self, base: &Self) -> bool {
        self.read.starts_with(&base.read)
            && self.write.starts_with(&base.write)
            && self.execute.starts_with(&base.execute)
            && (self.network, self.unix_sockets) == (base.network, base.unix_sockets)
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Between asking a program to end and killing it.
    pub(crate) grace_ms: u64,
    pub(crate) cpu_secs: u64,
    pub(crate) file_bytes: u64,
    pub(crate) max_processes: u64,
    pub(crate) max_memory_bytes: u64,
}

/// From the server to the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// End everything: ask, wait for the grace period, kill.
    Stop,
    /// Send this signal to the programs.
    Signal(i32),
}

/// From the helper to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    Started {
        confined: Vec<Confined>,
    },
    /// Nothing was run. The text is for the log.
    Failed {
        stage: usize,
        reason: String,
        kind: Failure,
    },
    /// A limit was passed, so everything is being killed.
    Over(Limit),
    /// The last event: no process of the call is left.
    Done(Done),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    NotFound,
    NotPermitted,
    ArgumentsTooLong,
    NotConfined,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Limit {
    Processes,
    Memory,
}

/// What was put on one program before it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Confined {
    pub(crate) files: bool,
    pub(crate) system_calls: bool,
    /// The task's mounts.
    pub(crate) mounts: bool,
    /// It cannot have more processes than allowed for an instant.
    pub(crate) processes: bool,
    /// Why one of them is not; for the log.
    pub(crate) problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// One for each stage.
    pub(crate) exits: Vec<Exit>,
    /// Processes that were still there when the last stage had ended, or at the end of the time.
    pub(crate) killed: u64,
    pub(crate) cpu_ms: u64,
    /// Of the largest process.
    pub(crate) max_rss_bytes: u64,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
    /// Its end was not seen.
    Unknown,
}

/// The standard input, output and error of the programs.
pub(crate) type Descriptors = [OwnedFd; 3];

/// Sends what comes before everything else. Its length comes first, so that nothing is read that
/// descriptors come with.
pub(crate) fn send_ahead(mut socket: &UnixStream, ahead: &Ahead) -> io::Result<()> {
    let text = serde_json::to_vec(ahead)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    socket.write_all(&length.to_le_bytes())?;
    socket.write_all(&text)
}

/// The other side of [`send_ahead`].
pub(crate) fn receive_ahead(mut socket: &UnixStream) -> io::Result<Ahead> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut text = Vec::new();
    socket.take(u32::from_le_bytes(length).into()).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Sends the first byte of a task, with it the descriptors, and of `line` as much as there is room
/// for: that many bytes.
pub(crate) fn send_task(
    socket: &UnixStream,
    fds: [BorrowedFd<'_>; 3],
    line: &[u8],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let bytes = [IoSlice::new(b"\n"), IoSlice::new(line)];
    Ok(sendmsg(socket, &bytes, &mut control, SendFlags::empty())?.saturating_sub(1))
}

/// The other side of [`send_task`].
pub(crate) fn receive_descriptors(socket: impl AsFd) -> io::Result<Descriptors> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::empty())?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            for fd in received {
                fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
                fds.push(fd);
            }
        }
    }
    fds.try_into().map_err(|_| io::Error::other("the server did not send three descriptors"))
}

/// One message as a line.
pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
