//! The server's own binary in other parts than the server: as the helper of a call, and as the
//! programs of the self-test.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use super::system;

/// What this process is, if it is not the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Helper,
    /// Tries what a confined program must not do.
    Probe,
    /// Leaves a [`Part::Sleeper`] behind and ends.
    Orphan,
    /// Does nothing, for long.
    Sleeper,
}

const PARTS: [(Part, &str); 4] = [
    (Part::Helper, "__helper"),
    (Part::Probe, "__probe"),
    (Part::Orphan, "__orphan"),
    (Part::Sleeper, "__sleeper"),
];

impl Part {
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        PARTS.iter().find(|(_, known)| *known == word).map(|(part, _)| *part)
    }

    pub(crate) fn word(self) -> &'static str {
        PARTS.iter().find(|(part, _)| *part == self).map_or("", |(_, word)| word)
    }

    pub(crate) fn play(self) -> ExitCode {
        system::play(self)
    }

    /// How to start this binary so that it plays the part.
    pub(super) fn start(self) -> Start {
        let itself = PathBuf::from("/proc/self/exe");
        // The file may have been replaced since, and a helper must be of the same making; only a
        // confined program has to be named by where it is.
        let program = match self {
            Self::Helper if itself.exists() => itself,
            _ => std::env::current_exe().unwrap_or(itself),
        };
        Start { program, args: self.arguments(), env: self.environment() }
    }

    #[cfg(not(test))]
    fn arguments(self) -> Vec<String> {
        vec![self.word().to_owned()]
    }

    #[cfg(not(test))]
    fn environment(self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// In a test this binary is the test runner, and one of the tests plays the parts.
    #[cfg(test)]
    fn arguments(self) -> Vec<String> {
        let test = "tests::parts::plays_its_part";
        ["--exact", test, "--nocapture"].map(str::to_owned).to_vec()
    }

    #[cfg(test)]
    fn environment(self) -> Vec<(String, String)> {
        vec![(crate::tests::parts::VARIABLE.to_owned(), self.word().to_owned())]
    }
}

/// A command line of this binary.
pub(super) struct Start {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
}

impl Start {
    /// With nothing of the server's environment, which may hold secrets.
    pub(super) fn command(self) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.args).env_clear().envs(self.env);
        command
    }
}

/// What the only argument says this process is to be.
pub(crate) fn part() -> Option<Part> {
    let mut args = std::env::args().skip(1);
    let part = Part::from_word(&args.next()?);
    if args.next().is_some() { None } else { part }
}
