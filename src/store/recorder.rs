//! Adds entries to a recording, beside any number of others that do the same.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::error::StoreError;
use super::lock::{self, Lock};
use super::run::{Run, RunChoice};
use super::{atomic, file};
use crate::identity::IdentityRules;
use crate::recording::redact::{Secrets, is_clean};
use crate::recording::{Document, Entry, EntryName};

/// A recording, open for adding to.
///
/// What [`Recorder::append`] has returned from is on disk. Dropping the recorder
/// ends its part in the run.
#[derive(Debug)]
pub struct Recorder {
    /// As it was named, for messages.
    path: PathBuf,
    /// Where it stands, links followed.
    target: PathBuf,
    rules: IdentityRules,
    /// `None` once it is closed.
    run: Option<Run>,
    /// The credentials seen in this run: none of them is ever written.
    secrets: Secrets,
    kept: Option<Kept>,
    /// What this recorder has kept.
    written: BTreeSet<EntryName>,
}

/// The text this recorder wrote last. It is still the recording's text while the
/// path names the same file, unchanged: holding that file open keeps its inode
/// from being given to another.
#[derive(Debug)]
struct Kept {
    document: Document,
    file: File,
    stamp: Stamp,
}

type Stamp = (u64, u64, u64, i64, i64);

impl Recorder {
    /// Opens a recording for adding to; its file is created with the first
    /// entry, its folder here. What is there already is read and checked.
    ///
    /// # Errors
    /// An existing recording that cannot be used or was made under other rules;
    /// a lock that cannot be taken. The recording is never touched here.
    pub fn open(path: &Path, run: &RunChoice, rules: &IdentityRules) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Write { path: path.to_owned(), source };
        fs::create_dir_all(atomic::folder(path)).map_err(failed)?;
        let target = atomic::resolve(path).map_err(failed)?;
        let _guard = Lock::new(&sidecar(&target, ".lock"), &Disk::real()).acquire(lock::WAIT)?;
        let mut recorder = Self {
            path: path.to_owned(),
            target,
            rules: rules.clone(),
            run: None,
            secrets: Secrets::default(),
            kept: None,
            written: BTreeSet::new(),
        };
        if let Some(document) = recorder.read()? {
            let whole = document.cassette();
            whole.map_err(file::unusable(path))?;
        }
        atomic::sweep(&recorder.target).map_err(failed)?;
        let place = sidecar(&recorder.target, ".run");
        recorder.run = Some(
            Run::enter(&place, run).map_err(|source| StoreError::Lock { path: place, source })?,
        );
        Ok(recorder)
    }

    /// Has every entry looked through for these credentials, too, before it is
    /// written.
    pub fn watch(&mut self, secrets: &Secrets) {
        self.secrets.extend(secrets);
    }

    /// Keeps a batch. With `replace`, the takes that an earlier run left under a
    /// name give way to the first that this run records of it; without, all are
    /// kept. Entries of one name take their places by `recorded_at`.
    ///
    /// Names that this recorder has kept and that are no longer there (someone
    /// deleted or replaced the file) make it an error, once; the batch is kept.
    ///
    /// A batch may be given again after an error: an entry that is there already
    /// is kept once.
    ///
    /// # Errors
    /// [`StoreError::Secret`] where an entry holds a credential of this run: it is
    /// left out, the others are kept. After any other error nothing of the batch
    /// is known to be kept, and the recording is whole.
    pub fn append(
        &mut self,
        batch: Vec<(EntryName, Entry)>,
        replace: bool,
    ) -> Result<(), StoreError> {
        let (clean, dirty): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|(_, entry)| self.is_clean(entry));
        if !clean.is_empty() {
            self.merge(clean, replace)?;
        }
        if dirty.is_empty() {
            return Ok(());
        }
        Err(StoreError::Secret {
            path: self.path.clone(),
            names: dirty.iter().map(|(name, _)| name.to_string()).collect(),
        })
    }

    fn is_clean(&self, entry: &Entry) -> bool {
        self.secrets.is_empty() || is_clean(&entry.to_text(), &self.secrets)
    }

    fn merge(&mut self, batch: Vec<(EntryName, Entry)>, replace: bool) -> Result<(), StoreError> {
        let _guard =
            Lock::new(&sidecar(&self.target, ".lock"), &Disk::real()).acquire(lock::WAIT)?;
        let current = match self.kept.take().filter(|kept| kept.is_current(&self.target)) {
            Some(kept) => Some(kept.document),
            None => self.read()?,
        };
        let mut document = current.unwrap_or_else(|| Document::new(&self.rules));
        document.adopt(&self.rules);
        let place = sidecar(&self.target, ".run");
        let run_failed = |source| StoreError::Write { path: place.clone(), source };
        if let Some(run) = &mut self.run {
            run.refresh().map_err(run_failed)?;
        }
        let gone = self.written.iter().filter(|name| !document.contains(name)).count();
        if gone > 0 {
            self.written.retain(|name| document.contains(name));
        }
        let mut names = BTreeSet::new();
        for (name, entry) in batch {
            let of_run = self.run.as_ref().is_some_and(|run| run.knows(&name));
            let first = replace && !of_run && !names.contains(&name);
            document.record(&name, entry, first).map_err(file::unusable(&self.path))?;
            names.insert(name);
        }
        self.write(document)?;
        // Behind the recording: a crash between the two can only lose that a
        // name is of this run for entries whose calls have not been answered.
        if let Some(run) = &mut self.run {
            run.add(&names).map_err(run_failed)?;
        }
        self.written.append(&mut names);
        if gone > 0 {
            Err(StoreError::Gone { path: self.path.clone(), names: gone })
        } else {
            Ok(())
        }
    }

    /// Whether everything this recorder kept is still there.
    ///
    /// # Errors
    /// [`StoreError::Gone`] where someone deleted or replaced the file.
    fn check(&self) -> Result<(), StoreError> {
        let current = self.kept.as_ref().is_none_or(|kept| kept.is_current(&self.target));
        if current {
            return Ok(());
        }
        let document = self.read()?;
        let is_there = |name| document.as_ref().is_some_and(|document| document.contains(name));
        match self.written.iter().filter(|name| !is_there(name)).count() {
            0 => Ok(()),
            names => Err(StoreError::Gone { path: self.path.clone(), names }),
        }
    }

    /// Ends this recorder's part in the run, and tidies up where it is the last.
    ///
    /// # Errors
    /// A recording that no longer holds what was kept in it; a lock or a sidecar
    /// file that could not be removed.
    pub fn close(mut self) -> Result<(), StoreError> {
        let whole = self.check();
        self.leave()?;
        whole
    }

    fn leave(&mut self) -> Result<(), StoreError> {
        let Some(run) = self.run.take() else {
            return Ok(());
        };
        let path = sidecar(&self.target, ".lock");
        let mut lock = Lock::new(&path, &Disk::real());
        let guard = lock.acquire(lock::WAIT)?;
        let failed = |source| StoreError::Lock { path: path.clone(), source };
        if run.leave().map_err(failed)? {
            lock.remove(guard).map_err(failed)?;
        }
        Ok(())
    }

    /// The recording's text, split; `None` where there is no file. Checks that
    /// its rules are ours.
    fn read(&self) -> Result<Option<Document>, StoreError> {
        let Some((_, text)) = file::read(&self.target)? else {
            return Ok(None);
        };
        let document = file::parse(&self.path, text)?;
        let theirs = document.meta().rules();
        if *theirs != self.rules && !document.is_empty() {
            return Err(StoreError::OtherRules {
                path: self.path.clone(),
                ours: words(&self.rules),
                theirs: words(theirs),
            });
        }
        Ok(Some(document))
    }

    fn write(&mut self, document: Document) -> Result<(), StoreError> {
        let failed = |source| StoreError::Write { path: self.path.clone(), source };
        let file = atomic::replace(&self.target, &document.to_bytes()).map_err(failed)?;
        let stamp = stamp(&file.metadata().map_err(failed)?);
        self.kept = Some(Kept { document, file, stamp });
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Nobody is left to tell; a sidecar that stays behind does no harm.
        let _ = self.leave();
    }
}

impl Kept {
    fn is_current(&self, target: &Path) -> bool {
        let open = self.file.metadata();
        let named = fs::metadata(target);
        match (open, named) {
            (Ok(open), Ok(named)) => stamp(&open) == self.stamp && stamp(&named) == self.stamp,
            _ => false,
        }
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    (metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

fn sidecar(target: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(target);
    name.push(suffix);
    name.into()
}

fn words(rules: &IdentityRules) -> String {
    let words: Vec<String> = rules.ignore().iter().map(ToString::to_string).collect();
    if words.is_empty() { "no rules".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
