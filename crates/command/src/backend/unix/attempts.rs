//! What the self-test tries in a program confined like any other ([`super::probe`]).

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, getpriority_process, setpriority_process, test_kill_process};

use super::launch::Helpers;
use super::own::Part;
use super::places::loaders;
use super::probe::{Proved, task};
use super::wire::{Confinement, Done, Event, Exit, Limit, Mount, Stage, Task};

const FOLDER: &str = "MCP_COMMAND_PROBE_FOLDER";
const SERVER: &str = "MCP_COMMAND_PROBE_SERVER";
/// What may be written to, but for one file.
const GUARDED: &str = "guarded";
/// Threads the group of the self-test's programs has no room for.
const TOO_MANY_THREADS: usize = 24;

/// What turns out to be refused. Where something is protected a helper cannot use what it has done
/// ahead, so both are tried.
pub(crate) async fn try_confinement(helpers: &Arc<Helpers>, least: &Confinement) -> Proved {
    let failed = |error| {
        tracing::warn!("the self-test of the sandbox failed: {error}");
        Proved::default()
    };
    let (ready, fresh) =
        tokio::join!(confined(helpers, least, false), confined(helpers, least, true));
    both(ready.unwrap_or_else(failed), fresh.unwrap_or_else(failed))
}

async fn confined(
    helpers: &Arc<Helpers>,
    least: &Confinement,
    protects: bool,
) -> io::Result<Proved> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("secret"), "x")?;
    let inside = folder.path().join("inside");
    fs::create_dir(&inside)?;
    let guarded = folder.path().join(GUARDED);
    fs::create_dir(&guarded)?;
    fs::write(guarded.join("fixed"), "x")?;
    let start = Part::Probe.start();
    let mut env = start.env;
    env.push((FOLDER.to_owned(), folder.path().to_string_lossy().into_owned()));
    env.push((SERVER.to_owned(), std::process::id().to_string()));
    let mut confinement = Confinement { starts_nothing: true, ..least.clone() };
    confinement.read.push(inside.clone());
    confinement.write.push(guarded.clone());
    confinement.sets_attributes = protects;
    confinement.execute.push(start.program.clone());
    let stage =
        Stage { program: start.program, args: start.args, env, confinement: Some(confinement) };
    let fixed = Mount { path: guarded.join("fixed"), read_only: true };
    let (writable, mounts) =
        if protects { (vec![guarded], vec![fixed]) } else { (Vec::new(), Vec::new()) };
    let task = Task { writable, mounts, ..task(stage, &inside) };
    let Collected { text, done, too_many } = collect(helpers, task).await?;
    let report = text.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    let said: Proved = serde_json::from_str(report)?;
    // Its code says whether it could multiply, if it was not ended for having tried.
    let refused = done.is_some_and(|done| done.exits == [Exit::Code(0)]);
    Ok(Proved { processes: refused || too_many, ..said })
}

/// What both have proved. The second one tries it where something is protected.
fn both(ready: Proved, fresh: Proved) -> Proved {
    Proved {
        fs_write: ready.fs_write && fresh.fs_write,
        attributes: ready.attributes,
        protected: fresh.protected && fresh.attributes,
        fs_read: ready.fs_read && fresh.fs_read,
        execute: ready.execute && fresh.execute,
        net: ready.net && fresh.net,
        unix_sockets: ready.unix_sockets && fresh.unix_sockets,
        signals: ready.signals && fresh.signals,
        processes: ready.processes,
        processes_of_writers: fresh.processes,
        ..fresh
    }
}

struct Collected {
    text: String,
    done: Option<Done>,
    /// It was refused more processes or threads.
    too_many: bool,
}

/// All it printed, and what its helper said.
async fn collect(helpers: &Arc<Helpers>, task: Task) -> io::Result<Collected> {
    let (mut reader, writer) = io::pipe()?;
    let descriptors = [super::nothing()?, writer.into(), super::nothing()?];
    let mut helper = helpers.take()?.begin(&task, descriptors).await?;
    let (mut done, mut too_many) = (None, false);
    while let Some(event) = helper.event().await {
        match event {
            Event::Done(how) => done = Some(how),
            Event::Failed { .. } => {}
            Event::Over(limit) => {
                too_many |= limit == Limit::Processes;
                continue;
            }
            Event::Started { .. } => continue,
        }
        break;
    }
    // Everything has ended, so all of it is in the pipe, which holds more than this.
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    Ok(Collected { text, done, too_many })
}

/// [`Part::Probe`].
pub(super) fn try_everything() -> ExitCode {
    let folder = std::env::var(FOLDER).unwrap_or_default();
    let folder = Path::new(&folder);
    let mode = Permissions::from_mode(0o777);
    let server = std::env::var(SERVER).ok().and_then(|pid| pid.parse().ok());
    let proved = Proved {
        fs_write: refused(File::create(folder.join("new")))
            && refused(File::create(folder.join("inside/new"))),
        attributes: refused(fs::set_permissions(folder.join("inside"), mode)),
        fs_read: refused(File::open(folder.join("secret")))
            && fs::read_dir(folder.join("inside")).is_ok(),
        execute: refused(Command::new("/bin/sh").args(["-c", ":"]).status())
            && loaders()
                .iter()
                .all(|loader| refused(Command::new(loader).args(["/bin/sh", "-c", ":"]).status())),
        net: refused(UdpSocket::bind("127.0.0.1:0")),
        unix_sockets: refused(UnixDatagram::unbound()) && refused(UnixDatagram::pair()),
        signals: server.and_then(Pid::from_raw).is_some_and(is_out_of_reach),
        protected: File::options()
            .write(true)
            .open(folder.join(GUARDED).join("fixed"))
            .is_err_and(|error| error.kind() == ErrorKind::ReadOnlyFilesystem)
            && File::create(folder.join(GUARDED).join("free")).is_ok(),
        processes: false,
        processes_of_writers: false,
        tree_kill: false,
    };
    let told = serde_json::to_string(&proved)
        .map_err(io::Error::from)
        .and_then(|line| writeln!(io::stdout(), "\n{line}"));
    // The last, because this may be the end of it.
    if told.is_ok() && !can_multiply() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// It gets no signal, and its turns of the processor and its limits are not changed.
fn is_out_of_reach(server: Pid) -> bool {
    let as_it_is = getpriority_process(Some(server)).unwrap_or_default();
    test_kill_process(server) == Err(Errno::PERM)
        && setpriority_process(Some(server), as_it_is) == Err(Errno::PERM)
}

/// Whether as many threads can be had as the limit should not let there be.
fn can_multiply() -> bool {
    let (stay, stayed) = channel::<()>();
    let stayed = Mutex::new(stayed);
    thread::scope(|scope| {
        let wait = || {
            let held = stayed.lock().map(|stayed| stayed.recv());
            drop(held);
        };
        let threads: Vec<_> = (0..TOO_MANY_THREADS)
            .map(|_| thread::Builder::new().spawn_scoped(scope, wait).is_ok())
            .collect();
        drop(stay);
        threads.iter().all(|is_there| *is_there)
    })
}

/// [`Part::Orphan`].
pub(super) fn leave_an_orphan() -> ExitCode {
    let mut sleeper = Part::Sleeper.start().command();
    let sleeper = sleeper.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
    if sleeper.spawn().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn refused<T>(result: io::Result<T>) -> bool {
    let kinds = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    result.is_err_and(|error| kinds.contains(&error.kind()))
}
