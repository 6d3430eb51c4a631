//! Opens what lies below an open directory, so that no link, `..` or rename can lead out of it.
//!
//! Linux does that in one call to the kernel. Elsewhere cap-std opens one name after the other and
//! reads the links itself, which is slower and refuses more, but leads out as little.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_vendor = "apple", test))]
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "tested here, used elsewhere"))]
mod portable;

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
compile_error!(
    "mcp-filesystem needs openat2 of Linux, or the path of a descriptor as macOS tells it"
);

#[cfg(target_os = "linux")]
pub(super) use linux::{LOOK, link_target, open, open_directory, path_to, real_path};
#[cfg(not(target_os = "linux"))]
pub(super) use portable::{LOOK, link_target, open, open_directory, path_to, real_path};
