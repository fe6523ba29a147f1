//! The key variables for which a replayed program gets stand-ins: those that the recorded programs
//! had.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::session::SessionTemplate;
use loomrec_cli::wrapped_command::StandInKeys;
use loomrec_engine::replay::{Matcher, RecordedKeys};
use loomrec_store::{Recording, RecordingLocation};

/// The most files and folders that are looked at.
const MOST_SEEN: usize = 20_000;
/// The most recordings that are read.
const MOST_FILES: usize = 5_000;
/// The most bytes of recordings that are read.
const MOST_BYTES: u64 = 128 << 20;
/// The most folders below each other.
const DEEPEST: usize = 16;
/// How many bytes of a file are read to see whether it may be a recording.
const GLANCE: u64 = 4096;
/// A key that loomrec writes at the beginning of each recording.
const VERSION: &[u8] = b"\"_version\"";

/// Returns the stand-ins for a program that is answered by these takes.
pub(super) fn for_matcher(matcher: &Matcher) -> StandInKeys {
    for_keys(matcher.recorded_keys())
}

/// Returns the stand-ins for a program whose sessions each have a recording: those of all recordings
/// that a session may have. Files that are no recordings do not count. `is_deep` says whether control
/// calls may name recordings in folders below.
pub(super) fn for_template(template: &SessionTemplate, is_deep: bool) -> StandInKeys {
    let mut found = FoundRecordings::default();
    let depth = if is_deep { DEEPEST } else { 0 };
    found.add_folder_files(template.folder(), depth, &|name| is_deep || template.is_name(name));
    if found.is_incomplete {
        return StandInKeys::All;
    }
    let mut keys = RecordedKeys::default();
    for path in found.paths {
        let Ok(recording) = Recording::open_to_inspect(RecordingLocation::from(path)) else {
            continue;
        };
        keys.begin_recording(recording.meta());
        if recording.meta().key_variables().is_empty() {
            recording.entries().flatten().for_each(|stored| keys.note_entry(&stored.entry));
        }
    }
    for_keys(&keys)
}

fn for_keys(keys: &RecordedKeys) -> StandInKeys {
    keys.variables().map_or(StandInKeys::All, |variables| StandInKeys::Of(variables.clone()))
}

/// The files of a folder that may be recordings.
#[derive(Default)]
struct FoundRecordings {
    paths: Vec<PathBuf>,
    seen: usize,
    bytes: u64,
    /// Whether there are more than are looked at.
    is_incomplete: bool,
}

impl FoundRecordings {
    /// Adds the files in a folder. Links are not followed, and hidden files do not count.
    fn add_folder_files(&mut self, folder: &Path, depth: usize, is_name: &impl Fn(&str) -> bool) {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(entries) = std::fs::read_dir(here) else { return };
        for entry in entries.flatten() {
            self.seen += 1;
            self.is_incomplete |=
                self.seen > MOST_SEEN || self.paths.len() > MOST_FILES || self.bytes > MOST_BYTES;
            if self.is_incomplete {
                return;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let (path, Ok(about)) = (folder.join(name), entry.metadata()) else { continue };
            if about.is_dir() && depth > 0 {
                self.add_folder_files(&path, depth - 1, is_name);
            } else if about.is_file()
                && name.ends_with(".json")
                && is_name(name)
                && may_be_recording(&path)
            {
                self.bytes += about.len();
                self.paths.push(path);
            }
        }
    }
}

/// Whether a file begins as a recording does.
fn may_be_recording(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(GLANCE).read_to_end(&mut head));
    read.is_ok() && head.windows(VERSION.len()).any(|bytes| bytes == VERSION)
}
