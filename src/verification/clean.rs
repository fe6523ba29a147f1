//! An entry without the credentials whose shape is known.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

use super::answer::Body;
use crate::recording::redact::{Placeholders, Redactor, Secrets};
use crate::recording::request_text::stored_text;
use crate::recording::{Chunk, Entry};

/// Takes known credentials out of an entry; gives where any were, and whether what its
/// request hashes to may be another now.
pub(super) fn clean(entry: &mut Entry, body: Option<&Body<'_>>, redactor: &Redactor) -> Cleaned {
    let none = Secrets::default();
    let mut cleaned = Cleaned::default();
    if let Some(request) = &mut entry.request {
        let numbered = &mut Placeholders::default();
        let path = redactor.redact_path(&request.path, &none, numbered);
        let mut changed = replace(&mut request.path, path);
        let query = redactor.redact_query(&request.query, &none, numbered);
        changed |= replace(&mut request.query, query);
        for (name, value) in &mut request.headers {
            let clean = redactor.redact_header(name, value, &none, numbered);
            changed |= replace(value, clean);
        }
        let kind = request.content_type();
        let text = stored_text(&request.body);
        let body = match redactor.redact_body(kind, &text, &none, numbered) {
            Cow::Owned(bytes) => Some(Bytes::from(bytes)),
            Cow::Borrowed(_) => None,
        };
        if let Some(body) = body {
            request.body = body;
            changed = true;
        }
        cleaned.request = changed;
        cleaned.note("the request", changed);
    }
    let mut changed = false;
    for place in [&mut entry.content, &mut entry.session].into_iter().flatten() {
        changed |= text(place, redactor);
    }
    for call in &mut entry.tool_calls {
        changed |= value(&mut call.arguments, redactor);
    }
    cleaned.note("the summary", changed);
    let mut changed = entry.fault.as_mut().is_some_and(|fault| value(fault, redactor));
    for (_, extra) in &mut entry.extra {
        changed |= value(extra, redactor);
    }
    cleaned.note("the entry's own fields", changed);
    let changed = response(entry, body, redactor);
    cleaned.note("the response", changed);
    cleaned
}

/// Where credentials were.
#[derive(Debug, Default)]
pub(super) struct Cleaned {
    /// Whether any were in the request.
    pub(super) request: bool,
    /// The parts of the entry, in words.
    pub(super) places: Vec<&'static str>,
}

impl Cleaned {
    fn note(&mut self, place: &'static str, changed: bool) {
        if changed {
            self.places.push(place);
        }
    }
}

fn response(entry: &mut Entry, body: Option<&Body<'_>>, redactor: &Redactor) -> bool {
    let none = Secrets::default();
    let Some(response) = &mut entry.response else { return false };
    let mut changed = false;
    for (_, value) in &mut response.headers {
        changed |= text(value, redactor);
    }
    let Some(body) = body else { return changed };
    let redact = |chunks: &mut [Chunk]| {
        let numbered = &mut Placeholders::default();
        redactor.redact_payload(body.framing, body.media, chunks, &none, numbered)
    };
    if !body.decoded {
        let before: Bytes = body.bytes.clone();
        return (redact(&mut response.payload.chunks) != before) | changed;
    }
    let at_ms = response.payload.chunks.last().map_or(0.0, |chunk| chunk.at_ms);
    let mut chunks = vec![Chunk { at_ms, data: body.bytes.clone() }];
    if redact(&mut chunks) == body.bytes {
        return changed;
    }
    // It could not be cleaned otherwise: kept decoded, as a recorder keeps it.
    response.payload.chunks = chunks;
    response.headers.retain(|(name, _)| name != "content-encoding" && name != "content-length");
    true
}

fn text(place: &mut String, redactor: &Redactor) -> bool {
    match redactor.redact(place.as_bytes(), &Secrets::default()) {
        Cow::Borrowed(_) => false,
        Cow::Owned(clean) => {
            *place = String::from_utf8_lossy(&clean).into_owned();
            true
        }
    }
}

/// Puts a text in its place, and says whether that changed it.
fn replace(place: &mut String, clean: String) -> bool {
    let changed = clean != *place;
    *place = clean;
    changed
}

fn value(place: &mut Value, redactor: &Redactor) -> bool {
    let mut clean = place.clone();
    redactor.redact_json(&mut clean, &Secrets::default(), &mut Placeholders::default());
    let changed = clean != *place;
    *place = clean;
    changed
}
