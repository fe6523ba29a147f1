//! The composer of a recording's new text, from its file and its plan.
//!
//! Unchanged members keep their exact text. Neighbours in loomrec's spelling are copied together.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use super::error::StoreError;
use super::merge::{EntryOrigin, TakeRef};
use super::read_buffer::ReadBuffer;
use super::snapshot::RecordingSnapshot;
use loomrec_identity::IdentityRules;
use loomrec_recording::format::{self, END};
use loomrec_recording::outline::{MemberRole, OutlineMember};
use loomrec_recording::{EntryName, RecordingMeta};

/// How many bytes are written, or copied, at one time.
const PIECE: u64 = 256 * 1024;

/// The bytes between a member and a tidy one after it.
const SEPARATOR: u64 = 4;

/// Why a text was not written.
#[derive(Debug)]
pub(super) enum ComposeError {
    /// Something could not be read.
    Read(StoreError),
    /// Something could not be written.
    Write(io::Error),
}

impl ComposeError {
    /// Returns it as an error about the file that was being written.
    pub(super) fn into_store_error(self, path: &Path) -> StoreError {
        match self {
            Self::Read(error) => error,
            Self::Write(source) => StoreError::write_failed(path.to_owned(), source),
        }
    }
}

impl From<StoreError> for ComposeError {
    fn from(error: StoreError) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for ComposeError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Writes the text of a recording with its plan applied. With `rules`, the text becomes loomrec's,
/// under these rules. It needs memory for one entry and the buffers.
pub(super) fn compose_recording(
    source: &RecordingSnapshot,
    rules: Option<&IdentityRules>,
    out: &mut impl Write,
) -> Result<(), ComposeError> {
    let mut meta = source.outline.meta().clone();
    if let Some(rules) = rules {
        meta.adopt(rules);
    }
    meta.add_key_variables(&source.logged_key_variables());
    let mut composer = TakeComposer::new(source, out);
    let members = source.outline.members();
    let count = members.len();
    let meta_end = source
        .outline
        .members()
        .rposition(|member| matches!(member.role, MemberRole::Meta(_)))
        .map_or(0, |last| last + 1);
    for (at, member) in members.enumerate() {
        if at == meta_end {
            composer.new_keys(&meta)?;
        }
        composer.write_member(at, &member, &meta)?;
    }
    if meta_end == count {
        composer.new_keys(&meta)?;
    }
    for (name, takes) in &source.plan.new {
        composer.write_takes(name, takes)?;
    }
    composer.finish()
}

/// Ends lines with a line feed alone. A carriage return is white space between the tokens of JSON:
/// git may have put them there. A file with both would change as a whole at its next checkout.
struct LineFeeds<W>(W);

impl<W: Write> Write for LineFeeds<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut begin = 0;
        for at in memchr::memchr_iter(b'\r', text) {
            self.0.write_all(&text[begin..at])?;
            begin = at + 1;
        }
        self.0.write_all(&text[begin..])?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

struct TakeComposer<'a, W: Write> {
    source: &'a RecordingSnapshot,
    out: BufWriter<LineFeeds<W>>,
    begun: bool,
    /// The file's text that is copied next, up to the previous member.
    copying: Option<Range<u64>>,
    /// For names whose takes change, the first member.
    first_of: HashMap<usize, usize>,
    window: ReadBuffer,
}

impl<'a, W: Write> TakeComposer<'a, W> {
    fn new(source: &'a RecordingSnapshot, out: W) -> Self {
        let out = BufWriter::with_capacity(PIECE as usize, LineFeeds(out));
        let (first_of, window) = (HashMap::new(), ReadBuffer::default());
        Self { source, out, begun: false, copying: None, first_of, window }
    }

    fn write_member(
        &mut self,
        at: usize,
        member: &OutlineMember,
        meta: &RecordingMeta,
    ) -> Result<(), ComposeError> {
        let outline = &self.source.outline;
        match member.role {
            MemberRole::Meta(key) => match meta.top_level_keys().get(outline.meta_key(key)) {
                Some(value)
                    if outline.meta().top_level_keys().get(outline.meta_key(key))
                        != Some(value) =>
                {
                    self.key_and_value(outline.meta_key(key), value)
                }
                _ => self.copy_member(member),
            },
            MemberRole::Takes { name, .. } => {
                let (Some(takes), Some(known)) =
                    (self.source.plan.changed.get(&name), outline.name_at(name))
                else {
                    return self.copy_member(member);
                };
                // All of them are written where the first one was.
                let first = self.first_of.entry(name).or_insert_with(|| {
                    outline.members_of(name).iter().min().map_or(0, |first| *first as usize)
                });
                if *first == at && !takes.is_empty() {
                    let name = self.source.plan.renamed.get(&name).unwrap_or(&known);
                    self.write_takes(name, takes)?;
                }
                Ok(())
            }
        }
    }

    /// Writes the metadata that the file does not have.
    fn new_keys(&mut self, meta: &RecordingMeta) -> Result<(), ComposeError> {
        let known = self.source.outline.meta().top_level_keys();
        let is_there = |key: &String| self.source.file().is_some() && known.contains_key(key);
        for (key, value) in meta.top_level_keys().iter().filter(|(key, _)| !is_there(key)) {
            self.key_and_value(key, value)?;
        }
        Ok(())
    }

    fn key_and_value(&mut self, key: &str, value: &serde_json::Value) -> Result<(), ComposeError> {
        self.flush_copy()?;
        let mut text = Vec::new();
        format::begin_member(&mut text, !self.begun, key);
        format::write_meta(&mut text, value);
        self.begun = true;
        Ok(self.out.write_all(&text)?)
    }

    /// Writes the takes of a name.
    fn write_takes(&mut self, name: &EntryName, takes: &[TakeRef]) -> Result<(), ComposeError> {
        self.flush_copy()?;
        let is_list = format::is_list(name, takes.len());
        let mut text = Vec::new();
        for (index, place) in takes.iter().enumerate() {
            format::begin_take(&mut text, !self.begun, name, index, takes.len());
            self.begun = true;
            if self.is_spelled(place, is_list) {
                text.extend_from_slice(self.source.read_text(place, &mut self.window)?);
            } else {
                let entry = self.source.read_entry(place, &mut self.window)?;
                format::write_entry(&mut text, &entry, is_list);
            }
            self.out.write_all(&text)?;
            text.clear();
        }
        format::end_takes(&mut text, is_list);
        Ok(self.out.write_all(&text)?)
    }

    /// Whether the file holds a take's text in the form it is to have: in a list, or alone.
    fn is_spelled(&self, place: &TakeRef, is_list: bool) -> bool {
        let member = self.source.outline.member_at(place.at);
        place.origin == EntryOrigin::File
            && member.is_some_and(|member| (member.value.start != place.at) == is_list)
    }

    /// Copies a member unchanged. A member written by another program gets loomrec's separators.
    fn copy_member(&mut self, member: &OutlineMember) -> Result<(), ComposeError> {
        if let Some(copying) = &mut self.copying
            && member.tidy
            && member.at == copying.end + SEPARATOR
        {
            copying.end = member.value.end;
            return Ok(());
        }
        self.flush_copy()?;
        let mut text = Vec::new();
        format::begin_member(&mut text, !self.begun, &self.source.outline.member_key(member));
        self.begun = true;
        self.out.write_all(&text)?;
        self.copying = Some(member.value.clone());
        Ok(())
    }

    fn flush_copy(&mut self) -> Result<(), ComposeError> {
        let Some(range) = self.copying.take() else {
            return Ok(());
        };
        let mut at = range.start;
        while at < range.end {
            let length = PIECE.min(range.end - at);
            let piece = TakeRef { origin: EntryOrigin::File, at, length };
            self.out.write_all(self.source.read_text(&piece, &mut self.window)?)?;
            at += length;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), ComposeError> {
        self.flush_copy()?;
        self.out.write_all(if self.begun { END } else { b"{}\n" })?;
        Ok(self.out.flush()?)
    }
}
