//! Which rows count: conditions on cells, read in the light of the whole column.
//!
//! A condition that could be misunderstood is refused, see `condition`. SQL's rule for nulls holds:
//! they meet no condition but `is_null`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition::{Check, Condition};
use super::reader::{TableFile, TableReader};
use super::typed::{self, Typed};
use super::{Error, Observer};

/// A condition, or several of which `all` or `any` must hold.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Filter {
    Condition(Condition),
    All(All),
    Any(Any),
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct All {
    all: Vec<Filter>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Any {
    any: Vec<Filter>,
}

/// A filter that knows its columns.
pub(super) enum Test {
    /// No filter.
    Everything,
    Cell(Typed, Check),
    All(Vec<Test>),
    Any(Vec<Test>),
}

impl Filter {
    /// Reads the file once, for the types of the columns it names.
    pub(super) fn compile(
        filter: Option<&Self>,
        file: &TableFile,
        observer: &dyn Observer,
    ) -> Result<Test, Error> {
        const MAX_CONDITIONS: usize = 64;
        let Some(filter) = filter else {
            return Ok(Test::Everything);
        };
        let mut conditions = Vec::new();
        filter.collect(&mut conditions);
        if conditions.is_empty() || conditions.len() > MAX_CONDITIONS {
            return Err(Error::Option { text: "`filter` takes 1 to 64 conditions" });
        }
        let names: Vec<String> = conditions.iter().map(|found| found.column.clone()).collect();
        let places = file.open()?.places_of(&names)?;
        let typed = typed::find_out(file, &places, observer)?;
        filter.build(&mut typed.into_iter())
    }

    fn collect<'a>(&'a self, into: &mut Vec<&'a Condition>) {
        match self {
            Self::Condition(condition) => into.push(condition),
            Self::All(All { all: some }) | Self::Any(Any { any: some }) => {
                some.iter().for_each(|filter| filter.collect(into));
            }
        }
    }

    /// Takes the columns in the order in which `collect` names them.
    fn build(&self, typed: &mut impl Iterator<Item = Typed>) -> Result<Test, Error> {
        let mut each = |some: &[Self]| -> Result<Vec<Test>, Error> {
            some.iter().map(|filter| filter.build(typed)).collect()
        };
        Ok(match self {
            Self::All(All { all }) => Test::All(each(all)?),
            Self::Any(Any { any }) => Test::Any(each(any)?),
            Self::Condition(condition) => {
                let column = typed.next().ok_or(Error::Option { text: "`filter` is empty" })?;
                let check = condition.check(&column)?;
                Test::Cell(column, check)
            }
        })
    }
}

impl Test {
    #[inline(always)]
    pub(super) fn matches(&self, table: &TableReader) -> bool {
        matches!(self, Self::Everything) || self.holds(table)
    }

    fn holds(&self, table: &TableReader) -> bool {
        match self {
            Self::Everything => true,
            Self::Cell(column, check) => {
                let cell = table.field(column.place);
                check.matches(column.read(cell), cell.unwrap_or_default())
            }
            Self::All(all) => all.iter().all(|test| test.matches(table)),
            Self::Any(any) => any.iter().any(|test| test.matches(table)),
        }
    }
}
