//! The self-test: tries, in a program confined like any other, what must not be possible, and
//! whether what a program leaves behind is ended. What the kernel claims to have is not asked.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::launch::Helpers;
use super::own::Part;
use super::places::System;
use super::wire::{Confinement, Event, Limits, Stage, Task};

const FOLDER: &str = "MCP_COMMAND_PROBE_FOLDER";
const SERVER: &str = "MCP_COMMAND_PROBE_SERVER";
/// The self-test takes a hundredth of this on an idle machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// What turned out to be impossible for a confined program, as it should be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proved {
    pub(crate) fs_write: bool,
    pub(crate) fs_read: bool,
    pub(crate) execute: bool,
    pub(crate) net: bool,
    pub(crate) unix_sockets: bool,
    pub(crate) signals: bool,
    /// A program that leaves its session and its parent is ended with the call.
    pub(crate) tree_kill: bool,
}

impl Proved {
    pub(crate) fn all(self) -> bool {
        let Self { fs_write, fs_read, execute, net, unix_sockets, signals, tree_kill } = self;
        [fs_write, fs_read, execute, net, unix_sockets, signals, tree_kill].iter().all(|it| *it)
    }
}

/// Runs the self-test. What could not be tried does not count as proved.
pub(super) async fn run(helpers: &Arc<Helpers>, system: &System) -> Proved {
    let tested = async {
        let confined = confined(helpers, system).await.unwrap_or_else(|error| {
            tracing::warn!("the self-test of the sandbox failed: {error}");
            Proved::default()
        });
        Proved { tree_kill: tree_kill(helpers).await.unwrap_or_default(), ..confined }
    };
    tokio::time::timeout(PATIENCE, tested).await.unwrap_or_default()
}

/// The same at once, for a start that depends on it.
pub(super) fn run_now(system: &System) -> io::Result<Proved> {
    // Within a runtime no other can be waited for, so it gets a thread of its own.
    thread::scope(|scope| {
        let tested = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            Ok(runtime.block_on(run(&Arc::default(), system)))
        });
        tested.join().unwrap_or_else(|_| Err(io::Error::other("the self-test panicked")))
    })
}

async fn confined(helpers: &Arc<Helpers>, system: &System) -> io::Result<Proved> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("secret"), "x")?;
    let inside = folder.path().join("inside");
    fs::create_dir(&inside)?;
    let start = Part::Probe.start();
    let mut env = start.env;
    env.push((FOLDER.to_owned(), folder.path().to_string_lossy().into_owned()));
    env.push((SERVER.to_owned(), std::process::id().to_string()));
    let confinement = Confinement {
        read: [system.readable.as_slice(), std::slice::from_ref(&inside)].concat(),
        execute: [system.loaders.as_slice(), std::slice::from_ref(&start.program)].concat(),
        ..Confinement::default()
    };
    let stage =
        Stage { program: start.program, args: start.args, env, confinement: Some(confinement) };
    let (text, _) = collect(helpers, task(stage, &inside)).await?;
    let report = text.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    Ok(serde_json::from_str(report)?)
}

async fn tree_kill(helpers: &Arc<Helpers>) -> io::Result<bool> {
    let start = Part::Orphan.start();
    let stage =
        Stage { program: start.program, args: start.args, env: start.env, confinement: None };
    let (_, done) = collect(helpers, task(stage, Path::new("/"))).await?;
    Ok(matches!(done, Some(Event::Done(done)) if done.killed == 1))
}

fn task(stage: Stage, cwd: &Path) -> Task {
    Task {
        stages: vec![stage],
        cwd: cwd.to_owned(),
        limits: Limits {
            grace_ms: 1000,
            cpu_secs: 10,
            file_bytes: 1 << 20,
            max_processes: 64,
            max_memory_bytes: 1 << 32,
        },
        tty: false,
        must_confine: false,
    }
}

/// All it printed, and the last thing its helper said.
async fn collect(helpers: &Arc<Helpers>, task: Task) -> io::Result<(String, Option<Event>)> {
    let null = || File::options().read(true).write(true).open("/dev/null");
    let (mut reader, writer) = io::pipe()?;
    let descriptors = [null()?.into(), writer.into(), null()?.into()];
    let mut helper = helpers.start(&task, descriptors).await?;
    let mut last = None;
    while let Some(event) = helper.event().await {
        last = Some(event);
        if matches!(last, Some(Event::Done(_) | Event::Failed { .. })) {
            break;
        }
    }
    // Everything has ended, so all of it is in the pipe, which holds more than this.
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    Ok((text, last))
}

/// [`Part::Probe`].
pub(super) fn try_everything() -> ExitCode {
    let folder = std::env::var(FOLDER).unwrap_or_default();
    let folder = Path::new(&folder);
    let server = std::env::var(SERVER).ok().and_then(|pid| pid.parse().ok());
    let proved = Proved {
        fs_write: refused(File::create(folder.join("new")))
            && refused(File::create(folder.join("inside/new"))),
        fs_read: refused(File::open(folder.join("secret")))
            && fs::read_dir(folder.join("inside")).is_ok(),
        execute: refused(Command::new("/bin/sh").arg("-c").arg(":").status()),
        net: refused(UdpSocket::bind("127.0.0.1:0")),
        unix_sockets: refused(UnixDatagram::unbound()),
        signals: server
            .and_then(Pid::from_raw)
            .is_some_and(|server| test_kill_process(server) == Err(rustix::io::Errno::PERM)),
        tree_kill: false,
    };
    let told = serde_json::to_string(&proved)
        .map_err(io::Error::from)
        .and_then(|line| writeln!(io::stdout(), "\n{line}"));
    if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// [`Part::Orphan`].
pub(super) fn leave_an_orphan() -> ExitCode {
    let mut sleeper = Part::Sleeper.start().command();
    let sleeper = sleeper.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
    if sleeper.spawn().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// [`Part::Sleeper`].
pub(super) fn sleep() -> ExitCode {
    let _leader_already = rustix::process::setsid();
    thread::sleep(Duration::from_secs(600));
    ExitCode::SUCCESS
}

fn refused<T>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}
