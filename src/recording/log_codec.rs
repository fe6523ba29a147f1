//! The binary form of an entry in the log next to a recording. It is quick to write, and reading it
//! returns the entry as the file would hold it.
//!
//! ```text
//! u8            flags: 1 replaces an earlier take, 2 has a time, 4 failed, 8 has an upstream; the
//!               layout in bits 4 and 5; 64 has a position, 128 has a form
//! u32, u32      the position: the failed calls and the takes of its run before it
//! u32 n, n      the session; n is 0 for a call without a session
//! u32 n, n      the upstream, if flag 8 is set
//! u32 n, n      the form, if flag 128 is set: the delivery, a space, and the mount
//! u32 n, n      the name: its key in the file
//! u32 n, n      `recorded_at`; n is 0 for an entry without a time
//! u32 n, n      the head: the entry's JSON without its bodies
//! u64           bytes of the request's body
//! u32 n         rows of the response, n times
//!   f64, u64      milliseconds, bytes
//! …             the request's body, then the rows' bytes, to the very end
//! ```
//!
//! Numbers are little-endian. The reader trusts nothing: any bytes give an entry or a
//! [`PackedError`], and no length is used before it is checked against the bytes that are there.

mod precedence;

use bytes::Bytes;

use self::precedence::{FAILED, POSITION, REPLACES};
pub use self::precedence::{RunPosition, TakePrecedence};
use super::body::{Chunk, ChunkLayout, ResponsePayload};
use super::call_scope::{CallForm, CallScope};
use super::entry::{Entry, EntryReadError};
use super::entry_field::{EntryError, round_milliseconds};
use super::entry_name::EntryName;

const TIMED: u8 = 2;
const AT_UPSTREAM: u8 = 8;
const POSITIONED: u8 = 64;
const FORMED: u8 = 128;
const LAYOUT_SHIFT: u8 = 4;

/// The part of a packed entry that can be read without reading all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedHead {
    /// The name of the entry.
    pub name: EntryName,
    /// Its effect on the takes of earlier runs.
    pub precedence: TakePrecedence,
    /// Its scope, as far as it is stated.
    pub scope: CallScope,
    /// When the entry was recorded.
    pub recorded_at: Option<String>,
}

/// Why bytes are not a packed entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackedError {
    /// They end too early, or have bytes left over.
    #[error(
        "a logged call is cut or has extra bytes: the next compaction of its log sets it aside"
    )]
    Length,
    /// The name is not a valid name in a recording.
    #[error("a logged call has no usable name: the next compaction of its log sets it aside")]
    Name,
    /// The form, the layout or a time is invalid.
    #[error(
        "a logged call has an unknown form, layout or time: the next compaction of its log sets it \
         aside"
    )]
    Layout,
    /// The head is not JSON.
    #[error("a logged call's head is not JSON: the next compaction of its log sets it aside")]
    Json,
    /// A field of the entry has the wrong type.
    #[error("in a logged call, {problem}: the next compaction of its log sets it aside")]
    Entry {
        /// What is wrong.
        problem: Box<EntryError>,
    },
}

/// Packs an entry. If `replaces` is set, it is the first take of its run, and takes the place of one
/// that an earlier run left under the name.
pub fn pack_entry(name: &EntryName, replaces: bool, entry: &Entry) -> Vec<u8> {
    let mut out = Vec::new();
    let precedence = match replaces {
        true => TakePrecedence::Replacing(RunPosition::default()),
        false => TakePrecedence::Further,
    };
    pack_to(&mut out, name, precedence, &CallScope::from_entry(entry), entry);
    out
}

/// Packs an entry and appends it to `out`. `scope` is that of the entry, as far as a merge needs it.
pub fn pack_to(
    out: &mut Vec<u8>,
    name: &EntryName,
    precedence: TakePrecedence,
    scope: &CallScope,
    entry: &Entry,
) {
    let request: &[u8] = entry.request.as_ref().map_or(b"", |request| request.stored_body());
    let payload = entry.response.as_ref().map(|response| &response.payload);
    let length = payload.map_or(0, ResponsePayload::len);
    let rows = payload.map_or(0, |payload| payload.chunks().len());
    out.reserve(1024 + request.len() + length + 16 * rows);
    let layout = payload.map_or(ChunkLayout::Whole, |payload| payload.layout());
    let time = entry.recorded_at.as_deref();
    let timed = if time.is_some() { TIMED } else { 0 };
    let at_upstream = if scope.upstream.is_some() { AT_UPSTREAM } else { 0 };
    let formed = if scope.form.is_some() { FORMED } else { 0 };
    let kind = timed | at_upstream | formed | layout_code(layout) << LAYOUT_SHIFT;
    out.push(POSITIONED | precedence.to_flags() | kind);
    out.extend_from_slice(&precedence.position_bytes());
    write_with_length(out, scope.session.as_deref().unwrap_or_default().as_bytes());
    let form = scope.form.as_ref().map(CallForm::to_text);
    for text in scope.upstream.iter().chain(&form) {
        write_with_length(out, text.as_bytes());
    }
    match name {
        EntryName::Step(id) => write_with_length(out, id.as_bytes()),
        EntryName::Hash(key) => write_with_length(out, key.as_str().as_bytes()),
    }
    write_with_length(out, time.unwrap_or_default().as_bytes());
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    entry.write_head(out);
    let head = written_length(out.len() - at - 4).to_le_bytes();
    out[at..at + 4].copy_from_slice(&head);
    out.extend_from_slice(&(request.len() as u64).to_le_bytes());
    put_rows(out, payload, entry.latency_ms, length);
    out.extend_from_slice(request);
    for chunk in payload.map_or(&[][..], |payload| payload.chunks()) {
        out.extend_from_slice(&chunk.data);
    }
}

/// Sets the effect of a packed entry on earlier takes. Its length stays the same.
pub fn set_precedence(packed: &mut [u8], precedence: TakePrecedence) {
    let Some((flags, rest)) = packed.split_first_mut() else { return };
    let Some(position) = rest.first_chunk_mut() else { return };
    *flags = *flags & !(REPLACES | FAILED) | precedence.to_flags();
    *position = precedence.position_bytes();
}

/// Reads the part of a packed entry that is needed to put it in its place.
///
/// # Errors
/// If the bytes that it reads are not those of a packed entry.
pub fn read_head(packed: &[u8]) -> Result<PackedHead, PackedError> {
    PackedReader { rest: packed }.read_prefix().map(|(_, head)| head)
}

/// Reads a packed entry as the file would hold it: with rounded times, and a body that arrived
/// complete as a single chunk.
///
/// # Errors
/// If the bytes are not a packed entry.
pub fn unpack_entry(packed: &[u8]) -> Result<(PackedHead, Entry), PackedError> {
    let mut reader = PackedReader { rest: packed };
    let (flags, head) = reader.read_prefix()?;
    let text = reader.read_with_length()?;
    let mut entry = Entry::from_text(text).map_err(|why| match why {
        EntryReadError::Json(_) => PackedError::Json,
        EntryReadError::Entry(problem) => PackedError::Entry { problem: Box::new(problem) },
    })?;
    let request = reader.read_u64()?;
    let rows = reader.read_rows()?;
    let request = reader.take_bytes(usize::try_from(request).map_err(|_| PackedError::Length)?)?;
    match &mut entry.request {
        Some(known) => known.set_stored_body(Bytes::copy_from_slice(request)),
        None if request.is_empty() => {}
        None => return Err(PackedError::Length),
    }
    let payload = unpack_payload(flags >> LAYOUT_SHIFT & 3, &rows, reader.rest)?;
    match &mut entry.response {
        Some(known) => known.payload = payload,
        None if rows.is_empty() => {}
        None => return Err(PackedError::Length),
    }
    Ok((head, entry))
}

/// Computes the length of a packed entry from the lengths in it; `None` if they point past the end
/// of the data. `read` fills a buffer with the bytes at an offset, and returns whether they exist.
/// It is never called for bytes of a body.
///
/// # Errors
/// The errors of `read`.
pub fn packed_length<E>(
    mut read: impl FnMut(u64, &mut [u8]) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let mut flags = [0];
    if !read(0, &mut flags)? {
        return Ok(None);
    }
    // Skips the session, the upstream, the form, the name, the time and the head.
    let (mut at, runs) = match flags[0] & POSITIONED {
        0 => (1, 3),
        _ => (1 + POSITION as u64, 4 + (flags[0] & (AT_UPSTREAM | FORMED)).count_ones()),
    };
    for _ in 0..runs {
        let mut length = [0; 4];
        if !read(at, &mut length)? {
            return Ok(None);
        }
        at += 4 + u64::from(u32::from_le_bytes(length));
    }
    let (mut request, mut rows) = ([0; 8], [0; 4]);
    if !read(at, &mut request)? || !read(at + 8, &mut rows)? {
        return Ok(None);
    }
    at += 12;
    let mut total = Some(u64::from_le_bytes(request));
    let mut left = u32::from_le_bytes(rows) as usize;
    let mut piece = [0; ROW * 256];
    while left > 0 {
        let rows = &mut piece[..ROW * left.min(256)];
        if !read(at, rows)? {
            return Ok(None);
        }
        for row in rows.as_chunks::<ROW>().0 {
            let [_, _, _, _, _, _, _, _, length @ ..] = *row;
            total = total.and_then(|total| total.checked_add(u64::from_le_bytes(length)));
        }
        at += rows.len() as u64;
        left -= rows.len() / ROW;
    }
    Ok(total.and_then(|total| total.checked_add(at)))
}

/// The bytes of a row: a time and a length.
const ROW: usize = 16;

/// Writes the rows as the file would hold them.
fn put_rows(
    out: &mut Vec<u8>,
    payload: Option<&ResponsePayload>,
    latency: Option<f64>,
    length: usize,
) {
    let rows = match payload.filter(|_| length > 0) {
        None => 0,
        Some(payload) if payload.layout() == ChunkLayout::Whole => 1,
        Some(payload) => payload.chunks().len(),
    };
    out.extend_from_slice(&written_length(rows).to_le_bytes());
    let mut row = |ms: f64, length: usize| {
        out.extend_from_slice(&round_milliseconds(ms).to_le_bytes());
        out.extend_from_slice(&(length as u64).to_le_bytes());
    };
    match payload.filter(|_| length > 0) {
        None => {}
        Some(payload) if payload.layout() == ChunkLayout::Whole => {
            row(latency.unwrap_or(0.0), length)
        }
        Some(payload) => {
            payload.chunks().iter().for_each(|chunk| row(chunk.at_ms, chunk.data.len()));
        }
    }
}

fn unpack_payload(
    layout: u8,
    rows: &[(f64, usize)],
    bytes: &[u8],
) -> Result<ResponsePayload, PackedError> {
    let total = rows.iter().try_fold(0_usize, |sum, (_, length)| sum.checked_add(*length));
    if total != Some(bytes.len()) {
        return Err(PackedError::Length);
    }
    let layout = match layout {
        0 if rows.len() <= 1 => ChunkLayout::Whole,
        1 => ChunkLayout::Frames,
        2 => ChunkLayout::Chunks,
        _ => return Err(PackedError::Layout),
    };
    if bytes.is_empty() {
        return Ok(ResponsePayload::empty());
    }
    let mut rest = Bytes::copy_from_slice(bytes);
    let chunk = |&(at_ms, length): &(f64, usize)| Chunk { at_ms, data: rest.split_to(length) };
    Ok(ResponsePayload::new(layout, rows.iter().map(chunk).collect()))
}

fn layout_code(layout: ChunkLayout) -> u8 {
    match layout {
        ChunkLayout::Whole => 0,
        ChunkLayout::Frames => 1,
        ChunkLayout::Chunks => 2,
    }
}

fn write_with_length(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&written_length(bytes.len()).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Returns a length as it is written. No head or name has 4 GiB; one would be read back as damaged.
fn written_length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The part of a packed entry that has not been read yet.
struct PackedReader<'a> {
    rest: &'a [u8],
}

impl<'a> PackedReader<'a> {
    /// Reads the flags, and everything before the entry's head.
    fn read_prefix(&mut self) -> Result<(u8, PackedHead), PackedError> {
        let [flags] = self.read_array()?;
        let (mut failures, mut takes, mut scope) = (0, 0, CallScope::default());
        if flags & POSITIONED != 0 {
            (failures, takes) =
                (u32::from_le_bytes(self.read_array()?), u32::from_le_bytes(self.read_array()?));
            scope = self.read_scope(flags)?;
        }
        let name = self.read_text()?;
        let time = self.read_text()?;
        let name = match EntryName::of_key(name) {
            (EntryName::Step(id), _) => {
                EntryName::from_step_id(&id).map_err(|_| PackedError::Name)?
            }
            (name, 1) => name,
            _ => return Err(PackedError::Name),
        };
        let recorded_at = (flags & TIMED != 0).then(|| time.to_owned());
        let precedence = TakePrecedence::from_flags(flags, failures, takes);
        Ok((flags, PackedHead { name, precedence, scope, recorded_at }))
    }

    fn read_scope(&mut self, flags: u8) -> Result<CallScope, PackedError> {
        let stated = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut scope = CallScope { session: stated(self.read_text()?), ..CallScope::default() };
        if flags & AT_UPSTREAM != 0 {
            scope.upstream = stated(self.read_text()?);
        }
        if flags & FORMED != 0 {
            let form = CallForm::parse(self.read_text()?);
            scope.form = Some(form.ok_or(PackedError::Layout)?);
        }
        Ok(scope)
    }

    fn read_rows(&mut self) -> Result<Vec<(f64, usize)>, PackedError> {
        let count = u32::from_le_bytes(self.read_array()?) as usize;
        if count > self.rest.len() / 16 {
            return Err(PackedError::Length);
        }
        let mut rows = Vec::with_capacity(count);
        for _ in 0..count {
            let ms = f64::from_le_bytes(self.read_array()?);
            if !ms.is_finite() {
                return Err(PackedError::Layout);
            }
            rows.push((ms, usize::try_from(self.read_u64()?).map_err(|_| PackedError::Length)?));
        }
        Ok(rows)
    }

    fn read_text(&mut self) -> Result<&'a str, PackedError> {
        std::str::from_utf8(self.read_with_length()?).map_err(|_| PackedError::Name)
    }

    fn read_with_length(&mut self) -> Result<&'a [u8], PackedError> {
        let length = u32::from_le_bytes(self.read_array()?);
        self.take_bytes(length as usize)
    }

    fn read_u64(&mut self) -> Result<u64, PackedError> {
        Ok(u64::from_le_bytes(self.read_array()?))
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N], PackedError> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(PackedError::Length)?;
        self.rest = rest;
        Ok(*head)
    }

    fn take_bytes(&mut self, length: usize) -> Result<&'a [u8], PackedError> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or(PackedError::Length)?;
        self.rest = rest;
        Ok(head)
    }
}

#[cfg(test)]
#[path = "log_codec_tests.rs"]
pub(super) mod tests;
