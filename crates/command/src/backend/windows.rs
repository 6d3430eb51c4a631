//! Windows: each call has a job object, which ends all the call has started when it is told to or when
//! this process is gone, however it ended. The kernel is asked for nothing beyond that.

mod call;
mod launch;
mod tree;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt};
use std::os::windows::io::OwnedHandle;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use windows::Win32::System::Threading::{
    CREATE_BREAKAWAY_FROM_JOB, CREATE_NEW_PROCESS_GROUP, DETACHED_PROCESS, PROCESS_CREATION_FLAGS,
};

pub(crate) use launch::{Helper, Helpers, Idle};

use super::job::SignalName;
use super::own::Part;
use super::probe::{self, Proved};
use super::stream::Stream;
use super::windows_names as names;
use super::wire::Confinement;

/// A file or one end of a pipe.
pub(crate) type Owned = OwnedHandle;

pub(crate) const HAS_TERMINALS: bool = false;
/// Files in a root from programs that may write there.
pub(crate) const CAN_PROTECT: bool = false;
/// No process of a call gets away from its job object.
pub(crate) const FINDS_ALL: bool = true;
/// Where programs are looked for.
pub(crate) const PATH: &str = r"C:\Windows\System32;C:\Windows;C:\Program Files\Git\cmd";
pub(crate) const PATH_SEPARATOR: char = ';';
/// Beside what is known of programs everywhere.
pub(crate) const MORE_PROGRAMS: &str = include_str!("../../policies/windows.toml");

/// There is one signal: the end.
const KILL: i32 = 9;

/// What this process does if it is not the server.
pub(crate) fn play(part: Part) -> ExitCode {
    match part {
        Part::Helper | Part::Probe => ExitCode::FAILURE,
        Part::Orphan => leave_an_orphan(),
        Part::Sleeper => probe::sleep(),
    }
}

/// One that tries to leave the job first, and has left everything else.
fn leave_an_orphan() -> ExitCode {
    let apart = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP;
    let start = |flags: PROCESS_CREATION_FLAGS| {
        let mut sleeper = Part::Sleeper.start().command();
        sleeper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        sleeper.creation_flags(flags.0).spawn()
    };
    let started = start(apart | CREATE_BREAKAWAY_FROM_JOB).or_else(|_| start(apart));
    if started.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub(crate) fn leave_session() {}

/// The variables of this process are hidden by the system from nobody who may open it.
pub(crate) fn hide_from_others() {}

/// Nothing confines a program here.
pub(crate) async fn try_confinement(_: &Arc<Helpers>, _: &Confinement) -> Proved {
    std::future::ready(Proved::default()).await
}

/// The number a signal has, if there is one.
pub(crate) fn signal_number(name: SignalName) -> Option<i32> {
    matches!(name, SignalName::Kill).then_some(KILL)
}

/// Nothing to read, and what is written is gone.
pub(crate) fn nothing() -> io::Result<Owned> {
    Ok(File::options().read(true).write(true).open("NUL")?.into())
}

pub(crate) fn terminal() -> io::Result<(File, Owned)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A pipe between two programs can only be read blockingly.
pub(crate) async fn read_little(source: File, _: &Stream) -> io::Result<Option<File>> {
    std::future::ready(Ok(Some(source))).await
}

pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.seek_read(rest, offset + done as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => done += length,
        }
    }
    Ok(())
}

pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match file.seek_write(rest, offset + done as u64)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            length => done += length,
        }
    }
    Ok(())
}

/// A new file has the rights of the directory it is in.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// As programs are used to be given it, not with `\\?\` in front.
pub(crate) fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

pub(crate) fn is_plain_path(path: &str) -> bool {
    names::is_plain_path(path)
}

pub(crate) fn program_name(command: &str) -> Option<String> {
    names::program_name(command)
}

pub(crate) fn policy_key(name: &str) -> String {
    names::policy_key(name)
}

pub(crate) fn is_batch(command: &str) -> bool {
    names::is_batch(command)
}

pub(crate) fn file_name(program: &str) -> String {
    names::file_name(program)
}

/// Who may write to a directory is not looked at.
pub(crate) fn is_private(_: &Metadata) -> bool {
    true
}

/// Nor whose it is.
pub(crate) fn is_own(_: &Metadata) -> bool {
    true
}

pub(crate) fn is_program(path: &Path, found: &Metadata) -> bool {
    found.is_file() && names::is_program(&path.to_string_lossy())
}

pub(crate) fn interpreter(_: &Path) -> Option<PathBuf> {
    None
}

/// How to tell whether a file is still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    bytes: u64,
    created: u64,
    written: u64,
}

impl Identity {
    pub(crate) fn of(file: &Metadata) -> Self {
        Self {
            bytes: file.file_size(),
            created: file.creation_time(),
            written: file.last_write_time(),
        }
    }
}

/// What every program needs in its environment, beside where to find others.
pub(crate) fn variables(scratch: &str) -> Vec<(String, String)> {
    const KEPT: [&str; 9] = [
        "SystemRoot",
        "SystemDrive",
        "windir",
        "ComSpec",
        "PATHEXT",
        "OS",
        "NUMBER_OF_PROCESSORS",
        "PROCESSOR_ARCHITECTURE",
        "ProgramData",
    ];
    const SCRATCH: [&str; 6] = ["HOME", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"];
    let kept = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let scratch = SCRATCH.map(|name| (name.to_owned(), scratch.to_owned()));
    kept.chain(scratch).collect()
}

pub(crate) fn is_dangerous(name: &str) -> bool {
    names::is_dangerous(name)
}
