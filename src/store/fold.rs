//! STUB of part B's.
use std::fs::File;

use super::disk::Disk;
use super::error::StoreError;
use super::lock::{self, Lock};
use super::note::Note;
use super::paths::Paths;
use super::rotate::{Rotated, rotate};
use super::{atomic, file, log};
use crate::identity::IdentityRules;
use crate::recording::{Document, packed};

#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) folded: usize,
    pub(super) left: bool,
    pub(super) notes: Vec<Note>,
}

pub(super) fn apply(
    document: &mut Document,
    file: &File,
    path: &std::path::Path,
) -> Result<usize, StoreError> {
    let failed = |source| StoreError::Read { path: path.to_owned(), source };
    let scanned = log::scan(file).map_err(failed)?;
    for frame in &scanned.frames {
        let bytes = log::payload(file, *frame).map_err(failed)?;
        let (head, entry) = packed::unpack(&bytes)
            .map_err(|error| failed(std::io::Error::other(error.to_string())))?;
        document.record(&head.name, entry, head.first).map_err(file::unusable(path))?;
    }
    Ok(scanned.frames.len())
}

pub(super) fn run(
    paths: &Paths,
    disk: &Disk,
    rules: &IdentityRules,
    _wait: bool,
) -> Result<Folded, StoreError> {
    let mut lock = Lock::new(&paths.lock, disk);
    let (log, note) = match rotate(paths, disk, &mut lock, lock::WAIT)? {
        Rotated::Nothing => return Ok(Folded::default()),
        Rotated::Busy => return Ok(Folded { left: true, ..Folded::default() }),
        Rotated::Folding { file, note } => (file, note),
    };
    let failed = |source| StoreError::Write { path: paths.target.clone(), source };
    let mut document = match file::read(&paths.target)? {
        Some((_, text)) => file::parse(&paths.target, text)?,
        None => Document::new(rules),
    };
    document.adopt(rules);
    let folded = apply(&mut document, &log, &paths.folding)?;
    let temporary = paths.target.with_extension("loomrec-tmp");
    let _ = disk.remove_if_there(&temporary);
    let out = disk.create_new(&temporary).map_err(failed)?;
    if let Ok(old) = std::fs::metadata(&paths.target) {
        use std::os::unix::fs::PermissionsExt as _;
        disk.set_mode(&out, old.permissions().mode() & 0o777).map_err(failed)?;
    }
    disk.write_all(&out, &document.to_bytes()).map_err(failed)?;
    disk.sync_all(&out).map_err(failed)?;
    let _guard = lock.acquire(lock::WAIT)?;
    disk.rename(&temporary, &paths.target).map_err(failed)?;
    disk.sync_folder(atomic::folder(&paths.target)).map_err(failed)?;
    disk.remove_if_there(&paths.folding).map_err(failed)?;
    let left = paths.log.exists();
    Ok(Folded { folded, left, notes: note.into_iter().collect() })
}
