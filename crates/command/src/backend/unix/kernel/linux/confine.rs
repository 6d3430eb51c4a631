//! Confines the calling thread and what it starts from then on. The helper starts each program
//! from a thread confined like this, so that it stays free itself to end what it started.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Stat, fstat, stat};
use rustix::process::getuid;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use seccompiler::apply_filter;

use super::seccomp;
use crate::backend::wire::{Confined, Confinement};

/// The newest version of the file rules this code was written for. An older kernel does what it
/// can; the self-test finds out what that is.
const NEWEST: ABI = ABI::V6;
/// Without all of these the rules leave a way to write, so they do not count as being in force.
const FIRST_WITH_TRUNCATE: ABI = ABI::V3;

/// What every program needs to have: that it gains no privileges by set-user-id files.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    Ok(set_no_new_privs(true)?)
}

/// What can be done ahead of a task.
pub(crate) struct Prepared {
    base: Confinement,
    rules: Option<Rules>,
    calls: io::Result<()>,
}

struct Rules {
    ruleset: RulesetCreated,
    /// Which files they are for, in the order of [`places`].
    files: Vec<Option<Identity>>,
}

/// Device and number.
type Identity = (u64, u64);

/// Of the calling thread; what is put on it later may only add places to `base`.
/// [`no_new_privileges`] must come before.
pub(crate) fn prepare(base: Confinement) -> Prepared {
    let rules = rules(&base, CompatLevel::HardRequirement).ok();
    let calls = limit_calls(&base);
    Prepared { base, rules, calls }
}

/// Puts on what can be put on, and says what that was. `program` is what is started then.
pub(crate) fn confine(to: &Confinement, program: &Command, prepared: Option<Prepared>) -> Confined {
    let (rules, calls) = match prepared {
        // A rule is for a file, and by now another may be in its place.
        Some(it) => {
            let rules = it.rules.filter(|rules| are_there(&it.base, &rules.files));
            (rules.and_then(|rules| complete(rules, &it.base, to).ok()), it.calls)
        }
        None => (None, limit_calls(to)),
    };
    let files = limit_files(to, rules);
    drop_capabilities();
    let calls = calls.and_then(|()| limit_starts(to, program));
    let problem = match (&files, &calls) {
        (Err(error), _) => Some(error.to_string()),
        (_, Err(error)) => Some(error.to_string()),
        _ => None,
    };
    Confined {
        files: matches!(files, Ok(true)),
        system_calls: calls.is_ok(),
        problem,
        ..Confined::default()
    }
}

fn limit_calls(to: &Confinement) -> io::Result<()> {
    apply_filter(&seccomp::refused(to)?).map_err(io::Error::other)
}

fn limit_starts(to: &Confinement, program: &Command) -> io::Result<()> {
    if !to.starts_nothing {
        return Ok(());
    }
    let path = program.get_program().as_encoded_bytes().as_ptr();
    apply_filter(&seccomp::only(path.addr() as u64)?).map_err(io::Error::other)
}

/// `false`: a kernel that is too old has done what it can, which is not enough.
fn limit_files(to: &Confinement, ready: Option<Rules>) -> Result<bool, RulesetError> {
    match ready.map_or_else(|| rules(to, CompatLevel::HardRequirement), Ok) {
        Ok(rules) => Ok(rules.ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced),
        Err(_) => {
            rules(to, CompatLevel::BestEffort)?.ruleset.restrict_self()?;
            Ok(false)
        }
    }
}

fn rules(to: &Confinement, least: CompatLevel) -> Result<Rules, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(least)
        .handle_access(AccessFs::from_all(FIRST_WITH_TRUNCATE))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !to.network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let none = Rules { ruleset: rules.create()?, files: Vec::new() };
    complete(none, &Confinement::default(), to)
}

/// Adds what `to` has beyond what it begins with.
fn complete(rules: Rules, base: &Confinement, to: &Confinement) -> Result<Rules, RulesetError> {
    let Rules { mut ruleset, mut files } = rules;
    for ((known, _), (paths, access)) in places(base).into_iter().zip(places(to)) {
        for path in paths.iter().skip(known.len()) {
            // What is not there needs no rule.
            let Ok(opened) = PathFd::new(path) else {
                files.push(None);
                continue;
            };
            let found = fstat(&opened).ok();
            files.push(found.map(identity));
            let is_directory = found.is_some_and(|it| FileType::from_raw_mode(it.st_mode).is_dir());
            // A file takes only the rights a file can have.
            let access = if is_directory { access } else { access & AccessFs::from_file(NEWEST) };
            ruleset = ruleset.add_rule(PathBeneath::new(opened, access))?;
        }
    }
    Ok(Rules { ruleset, files })
}

fn places(of: &Confinement) -> [(&[PathBuf], BitFlags<AccessFs>); 3] {
    let write = (AccessFs::from_all(NEWEST) & !AccessFs::Execute)
        & !AccessFs::MakeBlock
        & !AccessFs::MakeChar;
    [
        (&of.read, AccessFs::ReadFile | AccessFs::ReadDir),
        (&of.write, write),
        (&of.execute, AccessFs::Execute | AccessFs::ReadFile),
    ]
}

/// Whether the files of these rules are still where they were.
fn are_there(base: &Confinement, files: &[Option<Identity>]) -> bool {
    let paths = places(base).into_iter().flat_map(|(paths, _)| paths);
    paths.map(|path| stat(path).ok().map(identity)).eq(files.iter().copied())
}

fn identity(found: Stat) -> Identity {
    (found.st_dev, found.st_ino)
}

/// The superuser keeps what goes with files, and nothing else: which files is bounded by the rules
/// above, and for their rights and owners by [`super::mounts`].
fn drop_capabilities() {
    if !getuid().is_root() {
        return;
    }
    let kept = CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER | CapabilitySet::CHOWN;
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    // Without the right to give rights up there are none to speak of.
    let _kept = set_capabilities(None, sets);
}
