//! Makes a recording of each file.
//!
//! Several threads write small recordings, since most of the time goes to the disk. A large one is
//! written while its file is read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::incoming::{IncomingEntries, IncomingEntry};
use super::test_recording;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output_target;
use loomrec_identity::IdentityRules;
use loomrec_recording::RecordingMeta;
use loomrec_store::RecordingLocation;

/// How many threads write.
const WRITERS: usize = 8;

/// The most bytes of bodies of a recording that is written on another thread.
const SMALL: usize = 2 << 20;

/// The recordings to be made.
pub(super) struct RecordingFolder<'a> {
    pub(super) folder: &'a Path,
    pub(super) rules: &'a IdentityRules,
    /// Whether existing recordings are replaced.
    pub(super) force: bool,
}

/// A small recording that is to be written.
struct SmallRecording {
    path: PathBuf,
    entries: Vec<IncomingEntry>,
}

impl RecordingFolder<'_> {
    /// Makes a recording of each file that has entries.
    ///
    /// # Errors
    /// If a recording exists or cannot be written, or two files have the same.
    pub(super) fn create_recordings(
        &self,
        incoming: &mut IncomingEntries<'_>,
    ) -> Result<(), CommandFailure> {
        let (sender, receiver) = sync_channel(WRITERS);
        let (receiver, failure) = (Mutex::new(receiver), Mutex::new(None));
        let done = thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| self.write_each(&receiver, &failure));
            }
            let done = self.collect_each(incoming, &sender, &failure);
            drop(sender);
            done
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => done,
        }
    }

    /// Writes recordings until there are no more. After a failure, the rest is dropped.
    fn write_each(
        &self,
        receiver: &Mutex<Receiver<SmallRecording>>,
        failure: &Mutex<Option<CommandFailure>>,
    ) {
        loop {
            let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(SmallRecording { path, entries }) = next else { return };
            if has_failed(failure) {
                continue;
            }
            if let Err(error) = self.create_recording(&path, entries.into_iter()) {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    }

    fn collect_each(
        &self,
        incoming: &mut IncomingEntries<'_>,
        sender: &SyncSender<SmallRecording>,
        failure: &Mutex<Option<CommandFailure>>,
    ) -> Result<(), CommandFailure> {
        let files = incoming.files;
        let mut made: HashMap<PathBuf, usize> = HashMap::new();
        while incoming.file < files.len() && !has_failed(failure) {
            let number = incoming.file;
            let path = test_recording::recording_path(self.folder, &files[number]);
            output_target::refuse_input("--per-file", &path, [files[number].path.as_path()])?;
            if let Some(first) = made.insert(path.clone(), number) {
                let (first, label) = (&files[first].label, &files[number].label);
                let text = format!("{label}: its recording {} is that of {first}", path.display());
                return Err(CommandFailure::usage(text));
            }
            let (mut entries, mut size) = (Vec::new(), 0);
            while size <= SMALL && incoming.file == number {
                let Some(entry) = incoming.next() else { break };
                let (name, entry) = entry?;
                size += entry.body_size();
                entries.push(Ok((name, entry)));
            }
            if size > SMALL {
                self.create_recording(&path, entries.into_iter().chain(&mut *incoming))?;
            } else if !entries.is_empty() {
                // The writers end only after this thread.
                let _sent = sender.send(SmallRecording { path, entries });
            }
        }
        Ok(())
    }

    fn create_recording(
        &self,
        path: &Path,
        entries: impl Iterator<Item = IncomingEntry>,
    ) -> Result<(), CommandFailure> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| {
                let text = format!("failed to create the folder {}: {error}", parent.display());
                CommandFailure::new(UNEXPECTED, text)
            })?;
        }
        let meta = RecordingMeta::new(self.rules);
        loomrec_store::create_recording(RecordingLocation::from(path), &meta, entries, self.force)?;
        Ok(())
    }
}

fn has_failed(failure: &Mutex<Option<CommandFailure>>) -> bool {
    failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}
