//! Removes credentials before anything is stored, shown or hashed.
//!
//! Three rules work together. Headers and queries are kept by an allow-list ([`header`]). The
//! credentials of a request itself ([`CallCredentials`]) are removed from everything that is kept
//! of it, in every encoding in which they come back. Keys of a well-known shape, and what the rules
//! of `--redact` match, are removed everywhere ([`Redactor`]). Bodies are searched by meaning,
//! value by value. All bytes that do not belong to a match stay as they are. The same input always
//! gives the same output, so a redacted request has the same hash in record and replay.

mod body;
mod boundary;
mod broken_request;
mod canonical_order;
mod credentials;
mod decoded_text;
mod edit;
mod empty_text;
mod entry;
mod event_stream;
pub mod header;
mod joined;
mod json_documents;
mod json_tokens;
mod key_shape;
mod mark;
mod message;
mod pattern;
mod placeholder;
mod redactor;
mod response;
mod rounds;
mod rule;
mod search;
mod second_spelling;
mod text_channel;
mod text_group;
mod text_stream;
mod value_replacement;
mod wide_search;
mod wide_text;

use joined::join_chunks;

pub use redactor::Redactor;

use rounds::{ROUNDS, until_clean};

pub use pattern::RedactError;
use pattern::compile_pattern;

pub use mark::MARK;

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::body::Chunk;
pub use body::{FoundSecret, RedactedBody};
pub use boundary::with_replaced_boundary;
pub(super) use broken_request::OPAQUE;
pub use broken_request::is_broken_by_redaction;
pub use credentials::CallCredentials;
pub use empty_text::{holds_mark, is_only_marks};
pub use entry::{CleanedEntry, EntryPart};
pub use header::{HOP_BY_HOP, identity_name, ignorable_name, is_stored_header};
pub use json_tokens::is_json;
use loomrec_identity::multipart;
pub use message::redact_messages;
pub use placeholder::Placeholders;
pub(crate) use response::stated_media;
pub use response::{RawResponse, RedactedAnswer, UnkeptReason};
pub use value_replacement::replace_paths;

use edit::{
    SearchMatch, SourceEdit, apply_replacements, make_replacements, merge_edits, merge_found,
    replace_in_chunks,
};
use key_shape::ShapeFinder;
use placeholder::RedactionMark;
use rule::RedactRule;
pub use rule::check_patterns;
use search::RedactSearch;

impl Redactor {
    /// Returns a redactor for the well-known shapes and these rules. A rule is a regular
    /// expression, or `NAME=REGEX` to write numbered placeholders.
    ///
    /// # Errors
    /// If a pattern is not a regular expression, or matches the empty text.
    pub fn new(patterns: &[String]) -> Result<Self, RedactError> {
        let (rules, names) = rule::read_rules(patterns)?;
        Ok(Self {
            shapes: ShapeFinder::new().map_err(|error| RedactError::Pattern {
                pattern: "what known keys begin with".to_owned(),
                problem: error.to_string(),
            })?,
            rules,
            names,
            schemes: compile_pattern(r"(?i-u)\b(?:basic|bearer)\s+([A-Za-z0-9+/=._~-]{8,})")?,
        })
    }

    /// Returns a text without credentials.
    pub fn redact_bytes<'a>(&self, text: &'a [u8], secrets: &CallCredentials) -> Cow<'a, [u8]> {
        self.redact_numbered(text, secrets, &mut Placeholders::default())
    }

    /// As [`Self::redact_bytes`], for a text of an exchange. `placeholders` numbers its placeholders.
    fn redact_numbered<'a>(
        &self,
        text: &'a [u8],
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> Cow<'a, [u8]> {
        let search = RedactSearch { redactor: self, secrets };
        until_clean(text, |text| self.replace_found(text, search.in_text(text), placeholders))
    }

    /// Removes from a text what was found in it; `None` if nothing is to be replaced.
    fn replace_found(
        &self,
        text: &[u8],
        found: Vec<SearchMatch>,
        placeholders: &mut Placeholders,
    ) -> Option<Vec<u8>> {
        let new = make_replacements(merge_found(found), |at| at, placeholders, &self.names);
        (!new.is_empty()).then(|| apply_replacements(text, &new).into_owned())
    }

    /// Returns a short text, such as a header's value or a name, without credentials.
    pub fn redact_name(&self, text: &str, secrets: &CallCredentials) -> String {
        self.redact_value(text, secrets, &mut Placeholders::default())
    }

    /// Whether redaction would remove nothing from a name.
    pub fn is_clean_name(&self, name: &str, secrets: &CallCredentials) -> bool {
        RedactSearch { redactor: self, secrets }.in_text(name.as_bytes()).is_empty()
    }

    /// As [`Self::redact_name`], for a text of an exchange. `placeholders` numbers its
    /// placeholders.
    pub fn redact_value(
        &self,
        text: &str,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> String {
        match self.redact_numbered(text.as_bytes(), secrets, placeholders) {
            Cow::Borrowed(_) => text.to_owned(),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Returns a path without credentials, including percent-encoded ones.
    pub fn redact_path(
        &self,
        path: &str,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> String {
        self.redact_found(
            path,
            placeholders,
            RedactSearch { redactor: self, secrets },
            RedactSearch::in_path,
        )
    }

    /// Returns a query without credentials, including percent-encoded ones.
    pub fn redact_query(
        &self,
        query: &str,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> String {
        self.redact_found(
            query,
            placeholders,
            RedactSearch { redactor: self, secrets },
            RedactSearch::in_query,
        )
    }

    /// Removes from a text what `find` finds in it. Repeats this until it finds nothing more.
    fn redact_found<'a>(
        &self,
        text: &str,
        placeholders: &mut Placeholders,
        search: RedactSearch<'a>,
        find: impl Fn(&RedactSearch<'a>, &[u8]) -> Vec<SearchMatch>,
    ) -> String {
        let clean = until_clean(text.as_bytes(), |text| {
            self.replace_found(text, find(&search, text), placeholders)
        });
        String::from_utf8_lossy(&clean).into_owned()
    }

    /// Returns the value of a stored request header without credentials. The boundary of a
    /// multipart body is kept, or [another one](with_replaced_boundary) takes its place: without it
    /// the body cannot be split into its parts.
    pub fn redact_header(
        &self,
        name: &str,
        value: &str,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> String {
        let range = multipart::boundary_range(value).filter(|_| name == "content-type");
        let Some(Range { start, end }) = range else {
            return self.redact_value(value, secrets, placeholders);
        };
        let before = self.redact_value(&value[..start], secrets, placeholders);
        let behind = self.redact_value(&value[end..], secrets, placeholders);
        let is_clean = self.may_be_name(&value.as_bytes()[start..end], secrets);
        let kept = if is_clean { &value[start..end] } else { boundary::REPLACED };
        [&before, kept, &behind].concat()
    }

    /// Removes credentials from bytes that are not a stream, including credentials that are split
    /// across chunks. The mark is written into the first chunk of a match, and the rest of the
    /// match is removed from the later ones. Boundaries and times are kept. Returns the remaining
    /// bytes, joined.
    pub fn redact_chunks(&self, chunks: &mut [Chunk], secrets: &CallCredentials) -> Bytes {
        let search = RedactSearch { redactor: self, secrets };
        let numbers = &mut Placeholders::default();
        self.remove_from_chunks(chunks, numbers, |text| search.in_text(text))
    }

    /// Removes from chunks what `search` finds in their joined bytes. Repeats this until it finds
    /// nothing more. Returns the remaining bytes, joined.
    fn remove_from_chunks(
        &self,
        chunks: &mut [Chunk],
        placeholders: &mut Placeholders,
        search: impl Fn(&[u8]) -> Vec<SearchMatch>,
    ) -> Bytes {
        let mut joined = join_chunks(chunks);
        for _ in 0..ROUNDS {
            let edits = merge_found(search(&joined));
            let new = make_replacements(edits, |at| at, placeholders, &self.names);
            if new.is_empty() {
                break;
            }
            joined = replace_in_chunks(joined, chunks, &new);
        }
        joined
    }

    /// Returns a text for people (an error, a log line, a header's value) without credentials. What
    /// follows `Basic` or `Bearer` is treated as a credential.
    pub fn redact_text<'a>(&self, text: &'a str, secrets: &CallCredentials) -> Cow<'a, str> {
        let bytes = text.as_bytes();
        let mut edits = merge_found(RedactSearch { redactor: self, secrets }.in_text(bytes));
        let schemes = self.schemes.captures_iter(bytes).filter_map(|found| found.get(1));
        edits.extend(schemes.map(|m| SourceEdit {
            range: m.range(),
            mark: Some(RedactionMark::Plain),
            encoding: None,
        }));
        let mut placeholders = Placeholders::default();
        let new = make_replacements(merge_edits(edits), |at| at, &mut placeholders, &self.names);
        match apply_replacements(bytes, &new) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Returns the response headers that are stored: see [`header`].
    pub fn stored_response_headers(
        &self,
        headers: &[(String, String)],
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> Vec<(String, String)> {
        let stored = header::end_to_end(headers);
        if self.are_plainly_clean(headers, secrets) {
            return stored.map(|(name, value)| (name, value.clone())).collect();
        }
        stored
            // A name that holds a credential cannot be replaced by a mark.
            .filter(|(name, _)| self.may_be_name(name.as_bytes(), secrets))
            .map(|(name, value)| (name, self.redact_value(value, secrets, placeholders)))
            .collect()
    }

    /// Whether the name of a header or of a member holds no credential. Rules are not applied to
    /// it.
    fn may_be_name(&self, name: &[u8], secrets: &CallCredentials) -> bool {
        RedactSearch { redactor: self, secrets }.in_name(name).is_empty()
    }

    /// Whether a single search through all headers shows that nothing has to be removed.
    fn are_plainly_clean(&self, headers: &[(String, String)], secrets: &CallCredentials) -> bool {
        let size = headers.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
        let mut text = String::with_capacity(size);
        for part in headers.iter().flat_map(|(name, value)| [name, value]) {
            text.push_str(part);
            text.push('\n');
        }
        RedactSearch { redactor: self, secrets }.is_plainly_clean_text(text.as_bytes())
    }

    /// Returns where the patterns match in a text, in order and without overlap. Placeholders are
    /// not matches.
    pub fn find_matches(&self, text: &[u8]) -> Vec<Range<usize>> {
        let none = CallCredentials::default();
        let mut found = RedactSearch { redactor: self, secrets: &none }.in_text(text);
        found.retain(|found| !matches!(found.mark, RedactionMark::Placeholder { .. }));
        merge_found(found).into_iter().map(|edit| edit.range).collect()
    }

    /// Whether the text contains a mark, or a placeholder with the name of one of the rules.
    pub fn is_redacted(&self, text: &[u8]) -> bool {
        let in_plain = |text: &[u8]| {
            memchr::memmem::find(text, MARK.as_bytes()).is_some()
                || placeholder::find_placeholders(text, &self.names).next().is_some()
        };
        in_plain(text) || wide_search::any_wide_text(text, in_plain)
    }

    /// Returns the rules that matched only names of members and numbers, which are never redacted.
    pub fn ineffective_rules(&self) -> Vec<&str> {
        self.rules.iter().filter_map(RedactRule::text_if_ineffective).collect()
    }
}

/// Whether none of these secrets is in a text whose parts were cleaned of them.
pub fn is_still_clean(bytes: &[u8], secrets: &CallCredentials) -> bool {
    !secrets.are_in_again(bytes)
}

/// Whether none of these secrets is in the bytes, in any of its encodings.
pub fn is_clean(bytes: &[u8], secrets: &CallCredentials) -> bool {
    !secrets.are_in(bytes)
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
