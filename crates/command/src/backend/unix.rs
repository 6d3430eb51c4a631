//! Unix: each call runs under a process of its own, the helper, which owns all the call starts. What
//! it can do for a call beyond that depends on the kernel ([`kernel`]).

mod handover;
mod launch;
mod scratch;
mod remove;
mod helper;
mod wakes;
mod starter;
mod stages;
mod kernel;
mod attempts;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::process::Signal;
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

pub(crate) use attempts::try_confinement;
pub(crate) use kernel::{FINDS_ALL, hide_from_others};
pub(crate) use launch::{Helper, Helpers, Idle};

use super::job::SignalName;
use super::own::Part;
use super::stream::Stream;
use super::{own, places, probe, protect, wire};

/// A file or one end of a pipe.
pub(crate) type Owned = OwnedFd;

pub(crate) const HAS_TERMINALS: bool = true;
/// Files in a root from programs that may write there; it may still fail.
pub(crate) const CAN_PROTECT: bool = true;
/// Where programs are looked for.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
pub(crate) const PATH_SEPARATOR: char = ':';
/// Beside what is known of programs everywhere.
pub(crate) const MORE_PROGRAMS: &str = "";

/// Bytes; kept in memory, so that no file is written to meanwhile.
const LITTLE: usize = 16 * 1024;
/// Of a terminal nobody looks at.
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
/// Of a `#!` line.
const MAX_INTERPRETER_BYTES: u64 = 256;

/// What this process does if it is not the server.
pub(crate) fn play(part: Part) -> ExitCode {
    match part {
        Part::Helper => helper::main(),
        Part::Probe => attempts::try_everything(),
        Part::Orphan => attempts::leave_an_orphan(),
        Part::Sleeper => probe::sleep(),
    }
}

/// As far as it can get away from whoever started it.
pub(crate) fn leave_session() {
    let _leader_already = rustix::process::setsid();
}

/// The number a signal has, if there is one.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there are few")]
pub(crate) fn signal_number(name: SignalName) -> Option<i32> {
    let signal = match name {
        SignalName::Hup => Signal::HUP,
        SignalName::Int => Signal::INT,
        SignalName::Quit => Signal::QUIT,
        SignalName::Kill => Signal::KILL,
        SignalName::Usr1 => Signal::USR1,
        SignalName::Usr2 => Signal::USR2,
        SignalName::Term => Signal::TERM,
        SignalName::Cont => Signal::CONT,
        SignalName::Stop => Signal::STOP,
    };
    Some(signal.as_raw())
}

/// Nothing to read, and what is written is gone.
pub(crate) fn nothing() -> io::Result<Owned> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// Both sides of a new terminal.
pub(crate) fn terminal() -> io::Result<(File, Owned)> {
    let (ours, theirs) = kernel::terminal()?;
    tcsetwinsize(&ours, SIZE)?;
    Ok((ours, theirs))
}

/// Gives the pipe back if it brings more than a little.
pub(crate) async fn read_little(source: File, into: &Stream) -> io::Result<Option<File>> {
    let mut source = pipe::Receiver::from_file(source)?;
    let mut chunk = vec![0; LITTLE];
    let mut taken = 0;
    while taken < LITTLE {
        let length = source.read(&mut chunk).await?;
        if length == 0 {
            return Ok(None);
        }
        into.append(chunk.get(..length).unwrap_or_default());
        taken += length;
    }
    Ok(Some(File::from(source.into_blocking_fd()?)))
}

pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// A new file is readable to its owner only.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

pub(crate) fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// Whether a path leads where it seems to, so that it can be looked at.
pub(crate) fn is_plain_path(_: &str) -> bool {
    true
}

/// The name a program has in the policy, for what a model called it: the last part of a path, for a
/// command given by one; nothing else is taken apart.
pub(crate) fn program_name(command: &str) -> Option<String> {
    let path = Path::new(command);
    let last = path.file_name().and_then(|name| name.to_str());
    let name = if path.is_absolute() { last.unwrap_or(command) } else { command };
    (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
}

/// The same for a name in a policy file.
pub(crate) fn policy_key(name: &str) -> String {
    name.to_owned()
}

/// What only an interpreter that takes arguments apart could run.
pub(crate) fn is_batch(_: &str) -> bool {
    false
}

/// The file a program of this name has.
pub(crate) fn file_name(program: &str) -> String {
    program.to_owned()
}

/// A directory others can write to is no place for programs.
pub(crate) fn is_private(directory: &Metadata) -> bool {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    directory.mode() & WRITABLE_BY_OTHERS == 0
}

/// Of the user this process runs as.
pub(crate) fn is_own(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

pub(crate) fn is_program(_: &Path, found: &Metadata) -> bool {
    const EXECUTABLE: u32 = 0o111;
    found.is_file() && found.mode() & EXECUTABLE != 0
}

/// What runs it, if it is a script.
pub(crate) fn interpreter(path: &Path) -> Option<PathBuf> {
    let file = File::open(path).ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_INTERPRETER_BYTES)).read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8(line).ok()?;
    Some(PathBuf::from(line.strip_prefix("#!")?.split_whitespace().next()?))
}

/// How to tell whether a file is still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Identity {
    pub(crate) fn of(file: &Metadata) -> Self {
        Self { device: file.dev(), inode: file.ino(), changed: (file.ctime(), file.ctime_nsec()) }
    }
}

/// What every program needs in its environment, beside where to find others.
pub(crate) fn variables(scratch: &str) -> Vec<(String, String)> {
    ["HOME", "TMPDIR"].map(|name| (name.to_owned(), scratch.to_owned())).to_vec()
}

/// Variables of this system that make programs run code.
pub(crate) fn is_dangerous(_: &str) -> bool {
    false
}
