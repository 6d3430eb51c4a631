//! Threads that start one program each. A thread is confined first, and what it starts is confined
//! with it, while the helper stays free to end what was started.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rustix::process::Pid;

use super::kernel::{self, Group, Prepared};
use super::wire::{Confined, Confinement, Event, Failure};

/// A program about to be started.
pub(super) struct Starter {
    pub(super) command: Command,
    pub(super) confinement: Option<Confinement>,
    /// Which of the task's.
    pub(super) index: usize,
    pub(super) group: Option<Arc<Group>>,
    /// Its processes are limited without a group.
    pub(super) counted: bool,
    /// Why the task's view of the file system is not there.
    pub(super) unprotected: Option<String>,
    /// Not unless it is confined.
    pub(super) must: bool,
}

type Started = Result<(Pid, Confined), Event>;

impl Starter {
    pub(super) fn on_a_thread_of_its_own(self) -> Started {
        let index = self.index;
        let started = thread::spawn(move || self.confine_and_start(None, None)).join();
        started.unwrap_or_else(|_| Err(failed(index, &gone())))
    }

    fn confine_and_start(self, prepared: Option<Prepared>, in_group: Option<bool>) -> Started {
        let Self { mut command, confinement, index, group, counted, unprotected, must } = self;
        let in_group = in_group.unwrap_or_else(|| is_in(group.as_deref()));
        let confined = match &confinement {
            Some(to) => kernel::confine(to, &command, prepared),
            None => Confined::default(),
        };
        let confined = Confined {
            mounts: unprotected.is_none(),
            processes: in_group || counted,
            problem: confined.problem.or(unprotected),
            ..confined
        };
        let lacking = !(confined.files && confined.system_calls && confined.mounts);
        if must && lacking && confinement.is_some() {
            let reason = "the kernel cannot confine it".to_owned();
            return Err(Event::Failed { stage: index, reason, kind: Failure::NotConfined });
        }
        let child = command.spawn().map_err(|error| failed(index, &error))?;
        // The reaper waits for it, by its number.
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| failed(index, &io::Error::other("no process number")))?;
        Ok((pid, confined))
    }
}

/// A thread that is confined already as far as most programs are, waiting for one to start.
pub(super) struct Ready {
    base: Confinement,
    /// `None` once it is being dropped.
    starter: Option<SyncSender<Starter>>,
    started: Receiver<Started>,
    thread: Option<JoinHandle<()>>,
}

impl Ready {
    /// [`kernel::no_new_privileges`] must come before.
    pub(super) fn new(base: Confinement, group: Option<Arc<Group>>) -> Self {
        let (starter, next) = sync_channel::<Starter>(1);
        let (tell, started) = sync_channel(1);
        let of_thread = base.clone();
        let thread = thread::spawn(move || {
            let in_group = is_in(group.as_deref());
            let prepared = kernel::prepare(of_thread);
            if let Ok(starter) = next.recv() {
                let _helper_gone =
                    tell.send(starter.confine_and_start(Some(prepared), Some(in_group)));
                // Its end takes a while, which the program is not to wait for.
                let _dropped = next.recv();
            }
        });
        Self { base, starter: Some(starter), started, thread: Some(thread) }
    }

    pub(super) fn fits(&self, confinement: Option<&Confinement>) -> bool {
        confinement.is_some_and(|to| is_more(to, &self.base))
    }

    /// Once.
    pub(super) fn start(&self, starter: Starter) -> Started {
        let index = starter.index;
        if let Some(to) = &self.starter {
            let _told_below = to.send(starter);
        }
        self.started.recv().unwrap_or_else(|_| Err(failed(index, &gone())))
    }
}

impl Drop for Ready {
    /// Waits until the thread is gone.
    fn drop(&mut self) {
        self.starter = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The same with more places.
fn is_more(to: &Confinement, base: &Confinement) -> bool {
    to.read.starts_with(&base.read)
        && to.write.starts_with(&base.write)
        && to.execute.starts_with(&base.execute)
        && (to.network, to.unix_sockets, to.sets_attributes)
            == (base.network, base.unix_sockets, base.sets_attributes)
}

fn is_in(group: Option<&Group>) -> bool {
    group.is_some_and(|group| group.enter().is_ok())
}

fn gone() -> io::Error {
    io::Error::other("the thread panicked")
}

pub(super) fn failed(stage: usize, error: &io::Error) -> Event {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => Failure::NotFound,
        io::ErrorKind::PermissionDenied => Failure::NotPermitted,
        io::ErrorKind::ArgumentListTooLong => Failure::ArgumentsTooLong,
        _ => Failure::Other,
    };
    Event::Failed { stage, reason: error.to_string(), kind }
}
