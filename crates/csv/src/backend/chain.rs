//! Several files as one table: the columns are those of the first, and those of the others find
//! their places by name.

use std::fs::File;
use std::sync::Arc;

use super::Error;
use super::dialect::delimiter_name;
use super::reader::TableReader;
use super::sandbox::Sandbox;
use super::source::Fingerprint;

/// The files of a table.
pub(super) struct Files {
    sandbox: Arc<Sandbox>,
    pub(super) names: Vec<String>,
    /// Of all of them.
    pub(super) bytes_total: u64,
    /// Of the state they were found in.
    pub(super) digest: u64,
}

/// Where in its files a reader is.
pub(super) struct Chain {
    files: Arc<Files>,
    /// Of the files before this one.
    bytes_before: u64,
    /// The lines before each file that was begun.
    begun: Vec<u64>,
    /// Files that lack columns of the first, or have others.
    differing: Vec<String>,
}

impl Files {
    pub(super) fn new(sandbox: &Arc<Sandbox>, names: Vec<String>) -> Result<Self, Error> {
        let (mut bytes_total, mut digest) = (0, names.len() as u64);
        for name in &names {
            let found = Fingerprint::of(&sandbox.open_file(name)?)?;
            bytes_total += found.size;
            digest = digest.rotate_left(7) ^ found.digest();
        }
        Ok(Self { sandbox: Arc::clone(sandbox), names, bytes_total, digest })
    }

    pub(super) fn first(&self) -> Result<File, Error> {
        self.sandbox.open_file(self.names.first().map(String::as_str).unwrap_or_default())
    }

    fn is_one(&self) -> bool {
        self.names.len() < 2
    }
}

impl Chain {
    pub(super) fn new(files: &Arc<Files>) -> Self {
        let files = Arc::clone(files);
        Self { files, bytes_before: 0, begun: vec![0], differing: Vec::new() }
    }

    /// For a part of one of the files, which ends where that ends.
    pub(super) fn of_part(files: &Arc<Files>) -> Self {
        Self { begun: vec![0; files.names.len()], ..Self::new(files) }
    }

    pub(super) fn files(&self) -> Arc<Files> {
        Arc::clone(&self.files)
    }

    /// Of all files, when so many have been read of this one.
    pub(super) fn bytes_done(&self, in_file: u64) -> u64 {
        self.bytes_before + in_file
    }

    pub(super) fn bytes_total(&self) -> u64 {
        self.files.bytes_total
    }

    pub(super) fn digest(&self) -> u64 {
        self.files.digest
    }

    pub(super) fn is_one(&self) -> bool {
        self.files.is_one()
    }

    /// Counted from 0.
    pub(super) fn index(&self) -> usize {
        self.begun.len() - 1
    }

    /// The file in which a line stands and its number there, for a line counted through all files.
    /// No file where there is but one.
    pub(super) fn place(&self, line: u64) -> (Option<String>, u64) {
        let after = self.begun.partition_point(|before| *before < line);
        let before = after.checked_sub(1).and_then(|index| self.begun.get(index)).copied();
        let name = self.files.names.get(after.saturating_sub(1)).filter(|_| !self.files.is_one());
        (name.cloned(), line - before.unwrap_or(0))
    }

    /// Which files an answer is about, and how they differ.
    pub(super) fn sentences(&self) -> Vec<String> {
        const MAX_NAMED: usize = 10;
        if self.files.is_one() {
            return Vec::new();
        }
        let names: Vec<String> = self.files.names.iter().map(|name| format!("{name:?}")).collect();
        let mut named = names.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
        if names.len() > MAX_NAMED {
            named.push_str(&format!(" and {} more", names.len() - MAX_NAMED));
        }
        let mut all = vec![format!("{} files were read as one table: {named}", names.len())];
        all.extend(self.differing.iter().take(MAX_NAMED).cloned());
        if self.differing.len() > MAX_NAMED {
            let more = self.differing.len() - MAX_NAMED;
            all.push(format!("{more} more files have other columns than the first"));
        }
        all
    }

    fn next_name(&self) -> Option<&String> {
        self.files.names.get(self.begun.len())
    }
}

impl TableReader {
    /// Goes on with the next file; `false` if there is none.
    pub(super) fn open_next(&mut self) -> Result<bool, Error> {
        let Some(name) = self.chain.next_name().cloned() else {
            return Ok(false);
        };
        let in_file = |cause: Error| Error::InFile { path: name.clone(), cause: Box::new(cause) };
        let file = self.chain.files.sandbox.open_file(&name).map_err(in_file)?;
        let next = Self::open_one(file, &self.reading, &self.chain.files).map_err(in_file)?;
        let (_, line) = self.records.stands_at();
        let lines_before = line - u64::from(self.records.ended_with_line_end());
        self.chain.bytes_before += self.records.source().bytes_total();
        self.chain.begun.push(lines_before);
        self.has_changed |= self.records.source().changed_while_read()?;
        if next.names.is_empty() {
            // An empty file has nothing to fit.
            self.records.continue_in(next.records, lines_before);
            return Ok(true);
        }
        self.find_columns(&next, &name)?;
        self.width = next.names.len();
        self.is_row_waiting = next.is_row_waiting;
        self.records.continue_in(next.records, lines_before);
        Ok(true)
    }

    fn find_columns(&mut self, next: &Self, name: &str) -> Result<(), Error> {
        if next.sniffed.delimiter != self.sniffed.delimiter {
            return Err(Error::OtherDelimiter {
                path: name.to_owned(),
                found: delimiter_name(next.sniffed.delimiter),
                first: delimiter_name(self.sniffed.delimiter),
            });
        }
        let place = |name: &String| next.names.iter().position(|other| other == name);
        let places: Vec<Option<usize>> = self.names.iter().map(place).collect();
        let missing = places.iter().filter(|place| place.is_none()).count();
        if missing == places.len() {
            return Err(Error::OtherColumns { path: name.to_owned() });
        }
        let further = next.names.len() - (places.len() - missing);
        if missing + further > 0 {
            self.chain.differing.push(format!(
                "{name:?} lacks {missing} of the columns, whose cells count as nulls, and has {further} others, which were not read"
            ));
        }
        let stand_still = places.iter().zip(0..).all(|(place, own)| *place == Some(own));
        self.places = (!stand_still).then(|| Arc::new(places));
        Ok(())
    }
}
