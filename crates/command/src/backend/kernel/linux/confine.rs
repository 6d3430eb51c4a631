//! Confines the calling thread and what it starts from then on. The helper starts each program
//! from a thread confined like this, so that it stays free itself to end what it started.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::process::getuid;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

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

/// Puts on what can be put on, and says what that was. [`no_new_privileges`] must come before.
pub(crate) fn confine(to: &Confinement) -> Confined {
    let files = limit_files(to);
    drop_capabilities();
    let calls = seccomp::filters(to).and_then(|filters| {
        filters.iter().try_for_each(|filter| seccompiler::apply_filter(filter))
    });
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

/// `false`: a kernel that is too old has done what it can, which is not enough.
fn limit_files(to: &Confinement) -> Result<bool, RulesetError> {
    match rules(to, CompatLevel::HardRequirement) {
        Ok(rules) => Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced),
        Err(_) => {
            rules(to, CompatLevel::BestEffort)?.restrict_self()?;
            Ok(false)
        }
    }
}

fn rules(to: &Confinement, least: CompatLevel) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(least)
        .handle_access(AccessFs::from_all(FIRST_WITH_TRUNCATE))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !to.network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = (AccessFs::from_all(NEWEST) & !AccessFs::Execute)
        & !AccessFs::MakeBlock
        & !AccessFs::MakeChar;
    let mut rules = rules.create()?;
    for (paths, access) in [
        (&to.read, read),
        (&to.write, write),
        (&to.execute, AccessFs::Execute | AccessFs::ReadFile),
    ] {
        for path in paths {
            rules = allow(rules, path, access)?;
        }
    }
    Ok(rules)
}

/// What is not there needs no rule; what is a file takes only the rights a file can have.
fn allow(
    rules: RulesetCreated,
    path: &PathBuf,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
    let access = if is_directory(path) { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(opened, access))
}

fn is_directory(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_dir())
}

/// The superuser keeps what goes with files, which the rules above bound, and nothing else.
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
