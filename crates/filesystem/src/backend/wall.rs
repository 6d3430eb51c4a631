//! The second wall: where the kernel has landlock, a thread that opens files for a client can
//! reach nothing but the served directories, whatever mistake our own code may hold.
//!
//! Threads are restricted one by one, when they first open something: what the process needs for
//! itself, such as its audit log, is opened by others.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::OnceLock;

use landlock::{
    ABI, Access as _, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};

use super::root::Access;

/// The newest the code was written for; an older kernel holds less.
const NEWEST: ABI = ABI::V5;

static WALL: OnceLock<RulesetCreated> = OnceLock::new();

thread_local! {
    static IS_BEHIND: Cell<bool> = const { Cell::new(false) };
}

/// How much of the wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wall {
    Whole,
    Part,
    /// The kernel has none.
    Missing,
}

/// For the whole process, once. Without it [`stand_behind`] does nothing.
pub(crate) fn build(dirs: &[(PathBuf, Access)]) -> anyhow::Result<Wall> {
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.create()?;
    for (dir, access) in dirs {
        let allowed = match access {
            Access::ReadOnly => AccessFs::from_read(NEWEST),
            Access::ReadWrite => AccessFs::from_all(NEWEST),
        };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(dir)?, allowed))?;
    }
    let probe = rules.try_clone()?;
    let _first_wins = WALL.set(rules);
    // Only a thread that stands behind it can tell.
    let probed = std::thread::spawn(move || restrict(probe)).join();
    Ok(probed.map_err(|_| anyhow::anyhow!("landlock could not be tried"))??)
}

/// From now on this thread, and those it starts, reach only what is served.
pub(super) fn stand_behind() {
    let Some(wall) = WALL.get() else {
        return;
    };
    if IS_BEHIND.replace(true) {
        return;
    }
    let stands = wall.try_clone().map_err(anyhow::Error::from).and_then(|wall| Ok(restrict(wall)?));
    if let Err(error) = stands {
        tracing::warn!("a thread stands before the second wall: {error:#}");
    }
}

fn restrict(wall: RulesetCreated) -> Result<Wall, RulesetError> {
    Ok(match wall.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => Wall::Whole,
        RulesetStatus::PartiallyEnforced => Wall::Part,
        RulesetStatus::NotEnforced => Wall::Missing,
    })
}
