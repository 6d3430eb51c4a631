//! Starts the programs of a call, each from a thread of its own that is confined first. A pipeline
//! is several programs with pipes between them; no shell is involved.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, ioctl_tiocsctty, kill_process_group};
use rustix::termios::tcsetpgrp;

use super::kernel::{self, Group};
use super::wire::{Confined, Descriptors, Event, Exit, Failure, Stage, Task};

/// The programs the call itself asked for, in order.
pub(super) struct Programs {
    pub(super) confined: Vec<Confined>,
    running: Vec<(Pid, Option<Exit>)>,
}

impl Programs {
    /// Processes of other kinds end as well; only these are remembered.
    pub(super) fn ended(&mut self, pid: Pid, exit: Exit) {
        for (running, ended) in &mut self.running {
            if *running == pid {
                *ended = Some(exit);
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

/// Starts them all, or says which could not be started. What has been started then still runs.
pub(super) fn start(
    task: &Task,
    descriptors: Descriptors,
    group: Option<&Group>,
) -> Result<Programs, Event> {
    let whole = |error: io::Error| failed(0, &error);
    kernel::no_new_privileges().map_err(whole)?;
    let [input, output, errors] = descriptors;
    if task.tty {
        ioctl_tiocsctty(&output).map_err(|errno| whole(errno.into()))?;
    }
    let view = kernel::protect(&task.mounts);
    let last = task.stages.len().saturating_sub(1);
    let mut programs = Programs { confined: Vec::new(), running: Vec::new() };
    let mut next_input = input;
    for (index, stage) in task.stages.iter().enumerate() {
        let this = |error: io::Error| failed(index, &error);
        let mut stdout = output.try_clone().map_err(this)?;
        let mut following = None;
        if index < last {
            let (reader, writer) = io::pipe().map_err(this)?;
            (stdout, following) = (writer.into(), Some(OwnedFd::from(reader)));
        }
        let stderr = errors.try_clone().map_err(this)?;
        let command = command(stage, &task.cwd, [next_input, stdout, stderr]);
        let beginning = Beginning { stage, index, group, view: &view, must: task.must_confine };
        let (pid, confined) = beginning.start(command)?;
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
    Ok(programs)
}

/// A group of its own, so that a signal reaches what the program has started as well.
fn command(stage: &Stage, cwd: &Path, fds: Descriptors) -> Command {
    let [stdin, stdout, stderr] = fds;
    let mut command = Command::new(&stage.program);
    command
        .args(&stage.args)
        .current_dir(cwd)
        .env_clear()
        .envs(stage.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0);
    command
}

/// A program about to be started.
struct Beginning<'a> {
    stage: &'a Stage,
    index: usize,
    group: Option<&'a Group>,
    view: &'a io::Result<()>,
    /// Not unless it is confined.
    must: bool,
}

impl Beginning<'_> {
    fn start(&self, command: Command) -> Result<(Pid, Confined), Event> {
        thread::scope(|scope| {
            let started = scope.spawn(|| self.confine_and_start(command)).join();
            started.unwrap_or_else(|_| Err(self.failed(&io::Error::other("the thread panicked"))))
        })
    }

    fn confine_and_start(&self, mut command: Command) -> Result<(Pid, Confined), Event> {
        let in_group = self.group.is_some_and(|group| group.enter().is_ok());
        let confined = self.stage.confinement.as_ref().map(kernel::confine).unwrap_or_default();
        let confined = Confined {
            mounts: self.view.is_ok(),
            processes: in_group,
            problem: confined.problem.or(self.view.as_ref().err().map(ToString::to_string)),
            ..confined
        };
        let lacking = !(confined.files && confined.system_calls && confined.mounts);
        if self.must && lacking && self.stage.confinement.is_some() {
            let reason = "the kernel cannot confine it".to_owned();
            return Err(Event::Failed { stage: self.index, reason, kind: Failure::NotConfined });
        }
        let child = command.spawn().map_err(|error| self.failed(&error))?;
        // The reaper waits for it, by its number.
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| self.failed(&io::Error::other("no process number")))?;
        Ok((pid, confined))
    }

    fn failed(&self, error: &io::Error) -> Event {
        failed(self.index, error)
    }
}

fn failed(stage: usize, error: &io::Error) -> Event {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => Failure::NotFound,
        io::ErrorKind::PermissionDenied => Failure::NotPermitted,
        io::ErrorKind::ArgumentListTooLong => Failure::ArgumentsTooLong,
        _ => Failure::Other,
    };
    Event::Failed { stage, reason: error.to_string(), kind }
}
