//! What a user gives beside a file, since the file does not hold it.

use std::collections::BTreeMap;

/// The most bytes of requests that are held until their answers come.
pub(super) const LIMIT: usize = 512 << 20;

/// What is given beside a file.
#[derive(Clone, Debug, Default)]
pub struct CompanionFiles {
    /// The requests that a batch's answers belong to.
    pub requests: Option<BatchRequests>,
    /// The model that was asked, where a file does not tell.
    pub model: Option<String>,
}

/// The requests of a batch, by their ids, each as the line it is.
#[derive(Clone, Debug, Default)]
pub struct BatchRequests {
    by_id: BTreeMap<String, Box<str>>,
    size: usize,
}

/// Why a request is not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotHeld {
    /// Its id is that of another.
    Twice,
    /// They are too many.
    Full,
}

impl BatchRequests {
    /// Holds a request's line.
    pub(super) fn hold(&mut self, id: String, line: &str) -> Result<(), NotHeld> {
        self.size += line.len() + id.len();
        if self.size > LIMIT {
            return Err(NotHeld::Full);
        }
        self.by_id.insert(id, line.into()).map_or(Ok(()), |_| Err(NotHeld::Twice))
    }

    /// The line of an id.
    pub(super) fn line(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(AsRef::as_ref)
    }
}
