//! Why there is no answer. The texts are for the model; the causes, which may name hosts, are for
//! the log.

use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::postgres::{PgDatabaseError, PgErrorPosition};

use super::doctor::Failure;
use super::guard::Concern;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// PostgreSQL itself refused; what it says is about the statement it was sent.
    #[error("{0}")]
    Refused(Refusal),
    #[error(
        "One SELECT, VALUES, TABLE or WITH query can be run here, and it cannot write. \
         PostgreSQL says: {0}"
    )]
    NotAQuery(Refusal),
    #[error(
        "`{name}` is not available here: {reason}. Ask for the data in another way, or ask the \
         person who runs this server"
    )]
    Denied { name: String, reason: &'static str },
    #[error("Not run: {0}. Whoever runs this server can raise the limit")]
    Costly(Concern),
    #[error("There is no database `{name}`; there are: {known}")]
    UnknownDatabase { name: String, known: String },
    #[error("There is no {what}. `list_objects` and `search_objects` show what there is")]
    NotFound { what: String },
    #[error(
        "The database `{database}` cannot be reached ({}). Nothing was run. Try again later, or \
         tell the person who runs this server: {}",
        failure.problem, failure.fix
    )]
    Unreachable {
        database: String,
        failure: Failure,
        #[source]
        cause: sqlx::Error,
    },
    #[error(
        "All {connections} connections to `{database}` were busy for {} s. Try again when other \
         queries have finished",
        waited.as_secs()
    )]
    Busy { database: String, connections: usize, waited: Duration },
    #[error("The connection to the database was lost while the query ran. Try it again")]
    Lost(#[source] sqlx::Error),
    #[error(
        "The cursor is unknown or has expired; cursors live for {} s after their last use. Run \
         the query again, with a smaller result or a larger `max_rows`",
        ttl.as_secs()
    )]
    CursorGone { ttl: Duration },
    #[error("{0}")]
    Input(String),
    #[error("The server sent something this program does not understand")]
    Unexpected(String),
}

/// An error of PostgreSQL's, without the parts that are of no use to somebody who wrote a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Five characters, for example `42P01`.
    pub(crate) sqlstate: String,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    /// Where in the statement, in characters counted from 1.
    position: Option<usize>,
}

impl Refusal {
    /// `prefix_chars` is what this program put before the statement.
    fn new(error: &PgDatabaseError, prefix_chars: usize) -> Self {
        let position = match error.position() {
            Some(PgErrorPosition::Original(position)) => position.checked_sub(prefix_chars),
            _ => None,
        };
        Self {
            sqlstate: error.code().to_owned(),
            message: error.message().to_owned(),
            detail: error.detail().map(str::to_owned),
            hint: error.hint().or_else(|| hint(error.code())).map(str::to_owned),
            position: position.filter(|position| *position > 0),
        }
    }
}

/// Where PostgreSQL has none.
fn hint(sqlstate: &str) -> Option<&'static str> {
    (sqlstate == "42501").then_some("`describe_table` marks the columns this role may not read")
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.sqlstate)?;
        if let Some(position) = self.position {
            write!(f, " at character {position}")?;
        }
        for (label, text) in [("Detail", &self.detail), ("Hint", &self.hint)] {
            if let Some(text) = text {
                write!(f, ". {label}: {text}")?;
            }
        }
        Ok(())
    }
}

impl Error {
    /// What running a statement failed with. `prefix_chars`: see [`Refusal`].
    pub(crate) fn of_statement(error: sqlx::Error, prefix_chars: usize) -> Self {
        let sqlx::Error::Database(cause) = &error else { return Self::Lost(error) };
        match cause.try_downcast_ref::<PgDatabaseError>() {
            // 57P01 to 57P03: the server is stopping, has crashed, or starts up.
            Some(refused) if refused.code().starts_with("57P") => Self::Lost(error),
            Some(refused) => Self::Refused(Refusal::new(refused, prefix_chars)),
            None => Self::Lost(error),
        }
    }

    /// The same, where a refusal may be for what only queries may do.
    pub(crate) fn of_query(error: sqlx::Error, prefix_chars: usize) -> Self {
        // sqlx knows nothing of some kinds of types and gives up on a parameter of one.
        if let sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) = &error {
            return Self::Input(
                "A parameter has a type that cannot be sent. Send it as text and cast it twice, \
                 for example $1::text::int4multirange"
                    .to_owned(),
            );
        }
        match Self::of_statement(error, prefix_chars) {
            Self::Refused(refusal) if refusal.sqlstate == "08P01" => Self::Input(
                "The statement has parameters ($1, $2, …); give their values in `params`"
                    .to_owned(),
            ),
            // A syntax error, an attempt to write, or several statements.
            Self::Refused(refusal)
                if ["42601", "25006", "0A000", "42P11"].contains(&refusal.sqlstate.as_str()) =>
            {
                Self::NotAQuery(refusal)
            }
            other => other,
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self::of_statement(error, 0)
    }
}

/// The SQLSTATE, if PostgreSQL sent one.
pub(crate) fn sqlstate(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(DatabaseError::code).map(|code| code.into_owned())
}
