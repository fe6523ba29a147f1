//! Log rotation: moves the log out of the recorders' way, as the first step of a compaction.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use super::disk::Disk;
use super::error::StoreError;
use super::lock::{self, RecordingLock};
use super::log::{self, LogContents};
use super::paths::RecordingPaths;
use super::regular_file;
use super::run;
use super::store_event::StoreEvent;
use loomrec_os::FileId;

/// How far a recorder knows that its log was whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownLog {
    pub(super) log: FileId,
    pub(super) end: u64,
}

/// The log to compact.
#[derive(Debug)]
pub(super) enum RotatedLog {
    /// No log is to be compacted.
    Nothing,
    /// Another live process is compacting the log.
    Busy,
    /// This log, which is at [`RecordingPaths::folding`]. It is locked as long as the file is open,
    /// so that no other process compacts it.
    Folding {
        /// Open for reading.
        file: File,
        /// Events about it that people should know.
        notes: Vec<StoreEvent>,
    },
}

/// Finds a log to compact: one whose compaction was interrupted, or else the recorders' own. The
/// names in that are noted in the run before it is moved.
///
/// The log is read before the lock is taken. Under the lock, only what was added since is read.
///
/// # Errors
/// The lock cannot be taken, the log has a newer version, or the storage fails. The log is then
/// where it was, or has been moved.
pub(super) fn rotate_log(
    paths: &RecordingPaths,
    disk: &Disk,
    lock: &mut RecordingLock,
    known: Option<KnownLog>,
) -> Result<RotatedLog, StoreError> {
    let at_log = |source| StoreError::write_failed(paths.log.clone(), source);
    let ahead = match open_log(&paths.log).map_err(at_log)? {
        Some(file) if regular_file::look_at(&paths.folding).map_err(at_log)?.is_none() => {
            let scanned = log::scan_frames(&file).map_err(at_log)?;
            Some((file, scanned))
        }
        _ => None,
    };
    let _guard = lock.acquire(lock::WAIT)?;
    let at_folding = |source| StoreError::write_failed(paths.folding.clone(), source);
    if let Some(file) = open_log(&paths.folding).map_err(at_folding)? {
        return match lock::try_lock(&file).map_err(at_folding)? {
            true => {
                // It was whole when it was moved.
                let scanned = log::scan_frames(&file).map_err(at_folding)?;
                let damaged = damaged_ranges(&scanned, scanned.len);
                let notes = keep_damaged(paths, disk, &file, &damaged)?;
                Ok(RotatedLog::Folding { file, notes: notes.into_iter().collect() })
            }
            false => Ok(RotatedLog::Busy),
        };
    }
    let Some(file) = open_log(&paths.log).map_err(at_log)? else {
        return Ok(RotatedLog::Nothing);
    };
    let scanned = finish_scan(&file, ahead).map_err(at_log)?;
    if scanned.newer {
        return Err(StoreError::NewerLog { path: paths.log.clone() });
    }
    let id = FileId::from_file(&file).map_err(at_log)?;
    let known = known.filter(|known| known.log == id).map_or(0, |known| known.end);
    let damaged = damaged_ranges(&scanned, known);
    let mut notes: Vec<StoreEvent> =
        keep_damaged(paths, disk, &file, &damaged)?.into_iter().collect();
    if known <= scanned.whole {
        notes.extend(set_aside(paths, disk, &file, &scanned)?);
    }
    let names: Vec<_> = scanned.frames.iter().map(|frame| frame.name).collect();
    run::note_rotation(&paths.run, disk, &names, id)
        .map_err(|source| StoreError::write_failed(paths.run.clone(), source))?;
    disk.rename(&paths.log, &paths.folding).map_err(at_folding)?;
    if !lock::try_lock(&file).map_err(at_folding)? {
        return Ok(RotatedLog::Busy);
    }
    Ok(RotatedLog::Folding { file, notes })
}

/// Returns the damaged ranges of a log, one for each frame. A tail that was never written in full
/// is not damaged. Up to `known`, the log was whole before.
fn damaged_ranges(scanned: &LogContents, known: u64) -> Vec<Range<u64>> {
    let mut ranges = scanned.damaged.clone();
    if scanned.torn_length() > 0 && known > scanned.whole {
        ranges.push(scanned.whole..scanned.len);
    }
    ranges
}

/// Moves a log's torn tail into a separate file. Only under the recording's lock: without it,
/// another process may be writing the tail.
pub(super) fn set_aside(
    paths: &RecordingPaths,
    disk: &Disk,
    file: &File,
    scanned: &LogContents,
) -> Result<Option<StoreEvent>, StoreError> {
    if scanned.torn_length() == 0 {
        return Ok(None);
    }
    let (aside, torn) = free_place(paths, disk)?;
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::write_failed(path, source)
    };
    let mut tail = log::cursor_at(file, scanned.whole);
    let copied = io::copy(&mut tail, &mut disk.writer(&torn)).map_err(at(&aside));
    let cut = copied.and_then(|_| disk.set_len(file, scanned.whole).map_err(at(&paths.log)));
    if let Err(error) = cut {
        // Half a copy is useless, and the tail is still where it was.
        let _ = disk.remove_if_there(&aside);
        return Err(error);
    }
    Ok(Some(StoreEvent::Torn { log: paths.log.clone(), aside, bytes: scanned.torn_length() }))
}

/// Copies damaged frames into a separate file, because the log that holds them is about to be
/// compacted.
pub(super) fn keep_damaged(
    paths: &RecordingPaths,
    disk: &Disk,
    file: &File,
    damaged: &[Range<u64>],
) -> Result<Option<StoreEvent>, StoreError> {
    if damaged.is_empty() {
        return Ok(None);
    }
    let (aside, kept) = free_place(paths, disk)?;
    let mut bytes = 0;
    for range in damaged {
        let mut source = log::cursor_at(file, range.start).take(range.end - range.start);
        match io::copy(&mut source, &mut disk.writer(&kept)) {
            Ok(copied) => bytes += copied,
            Err(source) => {
                let _ = disk.remove_if_there(&aside);
                return Err(StoreError::write_failed(aside, source));
            }
        }
    }
    Ok(Some(StoreEvent::Damaged { log: paths.log.clone(), aside, bytes, entries: damaged.len() }))
}

fn free_place(
    paths: &RecordingPaths,
    disk: &Disk,
) -> Result<(std::path::PathBuf, File), StoreError> {
    let mut number = 1;
    loop {
        let aside = paths.torn_tail(number);
        match disk.create_new(&aside) {
            Ok(file) => return Ok((aside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(StoreError::write_failed(aside, source)),
        }
    }
}

/// Reads the part of a log that was not read ahead. The end of what was read without the lock may
/// have been cut off again, because its write failed, and other frames may be there now. So the
/// last frame is read again, and if it differs, everything is.
fn finish_scan(file: &File, ahead: Option<(File, LogContents)>) -> io::Result<LogContents> {
    let id = FileId::from_file(file)?;
    let Some((before, mut scanned)) = ahead else { return log::scan_frames(file) };
    let last = scanned.frames.pop().filter(|_| scanned.damaged.is_empty());
    let (Some(last), true) = (last, FileId::from_file(&before)? == id) else {
        return log::scan_frames(file);
    };
    let rest = log::scan_from(file, last.at - log::HEAD as u64)?;
    if rest.frames.first() != Some(&last) {
        return log::scan_frames(file);
    }
    scanned.frames.extend(rest.frames);
    Ok(LogContents { frames: scanned.frames, rules: rest.rules.or(scanned.rules), ..rest })
}

fn open_log(path: &Path) -> io::Result<Option<File>> {
    regular_file::open_existing(path, File::options().read(true).write(true))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn frame(name: u128, bytes: usize) -> Vec<u8> {
        let mut frame = Vec::new();
        log::write_frame(name, &vec![b'x'; bytes], &mut frame).unwrap();
        frame
    }

    #[test]
    fn log_that_was_cut_and_grew_again_while_it_was_read_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json.log");
        let mut file =
            File::options().create_new(true).read(true).append(true).open(&path).unwrap();
        file.write_all(&frame(1, 10)).unwrap();
        let kept = file.metadata().unwrap().len();
        for (before, after) in [(20, 50), (50, 20), (20, 20)] {
            file.write_all(&frame(2, before)).unwrap();
            let ahead = Some((open_log(&path).unwrap().unwrap(), log::scan_frames(&file).unwrap()));
            // The write of the second frame failed after all, and another one follows.
            file.set_len(kept).unwrap();
            file.write_all(&frame(3, after)).unwrap();
            file.write_all(&frame(4, 7)).unwrap();
            let scanned = finish_scan(&file, ahead).unwrap();
            assert_eq!(scanned, log::scan_frames(&file).unwrap());
            assert_eq!((scanned.frames.len(), scanned.torn_length()), (3, 0));
            file.set_len(kept).unwrap();
        }
    }
}
