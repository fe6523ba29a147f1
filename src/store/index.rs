//! The index of a recording's file: its outline, read as a stream.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::de::IgnoredAny;

use super::error::StoreError;
use super::log;
use loomrec_recording::FormatError;
use loomrec_recording::error::{MARKER_LENGTH, no_text, not_object, not_utf8, syntax_error};
use loomrec_recording::other_file::{not_json, other_file};
use loomrec_recording::outline::{OutlineBuilder, OutlineError, RecordingOutline};
use loomrec_recording::scan::SplitError;

/// How many bytes are read at one time.
const PIECE: usize = 64 * 1024;

/// Reads a file's outline. Only the outline is kept in memory.
///
/// # Errors
/// The file cannot be read, or it is not a recording. `path` names it in messages.
pub(super) fn read_outline(path: &Path, file: &File) -> Result<RecordingOutline, StoreError> {
    let failed = |source| StoreError::read_failed(path.to_owned(), source);
    // A small file, of which there may be many, needs only a small buffer.
    let length = file.metadata().map_err(failed)?.len();
    let mut outliner = OutlineBuilder::for_length(length);
    let piece = usize::try_from(length).map_or(PIECE, |length| length.clamp(4096, PIECE));
    let mut source = BufReader::with_capacity(piece, log::cursor_at(file, 0));
    if let Some(error) = other_file(source.fill_buf().map_err(failed)?) {
        return Err(unusable_file(path, error));
    }
    let outline = loop {
        let piece = source.fill_buf().map_err(failed)?;
        if piece.is_empty() {
            break outliner.finish();
        }
        if let Err(SplitError) = outliner.feed(piece) {
            break Err(OutlineError::NotSplit);
        }
        let length = piece.len();
        source.consume(length);
    };
    let why = match outline {
        Ok(outline) => return Ok(outline),
        Err(why) => why,
    };
    let found = match why {
        OutlineError::Format(_) => None,
        OutlineError::Meta(_) | OutlineError::NotSplit => find_problem(file).map_err(failed)?,
    };
    let error = match (found, why) {
        (Some(error), _) | (None, OutlineError::Meta(error) | OutlineError::Format(error)) => error,
        (None, OutlineError::NotSplit) => {
            let mut source = BufReader::new(log::cursor_at(file, 0));
            not_object(source.fill_buf().map_err(failed)?)
        }
    };
    Err(unusable_file(path, error))
}

/// Returns the error of a format problem in this file.
pub(super) fn unusable_file(path: &Path, problem: FormatError) -> StoreError {
    StoreError::Format { path: path.to_owned(), problem: Box::new(problem) }
}

/// Returns what is wrong with a file that is not JSON, which is found by reading all of it; `None`
/// if nothing is wrong.
pub(super) fn find_problem(file: &File) -> io::Result<Option<FormatError>> {
    if let Some(error) = find_text_problem(file)? {
        return Ok(Some(error));
    }
    let source = BufReader::with_capacity(PIECE, log::cursor_at(file, 0));
    match serde_json::from_reader::<_, IgnoredAny>(source) {
        Ok(IgnoredAny) => Ok(None),
        Err(error) => match error.io_error_kind() {
            Some(kind) => Err(kind.into()),
            None => {
                let mut source = BufReader::new(log::cursor_at(file, 0));
                let problem = syntax_error(&error).on_line(&line_beginning(file, error.line())?);
                Ok(Some(not_json(source.fill_buf()?, problem)))
            }
        },
    }
}

/// Returns the first bytes of a line, counted from 1.
fn line_beginning(file: &File, line: usize) -> io::Result<Vec<u8>> {
    let mut source = BufReader::with_capacity(PIECE, log::cursor_at(file, 0));
    for _ in 1..line {
        source.skip_until(b'\n')?;
    }
    let mut beginning = Vec::new();
    source.take(MARKER_LENGTH as u64).read_to_end(&mut beginning)?;
    Ok(beginning)
}

/// Returns what is wrong with a file that is empty or not text. A line may be as long as the file,
/// so it is read in pieces.
fn find_text_problem(file: &File) -> io::Result<Option<FormatError>> {
    let mut source = BufReader::with_capacity(PIECE, log::cursor_at(file, 0));
    if let Some(FormatError::ByteOrderMark) = no_text(source.fill_buf()?) {
        return Ok(Some(FormatError::ByteOrderMark));
    }
    let (mut blank, mut line, mut column) = (true, 1, 0);
    // The beginning of a character whose end is in the next piece.
    let mut text = Vec::new();
    loop {
        let piece = source.fill_buf()?;
        let length = piece.len();
        text.extend_from_slice(piece);
        source.consume(length);
        let (valid, wrong) = match std::str::from_utf8(&text) {
            Ok(_) => (text.len(), false),
            Err(error) => (error.valid_up_to(), length == 0 || error.error_len().is_some()),
        };
        for part in text[..valid].split_inclusive(|&byte| byte == b'\n') {
            blank &= part.trim_ascii().is_empty();
            (line, column) = match part.ends_with(b"\n") {
                true => (line + 1, 0),
                false => (line, column + part.len()),
            };
        }
        if wrong {
            return Ok(Some(not_utf8(line, column + 1)));
        }
        if length == 0 {
            return Ok(blank.then_some(FormatError::Empty));
        }
        text.drain(..valid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, text).unwrap();
        file
    }

    #[test]
    fn text_that_is_none_is_told_by_its_place_across_pieces() {
        let long = "é".repeat(PIECE);
        for (text, place) in [
            (b"{\n \xff}".to_vec(), Some((2, 2))),
            (b"a\xc3".to_vec(), Some((1, 2))),
            ([b"x", long.as_bytes(), b"\n\xc3\n"].concat(), Some((2, 1))),
            ([b"x", long.as_bytes(), b"\xff"].concat(), Some((1, 2 * PIECE + 2))),
            ([b"x", long.as_bytes()].concat(), None),
        ] {
            let expected = place.map(|(line, column)| not_utf8(line, column).to_string());
            let found = find_text_problem(&file(&text)).unwrap();
            assert_eq!(found.map(|error| error.to_string()), expected);
        }
        for blank in ["", " \n\t "] {
            assert!(matches!(
                find_text_problem(&file(blank.as_bytes())),
                Ok(Some(FormatError::Empty))
            ));
        }
    }
}
