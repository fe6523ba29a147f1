//! Salvage: finds what can still be read of a damaged recording or log, without keeping it in
//! memory.

mod folder;
mod frames;
mod saved;

use saved::SalvagedPart;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::backend::parts::files;
use super::error::StoreError;
use super::file;
use super::location::RecordingLocation;
use super::log;
use super::log::recover::{is_log, recover_log};
use super::regular_file;
use frames::FrameReader;
use loomrec_curation::salvage::{CutPiece, MemberCutter, SalvagePiece, recover};
use loomrec_identity::IdentityRules;
use loomrec_recording::log_codec;
use loomrec_recording::{Entry, EntryName, RecordingMeta};

/// How many bytes are read at one time.
const PIECE: usize = 1024 * 1024;

/// How many bytes of a lost frame are read for its name.
const GLANCE: u64 = 4096;

/// What can be read of a recording or a log.
#[derive(Debug)]
pub struct SalvageResult {
    files: Vec<Source>,
    /// Whether it is a log.
    log: bool,
    meta: RecordingMeta,
    found: Vec<SalvagedPart>,
    lost: Vec<LostBytes>,
}

/// A file that is read.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    /// Not open if there are many.
    file: Option<File>,
}

/// Bytes that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostBytes {
    /// The file that they are in, if the recording is a folder.
    pub file: Option<PathBuf>,
    /// The key that they belong to, if that can be read.
    pub key: Option<String>,
    /// Where they begin.
    pub at: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The line in which they begin, counted from 1; `None` in a log.
    pub line: Option<usize>,
    /// The reason.
    pub why: String,
    /// Whether only a part of an entry, or nothing at all, is lost.
    pub in_part: bool,
}

impl SalvageResult {
    /// Finds what can be read of a recording or a log.
    ///
    /// # Errors
    /// A file is missing, is not a file, is too large, or cannot be read at all.
    pub fn open(location: impl Into<RecordingLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let path = location.as_path();
        let mut salvage = match files(path)? {
            Some(files) => Self::folder(files),
            None => Self::file(path)?,
        };
        if salvage.log || salvage.meta.is_loomrec() {
            return Ok(salvage);
        }
        let ours = salvage.has_ours();
        if ours {
            // Otherwise it would count as another tool's, and be replayed less strictly.
            salvage.meta.adopt(&IdentityRules::default());
        }
        if ours || !salvage.lost.is_empty() {
            salvage.lost.push(in_part(
                "there is no `_loomrec` that can be read: if it was recorded with --ignore, its \
                 keys were made under rules that are lost",
            ));
        }
        Ok(salvage)
    }

    /// Finds what can be read of one file.
    fn file(path: &Path) -> Result<Self, StoreError> {
        Self::of_file(path, file::open(path)?)
    }

    /// Finds what can be read of one file in a recording's folder.
    fn part(path: &Path) -> Result<Self, StoreError> {
        Self::of_file(path, file::open_part(path)?)
    }

    fn of_file(path: &Path, file: Option<File>) -> Result<Self, StoreError> {
        let failed = |source| StoreError::read(path.to_owned(), source);
        let missing = || StoreError::Missing { path: path.to_owned() };
        let file = file.ok_or_else(missing)?;
        let log = is_binary(path, &file).map_err(failed)?;
        let meta = RecordingMeta::default();
        let (found, lost) = (Vec::new(), Vec::new());
        let source = Source { path: path.to_owned(), file: None };
        let mut salvage = Self { files: vec![source], log, meta, found, lost };
        if log { salvage.read_log(&file) } else { salvage.read_text(&file) }.map_err(failed)?;
        salvage.files[0].file = Some(file);
        salvage.order();
        Ok(salvage)
    }

    /// Returns the file's metadata, as far as it can be read.
    pub fn meta(&self) -> &RecordingMeta {
        &self.meta
    }

    /// Returns the number of entries that can be read.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether nothing can be read.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether it is a log.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Returns what cannot be read.
    pub fn lost(&self) -> &[LostBytes] {
        &self.lost
    }

    /// Returns every entry that can be read, with the takes of a name in order. Each entry is read
    /// when it is needed.
    pub fn entries(&self) -> impl Iterator<Item = Result<(EntryName, Entry), StoreError>> {
        self.found.iter().map(|saved| {
            let source = &self.files[saved.file];
            let failed = |error| StoreError::read(&source.path, error);
            let range = saved.at..saved.at + saved.length;
            let bytes = match &source.file {
                Some(file) => bytes(file, range),
                None => regular_file::open(&source.path, File::options().read(true))
                    .and_then(|file| bytes(&file, range)),
            };
            let bytes = bytes.map_err(failed)?;
            let changed = || failed(io::Error::other("it was changed meanwhile"));
            let entry = match self.log {
                true => log_codec::unpack(&bytes).map_err(|_| changed())?.1,
                false => Entry::read(&bytes).map_err(|_| changed())?,
            };
            Ok((saved.name.clone(), entry))
        })
    }

    /// Sorts the takes of each name by their numbers, at the place of the first one.
    fn order(&mut self) {
        let mut places: HashMap<EntryName, usize> = HashMap::new();
        for saved in &self.found {
            let next = places.len();
            places.entry(saved.name.clone()).or_insert(next);
        }
        let place =
            |saved: &SalvagedPart| (places.get(&saved.name).copied().unwrap_or(0), saved.take);
        self.found.sort_by_key(place);
    }

    fn read_text(&mut self, file: &File) -> io::Result<()> {
        let mut source = BufReader::with_capacity(PIECE, log::from(file, 0));
        let mut cutter = MemberCutter::default();
        let mut text = OpenText { line: 1, keys: Map::new() };
        let mut begins = None;
        loop {
            let piece = source.fill_buf()?;
            if piece.is_empty() {
                break;
            }
            begins = begins.or_else(|| piece.trim_ascii_start().first().map(|byte| *byte == b'{'));
            let length = piece.len();
            for cut in cutter.feed(piece) {
                self.add_cut(&cut, &mut text);
            }
            source.consume(length);
        }
        if let Some(cut) = cutter.finish() {
            self.add_cut(&cut, &mut text);
        }
        if begins == Some(false) {
            let why = "its beginning is lost, and whatever was there".to_owned();
            let lost = LostBytes {
                file: None,
                key: None,
                at: 0,
                bytes: 0,
                line: Some(1),
                why,
                in_part: false,
            };
            self.lost.insert(0, lost);
        }
        match RecordingMeta::parse(text.keys) {
            Ok(meta) => self.meta = meta,
            Err(error) => self.lost.push(in_part(format!("its metadata cannot be used: {error}"))),
        }
        Ok(())
    }

    /// Whether there is an entry that only loomrec writes, because it has its request.
    fn has_ours(&self) -> bool {
        self.entries().any(|entry| entry.is_ok_and(|(_, entry)| entry.request.is_some()))
    }

    fn add_cut(&mut self, cut: &CutPiece, text: &mut OpenText) {
        if cut.bytes.is_empty() {
            let why = "it is longer than any entry".to_owned();
            let (at, bytes, line) = (cut.at, cut.length, Some(text.line));
            return self.lost.push(LostBytes {
                file: None,
                key: None,
                at,
                bytes,
                line,
                why,
                in_part: false,
            });
        }
        let (mut line, mut counted) = (text.line, 0);
        for piece in recover(&cut.bytes) {
            match piece {
                SalvagePiece::Meta(key, value) => drop(text.keys.insert(key, value)),
                SalvagePiece::Entry { name, take, range, keyless } => {
                    if keyless {
                        let (at, line) = (cut.at + range.start as u64, None);
                        let why = "its key cannot be read: it is kept under its hash".to_owned();
                        let key = Some(name.to_string());
                        self.lost.push(LostBytes {
                            file: None,
                            key,
                            at,
                            bytes: 0,
                            line,
                            why,
                            in_part: true,
                        });
                    }
                    let (at, length) = (cut.at + range.start as u64, range.len() as u64);
                    self.found.push(SalvagedPart { file: 0, name, take, at, length });
                }
                SalvagePiece::Lost { key, range, why } => {
                    let before = cut.bytes.get(counted..range.start).unwrap_or_default();
                    line += memchr::memchr_iter(b'\n', before).count();
                    counted = counted.max(range.start);
                    let (at, bytes) = (cut.at + range.start as u64, range.len() as u64);
                    self.lost.push(LostBytes {
                        file: None,
                        key,
                        at,
                        bytes,
                        line: Some(line),
                        why,
                        in_part: false,
                    });
                }
            }
        }
        text.line += memchr::memchr_iter(b'\n', &cut.bytes).count();
    }

    fn read_log(&mut self, file: &File) -> io::Result<()> {
        let recovered = recover_log(file)?;
        self.meta = RecordingMeta::new(&recovered.rules.clone().unwrap_or_default());
        self.meta.add_key_variables(&recovered.key_variables);
        if recovered.rules.is_none() {
            self.lost.push(in_part(
                "it does not say under which --ignore rules its keys were made: none are assumed",
            ));
        }
        let mut frames = FrameReader::default();
        for frame in &recovered.frames {
            match log_codec::unpack(&log::payload(file, *frame)?) {
                Ok((head, _)) => frames.add(head, *frame),
                Err(problem) => {
                    let (at, bytes) = (frame.at, u64::from(frame.len));
                    let (key, why) = (name_at(file, at, frame.end())?, problem.to_string());
                    self.lost.push(LostBytes {
                        file: None,
                        key,
                        at,
                        bytes,
                        line: None,
                        why,
                        in_part: false,
                    });
                }
            }
        }
        for range in recovered.lost {
            let at = range.start;
            let key = name_at(file, at + log::HEAD as u64, range.end)?;
            let why = "the call is damaged, or was cut while it was written".to_owned();
            let bytes = range.end - at;
            self.lost.push(LostBytes {
                file: None,
                key,
                at,
                bytes,
                line: None,
                why,
                in_part: false,
            });
        }
        self.lost.sort_by_key(|lost| lost.at);
        self.found = frames.finish();
        Ok(())
    }
}

/// Returns the name of the packed entry at a place, if enough of it can be read.
fn name_at(file: &File, at: u64, end: u64) -> io::Result<Option<String>> {
    let end = end.min(at.saturating_add(GLANCE));
    if at >= end {
        return Ok(None);
    }
    let head = log_codec::peek(&bytes(file, at..end)?);
    Ok(head.ok().map(|head| head.name.to_string()))
}

fn bytes(file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let full = || io::Error::from(io::ErrorKind::OutOfMemory);
    let length = usize::try_from(range.end - range.start).map_err(|_| full())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| full())?;
    bytes.resize(length, 0);
    loomrec_os::read_exact_at(file, &mut bytes, range.start)?;
    Ok(bytes)
}

/// The state while a text is read.
struct OpenText {
    line: usize,
    keys: Map<String, Value>,
}

/// Returns the report of a loss that is not an entry.
fn in_part(why: impl Into<String>) -> LostBytes {
    let why = why.into();
    LostBytes { file: None, key: None, at: 0, bytes: 0, line: None, why, in_part: true }
}

/// Whether a file is a log rather than a text, whatever of it is damaged.
fn is_binary(path: &Path, file: &File) -> io::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named = name.ends_with(".log") || name.ends_with(".folding") || name.contains(".log.torn-");
    let mut head = [0; 4096];
    let read = loomrec_os::read_at(file, &mut head, 0)?;
    let text = head[..read].trim_ascii_start().first() == Some(&b'{');
    Ok(!text && (named || is_log(file)?))
}
