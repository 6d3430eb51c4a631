//! From what a model asks for to what is run: the policy's decision, and the task that carries it
//! out.

use std::collections::BTreeMap;
use std::path::Path;

use super::Error;
use super::arguments::{Refused, Rules};
use super::places::{Roots, System};
use super::policy::{Class, Policy, Program};
use super::programs::{Found, Programs};
use super::system;
use super::wire::{Confinement, Stage};

/// Variables that make other programs run code, so that no policy can let a call set them.
const DANGEROUS: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "IFS",
    "PATH",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "RUBYOPT",
    "RUBYLIB",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "BROWSER",
    "SHELL",
    "RIPGREP_CONFIG_PATH",
    "RUSTC_WRAPPER",
    "RUSTC",
    "RUSTFLAGS",
    "GCONV_PATH",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TAPE",
    "TAR_OPTIONS",
    "GREP_OPTIONS",
    "CC",
    "CXX",
    "MAKEFLAGS",
    "HOME",
    "TMPDIR",
];
const DANGEROUS_PREFIXES: &[&str] =
    &["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "NPM_CONFIG_", "CARGO_"];

/// What is decided about one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) name: String,
    pub(crate) found: Found,
    pub(crate) class: Class,
    /// Which entry of the policy allows it.
    pub(crate) rule: String,
    /// With what the policy puts in front.
    pub(crate) args: Vec<String>,
    /// May start other programs.
    pub(crate) starts: bool,
    pub(crate) network: bool,
    pub(crate) unix_sockets: bool,
}

/// What decisions are made from.
#[derive(Debug)]
pub(crate) struct Decider {
    pub(super) policy: Policy,
    pub(super) programs: Programs,
    pub(super) roots: Roots,
    pub(super) system: System,
}

impl Decider {
    pub(super) fn decide(
        &self,
        command: &str,
        args: &[String],
        cwd: &Path,
    ) -> Result<Decision, Error> {
        refuse_nul("command", command)?;
        args.iter().try_for_each(|arg| refuse_nul("args", arg))?;
        if system::is_batch(command) {
            return Err(Error::Batch { name: command.to_owned() });
        }
        let name = system::program_name(command);
        let name = &name.ok_or_else(|| Error::NotFound { name: command.to_owned() })?;
        let Some(program) = self.policy.programs.get(name) else {
            return Err(self.unknown(command, name));
        };
        let Some(class) = program.class else { return Err(self.unknown(command, name)) };
        let found = self.programs.find(name, program.path.as_deref())?;
        is_same_file(command, &found)?;
        if !self.policy.allows(program) {
            let lines = format!("[program.{}]\nallow = true", toml_key(name));
            return Err(Error::NotGranted { name: name.to_owned(), class, lines });
        }
        let (rule, args) = self.arguments(name, program, args, cwd)?;
        Ok(Decision {
            name: name.to_owned(),
            found,
            class,
            rule,
            args,
            starts: class == Class::Interpreter
                || program.starts.as_ref().is_some_and(|starts| !starts.is_empty()),
            network: program.network.unwrap_or_default(),
            unix_sockets: program.unix_sockets.unwrap_or_default(),
        })
    }

    /// What is not in the policy is not looked for outside of the directories for programs.
    fn unknown(&self, command: &str, name: &str) -> Error {
        match self.programs.find(name, None) {
            Err(_) => Error::NotFound { name: command.to_owned() },
            Ok(_) => Error::Unclassified {
                name: name.to_owned(),
                lines: format!(
                    "[program.{}]\nclass = \"interpreter\"\nallow = true",
                    toml_key(name)
                ),
            },
        }
    }

    fn arguments(
        &self,
        name: &str,
        program: &Program,
        args: &[String],
        cwd: &Path,
    ) -> Result<(String, Vec<String>), Error> {
        let mut rule = format!("program.{}", toml_key(name));
        let mut full = program.prepend.clone().unwrap_or_default();
        let check = |rules: &Rules, args: &[String]| {
            rules.check(args, cwd, &self.roots).map_err(|Refused { argument, why }| {
                Error::Argument { name: name.to_owned(), argument, why: why.text() }
            })
        };
        let own = program.arguments.as_ref();
        let split = args.iter().position(|arg| !arg.starts_with('-'));
        match (&program.subcommands, split) {
            (Some(subcommands), Some(at)) => {
                let (before, rest) = args.split_at_checked(at).unwrap_or((args, &[]));
                own.map_or(Ok(()), |rules| check(rules, before))?;
                let Some((word, rest)) = rest.split_first() else { return Ok((rule, full)) };
                let rules = subcommands.get(word).ok_or_else(|| Error::Subcommand {
                    name: name.to_owned(),
                    subcommand: word.clone(),
                    allowed: subcommands.keys().cloned().collect::<Vec<_>>().join(", "),
                })?;
                check(rules, rest)?;
                rule += &format!(".subcommands.{}", toml_key(word));
                full.extend_from_slice(before);
                full.push(word.clone());
                full.extend_from_slice(&rules.prepend);
                full.extend_from_slice(without_first_of(&rules.prepend, rest));
            }
            _ => {
                own.map_or(Ok(()), |rules| check(rules, args))?;
                let in_front = own.map(|rules| rules.prepend.as_slice()).unwrap_or_default();
                full.extend_from_slice(in_front);
                full.extend_from_slice(without_first_of(in_front, args));
            }
        }
        Ok((rule, full))
    }

    /// `scratch` is the one directory everything may write to.
    pub(super) fn stage(
        &self,
        decision: &Decision,
        env: &[(String, String)],
        scratch: &Path,
        confine: bool,
        tty: bool,
    ) -> Stage {
        Stage {
            program: decision.found.path.clone(),
            args: decision.args.clone(),
            env: self.environment(decision, env, scratch),
            confinement: confine.then(|| self.confinement(decision, scratch, tty)),
        }
    }

    fn environment(
        &self,
        decision: &Decision,
        env: &[(String, String)],
        scratch: &Path,
    ) -> Vec<(String, String)> {
        let scratch = scratch.to_string_lossy();
        let mut all = BTreeMap::from([("PATH".to_owned(), self.programs.path_variable())]);
        all.extend(system::variables(&scratch));
        all.extend(self.policy.env.clone());
        let program = self.policy.programs.get(&decision.name);
        all.extend(program.and_then(|program| program.env.clone()).unwrap_or_default());
        all.extend(env.iter().cloned());
        all.into_iter().collect()
    }

    /// What [`Self::confinement`] begins with for most programs.
    pub(super) fn least_confinement(&self) -> Confinement {
        Confinement {
            read: [self.system.readable.as_slice(), self.roots.all()].concat(),
            write: self.system.devices.clone(),
            execute: self.system.loaders.clone(),
            ..Confinement::default()
        }
    }

    fn confinement(&self, decision: &Decision, scratch: &Path, tty: bool) -> Confinement {
        let program = self.policy.programs.get(&decision.name);
        let Confinement { mut read, mut write, mut execute, .. } = self.least_confinement();
        write.push(scratch.to_owned());
        if tty {
            // Whoever opens it gets the terminal it was started on.
            write.push("/dev/tty".into());
        }
        if decision.class.writes() {
            write.extend_from_slice(self.roots.all());
        }
        execute.push(decision.found.path.clone());
        execute.extend(decision.found.interpreter.clone());
        execute.extend(program.and_then(|program| program.starts.clone()).unwrap_or_default());
        if decision.class == Class::Interpreter {
            execute.extend_from_slice(&read);
        }
        if decision.network {
            read.extend_from_slice(&self.system.network);
        }
        let Decision { starts, network, unix_sockets, .. } = *decision;
        let sets_attributes = decision.class.writes();
        let starts_nothing = !starts;
        Confinement { read, write, execute, starts_nothing, network, unix_sockets, sets_attributes }
    }

    /// The variables a call asks for, if it may set them.
    pub(super) fn variables(
        &self,
        env: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String)>, Error> {
        for (name, value) in env {
            refuse_nul("env", name)?;
            refuse_nul("env", value)?;
            let allowed = &self.policy.allow_env;
            if !allowed.contains(name) || is_dangerous(name) || name.contains('=') {
                let allowed = allowed.iter().filter(|name| !is_dangerous(name)).cloned();
                let allowed = allowed.collect::<Vec<_>>().join(", ");
                return Err(Error::Variable { name: name.clone(), allowed });
            }
        }
        Ok(env.clone().into_iter().collect())
    }
}

/// A word that is put in front anyway, as the `show` of `git reflog show`, is not wanted twice.
fn without_first_of<'a>(in_front: &[String], args: &'a [String]) -> &'a [String] {
    match (in_front.first(), args.split_first()) {
        (Some(word), Some((first, rest))) if word == first => rest,
        _ => args,
    }
}

pub(super) fn is_dangerous(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    DANGEROUS.contains(&name.as_str())
        || system::is_dangerous(&name)
        || DANGEROUS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub(super) fn refuse_nul(place: &'static str, text: &str) -> Result<(), Error> {
    if text.contains('\0') { Err(Error::NulByte { place }) } else { Ok(()) }
}

/// A path must lead to the very program its last part names.
fn is_same_file(command: &str, found: &Found) -> Result<(), Error> {
    let path = Path::new(command);
    let same = || Some(path.canonicalize().ok()? == found.path.canonicalize().ok()?);
    if path.is_absolute() && same() != Some(true) {
        return Err(Error::OtherFile { name: command.to_owned() });
    }
    Ok(())
}

fn toml_key(name: &str) -> String {
    let bare = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if !name.is_empty() && name.chars().all(bare) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.escape_default())
    }
}
