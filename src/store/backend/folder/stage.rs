//! Changes to a recording's folder: which files are written and removed, and in what order, so that
//! no entry is ever only in a file that is being overwritten.
//!
//! All new files are first written beside their places, and then moved there one after the other.
//! Unchanged files stay as they are.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::{FolderSnapshot, name};
use crate::backend::stage_terms::StageTerms;
use crate::compose::compose_takes;
use crate::disk::Disk;
use crate::error::StoreError;
use crate::file::SIZE_LIMIT;
use crate::merge::{EntryOrigin, TakeRef};
use crate::snapshot::RecordingSnapshot;
use crate::temporary_file;
use loomrec_identity::IdentityRules;
use loomrec_os::{CAN_SYNC_FILE_SYSTEM, FileStatus};
use loomrec_recording::EntryName;

/// Above this many files, they are synced together instead of one by one.
const TOGETHER: usize = if CAN_SYNC_FILE_SYSTEM { 16 } else { usize::MAX };

/// The changes to a folder, ready beside the files' places.
#[derive(Debug)]
pub(crate) struct StagedFolder {
    folder: PathBuf,
    /// Temporary files and their places, in the order in which they are moved.
    writes: Vec<(PathBuf, PathBuf)>,
    /// Files that are removed after that.
    removals: Vec<PathBuf>,
    /// Whether there was no folder, so that it was created here.
    made_folder: bool,
}

/// A file that is to be written.
#[derive(Debug)]
struct FileWrite {
    file: OsString,
    /// The member of the outline that it holds now; `None` if it is new.
    member: Option<usize>,
    name: EntryName,
    /// All takes of the name.
    takes: Vec<TakeRef>,
    /// The take in the file; `None` for the whole list of a step.
    only: Option<usize>,
}

impl FileWrite {
    fn own(&self) -> &[TakeRef] {
        match self.only {
            Some(at) => self.takes.get(at..=at).unwrap_or_default(),
            None => &self.takes,
        }
    }
}

/// The files to write and to remove.
#[derive(Debug, Default)]
struct StagedFiles {
    writes: Vec<FileWrite>,
    removals: Vec<OsString>,
}

impl StagedFolder {
    /// Writes all files that a source's plan changes beside their places.
    ///
    /// # Errors
    /// A file cannot be read or written, or would be too large. Nothing is left behind.
    pub(crate) fn write(
        source: &RecordingSnapshot,
        split: &FolderSnapshot,
        folder: &Path,
        terms: StageTerms<'_>,
    ) -> Result<Self, StoreError> {
        let StageTerms { disk, rules, tag, .. } = terms;
        let work = work(source, split, rules);
        let mut staged = Self {
            folder: folder.to_owned(),
            writes: Vec::new(),
            removals: Vec::new(),
            made_folder: false,
        };
        staged.removals.extend(work.removals.iter().map(|file| folder.join(file)));
        if !work.writes.is_empty() {
            let failed = |source| StoreError::write(folder.to_owned(), source);
            staged.made_folder = !folder.is_dir();
            disk.create_folder(folder).map_err(failed)?;
        }
        let together = work.writes.len() > TOGETHER;
        for (number, write) in in_order(work.writes, source).iter().enumerate() {
            let temporary = folder.join(format!(".{number}.{tag}{}", temporary_file::SUFFIX));
            let place = folder.join(&write.file);
            staged.writes.push((temporary.clone(), place.clone()));
            let written = write_one(source, split, write, &temporary, &place, terms);
            let synced = written.and_then(|file| match together {
                true => Ok(()),
                false => disk.sync_all(&file).map_err(|source| StoreError::write(place, source)),
            });
            if let Err(error) = synced {
                staged.discard(disk);
                return Err(error);
            }
        }
        if together && let Err(source) = disk.sync_system(folder) {
            staged.discard(disk);
            return Err(StoreError::write(folder.to_owned(), source));
        }
        Ok(staged)
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.removals.is_empty()
    }

    /// Whether the folder was missing and was created.
    pub(crate) fn made_folder(&self) -> bool {
        self.made_folder
    }

    /// Puts the files in their places, and removes those that are to go.
    ///
    /// # Errors
    /// The storage fails. Some files are in their places then, and no entry is lost.
    pub(crate) fn commit(&self, disk: &Disk) -> Result<(), StoreError> {
        for (temporary, place) in &self.writes {
            disk.rename(temporary, place)
                .map_err(|source| StoreError::write(place.clone(), source))?;
        }
        let failed = |source| StoreError::write(self.folder.clone(), source);
        if !self.removals.is_empty() && !self.writes.is_empty() {
            // A file is removed only once its entries are known to be elsewhere.
            disk.sync_folder(&self.folder).map_err(failed)?;
        }
        for place in &self.removals {
            disk.remove_if_there(place)
                .map_err(|source| StoreError::write(place.clone(), source))?;
        }
        if self.is_empty() { Ok(()) } else { disk.sync_folder(&self.folder).map_err(failed) }
    }

    /// Removes what was written and is not in its place.
    pub(crate) fn discard(&self, disk: &Disk) {
        for (temporary, _) in &self.writes {
            // The next recorder sweeps away what is left.
            let _ = disk.remove_if_there(temporary);
        }
    }
}

/// Writes one file beside its place.
fn write_one(
    source: &RecordingSnapshot,
    split: &FolderSnapshot,
    write: &FileWrite,
    temporary: &Path,
    place: &Path,
    terms: StageTerms<'_>,
) -> Result<File, StoreError> {
    let StageTerms { disk, rules, .. } = terms;
    let failed = |source| StoreError::write(place, source);
    let mut meta = match (terms.meta, write.member) {
        (Some(meta), _) => meta.clone(),
        (None, Some(member)) => split.meta_of(member)?,
        (None, None) => source.outline.meta().clone(),
    };
    if let Some(rules) = rules {
        meta.adopt(rules);
    }
    meta.add_key_variables(&source.logged_key_variables());
    let file = disk.create_temporary(temporary).map_err(failed)?;
    if let Some(old) = write.member.and_then(|_| FileStatus::at_path(place).ok().flatten()) {
        disk.set_mode(&file, old.mode).map_err(failed)?;
    }
    let text = &mut disk.writer(&file);
    compose_takes(source, &meta, &write.name, &write.takes, write.only, text)
        .map_err(|error| error.at(place))?;
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > SIZE_LIMIT {
        return Err(StoreError::WouldBeTooLarge {
            path: place.to_owned(),
            bytes,
            limit: SIZE_LIMIT,
        });
    }
    Ok(file)
}

/// Returns the files to write and to remove for a source's plan.
fn work(
    source: &RecordingSnapshot,
    split: &FolderSnapshot,
    rules: Option<&IdentityRules>,
) -> StagedFiles {
    let outline = &source.outline;
    let all = rules.is_some_and(|rules| outline.meta().rules() != rules);
    let keys = outline.members().enumerate();
    let keys = keys.map(|(at, member)| (outline.key(&member), at)).collect();
    let files = (0..outline.members().len()).filter_map(|at| split.file_of(at));
    let mut planner = Planner {
        source,
        split,
        taken: files.map(|file| file.to_ascii_lowercase()).collect(),
        keys,
        used: HashSet::new(),
        work: StagedFiles::default(),
        all,
    };
    let mut touched = Vec::new();
    for (at, known) in outline.names().enumerate() {
        let name = source.plan.renamed.get(&at).unwrap_or(&known);
        match source.plan.changed.get(&at) {
            Some(takes) => planner.name(name, takes),
            // Only its rules change. A damaged entry is reported when it is read.
            None if all => planner.name(name, &source.takes_of(at).unwrap_or_default()),
            None => continue,
        }
        touched.extend(outline.members_of(at).iter().map(|&member| member as usize));
    }
    for (name, takes) in &source.plan.new {
        planner.name(name, takes);
    }
    let Planner { used, mut work, .. } = planner;
    let left = touched.into_iter().filter(|member| !used.contains(member));
    work.removals = left.filter_map(|member| Some(split.file_of(member)?.to_owned())).collect();
    work.removals.sort_unstable();
    work
}

struct Planner<'a> {
    source: &'a RecordingSnapshot,
    split: &'a FolderSnapshot,
    /// The names that are taken, in lower case.
    taken: HashSet<OsString>,
    /// The member of the outline that has a key.
    keys: HashMap<String, usize>,
    /// The members whose files stay, changed or not.
    used: HashSet<usize>,
    work: StagedFiles,
    /// Whether every file is written again.
    all: bool,
}

impl Planner<'_> {
    /// Plans the files of one name.
    fn name(&mut self, name: &EntryName, takes: &[TakeRef]) {
        if takes.is_empty() {
            return;
        }
        match name.step_id() {
            Some(_) => self.file(name, takes, None),
            None => (0..takes.len()).for_each(|at| self.file(name, takes, Some(at))),
        }
    }

    fn file(&mut self, name: &EntryName, takes: &[TakeRef], only: Option<usize>) {
        let key = name.take_key(only.map_or(1, |at| at + 1));
        let member = self.keys.get(&key).copied();
        let file = match member.and_then(|member| self.split.file_of(member)) {
            Some(file) => file.to_owned(),
            None => name::free(&key, &mut self.taken).into(),
        };
        let (name, takes) = (name.clone(), takes.to_owned());
        let write = FileWrite { file, member, name, takes, only };
        if let Some(member) = member {
            self.used.insert(member);
            if !self.all && self.standing(member) == write.own() {
                return;
            }
        }
        self.work.writes.push(write);
    }

    /// Returns the takes that are in a member's file now.
    fn standing(&self, member: usize) -> Vec<TakeRef> {
        standing(self.source, member)
    }
}

fn standing(source: &RecordingSnapshot, member: usize) -> Vec<TakeRef> {
    let member = source.outline.member(member);
    let takes = member.and_then(|member| source.outline.takes(&member));
    takes.into_iter().flatten().map(|take| TakeRef::in_file(&take)).collect()
}

/// Orders writes so that a file is overwritten only after its entries that are kept are in another
/// file. If takes move in a circle, that is not possible. New files are written first, and then the
/// takes of a name from the last to the first: takes only move towards the end, so a merge of the
/// same log finds the takes of the run that it was interrupted in before all others.
fn in_order(writes: Vec<FileWrite>, source: &RecordingSnapshot) -> Vec<FileWrite> {
    let mut goes_to: HashMap<u64, usize> = HashMap::new();
    for (number, write) in writes.iter().enumerate() {
        let kept = write.own().iter().filter(|place| place.origin == EntryOrigin::File);
        goes_to.extend(kept.map(|place| (place.at, number)));
    }
    let before = |number: usize| -> Vec<usize> {
        let member = writes.get(number).and_then(|write: &FileWrite| write.member);
        let held = member.map(|member| standing(source, member)).unwrap_or_default();
        let moved = held.iter().filter_map(|place| goes_to.get(&place.at).copied());
        moved.filter(|&other| other != number).collect()
    };
    let mut order = Vec::with_capacity(writes.len());
    let mut seen = vec![(false, false); writes.len()];
    let (old, new): (Vec<usize>, Vec<usize>) =
        (0..writes.len()).partition(|&at| writes[at].member.is_some());
    for first in new.into_iter().chain(old.into_iter().rev()) {
        let mut waiting = vec![first];
        while let Some(&number) = waiting.last() {
            match seen[number] {
                (false, _) => {
                    seen[number].0 = true;
                    waiting.extend(before(number).into_iter().filter(|&other| !seen[other].0));
                }
                (true, done) => {
                    waiting.pop();
                    if !done {
                        seen[number].1 = true;
                        order.push(number);
                    }
                }
            }
        }
    }
    let mut writes: Vec<_> = writes.into_iter().map(Some).collect();
    order.into_iter().filter_map(|number| writes[number].take()).collect()
}
