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

use crate::backend::{
    Access, Backend, Change, Content, Edit, EditFile, Observer, TwoPaths, WriteFile,
};

const DIRECTORY: &str = "MCP_FILESYSTEM_FAULT_TEST_DIRECTORY";
const CHANGE: &str = "MCP_FILESYSTEM_FAULT_TEST_CHANGE";
const THREAD: &str = "thread ";
/// No change needs as many calls.
const MAX_CALLS: usize = 1_000;

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
        undo => drop(backend.undo(undo, false).unwrap()),
    }
}

fn several() -> [Change; 5] {
    [
        Change::Edit(edit("one")),
        Change::Write(write("two")),
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
    let backend = Backend::open(&[(dir, Access::ReadWrite)], &[]).unwrap();
    if change == "undo" {
        change = backend.apply(&several(), false).unwrap().undo.unwrap();
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
fn run_for(dir: &Path, change: &str, calls: usize) -> bool {
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
    child.kill().unwrap();
    let _reaped = waitpid(thread, Some(WaitPidFlag::__WALL));
    let _reaped_already = child.wait();
    is_done
}

/// The files a change is about: name, contents before and after.
fn files(change: &str) -> Vec<(&'static str, Option<&'static str>, Option<&'static str>)> {
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
            ("made", None, new),
            ("source", source, None),
            ("moved", None, source),
            ("gone", old, None),
        ],
    }
}

/// A fresh directory, in which the change is cut short after so many calls. `true` if it was not.
fn cut_short(change: &str, calls: usize) -> bool {
    let dir = super::scratch();
    for (name, before, _) in files(change) {
        if let Some(text) = before {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
    }
    let is_done = run_for(dir.path(), change, calls);
    for (name, before, after) in files(change) {
        let found = std::fs::read_to_string(dir.path().join(name)).ok();
        let found = found.as_deref();
        let last = if change == "undo" { before } else { after };
        let is_right = if is_done { found == last } else { found == before || found == after };
        assert!(is_right, "{change}, {calls} calls: {name} is {found:?}");
    }
    if files(change).iter().any(|(name, ..)| *name == "moved") {
        let count =
            ["source", "moved"].iter().filter(|name| dir.path().join(name).exists()).count();
        assert_eq!(count, 1, "{change}, {calls} calls");
    }
    is_done
}

fn cut_short_everywhere(change: &str) {
    let calls = (0..MAX_CALLS).find(|calls| cut_short(change, *calls));
    assert!(calls.expect("done at last") > 5, "{change}: {calls:?}");
}

#[test]
fn a_file_is_written_or_not() {
    ["create", "write", "edit"].into_iter().for_each(cut_short_everywhere);
}

/// It has to be written in place: then what it was to be lies whole beside it.
#[test]
fn a_file_with_two_names_is_written_or_to_be_had() {
    let mut torn = 0;
    for calls in 0..MAX_CALLS {
        let dir = super::scratch();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        std::fs::write(&one, "old and longer").unwrap();
        std::fs::hard_link(&one, &other).unwrap();
        let is_done = run_for(dir.path(), "write", calls);
        let found = std::fs::read_to_string(&one).unwrap();
        assert_eq!(found, std::fs::read_to_string(&other).unwrap());
        let entries = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut left = entries.filter(|path| path.extension().is_some_and(|end| end == "tmp"));
        let left = left.next().map(|path| std::fs::read_to_string(path).unwrap());
        if is_done {
            assert_eq!((found.as_str(), left), ("new", None));
            assert!(torn > 0, "nothing was ever interrupted");
            return;
        }
        if found != "old and longer" && found != "new" {
            torn += 1;
            assert_eq!(left.as_deref(), Some("new"), "{calls} calls: {found}");
        }
    }
    panic!("never done");
}

#[test]
fn a_file_is_moved_copied_deleted_or_not() {
    ["move", "copy", "delete"].into_iter().for_each(cut_short_everywhere);
}

#[test]
fn each_of_several_files_is_changed_or_not() {
    cut_short_everywhere("several");
}

#[test]
fn each_of_several_files_is_put_back_or_not() {
    cut_short_everywhere("undo");
}
