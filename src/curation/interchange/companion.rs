//! Data that a user gives in addition to a file that does not hold it.

use std::collections::BTreeMap;

use super::attached_files::AttachedFiles;

/// The most bytes of requests that are held until their answers are read.
pub(super) const LIMIT: usize = 512 << 20;

/// Data that is given in addition to a file.
#[derive(Clone, Debug, Default)]
pub struct CompanionFiles {
    /// The requests that a batch's answers belong to.
    pub requests: Option<BatchRequests>,
    /// The model that was called, if the file does not name it.
    pub model: Option<String>,
    /// The files with bodies that a HAR file names.
    pub attached: AttachedFiles,
}

/// The lines of a batch's requests, by their ids.
#[derive(Clone, Debug, Default)]
pub struct BatchRequests {
    by_id: BTreeMap<String, Box<str>>,
    size: usize,
}

/// Why a request is not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotHeld {
    /// Another request has the same id.
    Twice,
    /// There are too many.
    Full,
}

impl BatchRequests {
    /// Stores the line of a request.
    pub(super) fn hold(&mut self, id: String, line: &str) -> Result<(), NotHeld> {
        self.size += line.len() + id.len();
        if self.size > LIMIT {
            return Err(NotHeld::Full);
        }
        self.by_id.insert(id, line.into()).map_or(Ok(()), |_| Err(NotHeld::Twice))
    }

    /// Returns the line with this id.
    pub(super) fn line(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(AsRef::as_ref)
    }
}
