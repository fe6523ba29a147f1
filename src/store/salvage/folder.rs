//! The salvage of a recording that is a folder, file by file.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{LostBytes, SalvageResult, SalvagedPart, Source, in_part};
use loomrec_recording::{EntryName, RecordingMeta};

impl SalvageResult {
    /// Finds what can be read of these files, in the order in which a folder is read.
    pub(super) fn folder(files: Vec<PathBuf>) -> Self {
        let (found, lost, meta) = (Vec::new(), Vec::new(), RecordingMeta::default());
        let mut whole = Self { files: Vec::new(), log: false, meta, found, lost };
        // When the first take of each name was recorded.
        let mut times: HashMap<EntryName, (usize, Option<String>)> = HashMap::new();
        for path in files {
            match Self::part(&path) {
                Ok(part) => {
                    part.times(&mut times);
                    whole.add(path, part);
                }
                Err(error) => {
                    let why = format!("failed to {}", error.chain());
                    whole.lost.push(LostBytes { file: Some(path), in_part: false, ..in_part(why) });
                }
            }
        }
        let time = |name: &EntryName| times.get(name).and_then(|(_, time)| time.clone());
        whole
            .found
            .sort_by_cached_key(|saved| (time(&saved.name), saved.name.to_string(), saved.take));
        whole
    }

    fn times(&self, times: &mut HashMap<EntryName, (usize, Option<String>)>) {
        for (saved, entry) in self.found.iter().zip(self.entries()) {
            let time = entry.ok().and_then(|(_, entry)| entry.recorded_at);
            let first = times.entry(saved.name.clone()).or_insert((saved.take, time.clone()));
            if saved.take < first.0 {
                *first = (saved.take, time);
            }
        }
    }

    /// Adds what can be read of one file.
    fn add(&mut self, path: PathBuf, part: Self) {
        let here = |lost: LostBytes| LostBytes { file: Some(path.clone()), ..lost };
        self.lost.extend(part.lost.into_iter().map(here));
        if part.meta.is_loomrec() {
            let (own, other) = (&self.meta, &part.meta);
            if !own.is_loomrec() {
                self.meta = part.meta;
            } else if own.rules() != other.rules() || own.waits_for() != other.waits_for() {
                let why = "its `_loomrec` does not agree with that of the files before it, on the \
                           rules of --ignore or on what is pending: salvage it by itself";
                return self.lost.push(here(LostBytes { in_part: false, ..in_part(why) }));
            } else {
                self.meta.add_key_variables(part.meta.key_variables());
            }
        }
        let file = self.files.len();
        self.files.push(Source { path, file: None });
        self.found.extend(part.found.into_iter().map(|saved| SalvagedPart { file, ..saved }));
    }
}
