//! The crash journal: a change of several files, or over a file that must stay the same, is cut
//! short after each call to the kernel, and then finished or taken back by whoever comes next; so
//! is that, in turn. What somebody else has changed meanwhile is left alone.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::faults::{Found, MAX_CALLS, look, make_files, run_for, run_until};
use crate::backend::{Access, Backend, Content, WriteFile};

fn open(dir: &Path) -> Backend {
    Backend::open(&[(dir.to_owned(), Access::ReadWrite)], &[]).unwrap()
}

/// Old and new contents for a change called `over OLD NEW`, by their lengths.
pub(super) fn contents_over(change: &str) -> (Vec<u8>, Vec<u8>) {
    let mut lengths = change.split(' ').skip(1).map(|length| length.parse::<usize>().unwrap());
    let mut bytes = |step: usize| {
        let length = lengths.next().unwrap();
        let cycle: Vec<u8> = (0..251).map(|at| u8::try_from(at * step % 251).unwrap()).collect();
        let mut bytes = cycle.repeat(length / cycle.len() + 1);
        bytes.truncate(length);
        bytes
    };
    (bytes(7), bytes(11))
}

fn make_linked(dir: &Path, old: &[u8]) {
    std::fs::write(dir.join("linked"), old).unwrap();
    std::fs::hard_link(dir.join("linked"), dir.join("other")).unwrap();
}

/// Names that no user has given.
fn rests(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with(".mcp-")).collect()
}

fn nothing_is_left_and_links_hold(dir: &Path, what: &str) {
    assert_eq!(rests(dir), Vec::<String>::new(), "{what}");
    let (one, other) = (dir.join("linked"), dir.join("other"));
    assert_eq!(one.metadata().unwrap().ino(), other.metadata().unwrap().ino(), "{what}");
}

#[test]
fn a_file_with_two_names_is_written_or_not() {
    let (mut torn, mut first) = (0, 0);
    for change in
        ["over 1400 300", "over 300 1400", "over 500 500", "over 500 0", "over 3000017 2999000"]
    {
        let (old, new) = contents_over(change);
        let mut kinds = BTreeMap::new();
        let begin = first;
        for calls in begin..MAX_CALLS {
            let dir = super::scratch();
            make_linked(dir.path(), &old);
            let is_done = run_for(dir.path(), change, calls);
            if first == 0 && !rests(dir.path()).is_empty() {
                // What comes before is the same for all of them.
                first = calls - 1;
            }
            let found = std::fs::read(dir.path().join("linked")).unwrap();
            torn += usize::from(found != old && found != new);
            drop(open(dir.path()));
            let found = std::fs::read(dir.path().join("linked")).unwrap();
            assert!(found == old || found == new, "{change}, {calls} calls: {}", found.len());
            nothing_is_left_and_links_hold(dir.path(), &format!("{change}, {calls} calls"));
            *kinds.entry(found == new).or_insert(0) += 1;
            if is_done {
                assert_eq!(found, new, "{change}");
                break;
            }
        }
        assert!(kinds[&false] > 5 && kinds[&true] > 5, "{change}: {kinds:?}");
    }
    assert!(torn > 5, "only {torn} were ever torn");
}

/// Cut short everywhere, and what was found then and after somebody had come.
fn of_several(change: &str) {
    let mut found = BTreeMap::new();
    for calls in 0..MAX_CALLS {
        let dir = super::scratch();
        make_files(dir.path(), change);
        let is_done = run_for(dir.path(), change, calls);
        let before = match std::panic::catch_unwind(|| look(dir.path(), change)) {
            Ok(Found::Old) => "old",
            Ok(Found::New) => "new",
            _ => "mixed",
        };
        drop(open(dir.path()));
        let what = format!("{change}, {calls} calls");
        let after = look(dir.path(), change);
        assert_ne!(after, Found::Mixed, "{what}");
        nothing_is_left_and_links_hold(dir.path(), &what);
        *found.entry(before).or_insert(0) += 1;
        if is_done {
            // What is undone has been done before.
            assert_eq!(after, if change == "undo" { Found::Old } else { Found::New });
            break;
        }
    }
    assert!(found.len() == 3 && found["mixed"] > 5, "{change}: {found:?}");
}

#[test]
fn all_of_several_files_are_changed_or_none() {
    of_several("several");
}

#[test]
fn all_of_several_files_are_put_back_or_none() {
    of_several("undo");
}

/// The first time the files are mixed, in the middle of that, and the last.
fn mixed_at(change: &str, make: impl Fn(&Path), is_mixed: impl Fn(&Path) -> bool) -> [usize; 3] {
    let mut mixed = Vec::new();
    for calls in (0..MAX_CALLS).step_by(2) {
        let dir = super::scratch();
        make(dir.path());
        if run_for(dir.path(), change, calls) {
            break;
        }
        if is_mixed(dir.path()) {
            mixed.push(calls);
        }
    }
    [mixed[0], mixed[mixed.len() / 2], mixed[mixed.len() - 1]]
}

fn is_mixed(dir: &Path) -> bool {
    std::panic::catch_unwind(|| look(dir, "several")).is_ok_and(|found| found == Found::Mixed)
}

#[test]
fn recovery_can_be_cut_short_too() {
    let [calls, _, last] = mixed_at("several", |dir| make_files(dir, "several"), is_mixed);
    for calls in [calls, last] {
        for recovering in 0..MAX_CALLS {
            let dir = super::scratch();
            make_files(dir.path(), "several");
            run_for(dir.path(), "several", calls);
            let is_done = run_for(dir.path(), "recover", recovering);
            let what = format!("{calls} and {recovering} calls");
            if is_done {
                assert_ne!(look(dir.path(), "several"), Found::Mixed, "{what}");
            }
            drop(open(dir.path()));
            assert_eq!(look(dir.path(), "several"), Found::New, "{what}");
            nothing_is_left_and_links_hold(dir.path(), &what);
            if is_done {
                assert!(recovering > 20, "{what}");
                break;
            }
        }
    }
}

/// Another server comes while the first is stopped: it does its own work and touches nothing else.
#[test]
fn what_a_living_process_does_is_left_to_it() {
    for calls in 0..MAX_CALLS {
        let dir = super::scratch();
        make_files(dir.path(), "several");
        let is_done = run_until(dir.path(), "several", calls, |_| {
            let content = Content::Text("ours".to_owned());
            let path = "other-file".to_owned();
            let request = WriteFile { path, content, create_only: false, if_match: None };
            open(dir.path()).write(&request).unwrap();
        });
        assert_eq!(look(dir.path(), "several"), Found::New, "{calls} calls");
        nothing_is_left_and_links_hold(dir.path(), &format!("{calls} calls"));
        if is_done {
            break;
        }
    }
}

/// By somebody else, after the crash and before anybody comes; and what is there in the end.
#[test]
fn what_somebody_else_has_changed_meanwhile_stays() {
    let [calls, ..] = mixed_at("several", |dir| make_files(dir, "several"), is_mixed);
    let old = [("one", "old"), ("two", "old"), ("linked", "old"), ("gone", "old")];
    let new = [("one", "new"), ("two", "new"), ("linked", "new"), ("moved", "source")];
    for (changed, rest, absent, kept) in [
        // Already made, so all the others can be.
        (&["one"][..], new, "gone", vec![]),
        (&["two"], old, "made", vec!["new"]),
        (&["linked"], old, "made", vec!["new"]),
        (&["made"], old, "moved", vec!["new"]),
        (&["gone"], old, "made", vec![""]),
        (&["moved"], old, "made", vec![]),
        (&["one", "two"], old, "made", vec!["new", "old"]),
    ] {
        let dir = super::scratch();
        make_files(dir.path(), "several");
        run_for(dir.path(), "several", calls);
        for name in changed {
            // Another file, as editors do it, except where a name would be lost.
            if *name != "linked" {
                let _gone = std::fs::remove_file(dir.path().join(name));
            }
            std::fs::write(dir.path().join(name), "by somebody else").unwrap();
        }
        for _ in 0..2 {
            drop(open(dir.path()));
            for (name, content) in rest {
                let is_theirs = changed.contains(&name);
                let content = if is_theirs { "by somebody else" } else { content };
                let found = std::fs::read_to_string(dir.path().join(name)).unwrap();
                assert_eq!(found, content, "{changed:?}: {name}");
            }
            assert!(!dir.path().join(absent).exists(), "{changed:?}: {absent}");
            let mut found: Vec<_> = rests(dir.path())
                .iter()
                .map(|name| std::fs::read_to_string(dir.path().join(name)).unwrap())
                .collect();
            found.sort();
            assert_eq!(found, kept, "{changed:?}: {:?}", rests(dir.path()));
        }
    }
}

/// Nor is it forgotten that all is taken back.
#[test]
fn taking_back_can_be_cut_short_too() {
    let [calls, ..] = mixed_at("several", |dir| make_files(dir, "several"), is_mixed);
    for recovering in 0..MAX_CALLS {
        let dir = super::scratch();
        make_files(dir.path(), "several");
        run_for(dir.path(), "several", calls);
        std::fs::remove_file(dir.path().join("two")).unwrap();
        std::fs::write(dir.path().join("two"), "theirs").unwrap();
        let is_done = run_for(dir.path(), "recover", recovering);
        drop(open(dir.path()));
        for (name, content) in
            [("one", "old"), ("two", "theirs"), ("linked", "old"), ("source", "source")]
        {
            let found = std::fs::read_to_string(dir.path().join(name)).unwrap();
            assert_eq!(found, content, "{recovering} calls: {name}");
        }
        let kept = rests(dir.path());
        assert_eq!(kept.len(), 1, "{recovering} calls: {kept:?}");
        assert_eq!(std::fs::read_to_string(dir.path().join(&kept[0])).unwrap(), "new");
        if is_done {
            assert!(recovering > 20);
            break;
        }
    }
}

#[test]
fn a_torn_file_that_somebody_has_changed_is_left_and_the_new_contents_are_kept() {
    let change = "over 3000017 2999000";
    let (old, new) = contents_over(change);
    let is_torn = |dir: &Path| {
        let found = std::fs::read(dir.join("linked")).unwrap();
        found != old && found != new
    };
    let [calls, _, last] = mixed_at(change, |dir| make_linked(dir, &old), is_torn);
    for calls in [calls, last] {
        for theirs in ["append", "one byte", "all"] {
            let dir = super::scratch();
            make_linked(dir.path(), &old);
            run_for(dir.path(), change, calls);
            let mut content = std::fs::read(dir.path().join("linked")).unwrap();
            match theirs {
                "append" => content.push(b'x'),
                "one byte" => content[2_998_000] ^= 0x80,
                _ => content = b"mine".to_vec(),
            }
            std::fs::write(dir.path().join("linked"), &content).unwrap();
            for _ in 0..2 {
                drop(open(dir.path()));
                assert!(std::fs::read(dir.path().join("linked")).unwrap() == content, "{theirs}");
                let [kept] = &rests(dir.path())[..] else {
                    panic!("{:?}", rests(dir.path()));
                };
                assert!(kept.ends_with(".kept"), "{kept}");
                assert!(std::fs::read(dir.path().join(kept)).unwrap() == new, "{theirs}");
            }
        }
    }
}

/// A server that runs already mends what another one left, before it writes.
#[test]
fn a_running_server_finishes_what_another_has_left() {
    let [_, calls, _] = mixed_at("several", |dir| make_files(dir, "several"), is_mixed);
    let dir = super::scratch();
    let running = open(dir.path());
    make_files(dir.path(), "several");
    run_for(dir.path(), "several", calls);
    let content = Content::Text("x".to_owned());
    let path = "unrelated".to_owned();
    running.write(&WriteFile { path, content, create_only: false, if_match: None }).unwrap();
    assert_eq!(look(dir.path(), "several"), Found::New);
    nothing_is_left_and_links_hold(dir.path(), "running");
}

/// Who may only read changes nothing, and does not forget it either.
#[test]
fn a_read_only_server_leaves_it_to_others() {
    let [calls, ..] = mixed_at("several", |dir| make_files(dir, "several"), is_mixed);
    let dir = super::scratch();
    make_files(dir.path(), "several");
    run_for(dir.path(), "several", calls);
    drop(Backend::open(&[(dir.path().to_owned(), Access::ReadOnly)], &[]).unwrap());
    assert!(is_mixed(dir.path()));
    drop(open(dir.path()));
    assert_eq!(look(dir.path(), "several"), Found::New);
}
