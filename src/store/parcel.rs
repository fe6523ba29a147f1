//! An exchange made ready for the log: as it will stand there, and seen to be free
//! of the run's credentials. That takes the time, so it is done beside whoever
//! writes, by any number of threads at once.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::StoreError;
use super::log::{self, Fingerprint, fingerprint};
use super::watch::Watch;
use crate::recording::redact::Secrets;
use crate::recording::{Entry, EntryName, packed};

/// An exchange to be kept.
#[derive(Debug)]
pub struct Item {
    /// What it is kept under.
    pub name: EntryName,
    /// The exchange.
    pub entry: Entry,
    /// The credentials that its request carried.
    pub secrets: Arc<Secrets>,
}

/// Makes exchanges ready for one recorder's log.
#[derive(Clone, Debug)]
pub struct Packer {
    path: PathBuf,
    watch: Arc<Watch>,
    replace: bool,
}

/// An exchange that is ready.
#[derive(Debug)]
pub struct Parcel {
    pub(super) name: Fingerprint,
    /// Whether the takes of earlier runs are to give way to this run's.
    replace: bool,
    /// Whether it says so itself: the first of its name in a run does.
    first: bool,
    frame: Vec<u8>,
}

impl Packer {
    /// For the recording at `path`. With `replace`, the takes that an earlier run
    /// left under a name give way to the first that this run records of it.
    pub(super) fn new(path: PathBuf, watch: Arc<Watch>, replace: bool) -> Self {
        Self { path, watch, replace }
    }

    /// Makes an exchange ready.
    ///
    /// # Errors
    /// [`StoreError::Secret`] where it holds a credential of this run,
    /// [`StoreError::Write`] where it is too large for a log.
    pub fn pack(&self, item: &Item) -> Result<Parcel, StoreError> {
        let Item { name, entry, secrets } = item;
        let mut frame = vec![0; log::HEAD];
        packed::pack_to(&mut frame, name, self.replace, entry);
        if !self.watch.is_clean(&frame[log::HEAD..], secrets) {
            let names = vec![name.to_string()];
            return Err(StoreError::Secret { path: self.path.clone(), names });
        }
        let name = fingerprint(name);
        log::seal(name, &mut frame).map_err(|error| {
            let source = io::Error::new(io::ErrorKind::InvalidData, error);
            StoreError::write(self.path.clone(), source)
        })?;
        Ok(Parcel { name, replace: self.replace, first: self.replace, frame })
    }
}

impl AsMut<Self> for Parcel {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl Parcel {
    /// The bytes it takes in the log.
    pub(super) fn len(&self) -> usize {
        self.frame.len()
    }

    /// The frame to be written, given whether its name is new to the run.
    pub(super) fn frame(&mut self, new: bool) -> &[u8] {
        let first = self.replace && new;
        if first != self.first {
            self.first = first;
            packed::set_first(&mut self.frame[log::HEAD..], first);
            // It fitted before, and its length is the same.
            let _ = log::seal(self.name, &mut self.frame);
        }
        &self.frame
    }
}
