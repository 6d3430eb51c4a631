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
    /// `-name` is one option, not four, and `--` is an argument like others.
    long_with_one_dash: bool,
    /// Of several letters after one dash, each with a value takes an argument of its own.
    values_apart: bool,
    /// What follows an operand is an operand.
    options_first: bool,
    /// If there are any, words that begin with `/` are options, in capital or small letters. One that
    /// ends with a colon takes what follows as its value.
    slash_options: Vec<String>,
    /// Options without a value.
    flags: Vec<String>,
    /// Options with a value; one that is also a flag takes it only if it is attached.
    values: Vec<String>,
    /// Options whose value is a path.
    paths: Vec<String>,
    /// What is not an option, in order; the last kind is for all that follow.
    operands: Vec<Operand>,
    /// With one of these options, all operands are of the last kind.
    instead_of_first: Vec<String>,
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
    /// How something is to be printed: begins with `+`.
    Format,
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
    NoFormat,
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
            Self::NoFormat => "is not allowed: only a format that begins with `+` is",
            Self::Outside => "leads outside the directories commands may work in",
        }
    }
}

impl Rules {
    /// Whether every argument is allowed to a program that runs in `cwd`.
    pub(super) fn check(&self, args: &[String], cwd: &Path, roots: &Roots) -> Result<(), Refused> {
        let mut check = Check { rules: self, cwd, roots, operands: Vec::new(), skips_first: false };
        let mut rest = args.iter().map(String::as_str);
        let (mut only_operands, mut may_take_next) = (false, false);
        while let Some(argument) = rest.next() {
            let is_option = argument.len() > 1 && argument.starts_with('-') && !only_operands;
            if argument.starts_with('/') && !self.slash_options.is_empty() {
                self.slash_option(argument)?;
            } else if argument == "--" && is_option && !self.long_with_one_dash {
                if may_take_next {
                    // As its value it would not be the end of the options.
                    return Err(refused(argument, Why::Option));
                }
                only_operands = true;
            } else if self.flags.iter().any(|flag| flag == argument) {
                // Also for words such as the `(` of `find`.
                check.note(argument);
            } else if is_option {
                check.option(argument, &mut rest)?;
            } else {
                check.operands.push(argument);
                only_operands |= self.options_first;
            }
            may_take_next = is_option && self.may_take_next(argument);
        }
        check.check_operands()
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

    /// A long option nothing is known of.
    fn may_take_next(&self, option: &str) -> bool {
        let is_known = option.contains('=') || self.takes_value(option);
        self.any_option && option.starts_with("--") && !is_known
    }

    /// Where every option is allowed, abbreviations are as well.
    fn takes_path(&self, option: &str) -> bool {
        let is_short_for = |known: &String| {
            option.len() > 2 && option.starts_with("--") && known.starts_with(option)
        };
        self.paths.iter().any(|known| known == option || (self.any_option && is_short_for(known)))
    }

    /// Only if the value is attached.
    fn may_go_without(&self, option: &str) -> bool {
        self.flags.iter().any(|flag| flag == option)
    }

    fn takes_value(&self, option: &str) -> bool {
        self.takes_path(option) || self.values.iter().any(|known| known == option)
    }
}

struct Check<'a> {
    rules: &'a Rules,
    cwd: &'a Path,
    roots: &'a Roots,
    operands: Vec<&'a str>,
    skips_first: bool,
}

impl<'a> Check<'a> {
    fn option(
        &mut self,
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
        &mut self,
        argument: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Refused> {
        if let Some((name, value)) = argument.split_once('=') {
            self.note(name);
            return match (self.rules.takes_value(name), self.rules.is_flag(name)) {
                (true, _) => self.value(name, value),
                (false, true) if self.rules.any_option => Ok(()),
                (false, true) => Err(refused(argument, Why::TakesNoValue)),
                (false, false) => Err(refused(name, Why::Option)),
            };
        }
        self.note(argument);
        match (self.rules.is_flag(argument), self.rules.takes_value(argument)) {
            (_, true) => self.value(argument, next(argument, rest)?),
            (true, false) => Ok(()),
            (false, false) => Err(refused(argument, Why::Option)),
        }
    }

    /// `-abc` is `-a -b -c`, or `-a` with the value `bc`.
    fn bundle(
        &mut self,
        argument: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Refused> {
        let letters = argument.char_indices().skip(1);
        for (at, letter) in letters {
            let option = format!("-{letter}");
            let after = argument.get(at + letter.len_utf8()..).unwrap_or_default();
            self.note(&option);
            let is_alone = after.is_empty() && self.rules.may_go_without(&option);
            if self.rules.takes_value(&option) && self.rules.values_apart {
                self.value(&option, next(argument, rest)?)?;
            } else if self.rules.takes_value(&option) && !is_alone {
                let value = if after.is_empty() { next(argument, rest)? } else { after };
                return self.value(&option, value);
            } else if !self.rules.is_flag(&option) {
                return Err(refused(&option, Why::Option));
            }
        }
        Ok(())
    }

    fn value(&self, option: &str, value: &str) -> Result<(), Refused> {
        if self.rules.takes_path(option) { self.path(value) } else { Ok(()) }
    }

    fn note(&mut self, option: &str) {
        self.skips_first |= self.rules.instead_of_first.iter().any(|known| known == option);
    }

    fn check_operands(&self) -> Result<(), Refused> {
        let kinds = &self.rules.operands;
        for (at, operand) in self.operands.iter().enumerate() {
            if self.rules.max_operands.is_some_and(|most| at >= most) {
                return Err(refused(operand, Why::TooManyOperands));
            }
            let kind = kinds.get(at).filter(|_| !self.skips_first).or(kinds.last());
            match kind {
                None => return Err(refused(operand, Why::Operand)),
                Some(Operand::Path) if *operand != "-" => self.path(operand)?,
                Some(Operand::Format) if !operand.starts_with('+') => {
                    return Err(refused(operand, Why::NoFormat));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Some programs read what follows an `@` for more arguments.
    fn path(&self, path: &str) -> Result<(), Refused> {
        let leads_inside = |path: &str| self.roots.lead_to(self.cwd, path);
        let inside = leads_inside(path) && path.strip_prefix('@').is_none_or(leads_inside);
        if inside { Ok(()) } else { Err(refused(path, Why::Outside)) }
    }
}

fn next<'a>(option: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<&'a str, Refused> {
    rest.next().ok_or_else(|| refused(option, Why::NeedsValue))
}

fn refused(argument: &str, why: Why) -> Refused {
    Refused { argument: argument.to_owned(), why }
}
