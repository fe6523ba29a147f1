//! A recording as its readers see it: the file, and what recorders have kept
//! beside it.
//!
//! [`Recording::entries`] gives one entry after the other, in the file's order;
//! [`Recording::entry`] reads one again by its [`Place`]. A recording that is
//! open stays as it was when it was opened, whoever replaces the file since.

use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::file;
use crate::recording::{Cassette, Entry, EntryName, Meta};

/// A recording, open for reading.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    cassette: Cassette,
}

/// One entry of a recording, and where it stands.
#[derive(Clone, Debug)]
pub struct Stored {
    /// What it is kept under.
    pub name: EntryName,
    /// Which take of that name, counted from 1.
    pub take: usize,
    /// The entry.
    pub entry: Entry,
    /// For reading it again.
    pub place: Place,
}

/// Where an entry stands in the [`Recording`] it was read from.
#[derive(Clone, Debug)]
pub struct Place {
    at: u64,
}

impl Recording {
    /// Opens a recording, and whatever of it has not reached its file yet.
    ///
    /// # Errors
    /// A missing, unreadable, oversized, damaged or newer file, each with its path
    /// and what helps.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { path: path.to_owned(), cassette: file::load(path)? })
    }

    /// What it says about itself.
    pub fn meta(&self) -> &Meta {
        self.cassette.meta()
    }

    /// Every entry in the file's order, the takes of a name together; each is
    /// read as it is asked for.
    ///
    /// An item is an error where the entry cannot be read or used; further items
    /// are of no use then.
    pub fn entries(&self) -> impl Iterator<Item = Result<Stored, StoreError>> + '_ {
        self.cassette.entries().zip(0_u64..).map(|((name, take, entry), at)| {
            Ok(Stored { name: name.clone(), take, entry: entry.clone(), place: Place { at } })
        })
    }

    /// Reads an entry again.
    ///
    /// # Errors
    /// A file that cannot be read, or was changed in place since.
    pub fn entry(&self, place: &Place) -> Result<Entry, StoreError> {
        let entry = usize::try_from(place.at).ok().and_then(|at| self.cassette.entries().nth(at));
        let missing = || StoreError::Missing { path: self.path.clone() };
        entry.map(|(_, _, entry)| entry.clone()).ok_or_else(missing)
    }
}
