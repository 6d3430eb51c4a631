//! `\copy TABLE FROM 'FILE' WITH (…)` as psql has it, for files in one folder that the operator has
//! named: how what the CSV server hands over is loaded. PostgreSQL's own COPY with a file reads the
//! database server's disk, and is refused.

use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnection;

use super::error::Error;

/// Nothing of it is a model's text: it is written anew from what was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copy {
    table: String,
    file: String,
    delimiter: char,
    header: bool,
}

const EXPECTED: &str = "Write it as \\copy TABLE FROM 'FILE' WITH (FORMAT csv, DELIMITER ',', \
    HEADER true), with a plain table name";

pub(crate) fn is_copy(statement: &str) -> bool {
    statement.trim_start().starts_with("\\copy")
}

impl Copy {
    pub(crate) fn parse(statement: &str) -> Result<Self, Error> {
        Self::read(statement).ok_or_else(|| Error::Input(EXPECTED.to_owned()))
    }

    fn read(statement: &str) -> Option<Self> {
        let rest = statement.trim().trim_end_matches(';').strip_prefix("\\copy ")?;
        let (table, rest) = rest.trim_start().split_once(' ')?;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if table.is_empty() || !table.chars().all(is_plain) {
            return None;
        }
        let (file, rest) = literal(rest.trim_start().strip_prefix("FROM ")?.trim_start())?;
        let options = rest.trim().strip_prefix("WITH (")?.strip_suffix(')')?;
        let options = options.trim().strip_prefix("FORMAT csv")?;
        let (delimiter, options) = literal(
            options.trim_start().strip_prefix(',')?.trim_start().strip_prefix("DELIMITER ")?,
        )?;
        let mut letters = delimiter.chars();
        let (delimiter, None) = (letters.next()?, letters.next()) else { return None };
        let header = options.trim_start().strip_prefix(',')?.trim().strip_prefix("HEADER ")?;
        let header = header.parse().ok()?;
        delimiter.is_ascii().then(|| Self { table: table.to_lowercase(), file, delimiter, header })
    }

    /// Sends the file; gives the number of rows.
    pub(crate) async fn run(
        &self,
        connection: &mut PgConnection,
        folder: Option<&Path>,
    ) -> Result<u64, Error> {
        let path = self.path(folder)?;
        let file = tokio::fs::File::open(path).await.map_err(|_| self.missing())?;
        let delimiter =
            if self.delimiter == '\'' { "''".into() } else { self.delimiter.to_string() };
        let statement = format!(
            "COPY {} FROM STDIN WITH (FORMAT csv, DELIMITER '{delimiter}', HEADER {}, ENCODING 'UTF8')",
            self.table, self.header
        );
        let mut copy = connection.copy_in_raw(&statement).await?;
        match copy.read_from(file).await {
            Ok(_) => Ok(copy.finish().await?),
            Err(error) => {
                copy.abort("the file could not be read").await?;
                Err(error.into())
            }
        }
    }

    /// Within the folder, wherever links lead.
    fn path(&self, folder: Option<&Path>) -> Result<PathBuf, Error> {
        let folder = folder.and_then(|folder| folder.canonicalize().ok()).ok_or_else(|| {
            Error::Input("\\copy needs a folder, which only --load-dir can name".to_owned())
        })?;
        let path = folder.join(&self.file).canonicalize().map_err(|_| self.missing())?;
        if path.starts_with(&folder) && path.is_file() { Ok(path) } else { Err(self.missing()) }
    }

    fn missing(&self) -> Error {
        Error::Input(format!("There is no file `{}` in the folder of --load-dir", self.file))
    }
}

/// A string in quotes, and what follows it.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        value += part;
        match after.strip_prefix('\'') {
            Some(more) => {
                value.push('\'');
                rest = more;
            }
            None => return Some((value, after)),
        }
    }
}
