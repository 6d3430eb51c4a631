//! The process each call runs under: the server's own binary, started again. It owns everything
//! the call starts, and ends all of it when told to, when the time is up, or when the server is
//! gone, however the server ended.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{Pid, Resource, Rlimit, Signal, setpriority_process, setrlimit, setsid};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::handover;
use super::kernel::{self, Group, tree};
use super::protect;
use super::remove::remove;
use super::stages::{self, Programs};
use super::starter::Ready;
use super::wakes::{Wake, Wakes};
use super::wire::{Descriptors, Done, Event, Exit, Limit, Limits, Order, Task};

/// How often the number of processes and their memory are looked at.
const WATCH: Duration = Duration::from_millis(50);
/// Of all of the user's processes together. The superuser has no such limit.
const MAX_PROCESSES_OF_USER: u64 = 4096;
/// Of what the kernel says about memory, in bytes.
const RSS_UNIT: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
/// How long a killed process may take to be gone.
const KILL_AGAIN: Duration = Duration::from_millis(20);

/// Serves one call. Never returns before everything it started is gone.
pub(super) fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> io::Result<()> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(fs::File::open("/dev/null")?)?;
    // Whoever started the server may have left descriptors open that no program should see.
    close_fds::set_fds_cloexec(3, &[]);
    survive_signals()?;
    let _already_leader = setsid();
    kernel::adopt_orphans()?;
    kernel::no_new_privileges()?;
    let mut wakes = Wakes::new(socket.try_clone()?)?;
    let ahead = handover::receive_ahead(&socket)?;
    // Outlives who is in it, so that it can be removed.
    let group = Group::create(ahead.max_processes).map(Arc::new);
    let ready = ahead.confinement.map(|base| Ready::new(base, group.clone()));
    // So far it was started ahead; here it waits for its task.
    let (descriptors, task) = match receive_task(&socket, &mut wakes) {
        Ok(received) => received,
        Err(server_gone) => {
            let _removed_already = fs::remove_dir(&ahead.scratch);
            return Err(server_gone);
        }
    };
    // What does not fit has to be gone before the file system is seen in another way.
    let ready = ready.filter(|ready| stages::fits(ready, &task));
    limit(task.limits);
    if let (Some(group), true) = (&group, ahead.max_processes != task.limits.max_processes) {
        group.limit(task.limits.max_processes)?;
    }
    let programs = match stages::start(&task, descriptors, group.as_ref(), ready.as_ref()) {
        Ok(programs) => programs,
        Err(failed) => {
            end_all(&mut wakes, |_, _| {});
            return report(&socket, &failed);
        }
    };
    // From here on nothing may fail before everything is ended; that the server is gone already is
    // noticed by `Wakes`.
    let _server_gone = report(&socket, &Event::Started { confined: programs.confined.clone() });
    // What runs by now keeps its own. A flood of processes must not starve who has to end it;
    // only the superuser may do this, and the others have a limit of processes.
    let _not_allowed = setpriority_process(None, -20);
    let limits = task.limits;
    let group = group.clone();
    let mut call = Call { socket, limits, wakes, programs, group, killed: 0, alone: false };
    call.run();
    if call.alone {
        kernel::unprotect(&task.writable, &task.mounts);
        task.placeholders.iter().for_each(|path| protect::remove(path));
        let _removed_already = remove(&ahead.scratch);
    }
    call.finish()
}

fn receive_task(socket: &UnixStream, wakes: &mut Wakes) -> io::Result<(Descriptors, Task)> {
    let descriptors = handover::receive_descriptors(socket)?;
    Ok((descriptors, serde_json::from_slice(&wakes.first_line()?)?))
}

fn report(mut socket: &UnixStream, event: &Event) -> io::Result<()> {
    socket.write_all(&handover::line(event)?)
}

/// Of the signals that can be survived none may end this process before what it started. They are
/// caught, not ignored: what is ignored would be ignored by the programs as well.
fn survive_signals() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Limits the kernel keeps for each process; they are inherited.
fn limit(limits: Limits) {
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Nofile, 1024),
        (Resource::Nproc, MAX_PROCESSES_OF_USER),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Cpu, limits.cpu_secs),
    ] {
        let _lower_already =
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
}

/// Kills until nothing is left, and tells who ended how. `true`: the server is gone as well.
fn end_all(wakes: &mut Wakes, mut ended: impl FnMut(Pid, Exit)) -> bool {
    let mut alone = false;
    loop {
        tree::kill_all();
        let again = Instant::now() + KILL_AGAIN;
        loop {
            match wakes.next(again) {
                Wake::Ended(pid, exit) => ended(pid, exit),
                Wake::Empty => return alone,
                Wake::Alone => alone = true,
                Wake::Order(_) => {}
                Wake::Time => break,
            }
        }
    }
}

struct Call {
    socket: UnixStream,
    limits: Limits,
    wakes: Wakes,
    programs: Programs,
    group: Option<Arc<Group>>,
    killed: u64,
    /// The server is gone.
    alone: bool,
}

impl Call {
    /// Until the last program has ended or something else ends the call; then ends the rest.
    fn run(&mut self) {
        let mut look = Instant::now() + WATCH;
        loop {
            match self.wakes.next(look) {
                Wake::Order(Order::Signal(number)) => self.signal(number),
                Wake::Order(Order::Stop) => return self.stop(),
                Wake::Alone => {
                    self.alone = true;
                    return self.stop();
                }
                Wake::Ended(pid, exit) => {
                    self.programs.ended(pid, exit);
                    if self.programs.all_ended() {
                        // Whoever was refused a process may have given up before anybody looked.
                        if self.was_full() {
                            let _server_gone = report(&self.socket, &Event::Over(Limit::Processes));
                        }
                        if self.wakes.nothing_left() {
                            return;
                        }
                        return self.stop();
                    }
                }
                Wake::Empty => return,
                Wake::Time => {}
            }
            // However many wakes there are in between.
            if look <= Instant::now() {
                if let Some(limit) = self.passed_limit() {
                    let _server_gone = report(&self.socket, &Event::Over(limit));
                    self.killed = tree::alive();
                    return self.kill();
                }
                look = Instant::now() + WATCH;
            }
        }
    }

    fn passed_limit(&self) -> Option<Limit> {
        let (processes, bytes) = tree::usage(rustix::param::page_size() as u64);
        if processes > self.limits.max_processes || self.was_full() {
            return Some(Limit::Processes);
        }
        (bytes > self.limits.max_memory_bytes).then_some(Limit::Memory)
    }

    fn was_full(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.was_full())
    }

    fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            self.programs.signal(signal);
        }
    }

    /// Asks everything that is left to end, and kills what does not.
    fn stop(&mut self) {
        self.killed = tree::alive();
        if self.killed > 0 {
            tree::signal_all(Signal::TERM);
            // A stopped process cannot obey.
            tree::signal_all(Signal::CONT);
        } else {
            self.programs.signal(Signal::TERM);
        }
        let until = Instant::now() + Duration::from_millis(self.limits.grace_ms);
        loop {
            match self.wakes.next(until) {
                Wake::Ended(pid, exit) => self.programs.ended(pid, exit),
                Wake::Empty => return,
                Wake::Alone => self.alone = true,
                Wake::Order(_) => {}
                Wake::Time => return self.kill(),
            }
        }
    }

    /// Until nothing is left.
    fn kill(&mut self) {
        // All of a group at once, so that those which only multiply are gone with this.
        self.programs.kill_groups();
        let programs = &mut self.programs;
        self.alone |= end_all(&mut self.wakes, |pid, exit| programs.ended(pid, exit));
    }

    fn finish(self) -> io::Result<()> {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let millis = |time: nix::sys::time::TimeVal| {
            u64::try_from(time.num_milliseconds()).unwrap_or_default()
        };
        let done = Done {
            exits: self.programs.exits(),
            killed: self.killed,
            cpu_ms: millis(usage.user_time()) + millis(usage.system_time()),
            max_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or_default() * RSS_UNIT,
        };
        if self.alone {
            return Ok(());
        }
        // The rest of its own end is for when nobody else has anything to do, and the answer to be
        // sent by then.
        let _always_allowed = setpriority_process(None, 19);
        report(&self.socket, &Event::Done(done))?;
        let _server_gone = (&self.socket).read(&mut [0]);
        Ok(())
    }
}
