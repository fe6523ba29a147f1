//! Changes to a recording as a whole: takes replaced, removed, renamed and added, and new
//! recordings made from entries that come from elsewhere.
//!
//! Unchanged text stays exactly as it is. The new file is written beside the old one and replaces
//! it under the lock, if nobody records into it and it was not changed since it was read. New
//! entries wait in a file without a name, so that memory does not grow with them.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;

use super::disk::Disk;
use super::error::StoreError;
use super::file_version::FileVersion;
use super::linked;
use super::lock::{self, RecordingLock};
use super::merge::{LogMerge, TakeRef};
use super::paths::RecordingPaths;
use super::reader::{Recording, paths_of};
use super::run::is_live;
use super::sidecars;
use super::snapshot::RecordingSnapshot;
use super::spool::EntrySpool;
use super::staged_file::{StageTerms, StagedFile};
use loomrec_identity::IdentityRules;
use loomrec_recording::outline::RecordingOutline;
use loomrec_recording::{Entry, EntryName};

mod create;

pub use create::{create_empty, create_recording, remove_empty};

/// A take of a changed name.
#[derive(Clone, Debug)]
pub enum TakeChange {
    /// An entry of the recording, unchanged.
    Place(TakeRef),
    /// A new entry.
    Entry(Box<Entry>),
}

/// The changes to a recording.
#[derive(Debug)]
pub struct RecordingChanges {
    spool: EntrySpool,
    names: Vec<EntryChange>,
    known: HashMap<EntryName, usize>,
    rules: Option<IdentityRules>,
}

/// The change to a name.
#[derive(Debug)]
struct EntryChange {
    name: EntryName,
    /// The name whose place it takes.
    instead_of: Option<EntryName>,
    takes: Vec<TakeRef>,
}

impl RecordingChanges {
    /// Returns an empty set of changes.
    ///
    /// # Errors
    /// There is no room for temporary files.
    pub fn new() -> Result<Self, StoreError> {
        let (names, known) = Default::default();
        Ok(Self { spool: EntrySpool::new()?, names, known, rules: None })
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.rules.is_none()
    }

    /// Sets the takes of a name, in order. Without takes, the name is removed. A name that is not
    /// in the recording is added at its end. The last call for a name counts.
    ///
    /// # Errors
    /// An entry is too large, or there is no room for temporary files.
    pub fn set_takes(&mut self, name: EntryName, takes: Vec<TakeChange>) -> Result<(), StoreError> {
        self.put_takes(name, None, takes)
    }

    /// Sets the takes of `new`, which takes the place of `old`; `old` is removed. If `new` is in
    /// the recording already, it stays in its own place.
    ///
    /// # Errors
    /// There is no room for temporary files.
    pub fn rename_takes(
        &mut self,
        old: EntryName,
        new: EntryName,
        takes: Vec<TakeChange>,
    ) -> Result<(), StoreError> {
        if old == new {
            return self.put_takes(new, None, takes);
        }
        self.put_takes(old.clone(), None, Vec::new())?;
        self.put_takes(new, Some(old), takes)
    }

    /// Adds one take after those that were set for a name.
    ///
    /// # Errors
    /// The entry is too large, or there is no room for temporary files.
    pub fn push(&mut self, name: &EntryName, take: TakeChange) -> Result<(), StoreError> {
        let place = self.spool_take(name, take)?;
        match self.known.get(name) {
            Some(&at) => self.names[at].takes.push(place),
            None => self.insert(name.clone(), None, vec![place]),
        }
        Ok(())
    }

    /// Sets the rules of the keys. The caller makes sure that every key is made under them.
    pub fn set_rules(&mut self, rules: IdentityRules) {
        self.rules = Some(rules);
    }

    fn put_takes(
        &mut self,
        name: EntryName,
        instead_of: Option<EntryName>,
        takes: Vec<TakeChange>,
    ) -> Result<(), StoreError> {
        let takes: Result<Vec<TakeRef>, _> =
            takes.into_iter().map(|take| self.spool_take(&name, take)).collect();
        self.insert(name, instead_of, takes?);
        Ok(())
    }

    fn insert(&mut self, name: EntryName, instead_of: Option<EntryName>, takes: Vec<TakeRef>) {
        match self.known.get(&name) {
            Some(&at) => {
                let known = &mut self.names[at];
                known.takes = takes;
                known.instead_of = instead_of.or(known.instead_of.take());
            }
            None => {
                self.known.insert(name.clone(), self.names.len());
                self.names.push(EntryChange { name, instead_of, takes });
            }
        }
    }

    fn spool_take(&mut self, name: &EntryName, take: TakeChange) -> Result<TakeRef, StoreError> {
        match take {
            TakeChange::Place(place) => Ok(place),
            TakeChange::Entry(entry) => self.spool.put(name, &entry),
        }
    }

    /// Returns the plan that applies the changes.
    fn merge_plan(&self, outline: &RecordingOutline) -> LogMerge {
        let mut plan = LogMerge::default();
        for EntryChange { name, instead_of, takes } in &self.names {
            let stands_at = outline.find_name(name);
            let stood_at = instead_of.as_ref().and_then(|old| outline.find_name(old));
            match (stands_at, stood_at) {
                (Some(at), _) => {
                    plan.changed.insert(at, takes.clone());
                }
                // If two names replace one, the first gets its place.
                (None, Some(at)) if !plan.renamed.contains_key(&at) => {
                    plan.renamed.insert(at, name.clone());
                    plan.changed.insert(at, takes.clone());
                }
                (None, _) if takes.is_empty() => {}
                (None, _) => plan.new.push((name.clone(), takes.clone())),
            }
        }
        plan
    }
}

impl Recording {
    /// Applies changes. Returns whether there were any. The open recording stays as it was. A
    /// plain recording stays plain.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while another process records into it, [`StoreError::LeftLog`] if a killed
    /// one left a log, [`StoreError::Changed`] if it is no longer what was opened; a link that leads to
    /// no recording; or the storage fails. The file is then unchanged.
    pub fn rewrite(&self, changes: &RecordingChanges) -> Result<bool, StoreError> {
        if changes.is_empty() {
            return Ok(false);
        }
        let path = self.path();
        let paths = paths_of(path)?;
        linked::require_recording_behind_link(path)?;
        let Some((file, outline)) = self.only_file() else {
            return Err(StoreError::Busy { path: path.to_owned() });
        };
        let failed = |source| StoreError::read_failed(path.to_owned(), source);
        let before = self.opened_version();
        if paths.file_version()? != before {
            return Err(StoreError::Changed { path: path.to_owned() });
        }
        let source = RecordingSnapshot::for_rewrite(
            path,
            Some(file.try_clone().map_err(failed)?),
            outline.clone(),
            changes.spool.file().try_clone().map_err(failed)?,
            changes.merge_plan(outline),
        );
        write_and_replace(&paths, &source, changes.rules.as_ref(), before)?;
        Ok(true)
    }

    /// Removes the recording and the files that belong to it. Torn tails of a log stay.
    ///
    /// # Errors
    /// As for [`Self::rewrite`]. The file then still exists.
    pub fn remove(&self) -> Result<(), StoreError> {
        let path = self.path();
        let paths = paths_of(path)?;
        if self.only_file().is_none() {
            return Err(StoreError::Busy { path: path.to_owned() });
        }
        let before = self.opened_version();
        let disk = Disk::real();
        let failed = |source| StoreError::write_failed(paths.target.clone(), source);
        commit_change(&paths, &disk, before, true, || {
            disk.remove(&paths.target).map_err(failed)?;
            // These are empty, or belong to no live process.
            [&paths.run, &paths.log, &paths.folding]
                .into_iter()
                .try_for_each(|path| disk.remove_if_there(path))
                .map_err(failed)?;
            disk.sync_folder(paths.recording_folder()).map_err(failed)
        })
    }
}

/// Writes the new text of `source`, and puts it in the recording's place if that is unchanged.
fn write_and_replace(
    paths: &RecordingPaths,
    source: &RecordingSnapshot,
    rules: Option<&IdentityRules>,
    before: Option<FileVersion>,
) -> Result<(), StoreError> {
    let disk = Disk::real();
    // Keeps its file apart from those of other processes that change it, until one of them is
    // refused.
    let tag = format!("{:x}", RandomState::new().build_hasher().finish());
    let terms = StageTerms { disk: &disk, rules, tag: &tag };
    let staged = StagedFile::write_beside(source, &paths.target, terms)?;
    let done = commit_change(paths, &disk, before, false, || staged.put_in_place(&disk));
    staged.discard(&disk);
    done
}

/// Runs `change` under the recording's lock, if nobody records into it and it is unchanged. With
/// `last`, removes the lock as well.
pub(super) fn commit_change(
    paths: &RecordingPaths,
    disk: &Disk,
    before: Option<FileVersion>,
    last: bool,
    change: impl Fn() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let at_lock = |source| StoreError::lock_failed(paths.lock.clone(), source);
    let found = sidecars::is_at(&paths.lock)?;
    let mut lock = RecordingLock::new(&paths.lock, disk);
    let guard = lock.acquire(lock::WAIT)?;
    let done = (|| {
        if is_live(&paths.run).map_err(at_lock)? {
            return Err(StoreError::Busy { path: paths.target.clone() });
        }
        // Entries in a log are not in the file that was read.
        if let Some(log) = sidecars::left_log(paths)? {
            return Err(StoreError::LeftLog { path: paths.target.clone(), log });
        }
        if paths.file_version()? != before {
            return Err(StoreError::Changed { path: paths.target.clone() });
        }
        change()
    })();
    let is_spare = !found || (last && done.is_ok());
    if is_spare && !matches!(done, Err(StoreError::Busy { .. } | StoreError::LeftLog { .. })) {
        lock.remove(guard).map_err(at_lock)?;
    }
    done
}

#[cfg(test)]
#[path = "rewrite_tests.rs"]
mod tests;
