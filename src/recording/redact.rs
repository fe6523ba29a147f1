//! Removes credentials before anything is stored, shown or hashed.
//!
//! Three rules work together: headers and queries are kept by allow-list
//! ([`header`]); the very credentials of a request ([`Secrets`]) are removed
//! from everything that is kept of it, in whatever encoding they come back; and
//! keys of a well-known shape are removed wherever they stand ([`Redactor`]).
//! The same input always gives the same output, so a redacted request hashes
//! alike in record and replay.

mod answer;
mod entry;
mod framed;
pub mod header;
mod secret;
mod shape;

use std::borrow::Cow;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use regex::bytes::Regex;

use super::body::Chunk;
pub use answer::Came;
pub use entry::Cleaned;
pub use header::{HOP_BY_HOP, stored_query, stores};
pub use secret::Secrets;
use shape::Shapes;

/// What stands in the place of a credential.
pub const MARK: &str = "[REDACTED]";

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// Not a regular expression.
    #[error("read the redaction pattern {pattern:?}: {problem}")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It matches the empty text, and so everything.
    #[error("use the redaction pattern {pattern:?}: it matches the empty text; make it longer")]
    Empty {
        /// As it was given.
        pattern: String,
    },
}

/// Finds credentials by their shape, by extra patterns, and by their very text.
#[derive(Clone, Debug)]
pub struct Redactor {
    shapes: Shapes,
    extra: Vec<Regex>,
    /// `Basic …` and `Bearer …`, for headers and texts: a body is full of such words.
    schemes: Regex,
}

impl Redactor {
    /// A redactor for the well-known shapes and these extra patterns (regular
    /// expressions, matched against the raw bytes).
    ///
    /// # Errors
    /// A pattern that is no regular expression, or matches the empty text.
    pub fn new(extra_patterns: &[String]) -> Result<Self, RedactError> {
        let mut extra = Vec::new();
        for pattern in extra_patterns {
            let regex = compile(pattern)?;
            if regex.is_match(b"") {
                return Err(RedactError::Empty { pattern: pattern.clone() });
            }
            extra.push(regex);
        }
        Ok(Self {
            shapes: Shapes::new(compile(&shape::candidates())?),
            extra,
            schemes: compile(r"(?i-u)\b(?:basic|bearer)\s+([A-Za-z0-9+/=._~-]{8,})")?,
        })
    }

    /// The bytes without credentials: shapes, extra patterns, and these secrets.
    pub fn redact<'a>(&self, bytes: &'a [u8], secrets: &Secrets) -> Cow<'a, [u8]> {
        replaced(bytes, &self.ranges(bytes, secrets))
    }

    /// A short text without credentials: a path, a header's value, a name.
    pub fn redact_name(&self, text: &str, secrets: &Secrets) -> String {
        match self.redact(text.as_bytes(), secrets) {
            Cow::Borrowed(_) => text.to_owned(),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// The bytes without what the patterns find; and, where these secrets stand in
    /// them too, without both. One search for the patterns serves both.
    pub fn redact_apart<'a>(
        &self,
        bytes: &'a [u8],
        secrets: &Secrets,
    ) -> (Cow<'a, [u8]>, Option<Cow<'a, [u8]>>) {
        let mut patterns = self.pattern_ranges(bytes);
        let mut own = Vec::new();
        secrets.find(bytes, &mut own);
        if own.is_empty() {
            return (replaced(bytes, &settled(bytes, patterns)), None);
        }
        let by_patterns = replaced(bytes, &settled(bytes, patterns.clone()));
        patterns.append(&mut own);
        let all = replaced(bytes, &settled(bytes, patterns));
        let differs = all != by_patterns;
        (by_patterns, differs.then_some(all))
    }

    /// Removes credentials from a stream, those that lie across chunks too: the
    /// mark goes into the first chunk touched, and the rest of the match out of
    /// the later ones. Boundaries and times stay. Gives what is left, in one piece.
    pub fn redact_chunks(&self, chunks: &mut [Chunk], secrets: &Secrets) -> Bytes {
        let joined = join(chunks);
        let ranges = self.ranges(&joined, secrets);
        if ranges.is_empty() {
            return joined;
        }
        let mut start = 0;
        for chunk in &mut *chunks {
            let end = start + chunk.data.len();
            if let Some(data) = part(&joined, start..end, &ranges) {
                chunk.data = data;
            }
            start = end;
        }
        join(chunks)
    }

    /// A text for people (an error, a log line, a header's value) without
    /// credentials; what follows `Basic` or `Bearer` is taken for one.
    pub fn redact_text<'a>(&self, text: &'a str, secrets: &Secrets) -> Cow<'a, str> {
        let bytes = text.as_bytes();
        let mut ranges = self.ranges(bytes, secrets);
        let schemes = self.schemes.captures_iter(bytes);
        ranges.extend(schemes.filter_map(|found| found.get(1)).map(|m| m.range()));
        match replaced(bytes, &merged(ranges)) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// What of a response's headers is stored: see [`header`].
    pub fn stored_response_headers(
        &self,
        headers: &[(String, String)],
        secrets: &Secrets,
    ) -> Vec<(String, String)> {
        header::end_to_end(headers)
            .map(|(name, value)| {
                let clean = self.redact(value.as_bytes(), secrets);
                (name, String::from_utf8_lossy(&clean).into_owned())
            })
            .collect()
    }

    /// Where the patterns match, in order and without overlap; nothing is told of what
    /// stands in the place of a credential.
    pub fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        settled(bytes, self.pattern_ranges(bytes))
    }

    /// Where credentials stand: in order, without overlap.
    fn ranges(&self, bytes: &[u8], secrets: &Secrets) -> Vec<Range<usize>> {
        let mut ranges = self.pattern_ranges(bytes);
        secrets.find(bytes, &mut ranges);
        settled(bytes, ranges)
    }

    /// Where the patterns match, in no order.
    fn pattern_ranges(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        self.shapes.find(bytes, &mut ranges);
        for regex in &self.extra {
            ranges.extend(regex.find_iter(bytes).map(|found| found.range()));
        }
        ranges
    }
}

/// What is to be replaced of what was found: in order, without overlap.
fn settled(bytes: &[u8], mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    // A pattern as wide as `\w+` must leave the mark as it is.
    ranges.retain(|range| !range.is_empty() && !inside_mark(bytes, range));
    merged(ranges)
}

/// Whether none of these secrets stands in the bytes, in any of its encodings.
pub fn is_clean(bytes: &[u8], secrets: &Secrets) -> bool {
    !secrets.are_in(bytes)
}

fn compile(pattern: &str) -> Result<Regex, RedactError> {
    Regex::new(pattern).map_err(|error| RedactError::Pattern {
        pattern: pattern.to_owned(),
        problem: error.to_string(),
    })
}

fn inside_mark(bytes: &[u8], range: &Range<usize>) -> bool {
    if range.len() > MARK.len() {
        return false;
    }
    let from = range.start.saturating_sub(MARK.len());
    let around = &bytes[from..bytes.len().min(range.end + MARK.len())];
    memchr::memmem::find_iter(around, MARK.as_bytes()).any(|at| {
        let mark = from + at..from + at + MARK.len();
        mark.start <= range.start && range.end <= mark.end
    })
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn replaced<'a>(bytes: &'a [u8], ranges: &[Range<usize>]) -> Cow<'a, [u8]> {
    if ranges.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for range in ranges {
        out.extend_from_slice(&bytes[at..range.start]);
        out.extend_from_slice(MARK.as_bytes());
        at = range.end;
    }
    out.extend_from_slice(&bytes[at..]);
    Cow::Owned(out)
}

/// The chunks' bytes in one piece; a single chunk is not copied.
fn join(chunks: &[Chunk]) -> Bytes {
    if let [only] = chunks {
        return only.data.clone();
    }
    let mut joined = BytesMut::with_capacity(chunks.iter().map(|c| c.data.len()).sum());
    for chunk in chunks {
        joined.extend_from_slice(&chunk.data);
    }
    joined.freeze()
}

/// One chunk of a redacted stream; `None` where nothing in it was touched.
fn part(joined: &[u8], chunk: Range<usize>, ranges: &[Range<usize>]) -> Option<Bytes> {
    let first = ranges.partition_point(|range| range.end <= chunk.start);
    let touching = ranges[first..].iter().take_while(|range| range.start < chunk.end);
    let mut out = Vec::new();
    let mut at = chunk.start;
    let mut touched = false;
    for range in touching {
        touched = true;
        if range.start >= chunk.start {
            out.extend_from_slice(&joined[at..range.start]);
            out.extend_from_slice(MARK.as_bytes());
        }
        at = range.end.min(chunk.end);
    }
    out.extend_from_slice(&joined[at..chunk.end]);
    touched.then(|| out.into())
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
