//! The frames of the log: how they are written, and read one by one.

use loomrec_identity::IdentityRules;
use loomrec_os::{read_at, read_exact_at};
use loomrec_recording::{CallForm, CallScope, EntryName, KeyVariables, RecordingMeta};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// The mark that every frame begins with. It is not valid UTF-8 and has a line feed, so that any
/// program that treats a log as text breaks it visibly.
pub(super) const MARK: [u8; 4] = [0x8b, b'L', b'R', b'\n'];

/// The format version of the frames written here.
pub(super) const VERSION: u32 = 1;

/// The number of bytes before a payload.
pub(crate) const HEAD: usize = 32;

/// The part of the head that the frame's length does not count.
pub(super) const BARE: usize = 16;

/// The most bytes of a frame. Longer ones are never written, and so never accepted.
pub(crate) const LONGEST: u32 = 1 << 30;

/// How many bytes are read at one time.
pub(super) const BUFFER: usize = 256 * 1024;

/// Stands for a name if only equality matters. A run's names take 16 bytes each, however long they
/// are.
pub(crate) type NameFingerprint = u128;

/// Returns the fingerprint of a name: the first half of a request's hash, or of the SHA-256 of a
/// step id.
pub(crate) fn name_fingerprint(name: &EntryName) -> NameFingerprint {
    let (text, half) = match name {
        EntryName::Hash(key) => (key.as_str(), key.as_str().get(..32)),
        EntryName::Step(id) => (id.as_str(), None),
    };
    let half = half.and_then(|half| u128::from_str_radix(half, 16).ok());
    half.unwrap_or_else(|| half_of_hash(text)).max(ABOUT + 1)
}

/// Returns the number by which a log knows the calls of a name in a scope.
pub(crate) fn key_in_scope(name: &EntryName, scope: &CallScope) -> NameFingerprint {
    let CallScope { session, upstream, form } = scope;
    let form = form.as_ref().map(CallForm::to_text);
    let mut key = name_fingerprint(name);
    for (part, text) in [("session", session), ("upstream", upstream), ("form", &form)] {
        if let Some(text) = text {
            key ^= half_of_hash(&format!("{part} {text}"));
        }
    }
    key.max(ABOUT + 1)
}

fn half_of_hash(text: &str) -> u128 {
    let hash = Sha256::digest(text.as_bytes());
    hash[..16].iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// The error of an entry that is too long for a frame.
#[derive(Debug, thiserror::Error)]
#[error("an exchange of {0} bytes is more than the {LONGEST} that one may have")]
pub(crate) struct TooLong(usize);

/// Adds a frame to `out`.
pub(crate) fn write_frame(
    name: NameFingerprint,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let at = out.len();
    out.reserve(HEAD + payload.len());
    out.extend_from_slice(&[0; HEAD]);
    out.extend_from_slice(payload);
    seal_frame(name, &mut out[at..]).inspect_err(|_| out.truncate(at))
}

/// Makes a frame of a payload that comes after room for the head.
pub(crate) fn seal_frame(name: NameFingerprint, frame: &mut [u8]) -> Result<(), TooLong> {
    let Some((head, payload)) = frame.split_first_chunk_mut::<HEAD>() else {
        return Err(TooLong(0));
    };
    let whole = HEAD - BARE + payload.len();
    let length = u32::try_from(whole).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or(TooLong(payload.len()))?;
    head[..4].copy_from_slice(&MARK);
    head[4..8].copy_from_slice(&VERSION.to_le_bytes());
    head[8..12].copy_from_slice(&length.to_le_bytes());
    head[BARE..].copy_from_slice(&name.to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[4..12]);
    sum.update(&head[BARE..]);
    sum.update(payload);
    head[12..BARE].copy_from_slice(&sum.finalize().to_le_bytes());
    Ok(())
}

/// The fingerprint of a frame that is not an entry. Its payload is JSON: the metadata that a
/// recording of these entries has. The first frame of a log is one, and there are more if several
/// recorders have something to add to it.
pub(crate) const ABOUT: NameFingerprint = 0;

/// Adds the frame that a log begins with: the rules, and the key variables that the recorded program
/// had.
pub(crate) fn write_first_frame(
    rules: &IdentityRules,
    key_variables: &KeyVariables,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let mut meta = RecordingMeta::new(rules);
    meta.add_key_variables(key_variables);
    let keys = serde_json::Value::Object(meta.top_level_keys().clone());
    write_frame(ABOUT, keys.to_string().as_bytes(), out)
}

pub(super) fn read_about(payload: &[u8]) -> Option<RecordingMeta> {
    let keys = serde_json::from_slice(payload).ok()?;
    RecordingMeta::parse(keys).ok()
}

/// The place of a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FramePlace {
    /// Where the payload begins in the log.
    pub(crate) at: u64,
    /// Its length.
    pub(crate) len: u32,
    /// The fingerprint of its entry's name.
    pub(crate) name: NameFingerprint,
    /// The frame's checksum.
    pub(crate) sum: u32,
}

impl FramePlace {
    /// Returns where the frame ends.
    pub(crate) fn end_offset(self) -> u64 {
        self.at + u64::from(self.len)
    }
}

pub(super) fn buffered_reader(file: &File, at: u64, buffer: usize) -> BufReader<FileCursor<'_>> {
    BufReader::with_capacity(buffer, FileCursor { file, at })
}

/// Reads a frame's payload.
pub(crate) fn read_payload(file: &File, frame: FramePlace) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; frame.len as usize];
    read_exact_at(file, &mut bytes, frame.at)?;
    Ok(bytes)
}

pub(super) enum FrameSearch {
    Frame { len: u32, name: NameFingerprint, sum: u32 },
    Newer,
}

/// Reads one frame. Returns `None` if no whole frame begins there.
pub(super) fn read_frame(source: &mut impl BufRead, left: u64) -> io::Result<Option<FrameSearch>> {
    let mut bare = [0; BARE];
    if left < BARE as u64 || !is_filled(source.read_exact(&mut bare))? {
        return Ok(None);
    }
    let number =
        |at: usize| u32::from_le_bytes([bare[at], bare[at + 1], bare[at + 2], bare[at + 3]]);
    let (version, length) = (number(4), number(8));
    if bare[..4] != MARK || length > LONGEST || u64::from(length) > left - BARE as u64 {
        return Ok(None);
    }
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bare[4..12]);
    let mut rest = length as usize;
    let mut name = [0; HEAD - BARE];
    if version == VERSION {
        if rest < name.len() || !is_filled(source.read_exact(&mut name))? {
            return Ok(None);
        }
        sum.update(&name);
        rest -= name.len();
    }
    let len = rest as u32;
    while rest > 0 {
        let piece = source.fill_buf()?;
        let piece = &piece[..piece.len().min(rest)];
        // The log was cut while it was being read.
        if piece.is_empty() {
            return Ok(None);
        }
        sum.update(piece);
        let read = piece.len();
        source.consume(read);
        rest -= read;
    }
    if sum.finalize() != number(12) {
        return Ok(None);
    }
    Ok(Some(match version {
        VERSION => {
            FrameSearch::Frame { len, name: NameFingerprint::from_le_bytes(name), sum: number(12) }
        }
        _ => FrameSearch::Newer,
    }))
}

/// Whether a buffer could be filled. The end of the file is no error.
pub(super) fn is_filled(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// A cursor of a file that does not depend on the cursor of its handle.
pub(crate) struct FileCursor<'a> {
    pub(super) file: &'a File,
    pub(super) at: u64,
}

/// Returns the bytes of a log from an offset on.
pub(crate) fn cursor_at(file: &File, at: u64) -> FileCursor<'_> {
    FileCursor { file, at }
}

impl Read for FileCursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = read_at(self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
