//! There is no second wall on this system.

use std::path::PathBuf;

use super::root::Access;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wall {
    #[expect(dead_code, reason = "of systems that have one")]
    Whole,
    #[expect(dead_code, reason = "of systems that have one")]
    Part,
    Missing,
}

#[expect(clippy::unnecessary_wraps, reason = "as where there is one")]
pub(crate) fn build(_: &[(PathBuf, Access)]) -> anyhow::Result<Wall> {
    Ok(Wall::Missing)
}

pub(super) fn stand_behind() {}
