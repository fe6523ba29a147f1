//! The reading of each file in a recording's folder, and how the files become one text.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::num::NonZero;
use std::path::Path;
use std::thread;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::StoreError;
use crate::file_version::FileVersion;
use crate::{file, index, log};
use loomrec_recording::outline::{MemberRole, OutlineBuilder, RecordingOutline};
use loomrec_recording::{EntryName, RecordingMeta};

/// From this many files on, several threads read.
const MANY: usize = 256;

/// A file of up to this many bytes is read at once.
const SMALL: usize = 1 << 20;

/// The most threads that read files.
const THREADS: usize = 8;

/// What is read of one file.
#[derive(Debug)]
pub(super) struct FolderFile {
    pub(super) stamp: FileVersion,
    pub(super) outline: RecordingOutline,
    /// When its first entry was recorded.
    time: Option<String>,
}

/// The part of an entry that its place depends on. What is wrong with the entry is reported when it
/// is read.
#[derive(Deserialize)]
struct Glance {
    #[serde(default)]
    recorded_at: Value,
}

/// Reads files. Files that no longer exist are left out.
///
/// # Errors
/// The first one, by name, that cannot be read or does not hold one entry.
pub(super) fn read_all(
    folder: &Path,
    names: Vec<OsString>,
) -> Result<Vec<(OsString, FolderFile)>, StoreError> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let read = |names: &[OsString]| -> Result<Vec<_>, StoreError> {
        let mut parts = Vec::with_capacity(names.len());
        for name in names {
            if let Some(part) = FolderFile::read(&folder.join(name))? {
                parts.push((name.clone(), part));
            }
        }
        Ok(parts)
    };
    if threads == 1 || names.len() < MANY {
        return read(&names);
    }
    let share = names.len().div_ceil(threads);
    let parts: Result<Vec<_>, StoreError> = thread::scope(|scope| {
        let read = &read;
        let readers: Vec<_> =
            names.chunks(share).map(|names| scope.spawn(move || read(names))).collect();
        let lost = |_| {
            let source = std::io::Error::other("a thread that read it was lost");
            Err(StoreError::read(folder.to_owned(), source))
        };
        readers.into_iter().map(|reader| reader.join().unwrap_or_else(lost)).collect()
    });
    Ok(parts?.into_iter().flatten().collect())
}

impl FolderFile {
    fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        let failed = |source| StoreError::read(path.to_owned(), source);
        let Some(file) = file::open_part(path)? else { return Ok(None) };
        let stamp = FileVersion::of(&file).map_err(failed)?;
        let text = small(&file, stamp.length).map_err(failed)?;
        // A problem in it is found by reading it again.
        let outline = match text.as_deref().and_then(outline) {
            Some(outline) => outline,
            None => index::read(path, &file)?,
        };
        let entries = || outline.members().filter(|member| member.take() > 0);
        let (Some(member), 1) = (entries().next(), entries().count()) else {
            let entries = entries().count();
            return Err(StoreError::NotOneEntry { path: path.to_owned(), entries });
        };
        let time = outline.takes(&member).and_then(|mut takes| takes.next());
        let time = time.and_then(|take| match &text {
            Some(text) => {
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                serde_json::from_slice(text.get(place(take.start)..place(take.end))?).ok()
            }
            None => {
                let part = log::from(&file, take.start).take(take.end - take.start);
                serde_json::from_reader(BufReader::new(part)).ok()
            }
        });
        let time = time.and_then(|Glance { recorded_at }| recorded_at.as_str().map(str::to_owned));
        Ok(Some(Self { stamp, outline, time }))
    }

    fn name(&self) -> Option<(EntryName, usize)> {
        let takes = |role: MemberRole| match role {
            MemberRole::Takes { name, take } => Some((name, take)),
            MemberRole::Meta(_) => None,
        };
        let (name, take) = self.outline.members().find_map(|member| takes(member.role))?;
        Some((self.outline.name(name)?, take))
    }
}

/// Returns all of a file if it is small.
fn small(file: &File, length: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = usize::try_from(length).ok().filter(|length| *length <= SMALL) else {
        return Ok(None);
    };
    let mut text = Vec::with_capacity(length);
    log::from(file, 0).take(SMALL as u64).read_to_end(&mut text)?;
    Ok((text.len() == length).then_some(text))
}

fn outline(text: &[u8]) -> Option<RecordingOutline> {
    let mut outliner = OutlineBuilder::new();
    outliner.feed(text).ok()?;
    outliner.finish().ok()
}

/// Returns the metadata that all files share; `None` if there are none.
///
/// # Errors
/// Two files disagree on the rules, or on what their entries wait for.
pub(super) fn common_meta(
    folder: &Path,
    parts: &BTreeMap<OsString, FolderFile>,
) -> Result<Option<RecordingMeta>, StoreError> {
    let mut metas = parts.iter().map(|(file, part)| (file, part.outline.meta()));
    let Some((first, meta)) = metas.next() else { return Ok(None) };
    let mut keys: Map<String, Value> = meta.keys().clone();
    for (file, other) in metas {
        if other.rules() != meta.rules() || other.waits_for() != meta.waits_for() {
            let (path, other) = (folder.join(file), folder.join(first));
            return Err(StoreError::Disagree { path, other });
        }
        for (key, value) in other.keys() {
            if !keys.contains_key(key) {
                keys.insert(key.clone(), value.clone());
            }
        }
    }
    let unusable = |problem| index::unusable(folder, problem);
    let mut common = RecordingMeta::parse(keys).map_err(unusable)?;
    parts.values().for_each(|part| common.add_key_variables(part.outline.meta().key_variables()));
    Ok(Some(common))
}

/// Returns the files in the order of their entries: by the time of the name's first take, then by
/// name, then by take.
///
/// # Errors
/// Two files have the same key.
pub(super) fn in_order(
    folder: &Path,
    parts: BTreeMap<OsString, FolderFile>,
) -> Result<Vec<(OsString, FolderFile)>, StoreError> {
    let mut firsts: HashMap<EntryName, (usize, Option<String>)> =
        HashMap::with_capacity(parts.len());
    let mut keys: HashMap<(EntryName, usize), &OsString> = HashMap::with_capacity(parts.len());
    for (file, part) in &parts {
        let Some((name, take)) = part.name() else { continue };
        if let Some(other) = keys.insert((name.clone(), take), file) {
            let (path, other) = (folder.join(file), folder.join(other));
            return Err(StoreError::TwoFiles { path, other, key: name.take_key(take) });
        }
        let first = firsts.entry(name.clone()).or_insert_with(|| (take, part.time.clone()));
        if take < first.0 {
            *first = (take, part.time.clone());
        }
    }
    drop(keys);
    let mut ordered: Vec<_> = parts.into_iter().collect();
    ordered.sort_by_cached_key(|(_, part)| {
        let (name, take) = part.name()?;
        let time = firsts.get(&name).and_then(|(_, time)| time.clone());
        Some((time, name.to_string(), take))
    });
    Ok(ordered)
}
