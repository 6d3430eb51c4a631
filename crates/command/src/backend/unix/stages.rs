//! The programs of a call and the pipes between them; no shell is involved.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::fs::{fstat, stat};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, ioctl_tiocsctty, kill_process_group, setrlimit,
};
use rustix::termios::tcsetpgrp;

use super::kernel::{self, Group};
use super::starter::{Ready, Starter, failed};
use super::wire::{Confined, Descriptors, Event, Exit, Stage, Task};

/// The programs the call itself asked for, in order.
#[derive(Default)]
pub(super) struct Programs {
    pub(super) confined: Vec<Confined>,
    running: Vec<(Pid, Option<Exit>)>,
}

impl Programs {
    /// Processes of other kinds end as well; only these are remembered. What one leaves behind ends
    /// with it where nobody could find it later.
    pub(super) fn ended(&mut self, pid: Pid, exit: Exit) {
        for (running, ended) in &mut self.running {
            if *running == pid {
                *ended = Some(exit);
                if !kernel::FINDS_ALL {
                    // As long as anybody of its group is there, its number is nobody else's; and if
                    // nobody is, it was free for a moment only.
                    let _nobody_left = kill_process_group(pid, Signal::KILL);
                }
            }
        }
    }

    pub(super) fn all_ended(&self) -> bool {
        self.running.iter().all(|(_, exit)| exit.is_some())
    }

    pub(super) fn exits(&self) -> Vec<Exit> {
        self.running.iter().map(|(_, exit)| exit.unwrap_or(Exit::Unknown)).collect()
    }

    /// Those of programs that have not ended. The number of another group may be somebody else's
    /// by now, so what is left of one is for [`kernel::tree`] to find.
    pub(super) fn kill_groups(&self) {
        self.signal(Signal::KILL);
    }

    /// To those still running, and to what they have started in their process group.
    pub(super) fn signal(&self, signal: Signal) {
        for (pid, exit) in &self.running {
            if exit.is_none() {
                let _gone = kill_process_group(*pid, signal);
            }
        }
    }
}

/// Starts them all, or says which could not be started. What has been started then is being ended.
/// `ready` must fit.
pub(super) fn start(
    task: &Task,
    descriptors: Descriptors,
    group: Option<&Arc<Group>>,
    ready: Option<&Ready>,
) -> Result<Programs, Event> {
    let mut programs = Programs::default();
    match start_each(&mut programs, task, descriptors, group, ready) {
        Ok(()) => Ok(programs),
        Err(failed) => {
            programs.kill_groups();
            Err(failed)
        }
    }
}

fn start_each(
    programs: &mut Programs,
    task: &Task,
    descriptors: Descriptors,
    group: Option<&Arc<Group>>,
    ready: Option<&Ready>,
) -> Result<(), Event> {
    let whole = |error: io::Error| failed(0, &error);
    let [input, output, errors] = descriptors;
    if task.tty {
        ioctl_tiocsctty(&output).map_err(|errno| whole(errno.into()))?;
    }
    let view = kernel::protect(&task.writable, &task.mounts);
    let counted = matches!(view, Ok(true)) && limit_processes(task.limits.max_processes);
    let unprotected = view.err().map(|error| error.to_string());
    let last = task.stages.len().saturating_sub(1);
    let mut next_input = in_view(input).map_err(whole)?;
    for (index, stage) in task.stages.iter().enumerate() {
        let this = |error: io::Error| failed(index, &error);
        let mut stdout = output.try_clone().map_err(this)?;
        let mut following = None;
        if index < last {
            let (reader, writer) = io::pipe().map_err(this)?;
            (stdout, following) = (writer.into(), Some(OwnedFd::from(reader)));
        }
        let stderr = errors.try_clone().map_err(this)?;
        let starter = Starter {
            command: command(stage, &task.cwd, [next_input, stdout, stderr]),
            confinement: stage.confinement.clone(),
            index,
            group: group.cloned(),
            counted,
            unprotected: unprotected.clone(),
            must: task.must_confine,
        };
        let (pid, confined) = match ready {
            Some(ready) if index == 0 => ready.start(starter)?,
            _ => starter.on_a_thread_of_its_own()?,
        };
        programs.running.push((pid, None));
        programs.confined.push(confined);
        match following {
            Some(reader) => next_input = reader,
            None => break,
        }
    }
    if let (true, Some((first, _))) = (task.tty, programs.running.first()) {
        tcsetpgrp(&output, *first).map_err(|errno| whole(errno.into()))?;
        // It may have read before the terminal was its own, and was stopped for it.
        programs.signal(Signal::CONT);
    }
    Ok(())
}

/// The same device seen through the programs' own view of the file system, in which its rights are
/// not theirs to change.
fn in_view(input: OwnedFd) -> io::Result<OwnedFd> {
    let (theirs, null) = (fstat(&input)?, stat("/dev/null")?);
    if theirs.st_rdev != null.st_rdev { Ok(input) } else { Ok(File::open("/dev/null")?.into()) }
}

/// Of those of this user in this space of users, which are the call's alone. `false`: it cannot be.
fn limit_processes(max_processes: u64) -> bool {
    let most = Some(kernel::most_tasks(max_processes));
    setrlimit(Resource::Nproc, Rlimit { current: most, maximum: most }).is_ok()
}

/// Whether it can start the first program, which may have to see the files in another way.
pub(super) fn fits(ready: &Ready, task: &Task) -> bool {
    let first = task.stages.first().and_then(|stage| stage.confinement.as_ref());
    task.writable.is_empty() && ready.fits(first)
}

/// A group of its own, so that a signal reaches what the program has started as well.
fn command(stage: &Stage, cwd: &Path, fds: Descriptors) -> Command {
    let mut command = stage.command(cwd, fds);
    command.process_group(0);
    command
}
