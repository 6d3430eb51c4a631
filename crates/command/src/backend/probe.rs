//! The self-test: tries, in a program started like any other, what must not be possible, and
//! whether what a program leaves behind is ended. What the kernel claims to have is not asked.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::own::Part;
use super::system::{self, Helpers};
use super::wire::{Ahead, Confinement, Done, Event, Limits, Stage, Task};

/// The self-test takes a hundredth of this on an idle machine.
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_PROCESSES: u64 = 4;
/// A [`Part::Sleeper`] waits to be ended. If nobody does that, it must not stay for ever.
const SLEEP: Duration = Duration::from_secs(600);

/// What turned out to be impossible for a confined program, as it should be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proved {
    pub(crate) fs_write: bool,
    /// Nor are the rights of a file.
    pub(crate) attributes: bool,
    pub(crate) fs_read: bool,
    pub(crate) execute: bool,
    pub(crate) net: bool,
    pub(crate) unix_sockets: bool,
    pub(crate) signals: bool,
    /// What is protected in a directory is not changed by who may write there, nor are the rights of
    /// files elsewhere.
    pub(crate) protected: bool,
    /// A program cannot have more processes than allowed for an instant.
    pub(crate) processes: bool,
    /// The same where something is protected, for which the kernel may do it in another way.
    pub(crate) processes_of_writers: bool,
    /// A program that leaves its session and its parent is ended with the call.
    pub(crate) tree_kill: bool,
}

impl Proved {
    /// What of that which confines a program is not proved. `protects`: some may write where
    /// something is protected.
    pub(crate) fn missing(self, protects: bool) -> Vec<&'static str> {
        let layers = [
            ("fs_write", self.fs_write && self.attributes),
            ("fs_read", self.fs_read),
            ("execute", self.execute),
            ("net", self.net),
            ("unix_sockets", self.unix_sockets),
            ("signals", self.signals),
            ("tree_kill", self.tree_kill),
            ("protected", self.protected || !protects),
        ];
        layers.iter().filter(|(_, is_proved)| !is_proved).map(|(name, _)| *name).collect()
    }
}

/// Runs the self-test. What could not be tried does not count as proved. `least` is what every
/// confinement begins with.
pub(super) async fn run(helpers: &Arc<Helpers>, least: &Confinement) -> Proved {
    let tested =
        async { tokio::join!(system::try_confinement(helpers, least), tree_kill(helpers)) };
    let Ok((proved, tree_kill)) = tokio::time::timeout(PATIENCE, tested).await else {
        return Proved::default();
    };
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

async fn tree_kill(helpers: &Arc<Helpers>) -> io::Result<bool> {
    if !system::FINDS_ALL {
        // The one who gets away would be left.
        return Ok(false);
    }
    let start = Part::Orphan.start();
    let stage =
        Stage { program: start.program, args: start.args, env: start.env, confinement: None };
    let theirs = [system::nothing()?, system::nothing()?, system::nothing()?];
    let mut helper = helpers.take()?.begin(&task(stage, Path::new("/")), theirs).await?;
    while let Some(event) = helper.event().await {
        if let Event::Done(Done { killed, .. }) = event {
            return Ok(killed == 1);
        }
    }
    Ok(false)
}

pub(super) fn task(stage: Stage, cwd: &Path) -> Task {
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
        writable: Vec::new(),
        mounts: Vec::new(),
        placeholders: Vec::new(),
        tty: false,
        must_confine: false,
    }
}

/// [`Part::Sleeper`].
pub(super) fn sleep() -> ExitCode {
    system::leave_session();
    thread::sleep(SLEEP);
    ExitCode::SUCCESS
}
