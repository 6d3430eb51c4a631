//! What a call's programs are, and what is said about them between the server and what owns them:
//! a helper process on Unix ([`super::system`]), a job object on Windows.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::system::Owned;

/// What a helper can do before it has a task. It is the first thing it is sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Ahead {
    pub(crate) max_processes: u64,
    /// What the confinement of most programs begins with. `None`: they are not confined.
    pub(crate) confinement: Option<Confinement>,
    /// The directory for its programs, to be removed if the server cannot.
    pub(crate) scratch: PathBuf,
}

/// Everything the helper must know to run one call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Programs whose standard outputs feed the next one's input; one at least.
    pub(crate) stages: Vec<Stage>,
    pub(crate) cwd: PathBuf,
    pub(crate) limits: Limits,
    /// Outer ones first. If there are any, nothing else of the file system can be changed, not even
    /// the rights of a file.
    pub(crate) writable: Vec<PathBuf>,
    /// Places in what is writable; outer ones first.
    pub(crate) mounts: Vec<Mount>,
    /// What is there only because of the call, to be removed if the server cannot.
    pub(crate) placeholders: Vec<PathBuf>,
    /// The three descriptors are a terminal.
    pub(crate) tty: bool,
    /// Run nothing if a stage cannot be confined as it should be.
    pub(crate) must_confine: bool,
}

/// A place that cannot be renamed, nor written to if it is read-only.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
    pub(crate) read_only: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stage {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The whole environment.
    pub(crate) env: Vec<(String, String)>,
    /// `None`: as free as the server itself.
    pub(crate) confinement: Option<Confinement>,
}

impl Stage {
    /// Not started yet.
    pub(super) fn command(&self, cwd: &Path, [stdin, stdout, stderr]: Descriptors) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(cwd)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(stdin))
            .stdout(Stdio::from(stdout))
            .stderr(Stdio::from(stderr));
        command
    }
}

/// What the kernel lets a program do; everything else is refused to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Confinement {
    pub(crate) read: Vec<PathBuf>,
    /// Includes reading.
    pub(crate) write: Vec<PathBuf>,
    /// Files, or directories of files, that may be started.
    pub(crate) execute: Vec<PathBuf>,
    /// Once the program has begun, neither it nor what descends from it starts any program at all.
    pub(crate) starts_nothing: bool,
    pub(crate) network: bool,
    /// Sockets to services of this machine.
    pub(crate) unix_sockets: bool,
    /// Changes the rights, owners, times and other attributes of files it can read, which the file
    /// rules do not bound.
    pub(crate) sets_attributes: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Between asking a program to end and killing it.
    pub(crate) grace_ms: u64,
    pub(crate) cpu_secs: u64,
    pub(crate) file_bytes: u64,
    pub(crate) max_processes: u64,
    pub(crate) max_memory_bytes: u64,
}

/// From the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// End everything: ask, wait for the grace period, kill.
    Stop,
    /// Send this signal to the programs.
    Signal(i32),
}

/// To the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    Started {
        confined: Vec<Confined>,
    },
    /// Nothing was run. The text is for the log.
    Failed {
        stage: usize,
        reason: String,
        kind: Failure,
    },
    /// A limit was passed, so everything is being killed.
    Over(Limit),
    /// The last event: no process of the call is left.
    Done(Done),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    NotFound,
    NotPermitted,
    ArgumentsTooLong,
    NotConfined,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Limit {
    Processes,
    Memory,
}

/// What was put on one program before it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Confined {
    pub(crate) files: bool,
    pub(crate) system_calls: bool,
    /// The task's view of the file system.
    pub(crate) mounts: bool,
    /// It cannot have more processes than allowed for an instant.
    pub(crate) processes: bool,
    /// Why one of them is not; for the log.
    pub(crate) problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// One for each stage.
    pub(crate) exits: Vec<Exit>,
    /// Processes that were still there when the last stage had ended, or at the end of the time.
    pub(crate) killed: u64,
    pub(crate) cpu_ms: u64,
    /// Of the largest process.
    pub(crate) max_rss_bytes: u64,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
    /// Its end was not seen.
    Unknown,
}

/// The standard input, output and error of the programs.
pub(crate) type Descriptors = [Owned; 3];
