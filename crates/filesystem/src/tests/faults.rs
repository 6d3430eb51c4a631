//! A process that dies between any two calls to the kernel leaves each file as it was or as it was
//! to be: one change after another is made under a tracer, which kills at the first call, then at
//! the second, and so on until the change is done.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, gettid};

use super::journal::contents_over;
use super::planted::journal_name;
use crate::backend::{
    Access, Backend, Change, Content, Edit, EditFile, Observer, TwoPaths, WriteFile,
};

const DIRECTORY: &str = "MCP_FILESYSTEM_FAULT_TEST_DIRECTORY";
const CHANGE: &str = "MCP_FILESYSTEM_FAULT_TEST_CHANGE";
const THREAD: &str = "thread ";
/// No change needs as many calls.
pub(super) const MAX_CALLS: usize = 1_000;

struct Unobserved;

impl Observer for Unobserved {
    fn progress(&self, _: u64, _: Option<u64>, _: &str) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}

fn write(path: &str) -> WriteFile {
    let (path, content) = (path.to_owned(), Content::Text("new".to_owned()));
    WriteFile { path, content, create_only: false, if_match: None }
}

fn edit(path: &str) -> EditFile {
    let edits = vec![Edit { old: "old".to_owned(), new: "new".to_owned(), replace_all: false }];
    EditFile { path: path.to_owned(), edits, dry_run: false, if_match: None, encoding: None }
}

fn from_to(source: &str, destination: &str, overwrite: bool) -> TwoPaths {
    let (source, destination) = (source.to_owned(), destination.to_owned());
    TwoPaths { source, destination, overwrite }
}

/// The changes, by name, or the id of one to undo.
fn make(backend: &Backend, change: &str) {
    match change {
        "create" => drop(backend.write(&write("made")).unwrap()),
        "write" => drop(backend.write(&write("one")).unwrap()),
        "edit" => drop(backend.edit(&edit("one")).unwrap()),
        "move" => backend.move_file(&from_to("source", "one", true)).unwrap(),
        "copy" => drop(backend.copy_file(&from_to("source", "one", true), &Unobserved).unwrap()),
        "delete" => drop(backend.delete("one", false, &Unobserved).unwrap()),
        "several" => drop(backend.apply(&several(), false).unwrap()),
        // Nothing but what comes before any change.
        "recover" => drop(backend.create_directory("folder").unwrap()),
        over if over.starts_with("over ") => {
            let content = Content::Bytes(contents_over(over).1);
            drop(backend.write(&WriteFile { content, ..write("linked") }).unwrap());
        }
        undo => drop(backend.undo(undo, false).unwrap()),
    }
}

fn several() -> [Change; 6] {
    [
        Change::Edit(edit("one")),
        Change::Write(write("two")),
        Change::Write(write("linked")),
        Change::Write(write("made")),
        Change::Move(from_to("source", "moved", false)),
        Change::Delete { path: "gone".to_owned(), if_match: None },
    ]
}

/// Does nothing unless [`start`] runs it in a process of its own.
#[test]
fn makes_a_change_under_a_tracer() {
    let Some(dir) = std::env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let mut change = std::env::var(CHANGE).unwrap();
    // Set aside, so that not even opening finds it.
    let journal = dir.join(journal_name());
    let aside = dir.join("aside");
    let is_left = std::fs::rename(&journal, &aside).is_ok();
    let backend = Backend::open(&[(dir, Access::ReadWrite)], &[]).unwrap();
    if change == "undo" {
        change = backend.apply(&several(), false).unwrap().undo.unwrap();
    }
    if is_left {
        std::fs::rename(&aside, &journal).unwrap();
    }
    ptrace::traceme().unwrap();
    eprintln!("{THREAD}{}", gettid());
    raise(Signal::SIGSTOP).unwrap();
    make(&backend, &change);
    std::process::exit(0);
}

fn start(dir: &Path, change: &str) -> (Child, Pid) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::faults::makes_a_change_under_a_tracer", "--nocapture"])
        .env(DIRECTORY, dir)
        .env(CHANGE, change)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let thread =
        lines.map_while(Result::ok).find_map(|line| line.strip_prefix(THREAD)?.parse().ok());
    (child, Pid::from_raw(thread.expect("the number of the thread")))
}

fn wait(thread: Pid) -> WaitStatus {
    waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap()
}

/// Lets the process make `calls` calls to the kernel and kills it. `true` if it was done by then.
pub(super) fn run_for(dir: &Path, change: &str, calls: usize) -> bool {
    run_until(dir, change, calls, |child| child.kill().unwrap())
}

/// Does `then` after so many calls, or at the end. `true` if that came first.
pub(super) fn run_until(
    dir: &Path,
    change: &str,
    calls: usize,
    then: impl FnOnce(&mut Child),
) -> bool {
    let (mut child, thread) = start(dir, change);
    assert!(matches!(wait(thread), WaitStatus::Stopped(_, Signal::SIGSTOP)));
    ptrace::setoptions(
        thread,
        ptrace::Options::PTRACE_O_TRACESYSGOOD | ptrace::Options::PTRACE_O_EXITKILL,
    )
    .unwrap();
    let mut is_done = false;
    // Each call stops it twice: before and after.
    for _ in 0..=2 * calls {
        ptrace::syscall(thread, None).unwrap();
        if let WaitStatus::Exited(_, code) = wait(thread) {
            assert_eq!(code, 0);
            is_done = true;
            break;
        }
    }
    then(&mut child);
    let _gone = ptrace::detach(thread, None);
    let _reaped = waitpid(thread, Some(WaitPidFlag::__WALL));
    let _reaped_already = child.wait();
    is_done
}

type Name = (&'static str, Option<&'static str>, Option<&'static str>);

/// The files a change is about: name, contents before and after.
fn files(change: &str) -> Vec<Name> {
    let (old, new, source) = (Some("old"), Some("new"), Some("source"));
    match change {
        "create" => vec![("made", None, new)],
        "write" | "edit" => vec![("one", old, new)],
        "move" => vec![("one", old, source), ("source", source, None)],
        "copy" => vec![("one", old, source), ("source", source, source)],
        "delete" => vec![("one", old, None)],
        _ => vec![
            ("one", old, new),
            ("two", old, new),
            ("linked", old, new),
            ("made", None, new),
            ("source", source, None),
            ("moved", None, source),
            ("gone", old, None),
        ],
    }
}

/// Those that are there before; "linked" has another name.
pub(super) fn make_files(dir: &Path, change: &str) {
    for (name, before, _) in files(change) {
        if let Some(text) = before {
            std::fs::write(dir.join(name), text).unwrap();
        }
        if name == "linked" {
            std::fs::hard_link(dir.join(name), dir.join("other")).unwrap();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Old,
    New,
    /// Some of the files are old, some are new.
    Mixed,
}

/// Fails if any file is neither.
pub(super) fn look(dir: &Path, change: &str) -> Found {
    let (mut is_old, mut is_new) = (true, true);
    for (name, before, after) in files(change) {
        let found = std::fs::read_to_string(dir.join(name)).ok();
        let found = found.as_deref();
        assert!(found == before || found == after, "{change}: {name} is {found:?}");
        is_old &= found == before;
        is_new &= found == after;
    }
    if is_old {
        Found::Old
    } else if is_new {
        Found::New
    } else {
        Found::Mixed
    }
}

/// A fresh directory, in which the change is cut short after so many calls. `true` if it was not.
fn cut_short(change: &str, calls: usize) -> bool {
    let dir = super::scratch();
    make_files(dir.path(), change);
    let is_done = run_for(dir.path(), change, calls);
    let found = look(dir.path(), change);
    assert!(found != Found::Mixed || change == "move", "{change}, {calls} calls: {found:?}");
    if is_done {
        assert_eq!(found, Found::New, "{change}");
    }
    // Not for a change that one call to the kernel makes.
    assert!(!dir.path().join(journal_name()).exists(), "{change}, {calls} calls");
    is_done
}

#[test]
fn one_file_is_written_moved_copied_deleted_or_not() {
    for change in ["create", "write", "edit", "move", "copy", "delete"] {
        let calls = (0..MAX_CALLS).find(|calls| cut_short(change, *calls));
        assert!(calls.expect("done at last") > 5, "{change}: {calls:?}");
    }
}
