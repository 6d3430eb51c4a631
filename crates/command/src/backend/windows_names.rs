//! How Windows reads names: as devices, as streams of a file, as other machines, whatever their case.
//! Plain functions over text, so that every system tests them.

/// What a name must not end with to be run without an interpreter that takes its arguments apart.
const BATCH: [&str; 2] = [".bat", ".cmd"];
const PROGRAM: &str = ".exe";

/// Whether a path leads to a file or a directory on a drive, and to no other than the one it spells:
/// not to another machine (`\\host\share`, which is told who asks) or a device (`\\.\x`, `NUL`,
/// `com1.txt`), not to the current directory of a drive (`c:x`), not to a stream of a file (`a:b`), and
/// without the dots and spaces at the end that are dropped.
pub(crate) fn is_plain_path(path: &str) -> bool {
    let is_separator = |letter: char| letter == '/' || letter == '\\';
    let mut start = path.chars();
    if start.next().is_some_and(is_separator) && start.next().is_some_and(is_separator) {
        return false;
    }
    let below = match path.split_once(':') {
        None => path,
        Some((drive, rest)) => {
            let is_drive = drive.len() == 1 && drive.chars().all(|it| it.is_ascii_alphabetic());
            if !is_drive || !rest.starts_with(is_separator) || rest.contains(':') {
                return false;
            }
            if rest.chars().nth(1).is_some_and(is_separator) {
                return false;
            }
            rest
        }
    };
    let mut parts = below.split(is_separator);
    parts.all(|part| matches!(part, "" | "." | "..") || is_plain_name(part))
}

fn is_plain_name(name: &str) -> bool {
    !name.ends_with(['.', ' ']) && !name.chars().any(char::is_control) && !is_device(name)
}

/// Also with an extension, and with spaces before it.
fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end().to_uppercase();
    if ["CON", "PRN", "AUX", "NUL", "CLOCK$", "CONIN$", "CONOUT$"].contains(&stem.as_str()) {
        return true;
    }
    let number = stem.strip_prefix("COM").or(stem.strip_prefix("LPT"));
    let mut digits = number.unwrap_or_default().chars();
    matches!((digits.next(), digits.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
}

/// The name a program has in the policy, for what a model called it: in small letters, without
/// `.exe`; of an absolute path the last part.
pub(crate) fn program_name(command: &str) -> Option<String> {
    let is_absolute = is_plain_path(command) && command.contains(':');
    let name = if is_absolute { command.rsplit(['/', '\\']).next()? } else { command };
    let name = policy_key(name);
    let is_bare = !name.is_empty() && !name.contains(['/', '\\', ':']) && is_plain_name(&name);
    is_bare.then_some(name)
}

pub(crate) fn policy_key(name: &str) -> String {
    let small = name.to_lowercase();
    small.strip_suffix(PROGRAM).unwrap_or(&small).to_owned()
}

/// Whether only the command interpreter could run it, which finds commands in arguments however they
/// are quoted. Dots and spaces at the end do not make it another file.
pub(crate) fn is_batch(command: &str) -> bool {
    let name = command.trim_end_matches(['.', ' ']).to_lowercase();
    BATCH.iter().any(|extension| name.ends_with(extension))
}

/// The one extension a program has. What else is in `PATHEXT` is run by something else.
pub(crate) fn file_name(program: &str) -> String {
    format!("{program}{PROGRAM}")
}

pub(crate) fn is_program(path: &str) -> bool {
    path.to_lowercase().ends_with(PROGRAM)
}

/// Variables that make programs run code, or look for it elsewhere; in capital letters.
pub(crate) fn is_dangerous(variable: &str) -> bool {
    const NAMES: &[&str] = &[
        "PATHEXT",
        "COMSPEC",
        "SYSTEMROOT",
        "SYSTEMDRIVE",
        "WINDIR",
        "TEMP",
        "TMP",
        "USERPROFILE",
        "HOMEDRIVE",
        "HOMEPATH",
        "APPDATA",
        "LOCALAPPDATA",
        "PROGRAMDATA",
        "PSMODULEPATH",
        "__COMPAT_LAYER",
        "DOTNET_STARTUP_HOOKS",
    ];
    const PREFIXES: &[&str] = &["COR_", "CORECLR_", "COMPLUS_"];
    NAMES.contains(&variable) || PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
}
