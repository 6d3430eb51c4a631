//! Where programs may work, and what of the system they need to see to run at all.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::Error;
use super::system;

/// What every program may read, beside the devices.
const READABLE: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/locale.alias",
    "/etc/os-release",
    "/etc/terminfo",
    "/etc/mime.types",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/version",
    "/proc/filesystems",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];
/// And with the network.
const NETWORK: &[&str] = &[
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/resolv.conf",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/services",
    "/etc/protocols",
    "/etc/gai.conf",
];
/// Devices that hold nothing.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
const LIBRARIES: &[&str] = &["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// What of the system a program needs, found once.
#[derive(Debug)]
pub(crate) struct System {
    pub(super) readable: Vec<PathBuf>,
    pub(super) network: Vec<PathBuf>,
    /// May be read and written.
    pub(super) devices: Vec<PathBuf>,
    /// What the kernel starts in order to start a program.
    pub(super) loaders: Vec<PathBuf>,
}

impl System {
    pub(super) fn find(also_readable: &[PathBuf]) -> Self {
        let owned = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let readable = [without_inner(owned(READABLE)), also_readable.to_vec()].concat();
        Self { readable, network: owned(NETWORK), devices: owned(DEVICES), loaders: loaders() }
    }
}

/// Without directories that lie in one before them, as `/bin` does where it is a link into `/usr`:
/// each of these costs every call a rule. Not for those of an operator, whose links may change.
fn without_inner(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let (mut kept, mut directories) = (Vec::new(), Vec::<PathBuf>::new());
    for path in paths {
        let real = system::canonicalize(&path).ok().filter(|path| path.is_dir());
        if let Some(real) = real {
            if directories.iter().any(|outer| real.starts_with(outer)) {
                continue;
            }
            directories.push(real);
        }
        kept.push(path);
    }
    kept
}

/// What starts any program it can read, if it may be started itself.
pub(crate) fn loaders() -> Vec<PathBuf> {
    let entries = LIBRARIES.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld64")
        })
        .collect()
}

/// The directories programs may work in, links resolved.
#[derive(Debug)]
pub(crate) struct Roots(Vec<PathBuf>);

impl Roots {
    pub(super) fn open(dirs: &[PathBuf]) -> Result<Self, Error> {
        let mut roots = Vec::new();
        for dir in dirs {
            let failed = |cause| Error::Root { path: dir.clone(), cause };
            let root = system::canonicalize(dir).map_err(failed)?;
            if !root.is_dir() {
                return Err(failed(std::io::ErrorKind::NotADirectory.into()));
            }
            roots.push(root);
        }
        Ok(Self(roots))
    }

    pub(crate) fn all(&self) -> &[PathBuf] {
        &self.0
    }

    pub(super) fn holds(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    /// A directory by the name a model gave it: in a root, or the first root itself.
    pub(super) fn directory(&self, name: Option<&str>) -> Result<PathBuf, Error> {
        let first = self.0.first().cloned().unwrap_or_default();
        let Some(name) = name else { return Ok(first) };
        if name.contains('\0') {
            return Err(Error::NulByte { place: "cwd" });
        }
        let refused = || Error::Directory { name: name.to_owned() };
        if !system::is_plain_path(name) {
            return Err(refused());
        }
        let path = system::canonicalize(&first.join(name)).map_err(|_| refused())?;
        if self.holds(&path) && path.is_dir() { Ok(path) } else { Err(refused()) }
    }

    /// Whether `name`, seen from `cwd`, leads to a place in a root, be there something or not.
    pub(super) fn lead_to(&self, cwd: &Path, name: &str) -> bool {
        if !system::is_plain_path(name) {
            return false;
        }
        let path = cwd.join(name);
        let real = |part| Some((part, system::canonicalize(part).ok()?));
        let existing = path.ancestors().find_map(real);
        let Some((part, real)) = existing else { return false };
        let rest = path.strip_prefix(part).unwrap_or(Path::new(""));
        // A link to what is not there is followed by who makes it.
        let dangles = rest.components().next().is_some_and(|next| part.join(next).is_symlink());
        let climbs = rest.components().any(|component| component == Component::ParentDir);
        !climbs && !dangles && self.holds(&real)
    }
}
