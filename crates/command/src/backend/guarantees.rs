//! What holds for a program, by what was put on it and what the self-test proved; for the reader
//! of a result, who should not have to guess.

use serde::Serialize;

use super::probe::Proved;
use super::{Job, SandboxMode};

/// Each is `enforced`, `granted` (the policy lets it) or `not_enforced` and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub(crate) struct Guarantees {
    /// No file is changed outside the scratch directory and, if granted, the roots, nor its rights.
    pub(crate) fs_write: String,
    /// Only the roots and the system's programs are read.
    pub(crate) fs_read: String,
    /// No other program is started, not by way of the loader either.
    pub(crate) execute: String,
    /// No network.
    pub(crate) net: String,
    /// No sockets to services of this machine.
    pub(crate) unix_sockets: String,
    /// Nothing the policy protects in a root is changed.
    pub(crate) protected: String,
    /// No signal reaches another process, nor are its limits changed.
    pub(crate) signals: String,
    /// No process is left.
    pub(crate) tree_kill: String,
    /// Killed soon after it uses more than allowed.
    pub(crate) memory: String,
    /// No more than allowed; `watched`: killed soon after it has more.
    pub(crate) processes: String,
}

const ENFORCED: &str = "enforced";
const GRANTED: &str = "granted";
const OUTSIDE: &str = "enforced outside the roots";
const CONTENTS_OUTSIDE: &str = "enforced outside the roots (contents, not the rights and times)";
const WATCHED: &str = "watched";
const NOT: &str = "not_enforced (the kernel does not)";

impl Guarantees {
    /// For a call, or for any if there is none yet.
    pub(super) fn of(mode: SandboxMode, proved: Proved, job: Option<&Job>) -> Self {
        let confined = job.and_then(|job| job.confined.get());
        let files = confined.is_none_or(|all| all.iter().all(|stage| stage.files));
        let mounts = confined.is_none_or(|all| all.iter().all(|stage| stage.mounts));
        let group = confined.is_none_or(|all| all.iter().all(|stage| stage.processes));
        let calls = confined.is_none_or(|all| all.iter().all(|stage| stage.system_calls));
        let decisions = || job.into_iter().flat_map(|job| &job.decisions);
        let network = decisions().any(|decision| decision.network);
        let services = decisions().any(|decision| decision.unix_sockets);
        let writes = decisions().any(|decision| decision.class.writes());
        let starts = decisions().any(|decision| decision.starts);
        let state = |put_on: bool, proved: bool, granted: bool| {
            let text = match (mode, put_on && proved, granted) {
                (SandboxMode::Off, ..) => "not_enforced (--sandbox off)",
                (_, false, _) => NOT,
                (_, true, true) => GRANTED,
                (_, true, false) => ENFORCED,
            };
            text.to_owned()
        };
        let counted = if writes { proved.processes_of_writers } else { proved.processes };
        let watched = if proved.tree_kill { WATCHED } else { NOT };
        Self {
            fs_write: if writes {
                let of_contents = state(files, proved.fs_write, true);
                match (of_contents.as_str(), mounts && proved.protected) {
                    (GRANTED, true) => OUTSIDE.to_owned(),
                    (GRANTED, false) => CONTENTS_OUTSIDE.to_owned(),
                    _ => of_contents,
                }
            } else {
                state(files && calls, proved.fs_write && proved.attributes, false)
            },
            fs_read: state(files, proved.fs_read, false),
            execute: state(files && calls, proved.execute, starts),
            net: state(calls, proved.net, network),
            unix_sockets: state(calls, proved.unix_sockets, services),
            protected: if writes {
                state(files && mounts, proved.protected, false)
            } else {
                state(files, proved.fs_write, false)
            },
            signals: state(files && calls, proved.signals, false),
            tree_kill: if proved.tree_kill { ENFORCED } else { NOT }.to_owned(),
            memory: watched.to_owned(),
            processes: if group && counted { ENFORCED } else { watched }.to_owned(),
        }
    }
}
