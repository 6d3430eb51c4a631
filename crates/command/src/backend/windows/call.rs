//! One call from its start to its end: the programs, the pipes between them, and the job object they
//! are in. There is no asking to end, so there is no grace period: what is to end is ended.

use std::future::poll_fn;
use std::io;
use std::os::windows::io::OwnedHandle;
use std::process::ExitStatus;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use process_wrap::tokio::{
    ChildWrapper, CommandWrap, CommandWrapper, CreationFlags, JobObject, KillOnDrop,
};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::{interval, sleep};
use win32job::Job;
use windows::Win32::System::Threading::CREATE_NO_WINDOW;

use super::super::wire::{
    Confined, Descriptors, Done, Event, Exit, Failure, Limit, Limits, Order, Task,
};
use super::KILL;
use super::tree::Tree;

/// How often the number of processes and their memory are looked at.
const WATCH: Duration = Duration::from_millis(50);
/// How often, until all that was killed is gone.
const AGAIN: Duration = Duration::from_millis(5);
/// A command line is longer than can be.
const ERROR_FILENAME_EXCED_RANGE: i32 = 206;

struct Program {
    child: Box<dyn ChildWrapper>,
    id: Option<usize>,
    exit: Option<Exit>,
}

/// Never ends before everything it started is gone. `scratch` goes last.
pub(super) async fn run(
    task: Task,
    theirs: Descriptors,
    mut orders: UnboundedReceiver<Order>,
    events: UnboundedSender<Event>,
    _scratch: TempDir,
) {
    let tree = match Tree::create() {
        Ok(tree) => tree,
        Err(error) => return tell(&events, failed(0, &error)),
    };
    let mut call = Call { tree, programs: Vec::new(), limits: task.limits, killed: 0 };
    if let Err(event) = call.start(&task, theirs) {
        call.kill().await;
        return tell(&events, event);
    }
    let confined = vec![Confined::default(); call.programs.len()];
    tell(&events, Event::Started { confined });
    call.until_the_end(&mut orders, &events).await;
    tell(&events, Event::Done(call.done()));
}

/// Whoever does not listen any more has what it wanted.
fn tell(events: &UnboundedSender<Event>, event: Event) {
    let _gone = events.send(event);
}

struct Call {
    tree: Tree,
    programs: Vec<Program>,
    limits: Limits,
    killed: u64,
}

impl Call {
    /// Starts them all, or says which could not be started. What has been started then still runs.
    fn start(&mut self, task: &Task, theirs: Descriptors) -> Result<(), Event> {
        if task.must_confine {
            let reason = "nothing confines a program on this system".to_owned();
            return Err(Event::Failed { stage: 0, reason, kind: Failure::NotConfined });
        }
        let [mut next_input, output, errors] = theirs;
        let last = task.stages.len().saturating_sub(1);
        for (index, stage) in task.stages.iter().enumerate() {
            let this = |error: io::Error| failed(index, &error);
            let input = next_input;
            let (stdout, following): (OwnedHandle, OwnedHandle) = if index < last {
                let (reader, writer) = io::pipe().map_err(this)?;
                (writer.into(), reader.into())
            } else {
                (output.try_clone().map_err(this)?, super::nothing().map_err(this)?)
            };
            next_input = following;
            let stderr = errors.try_clone().map_err(this)?;
            let command = Command::from(stage.command(&task.cwd, [input, stdout, stderr]));
            let child = start_in(self.tree.job(), command).map_err(this)?;
            let id = child.id().and_then(|id| usize::try_from(id).ok());
            self.programs.push(Program { child, id, exit: None });
        }
        Ok(())
    }

    /// Until the last program has ended or something else ends the call; then ends the rest.
    async fn until_the_end(
        &mut self,
        orders: &mut UnboundedReceiver<Order>,
        events: &UnboundedSender<Event>,
    ) {
        let mut look = interval(WATCH);
        while self.programs.iter().any(|program| program.exit.is_none()) {
            tokio::select! {
                () = next_end(&mut self.programs) => {}
                // Whatever it is, it is the end, and that nobody is left to give one is as well.
                _order = orders.recv() => break,
                _ = look.tick() => if let Some(limit) = self.passed_limit() {
                    tell(events, Event::Over(limit));
                    break;
                },
            }
        }
        // What is gone can be asked for nothing but its time.
        let _seen = self.tree.usage();
        self.kill().await;
    }

    fn passed_limit(&mut self) -> Option<Limit> {
        let (processes, bytes) = self.tree.usage();
        if processes > self.limits.max_processes {
            return Some(Limit::Processes);
        }
        (bytes > self.limits.max_memory_bytes).then_some(Limit::Memory)
    }

    /// Until nothing is left.
    async fn kill(&mut self) {
        self.killed = self.alive();
        loop {
            for program in &mut self.programs {
                // Of all that it has started as well.
                let _gone = program.child.start_kill();
            }
            if self.alive() == 0 {
                break;
            }
            sleep(AGAIN).await;
        }
        for program in &mut self.programs {
            program.exit.get_or_insert(Exit::Signal(KILL));
        }
    }

    fn alive(&self) -> u64 {
        let ended = self.programs.iter().filter(|program| program.exit.is_some());
        let ended: Vec<usize> = ended.filter_map(|program| program.id).collect();
        self.tree.alive(&ended)
    }

    fn done(&mut self) -> Done {
        let (cpu_ms, max_rss_bytes) = self.tree.used();
        Done {
            exits: self.programs.iter().map(|it| it.exit.unwrap_or(Exit::Unknown)).collect(),
            killed: self.killed,
            cpu_ms,
            max_rss_bytes,
        }
    }
}

/// Waits until one of them has ended, not for what it has started.
async fn next_end(programs: &mut [Program]) {
    poll_fn(|context| {
        for program in programs.iter_mut().filter(|program| program.exit.is_none()) {
            let mut ended = program.child.inner_mut().wait();
            if let Poll::Ready(status) = ended.as_mut().poll(context) {
                drop(ended);
                program.exit = Some(status.map_or(Exit::Unknown, exit));
                return Poll::Ready(());
            }
        }
        Poll::Pending
    })
    .await;
}

fn exit(status: ExitStatus) -> Exit {
    status.code().map_or(Exit::Unknown, Exit::Code)
}

/// Suspended until it is in the job, so that nothing it starts is not.
fn start_in(job: Arc<Job>, command: Command) -> io::Result<Box<dyn ChildWrapper>> {
    let mut command = CommandWrap::from(command);
    command.wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(KillOnDrop).wrap(InJob(job)).wrap(JobObject);
    command.spawn()
}

/// Puts a process into the call's job before [`JobObject`] makes one of its own within and lets it run.
#[derive(Debug)]
struct InJob(Arc<Job>);

impl CommandWrapper for InJob {
    fn post_spawn(
        &mut self,
        _: &mut Command,
        child: &mut Child,
        _: &CommandWrap,
    ) -> io::Result<()> {
        let handle = child.raw_handle().ok_or(io::ErrorKind::NotFound)?;
        Ok(self.0.assign_process(handle.addr().cast_signed())?)
    }
}

fn failed(stage: usize, error: &io::Error) -> Event {
    let kind = match (error.kind(), error.raw_os_error()) {
        (_, Some(ERROR_FILENAME_EXCED_RANGE)) => Failure::ArgumentsTooLong,
        (io::ErrorKind::NotFound, _) => Failure::NotFound,
        (io::ErrorKind::PermissionDenied, _) => Failure::NotPermitted,
        _ => Failure::Other,
    };
    Event::Failed { stage, reason: error.to_string(), kind }
}
