//! Changes a recording as a whole: takes replaced, dropped, renamed and added, and
//! new recordings made of entries that come from elsewhere.
//!
//! What is not changed keeps its very text. The new file is written beside the old
//! one and takes its place under the lock, where nobody records into it and nobody
//! has changed it since it was read. New entries wait in a file without a name, so
//! that memory does not grow with them.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;

use super::backend::base::BaseVersion;
use super::backend::stage_terms::StageTerms;
use super::disk::Disk;
use super::error::StoreError;
use super::linked;
use super::lock::{self, RecordingLock};
use super::merge::{LogMerge, TakeRef};
use super::paths::RecordingPaths;
use super::reader::{Recording, paths_of};
use super::run::is_live;
use super::sidecars;
use super::snapshot::RecordingSnapshot;
use super::spool::EntrySpool;
use loomrec_identity::IdentityRules;
use loomrec_recording::outline::RecordingOutline;
use loomrec_recording::{Entry, EntryName, RecordingMeta};

mod create;

pub use create::create;

/// A take of a changed name.
#[derive(Clone, Debug)]
pub enum TakeChange {
    /// An entry of the recording, as it stands there.
    Place(TakeRef),
    /// Another one.
    Entry(Box<Entry>),
}

/// What is to become of a recording.
#[derive(Debug)]
pub struct RecordingChanges {
    spool: EntrySpool,
    names: Vec<Change>,
    known: HashMap<EntryName, usize>,
    rules: Option<IdentityRules>,
}

/// What is to become of a name.
#[derive(Debug)]
struct Change {
    name: EntryName,
    /// The name it stands in the place of.
    instead_of: Option<EntryName>,
    takes: Vec<TakeRef>,
}

impl RecordingChanges {
    /// No change yet.
    ///
    /// # Errors
    /// No room for temporary files.
    pub fn new() -> Result<Self, StoreError> {
        let (names, known) = Default::default();
        Ok(Self { spool: EntrySpool::new()?, names, known, rules: None })
    }

    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.rules.is_none()
    }

    /// The takes that a name is to have, in order; without any, the name goes. One
    /// that is not in the recording goes to its end. What is set last stands.
    ///
    /// # Errors
    /// An entry that is too large; no room for temporary files.
    pub fn set(&mut self, name: EntryName, takes: Vec<TakeChange>) -> Result<(), StoreError> {
        self.put(name, None, takes)
    }

    /// The same for a name that is to stand where `old` stood, which goes. Where it
    /// is in the recording by itself already, it stays in its own place.
    ///
    /// # Errors
    /// No room for temporary files.
    pub fn rename(
        &mut self,
        old: EntryName,
        new: EntryName,
        takes: Vec<TakeChange>,
    ) -> Result<(), StoreError> {
        if old == new {
            return self.put(new, None, takes);
        }
        self.put(old.clone(), None, Vec::new())?;
        self.put(new, Some(old), takes)
    }

    /// Adds one take behind those that were set for a name.
    ///
    /// # Errors
    /// An entry that is too large; no room for temporary files.
    pub fn push(&mut self, name: &EntryName, take: TakeChange) -> Result<(), StoreError> {
        let place = self.place(name, take)?;
        match self.known.get(name) {
            Some(&at) => self.names[at].takes.push(place),
            None => self.insert(name.clone(), None, vec![place]),
        }
        Ok(())
    }

    /// The rules that the keys are made under from now on. The caller sees to it that
    /// every key is.
    pub fn set_rules(&mut self, rules: IdentityRules) {
        self.rules = Some(rules);
    }

    fn put(
        &mut self,
        name: EntryName,
        instead_of: Option<EntryName>,
        takes: Vec<TakeChange>,
    ) -> Result<(), StoreError> {
        let takes: Result<Vec<TakeRef>, _> =
            takes.into_iter().map(|take| self.place(&name, take)).collect();
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
                self.names.push(Change { name, instead_of, takes });
            }
        }
    }

    fn place(&mut self, name: &EntryName, take: TakeChange) -> Result<TakeRef, StoreError> {
        match take {
            TakeChange::Place(place) => Ok(place),
            TakeChange::Entry(entry) => self.spool.put(name, &entry),
        }
    }

    /// The plan that carries this out.
    fn plan(&self, outline: &RecordingOutline) -> LogMerge {
        let mut plan = LogMerge::default();
        for Change { name, instead_of, takes } in &self.names {
            let stands_at = outline.find_name(name);
            let stood_at = instead_of.as_ref().and_then(|old| outline.find_name(old));
            match (stands_at, stood_at) {
                (Some(at), _) => {
                    plan.changed.insert(at, takes.clone());
                }
                // Two that stand instead of one: the first has its place.
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
    /// Carries changes out; gives whether there were any. The recording that is open
    /// stays as it was, and whose it is: one of AgentLoom's stays AgentLoom's.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while someone records into it, [`StoreError::Changed`]
    /// where it is not what was opened any more; a link that leads to no recording;
    /// storage that fails. The file is then as it was.
    pub fn rewrite(&self, changes: &RecordingChanges) -> Result<bool, StoreError> {
        if changes.is_empty() {
            return Ok(false);
        }
        let path = self.path();
        let paths = paths_of(path)?;
        linked::refuse_other_than_a_recording(path)?;
        let Some((base, outline)) = self.only_base() else {
            return Err(StoreError::Busy { path: path.to_owned() });
        };
        let failed = |source| StoreError::read(path.to_owned(), source);
        let before = self.opened();
        if paths.backend.version()? != *before {
            return Err(StoreError::Changed { path: path.to_owned() });
        }
        let source = RecordingSnapshot::rewriting(
            path,
            base.try_clone().map_err(failed)?,
            outline.clone(),
            changes.spool.file().try_clone().map_err(failed)?,
            changes.plan(outline),
        );
        replace(&paths, &source, changes.rules.as_ref(), None, before)?;
        Ok(true)
    }

    /// Removes the recording and what belongs to it. What was torn off a log stays.
    ///
    /// # Errors
    /// As [`Self::rewrite`]; the file is then still there.
    pub fn remove(&self) -> Result<(), StoreError> {
        let path = self.path();
        let paths = paths_of(path)?;
        if self.only_base().is_none() {
            return Err(StoreError::Busy { path: path.to_owned() });
        }
        let before = self.opened();
        let disk = Disk::real();
        let failed = |source| StoreError::write(paths.target.clone(), source);
        commit(&paths, &disk, before, true, || {
            paths.backend.remove(before, &disk).map_err(failed)?;
            // These are empty, or of nobody who lives.
            [&paths.run, &paths.log, &paths.folding]
                .into_iter()
                .try_for_each(|path| disk.remove_if_there(path))
                .map_err(failed)?;
            disk.sync_folder(paths.folder()).map_err(failed)
        })
    }
}

/// Writes what `source` makes of a recording, and puts it in its place where that is
/// as it was.
fn replace(
    paths: &RecordingPaths,
    source: &RecordingSnapshot,
    rules: Option<&IdentityRules>,
    meta: Option<&RecordingMeta>,
    before: &BaseVersion,
) -> Result<(), StoreError> {
    let disk = Disk::real();
    let failed = |source| StoreError::write(paths.target.clone(), source);
    // Apart from those of others who change it, until one of them is refused.
    let tag = format!("{:x}", RandomState::new().build_hasher().finish());
    paths.backend.prepare(&disk).map_err(failed)?;
    let terms = StageTerms { disk: &disk, rules, meta, tag: &tag };
    let staged = paths.backend.stage(source, terms)?;
    let done = commit(paths, &disk, before, false, || staged.commit(&disk));
    staged.discard(&disk);
    done
}

/// Does what changes the recording, where nobody is in the way. With `last`, the lock
/// goes with it.
pub(super) fn commit(
    paths: &RecordingPaths,
    disk: &Disk,
    before: &BaseVersion,
    last: bool,
    change: impl Fn() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let at_lock = |source| StoreError::lock(paths.lock.clone(), source);
    let found = sidecars::is_at(&paths.lock)?;
    let mut lock = RecordingLock::new(&paths.lock, disk);
    let guard = lock.acquire(lock::WAIT)?;
    let done = (|| {
        // What is in a log is not in the file that was read.
        if is_live(&paths.run).map_err(at_lock)? || sidecars::has_leftover(paths)? {
            return Err(StoreError::Busy { path: paths.target.clone() });
        }
        if paths.backend.version()? != *before {
            return Err(StoreError::Changed { path: paths.target.clone() });
        }
        change()
    })();
    let is_spare = !found || (last && done.is_ok());
    if is_spare && !matches!(done, Err(StoreError::Busy { .. })) {
        lock.remove(guard).map_err(at_lock)?;
    }
    done
}

#[cfg(test)]
#[path = "rewrite_tests.rs"]
mod tests;
