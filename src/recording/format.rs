//! The text format of a recording.
//!
//! The text is UTF-8 JSON with an indentation of two spaces. It escapes only what JSON requires,
//! has a line for each chunk, and ends with a line feed. Reading such a file and writing it again
//! gives the same text.

use serde_json::Value;

use super::document::RecordingDocument;
use super::entry::{Entry, EntryReadError};
use super::entry_name::EntryName;
use super::error::{FormatError, json_error, not_object};
use super::json_style::{write_file_string, write_file_value};
use super::other_file::{not_json, other_file};
use super::outline::{OutlineBuilder, OutlineError};
use super::scan::SplitError;

/// The end of a recording's text.
pub const END: &[u8] = b"\n}\n";

/// Reads a whole recording.
///
/// # Errors
/// If the recording is unusable: see [`FormatError`].
pub fn parse(text: &[u8]) -> Result<RecordingDocument, FormatError> {
    if let Some(error) = other_file(text) {
        return Err(error);
    }
    let mut outliner = OutlineBuilder::new();
    let outline = match outliner.feed(text) {
        Ok(()) => outliner.finish(),
        Err(SplitError) => Err(OutlineError::NotSplit),
    };
    let outline = outline.map_err(|why| match why {
        OutlineError::NotSplit => {
            let wrong = json_error(text).map(|error| not_json(text, error));
            wrong.unwrap_or_else(|| not_object(text))
        }
        OutlineError::Meta(error) => json_error(text).unwrap_or(error),
        OutlineError::Format(error) => error,
    })?;
    let slice = |range: &std::ops::Range<u64>| {
        let end = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        text.get(end(range.start)..end(range.end)).unwrap_or_default()
    };
    let mut cassette = RecordingDocument::new(outline.meta().clone());
    for (number, name) in outline.names().enumerate() {
        let members = outline.members_of(number).iter();
        for member in members.filter_map(|&at| outline.nth_member(at as usize)) {
            let Some(takes) = outline.take_ranges(&member) else {
                let error = outline.not_entry(&member, slice(&member.value));
                return Err(json_error(text).unwrap_or(error));
            };
            for take in takes {
                let entry = Entry::from_text(slice(&take)).map_err(|why| match why {
                    EntryReadError::Json(error) => {
                        json_error(text).unwrap_or_else(|| outline.bad_json(&take, &error))
                    }
                    EntryReadError::Entry(problem) => outline.bad_entry(&take, problem),
                })?;
                cassette.push(name.clone(), entry);
            }
        }
    }
    Ok(cassette)
}

/// Writes a whole recording.
pub fn write_document(cassette: &RecordingDocument) -> Vec<u8> {
    let mut out = Vec::new();
    let mut first = true;
    for (key, value) in cassette.meta().top_level_keys() {
        begin_member(&mut out, first, key);
        write_meta(&mut out, value);
        first = false;
    }
    for (name, takes) in cassette.names() {
        let is_list = is_list(name, takes.len());
        for (index, entry) in takes.iter().enumerate() {
            begin_take(&mut out, first, name, index, takes.len());
            write_entry(&mut out, entry, is_list);
            first = false;
        }
        end_takes(&mut out, is_list);
    }
    out.extend_from_slice(if first { b"{}\n" } else { END });
    out
}

/// Whether the takes of a name are kept as a list under one key.
pub fn is_list(name: &EntryName, takes: usize) -> bool {
    name.step_id().is_some() && takes != 1
}

/// Writes the text before a member's value. `first` says whether it is the first member of all.
pub fn begin_member(out: &mut Vec<u8>, first: bool, key: &str) {
    out.extend_from_slice(if first { b"{\n  " } else { b",\n  " });
    write_file_string(out, key);
    out.extend_from_slice(b": ");
}

/// Writes the text before a take. `index` counts from 0.
pub fn begin_take(out: &mut Vec<u8>, first: bool, name: &EntryName, index: usize, takes: usize) {
    if !is_list(name, takes) {
        return begin_member(out, first, &name.take_key(index + 1));
    }
    if index == 0 {
        begin_member(out, first, &name.take_key(1));
    }
    out.extend_from_slice(if index == 0 { b"[\n    " } else { b",\n    " });
}

/// Writes the text after the last take of a name.
pub fn end_takes(out: &mut Vec<u8>, is_list: bool) {
    if is_list {
        out.extend_from_slice(b"\n  ]");
    }
}

/// Writes an entry's text, either in a list or as a member.
pub fn write_entry(out: &mut Vec<u8>, entry: &Entry, in_list: bool) {
    entry.write_file(out, if in_list { 2 } else { 1 });
}

/// Writes the value of a metadata key.
pub fn write_meta(out: &mut Vec<u8>, value: &Value) {
    write_file_value(out, value, 1);
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
