//! Which arguments a program may be given. What is not allowed is refused: a list of what is
//! dangerous would never be complete, and programs accept abbreviations and bundles of options.

use std::path::Path;

use serde::Deserialize;

use super::places::Roots;

/// The rules of one program, or of one of its subcommands.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rules {
    /// Every option is harmless.
    any_option: bool,
    /// `-name` is one option, not four.
    long_with_one_dash: bool,
    /// If there are any, words that begin with `/` are options, in capital or small letters. One that
    /// ends with a colon takes what follows as its value.
    slash_options: Vec<String>,
    /// Options without a value.
    flags: Vec<String>,
    /// Options with a value; one that is also a flag may go without.
    values: Vec<String>,
    /// Options whose value is a path.
    paths: Vec<String>,
    /// What is not an option, in order; the last kind is for all that follow.
    operands: Vec<Operand>,
    /// At most this many operands.
    max_operands: Option<usize>,
    /// Put in front of the arguments.
    pub(super) prepend: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operand {
    Any,
    /// In a root.
    Path,
}

/// An argument that is not allowed, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) argument: String,
    pub(crate) why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Option,
    NeedsValue,
    TakesNoValue,
    Operand,
    TooManyOperands,
    Outside,
}

impl Why {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Option => "is not among the options allowed",
            Self::NeedsValue => "needs a value",
            Self::TakesNoValue => "takes no value",
            Self::Operand => "is not allowed: only options are",
            Self::TooManyOperands => "is one operand too many",
            Self::Outside => "leads outside the directories commands may work in",
        }
    }
}

impl Rules {
    /// Whether every argument is allowed to a program that runs in `cwd`.
    pub(super) fn check(&self, args: &[String], cwd: &Path, roots: &Roots) -> Result<(), Refused> {
        let mut check = Check { rules: self, cwd, roots, operands: 0 };
        let mut rest = args.iter().map(String::as_str);
        let mut only_operands = false;
        while let Some(argument) = rest.next() {
            let is_option = argument.len() > 1 && argument.starts_with('-') && !only_operands;
            if argument.starts_with('/') && !self.slash_options.is_empty() {
                self.slash_option(argument)?;
            } else if argument == "--" && !only_operands {
                only_operands = true;
            } else if self.flags.iter().any(|flag| flag == argument) {
                // Also for words such as the `(` of `find`.
            } else if is_option {
                check.option(argument, &mut rest)?;
            } else {
                check.operand(argument)?;
            }
        }
        Ok(())
    }

    fn slash_option(&self, argument: &str) -> Result<(), Refused> {
        let small = argument.to_ascii_lowercase();
        let known = |option: &String| {
            small == *option || (option.ends_with(':') && small.starts_with(option.as_str()))
        };
        let is_known = self.slash_options.iter().any(known);
        if is_known { Ok(()) } else { Err(refused(argument, Why::Option)) }
    }

    fn is_flag(&self, option: &str) -> bool {
        self.any_option || self.flags.iter().any(|flag| flag == option)
    }

    fn takes_path(&self, option: &str) -> bool {
        self.paths.iter().any(|known| known == option)
    }

    fn takes_value(&self, option: &str) -> bool {
        self.takes_path(option) || self.values.iter().any(|known| known == option)
    }
}

struct Check<'a> {
    rules: &'a Rules,
    cwd: &'a Path,
    roots: &'a Roots,
    operands: usize,
}

impl<'a> Check<'a> {
    fn option(
        &self,
        argument: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Refused> {
        if argument.starts_with("--") || self.rules.long_with_one_dash {
            self.long(argument, rest)
        } else {
            self.bundle(argument, rest)
        }
    }

    fn long(
        &self,
        argument: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Refused> {
        if let Some((name, value)) = argument.split_once('=') {
            return match (self.rules.takes_value(name), self.rules.is_flag(name)) {
                (true, _) => self.value(name, value),
                (false, true) if self.rules.any_option => Ok(()),
                (false, true) => Err(refused(argument, Why::TakesNoValue)),
                (false, false) => Err(refused(name, Why::Option)),
            };
        }
        match (self.rules.is_flag(argument), self.rules.takes_value(argument)) {
            (_, true) => self.value(argument, next(argument, rest)?),
            (true, false) => Ok(()),
            (false, false) => Err(refused(argument, Why::Option)),
        }
    }

    /// `-abc` is `-a -b -c`, or `-a` with the value `bc`.
    fn bundle(
        &self,
        argument: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Refused> {
        let letters = argument.char_indices().skip(1);
        for (at, letter) in letters {
            let option = format!("-{letter}");
            let after = argument.get(at + letter.len_utf8()..).unwrap_or_default();
            let may_go_without = self.rules.flags.contains(&option);
            if self.rules.takes_value(&option) && !(after.is_empty() && may_go_without) {
                let value = if after.is_empty() { next(argument, rest)? } else { after };
                return self.value(&option, value);
            }
            if !self.rules.is_flag(&option) {
                return Err(refused(&option, Why::Option));
            }
        }
        Ok(())
    }

    fn value(&self, option: &str, value: &str) -> Result<(), Refused> {
        if self.rules.takes_path(option) { self.path(value) } else { Ok(()) }
    }

    fn operand(&mut self, argument: &str) -> Result<(), Refused> {
        let kinds = &self.rules.operands;
        let kind = kinds.get(self.operands).or(kinds.last());
        self.operands += 1;
        if self.rules.max_operands.is_some_and(|most| self.operands > most) {
            return Err(refused(argument, Why::TooManyOperands));
        }
        match kind {
            None => Err(refused(argument, Why::Operand)),
            Some(Operand::Path) if argument != "-" => self.path(argument),
            Some(_) => Ok(()),
        }
    }

    fn path(&self, path: &str) -> Result<(), Refused> {
        let inside = self.roots.lead_to(self.cwd, path);
        if inside { Ok(()) } else { Err(refused(path, Why::Outside)) }
    }
}

fn next<'a>(option: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<&'a str, Refused> {
    rest.next().ok_or_else(|| refused(option, Why::NeedsValue))
}

fn refused(argument: &str, why: Why) -> Refused {
    Refused { argument: argument.to_owned(), why }
}
