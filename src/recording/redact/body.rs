//! Redaction of bodies by content type: JSON, a form, several parts.

use std::borrow::Cow;
use std::ops::Range;

use super::canonical_order::CanonicalOrder;
use super::decoded_text::DecodedText;
use super::edit::{SearchMatch, SourceEdit, apply_replacements, make_replacements, merge_found};
use super::json_tokens::is_json;
use super::placeholder::{Placeholders, RedactionMark};
use super::search::{RedactSearch, place_in_source};
use super::wide_search::wide_encoding;
use super::{CallCredentials, Redactor, until_clean};
use loomrec_identity::{media_type, multipart};

/// A body after redaction by the patterns alone, and after full redaction.
pub struct RedactedBody<'a> {
    /// The body without what the patterns find.
    pub by_patterns: Cow<'a, [u8]>,
    /// The body without the call's own credentials too; `None` if that changes nothing more.
    pub whole: Option<Cow<'a, [u8]>>,
}

/// A credential in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSecret {
    /// Where it begins in the body.
    pub at: usize,
    /// The credential's text.
    pub text: Vec<u8>,
}

impl FoundSecret {
    /// Converts search matches in a text to secrets, each at its position.
    pub(super) fn from_matches(found: Vec<SearchMatch>, text: &[u8]) -> Vec<Self> {
        let is_new = |edit: &SourceEdit| {
            matches!(edit.mark, Some(RedactionMark::Plain | RedactionMark::Named { .. }))
        };
        let secret =
            |edit: SourceEdit| Self { at: edit.range.start, text: text[edit.range].to_vec() };
        merge_found(found).into_iter().filter(is_new).map(secret).collect()
    }
}

impl Redactor {
    /// Returns a body of this content type without credentials.
    pub fn redact_body<'a>(
        &self,
        content_type: &str,
        body: &'a [u8],
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> Cow<'a, [u8]> {
        let search = RedactSearch { redactor: self, secrets };
        until_clean(body, |body| {
            self.body_without(body, search.in_body(content_type, body), placeholders)
        })
    }

    /// Returns a body without what the patterns find, and, if these secrets occur in it too, also
    /// the body without both. A single search serves both.
    pub fn redact_body_apart<'a>(
        &self,
        content_type: &str,
        body: &'a [u8],
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> RedactedBody<'a> {
        let search = RedactSearch { redactor: self, secrets };
        let found = search.in_body(content_type, body);
        let is_apart = found.iter().any(|found| found.own);
        let patterns =
            |found: &[SearchMatch]| found.iter().filter(|found| !found.own).cloned().collect();
        let clean = |first: Vec<SearchMatch>, numbers: &mut Placeholders, with_own: bool| {
            let mut first = Some(first);
            until_clean(body, |body| {
                let found = first.take().unwrap_or_else(|| {
                    let found = search.in_body(content_type, body);
                    if with_own { found } else { patterns(&found) }
                });
                self.body_without(body, found, numbers)
            })
        };
        if !is_apart {
            return RedactedBody { by_patterns: clean(found, placeholders, true), whole: None };
        }
        let by_patterns = clean(patterns(&found), &mut placeholders.clone(), false);
        let whole = clean(found, placeholders, true);
        let whole = (whole != by_patterns).then_some(whole);
        RedactedBody { by_patterns, whole }
    }

    /// Returns the credentials that the patterns find in a body of this content type.
    pub fn find_in_body(&self, content_type: &str, body: &[u8]) -> Vec<FoundSecret> {
        let none = CallCredentials::default();
        FoundSecret::from_matches(
            RedactSearch { redactor: self, secrets: &none }.in_body(content_type, body),
            body,
        )
    }

    /// Removes from the body what was found in it; `None` if nothing is to be replaced.
    fn body_without(
        &self,
        body: &[u8],
        found: Vec<SearchMatch>,
        placeholders: &mut Placeholders,
    ) -> Option<Vec<u8>> {
        if self.names.is_empty() || found.is_empty() {
            return self.replace_found(body, found, placeholders);
        }
        let order = CanonicalOrder::of_body(body);
        let turn = |at: usize| order.sort_key(at);
        let new = make_replacements(merge_found(found), turn, placeholders, &self.names);
        (!new.is_empty()).then(|| apply_replacements(body, &new).into_owned())
    }
}

impl RedactSearch<'_> {
    /// Searches a body of this content type.
    pub(super) fn in_body(&self, content_type: &str, body: &[u8]) -> Vec<SearchMatch> {
        if let Some(range) = multipart::boundary_range(content_type)
            && let Some(found) = self.in_parts(&content_type.as_bytes()[range], body)
        {
            return found;
        }
        if let Some(encoding) = wide_encoding(content_type, body) {
            return self.in_wide_body(encoding, body, |search, text| {
                search.in_plain_body(content_type, text)
            });
        }
        self.in_plain_body(content_type, body)
    }

    /// Searches a body of this content type that is neither made of parts nor in UTF-16 or UTF-32.
    fn in_plain_body(&self, content_type: &str, body: &[u8]) -> Vec<SearchMatch> {
        match BodyKind::from_body(content_type, body) {
            BodyKind::Json if self.is_plainly_clean(body) => Vec::new(),
            BodyKind::Json => self.in_json(body, 0),
            BodyKind::Form => self.in_form(body),
            BodyKind::Text => self.in_text(body),
        }
    }

    /// Searches the names and the values of a form's fields.
    fn in_form(&self, form: &[u8]) -> Vec<SearchMatch> {
        let value = |search: &Self, text: &[u8]| search.in_value(text, 0);
        let mut found = Vec::new();
        for field in form_fields(form) {
            match memchr::memchr(b'=', &form[field.clone()]).map(|at| field.start + at) {
                Some(equals) => {
                    found.extend(self.in_form_text(form, field.start..equals, Self::in_name));
                    found.extend(self.in_form_text(form, equals + 1..field.end, value));
                }
                // A field without `=` is a value.
                None => found.extend(self.in_form_text(form, field, value)),
            }
        }
        found
    }

    /// Searches a text with percent escapes.
    fn in_form_text(
        &self,
        source: &[u8],
        range: Range<usize>,
        search: impl Fn(&Self, &[u8]) -> Vec<SearchMatch>,
    ) -> Vec<SearchMatch> {
        let mut decoded = DecodedText::default();
        decoded.push_form(source, range);
        let found = search(self, decoded.as_bytes());
        if found.is_empty() { found } else { place_in_source(found, &decoded, source) }
    }

    /// Searches a path, both as it is written and decoded.
    pub(super) fn in_path(&self, path: &[u8]) -> Vec<SearchMatch> {
        let mut found = self.in_text(path);
        if path.contains(&b'%') || path.contains(&b'+') {
            let value = |search: &Self, text: &[u8]| search.in_value(text, 0);
            found.extend(self.in_form_text(path, 0..path.len(), value));
        }
        found
    }

    /// Searches a query. Each field is searched as it is written and decoded. The match of a rule
    /// does not cross the end of a field.
    pub(super) fn in_query(&self, query: &[u8]) -> Vec<SearchMatch> {
        let mut found = self.credentials_in_text(query);
        if !self.redactor.rules.is_empty() {
            let text = |search: &Self, text: &[u8]| search.in_text(text);
            found
                .extend(form_fields(query).flat_map(|field| self.search_range(field, query, text)));
        }
        if query.contains(&b'%') || query.contains(&b'+') {
            found.extend(self.in_form(query));
        }
        found
    }

    /// Searches the parts of a body, each by its own content type; `None` if the body is not made
    /// of parts.
    fn in_parts(&self, boundary: &[u8], body: &[u8]) -> Option<Vec<SearchMatch>> {
        let delimiter = [b"--", boundary].concat();
        let starts: Vec<usize> = memchr::memmem::find_iter(body, &delimiter)
            .filter(|at| *at == 0 || body[..*at].ends_with(b"\n"))
            .collect();
        let first = *starts.first()?;
        let in_text = |search: &Self, text: &[u8]| search.in_text(text);
        let mut found = self.search_range(0..first, body, in_text);
        for (index, start) in starts.iter().enumerate() {
            let from = start + delimiter.len();
            let Some(next) = starts.get(index + 1) else {
                let end = if body[from..].starts_with(b"--") { from + 2 } else { from };
                found.extend(self.search_range(end..body.len(), body, in_text));
                break;
            };
            // The line break before a delimiter belongs to the delimiter.
            let text = &body[from..*next];
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let head = head_length(text);
            let mut at = from;
            for line in text[..head].split_inclusive(|byte| *byte == b'\n') {
                let length = line.trim_ascii_end().len();
                found.extend(self.search_range(at..at + length, body, in_text));
                at += line.len();
            }
            let kind = content_type(&text[..head]);
            found.extend(self.search_range(at..from + text.len(), body, |search, text| {
                search.in_body(if kind.starts_with("multipart/") { "" } else { &kind }, text)
            }));
        }
        Some(found)
    }

    /// Searches a range of the body on its own.
    pub(super) fn search_range(
        &self,
        range: Range<usize>,
        body: &[u8],
        search: impl Fn(&Self, &[u8]) -> Vec<SearchMatch>,
    ) -> Vec<SearchMatch> {
        let mut found = search(self, &body[range.clone()]);
        for place in found.iter_mut().flat_map(|found| &mut found.places) {
            *place = place.start + range.start..place.end + range.start;
        }
        found
    }
}

/// How a body that is not made of parts is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    Json,
    Form,
    Text,
}

impl BodyKind {
    /// Returns the kind of a body with this content type. A body that begins as an object is JSON
    /// whatever its type says: `curl -d` calls it a form.
    fn from_body(content_type: &str, body: &[u8]) -> Self {
        let media = media_type(content_type);
        let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
        let is_form = media.eq_ignore_ascii_case("application/x-www-form-urlencoded");
        match start.first() {
            Some(b'{') => Self::Json,
            // Prose and the names of fields may begin with these bytes, too.
            Some(b'[' | b'"') if !is_form && !is_text(media) || is_json(body) => Self::Json,
            _ if is_form => Self::Form,
            _ => Self::Text,
        }
    }
}

/// Whether a media type is a text for people.
fn is_text(media: &str) -> bool {
    let is_text = media.as_bytes().get(..5).is_some_and(|it| it.eq_ignore_ascii_case(b"text/"));
    is_text && !media.eq_ignore_ascii_case("text/event-stream")
}

/// Returns the ranges of the fields of a form or of a query.
fn form_fields(form: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    memchr::memchr_iter(b'&', form).chain([form.len()]).map(move |end| {
        let field = start..end;
        start = end + 1;
        field
    })
}

/// Returns the length of a part's head, including the empty line after it.
fn head_length(part: &[u8]) -> usize {
    let ends = [(b"\r\n\r\n".as_slice(), 4), (b"\n\n", 2)];
    let ends = ends
        .into_iter()
        .filter_map(|(end, length)| memchr::memmem::find(part, end).map(|at| at + length));
    ends.min().unwrap_or(0)
}

/// Returns the content type that the head of a part names, in lower case.
fn content_type(head: &[u8]) -> String {
    let text = String::from_utf8_lossy(head);
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-type").then(|| value.trim().to_ascii_lowercase())
    });
    value.unwrap_or_default()
}
