//! What may be run: a table of programs with the operator's own entries laid over it. A class says
//! what a program can do with arguments alone; only granted classes run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Error;
use super::arguments::Rules;
use super::plan::is_dangerous;
use super::system;

/// In the language of the operator's file.
const BUILT_IN: &str = include_str!("../../policies/built-in.toml");
/// What runs if no policy file says anything else.
const READ_ONLY: [Class; 2] = [Class::Data, Class::Config];

/// What a program can do to the world, judged by the worst its allowed arguments can make it do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Class {
    /// Reads files and prints.
    Data,
    /// As `data`, but does what a configuration in the directory says.
    Config,
    /// Changes files.
    Writer,
    /// Talks to other machines.
    Network,
    /// Runs whatever it is told to: shells, languages, build tools, wrappers.
    Interpreter,
}

/// The operator's file, and the built-in one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    /// Classes that run.
    grant: Option<Vec<Class>>,
    /// Variables a call may set.
    allow_env: Vec<String>,
    /// Paths from each root that no program changes, a directory with a slash at the end.
    protect: Option<Vec<String>>,
    /// Variables every program gets.
    env: BTreeMap<String, String>,
    program: BTreeMap<String, Program>,
}

/// What is known of one program. What an operator's entry leaves out, the built-in entry says.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Program {
    pub(crate) class: Option<Class>,
    /// Runs although its class is not granted, or (`false`) does not although it is.
    pub(crate) allow: Option<bool>,
    /// May use the network.
    pub(crate) network: Option<bool>,
    /// May connect to services of this machine, such as Docker's or the SSH agent's, which can do
    /// for it whatever they can do.
    pub(crate) unix_sockets: Option<bool>,
    /// Where it is, instead of looking for it.
    pub(crate) path: Option<PathBuf>,
    /// Files, or directories of files, it may start.
    pub(crate) starts: Option<Vec<PathBuf>>,
    pub(crate) env: Option<BTreeMap<String, String>>,
    /// Put in front of everything.
    pub(crate) prepend: Option<Vec<String>>,
    /// Without any, no arguments are refused.
    pub(crate) arguments: Option<Rules>,
    /// The first operand picks the rules for what follows it; `arguments` are for what precedes.
    pub(crate) subcommands: Option<BTreeMap<String, Rules>>,
}

#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) granted: BTreeSet<Class>,
    pub(crate) allow_env: BTreeSet<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) protect: Vec<String>,
    pub(crate) programs: BTreeMap<String, Program>,
    /// Tells one policy from another in a log.
    pub(crate) digest: String,
}

impl Policy {
    pub(super) fn load(path: Option<&Path>) -> Result<Self, Error> {
        let text = match path {
            None => String::new(),
            Some(path) => std::fs::read_to_string(path)
                .map_err(|cause| Error::PolicyFile { path: path.to_owned(), cause })?,
        };
        let is_json = path.is_some_and(|path| path.extension().is_some_and(|it| it == "json"));
        Self::parse(&text, is_json)
    }

    pub(super) fn parse(text: &str, is_json: bool) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Policy { reason };
        let read = |text| toml::from_str(text).map_err(|error| wrong(error.to_string()));
        let (mut file, more): (File, File) = (read(BUILT_IN)?, read(system::MORE_PROGRAMS)?);
        // Instead of what has the same name elsewhere, and is something else.
        file.program.extend(more.program);
        file.env.extend(more.env);
        let own: File = if is_json {
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?
        } else {
            read(text)?
        };
        for (name, program) in own.program {
            let name = system::policy_key(&name);
            let known = file.program.remove(&name).unwrap_or_default();
            let program = program.over(known);
            program.check(&name).map_err(wrong)?;
            file.program.insert(name, program);
        }
        file.env.extend(own.env);
        let protect = own.protect.or(file.protect).unwrap_or_default();
        let plain = |path: &String| {
            Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
        };
        if let Some(path) = protect.iter().find(|path| path.is_empty() || !plain(path)) {
            return Err(wrong(format!("`protect` holds {path:?}, which is no path from a root")));
        }
        if let Some(name) = own.allow_env.iter().find(|name| is_dangerous(name)) {
            let why = "a call that sets it could make a program run another";
            return Err(wrong(format!("`allow_env` holds {name}: {why}")));
        }
        let allow_env = file.allow_env.into_iter().chain(own.allow_env).collect();
        Ok(Self {
            granted: own.grant.unwrap_or_else(|| READ_ONLY.to_vec()).into_iter().collect(),
            allow_env,
            env: file.env,
            protect,
            programs: file.program,
            digest: digest(text),
        })
    }

    pub(crate) fn allows(&self, program: &Program) -> bool {
        let granted = program.class.is_some_and(|class| self.granted.contains(&class));
        program.class.is_some() && program.allow.unwrap_or(granted)
    }

    /// Whether anything that runs may change what is in the roots.
    pub(super) fn lets_write(&self) -> bool {
        let mut programs = self.programs.values();
        programs.any(|it| it.class.is_some_and(Class::writes) && self.allows(it))
    }
}

impl Program {
    fn check(&self, name: &str) -> Result<(), String> {
        if self.class.is_none() {
            return Err(format!("`program.{name}` needs a `class`: data, config, writer, …"));
        }
        let mut paths = self.path.iter().chain(self.starts.iter().flatten());
        match paths.find(|path| path.is_relative()) {
            Some(path) => Err(format!("`program.{name}` names {path:?}: give a whole path")),
            None => Ok(()),
        }
    }

    fn over(self, known: Self) -> Self {
        Self {
            class: self.class.or(known.class),
            allow: self.allow.or(known.allow),
            network: self.network.or(known.network),
            unix_sockets: self.unix_sockets.or(known.unix_sockets),
            path: self.path.or(known.path),
            starts: self.starts.or(known.starts),
            env: self.env.or(known.env),
            prepend: self.prepend.or(known.prepend),
            arguments: self.arguments.or(known.arguments),
            subcommands: self.subcommands.or(known.subcommands),
        }
    }
}

impl Class {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Config => "config",
            Self::Writer => "writer",
            Self::Network => "network",
            Self::Interpreter => "interpreter",
        }
    }

    /// Programs of these classes may change what is in the roots.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Writer | Self::Interpreter)
    }

    /// What it means, for somebody about to grant it.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Data => "reads files and prints",
            Self::Config => "does what a configuration in the directory says",
            Self::Writer => "changes files",
            Self::Network => "talks to other machines",
            Self::Interpreter => "runs whatever it is told to",
        }
    }
}

/// BLAKE2b of the operator's file, in hexadecimal.
fn digest(text: &str) -> String {
    let hash = orion::hash::digest(text.as_bytes());
    let bytes = hash.iter().flat_map(|hash| hash.as_ref());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
