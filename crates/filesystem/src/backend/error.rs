//! Why there is no answer. The texts are for the model: they hold the path as it was sent and
//! nothing else about the machine.

use std::path::PathBuf;

use rustix::io::Errno;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// At start-up only, so the text may name what the operator typed.
    #[error("cannot serve {path:?}: {cause}")]
    Directory { path: PathBuf, cause: std::io::Error },
    #[error("`--deny {glob}` would not do what it says: {reason}")]
    Deny { glob: String, reason: String },
    #[error("{path:?} was not found in the served directories")]
    NotFound { path: String },
    #[error("{path:?} was not found in the served directories; there is {near}")]
    NotFoundBut { path: String, near: String },
    #[error("{path:?} was not found: it is a path of Windows; here it would be like {posix:?}")]
    WindowsPath { path: String, posix: String },
    #[error("{path:?} is outside the served directories; list_allowed_directories names them")]
    Outside { path: String },
    #[error("{path:?} is not a regular file")]
    NotAFile { path: String },
    #[error("{path:?} is not a directory")]
    NotADirectory { path: String },
    #[error("{path:?} is kept from you by this server or by the file's permissions")]
    Denied { path: String },
    #[error("{path:?} is served read-only; list_allowed_directories tells what may be written")]
    ReadOnly { path: String },
    #[error("{path:?} is not text in a known encoding; try read_media_file, or name `encoding`")]
    NotText { path: String },
    #[error("{path:?} could not be read")]
    Read {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("{path:?} could not be written; it is as it was")]
    Write {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("{path:?} exists already and was left alone")]
    Exists { path: String },
    #[error("{path:?} has changed since you read it (its etag is {etag} now); read it again")]
    Changed { path: String, etag: String },
    #[error("{path:?} was replaced or moved while this was done; nothing was changed, try again")]
    Moved { path: String },
    #[error("{path:?} is longer than {max_bytes} bytes, the most this tool takes")]
    TooLarge { path: String, max_bytes: u64 },
    #[error("{path:?} is one of the served directories, or holds one; it stays")]
    Served { path: String },
    #[error("{path:?} holds files kept from you, so it can be neither moved nor deleted")]
    HoldsDenied { path: String },
    #[error("the directory of {path:?} does not exist; create_directory makes it")]
    NoParent { path: String },
    #[error("{path:?} is not empty; set `recursive` to delete all that is in it")]
    NotEmpty { path: String },
    #[error("{path:?} lies on another file system; copy_file and then delete it")]
    OtherFileSystem { path: String },
    #[error("a directory cannot be moved into itself, nor take the place of a file")]
    Misplaced,
    #[error("{0:?} is not an encoding; examples are utf-8, utf-16le, windows-1252, shift_jis")]
    Encoding(String),
    #[error("{what} cannot be written in {encoding}, the encoding of the file")]
    Unencodable { what: String, encoding: &'static str },
    #[error("{path:?} has other names or another owner, so it can be changed only alone")]
    OnlyAlone { path: String },
    #[error(
        "{path:?} is changed twice, if by another name, or is in a directory that is moved; do one \
         after the other"
    )]
    Twice { path: String },
    #[error("nothing is known by the undo id {id:?}: it is undone already, or too long ago")]
    UnknownUndo { id: String },
    #[error("{failed}; and {path:?} could not be put back as it was")]
    NotRolledBack { path: String, failed: Box<Error> },
    /// About the edits of one file; complete in itself.
    #[error("{0}")]
    Edit(String),
    #[error("`{argument}` is wrong: {reason}")]
    Pattern { argument: &'static str, reason: String },
    #[error("cancelled")]
    Cancelled,
}

/// What a failed call to the kernel means to somebody who wanted to read.
pub(super) fn explain(errno: Errno, path: &str) -> Error {
    let path = path.to_owned();
    match errno {
        Errno::XDEV | Errno::LOOP => Error::Outside { path },
        Errno::NXIO | Errno::NODEV | Errno::ISDIR => Error::NotAFile { path },
        Errno::ACCESS | Errno::PERM => Error::Denied { path },
        Errno::ROFS => Error::ReadOnly { path },
        Errno::EXIST => Error::Exists { path },
        Errno::AGAIN => Error::Moved { path },
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => {
            Error::NotFound { path }
        }
        other => Error::Read { path, cause: other.into() },
    }
}

/// What it means to somebody who wanted to write.
pub(super) fn explain_write(cause: std::io::Error, path: &str) -> Error {
    let path = path.to_owned();
    match Errno::from_io_error(&cause) {
        Some(Errno::EXIST) => Error::Exists { path },
        Some(Errno::ISDIR) => Error::NotAFile { path },
        Some(Errno::NOTDIR) => Error::NotADirectory { path },
        Some(Errno::NOTEMPTY) => Error::NotEmpty { path },
        Some(Errno::ACCESS | Errno::PERM) => Error::Denied { path },
        Some(Errno::ROFS) => Error::ReadOnly { path },
        Some(Errno::NOENT | Errno::NAMETOOLONG) => Error::NotFound { path },
        _ => Error::Write { path, cause },
    }
}
