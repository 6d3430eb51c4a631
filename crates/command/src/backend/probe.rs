//! The self-test: tries, in a program confined like any other, what must not be possible, and
//! whether what a program leaves behind is ended. What the kernel claims to have is not asked.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::kernel;
use super::launch::Helpers;
use super::own::Part;
use super::places::loaders;
use super::wire::{Ahead, Confinement, Done, Event, Exit, Limit, Limits, Mount, Stage, Task};

const FOLDER: &str = "MCP_COMMAND_PROBE_FOLDER";
const SERVER: &str = "MCP_COMMAND_PROBE_SERVER";
/// The self-test takes a hundredth of this on an idle machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// What may be written to, but for one file.
const GUARDED: &str = "guarded";
const MAX_PROCESSES: u64 = 4;
/// Threads the group for [`MAX_PROCESSES`] has no room for.
const TOO_MANY_THREADS: usize = 24;
/// A [`Part::Sleeper`] waits to be ended. If nobody does that, it must not stay for ever.
const SLEEP: Duration = Duration::from_secs(600);

/// What turned out to be impossible for a confined program, as it should be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proved {
    pub(crate) fs_write: bool,
    pub(crate) fs_read: bool,
    pub(crate) execute: bool,
    pub(crate) net: bool,
    pub(crate) unix_sockets: bool,
    pub(crate) signals: bool,
    /// What is protected in a directory is not changed by who may write there.
    pub(crate) protected: bool,
    /// A program cannot have more processes than allowed for an instant.
    pub(crate) processes: bool,
    /// The same where something is protected, for which the kernel may do it in another way.
    pub(crate) processes_of_writers: bool,
    /// A program that leaves its session and its parent is ended with the call.
    pub(crate) tree_kill: bool,
}

impl Proved {
    /// What both have proved. The second one tries it where something is protected.
    fn and(self, other: Self) -> Self {
        Self {
            fs_write: self.fs_write && other.fs_write,
            fs_read: self.fs_read && other.fs_read,
            execute: self.execute && other.execute,
            net: self.net && other.net,
            unix_sockets: self.unix_sockets && other.unix_sockets,
            signals: self.signals && other.signals,
            processes: self.processes,
            processes_of_writers: other.processes,
            ..other
        }
    }

    /// All that confines a program. `protects`: some may write where something is protected.
    pub(crate) fn all(self, protects: bool) -> bool {
        let Self { fs_write, fs_read, execute, net, unix_sockets, signals, tree_kill, .. } = self;
        let confines = [fs_write, fs_read, execute, net, unix_sockets, signals, tree_kill];
        confines.iter().all(|it| *it) && (self.protected || !protects)
    }
}

/// Runs the self-test. What could not be tried does not count as proved. `least` is what every
/// confinement begins with.
pub(super) async fn run(helpers: &Arc<Helpers>, least: &Confinement) -> Proved {
    let failed = |error| {
        tracing::warn!("the self-test of the sandbox failed: {error}");
        Proved::default()
    };
    // Where something is protected a helper cannot use what it has done ahead, so both are tried.
    let tested = async {
        tokio::join!(
            confined(helpers, least, false),
            confined(helpers, least, true),
            tree_kill(helpers)
        )
    };
    let Ok((ready, fresh, tree_kill)) = tokio::time::timeout(PATIENCE, tested).await else {
        return Proved::default();
    };
    let proved = ready.unwrap_or_else(failed).and(fresh.unwrap_or_else(failed));
    Proved { tree_kill: tree_kill.unwrap_or_default(), ..proved }
}

/// The same at once, for a start that depends on it.
pub(super) fn run_now(ahead: &Ahead, least: &Confinement) -> io::Result<Proved> {
    // Within a runtime no other can be waited for, so it gets a thread of its own.
    thread::scope(|scope| {
        let tested = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            Ok(runtime.block_on(run(&Helpers::new(ahead.clone()), least)))
        });
        tested.join().unwrap_or_else(|_| Err(io::Error::other("the self-test panicked")))
    })
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
    confinement.execute.push(start.program.clone());
    let stage =
        Stage { program: start.program, args: start.args, env, confinement: Some(confinement) };
    let fixed = Mount { path: guarded.join("fixed"), read_only: true };
    let mounts = if protects { vec![fixed] } else { Vec::new() };
    let task = Task { mounts, ..task(stage, &inside) };
    let Collected { text, done, too_many } = collect(helpers, task).await?;
    let report = text.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    let said: Proved = serde_json::from_str(report)?;
    // Its code says whether it could multiply, if it was not ended for having tried.
    let refused = done.is_some_and(|done| done.exits == [Exit::Code(0)]);
    Ok(Proved { processes: refused || too_many, ..said })
}

async fn tree_kill(helpers: &Arc<Helpers>) -> io::Result<bool> {
    if !kernel::FINDS_ALL {
        // The one who gets away would be left.
        return Ok(false);
    }
    let start = Part::Orphan.start();
    let stage =
        Stage { program: start.program, args: start.args, env: start.env, confinement: None };
    let collected = collect(helpers, task(stage, Path::new("/"))).await?;
    Ok(collected.done.is_some_and(|done| done.killed == 1))
}

fn task(stage: Stage, cwd: &Path) -> Task {
    Task {
        stages: vec![stage],
        cwd: cwd.to_owned(),
        limits: Limits {
            grace_ms: 1000,
            cpu_secs: 10,
            file_bytes: 1 << 20,
            max_processes: MAX_PROCESSES,
            max_memory_bytes: 1 << 32,
        },
        mounts: Vec::new(),
        placeholders: Vec::new(),
        tty: false,
        must_confine: false,
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
    let null = || File::options().read(true).write(true).open("/dev/null");
    let (mut reader, writer) = io::pipe()?;
    let descriptors = [null()?.into(), writer.into(), null()?.into()];
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
    let server = std::env::var(SERVER).ok().and_then(|pid| pid.parse().ok());
    let proved = Proved {
        fs_write: refused(File::create(folder.join("new")))
            && refused(File::create(folder.join("inside/new"))),
        fs_read: refused(File::open(folder.join("secret")))
            && fs::read_dir(folder.join("inside")).is_ok(),
        execute: refused(Command::new("/bin/sh").args(["-c", ":"]).status())
            && loaders()
                .iter()
                .all(|loader| refused(Command::new(loader).args(["/bin/sh", "-c", ":"]).status())),
        net: refused(UdpSocket::bind("127.0.0.1:0")),
        unix_sockets: refused(UnixDatagram::unbound()),
        signals: server
            .and_then(Pid::from_raw)
            .is_some_and(|server| test_kill_process(server) == Err(rustix::io::Errno::PERM)),
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

/// [`Part::Sleeper`].
pub(super) fn sleep() -> ExitCode {
    let _leader_already = rustix::process::setsid();
    thread::sleep(SLEEP);
    ExitCode::SUCCESS
}

fn refused<T>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}
