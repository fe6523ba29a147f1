//! Redaction of AWS event streams: credentials are removed from the payloads of messages, which are
//! then rewritten with correct lengths and checksums.
//!
//! Messages without a match stay the same, byte for byte. Bytes that are not a message are redacted
//! as text.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use super::super::body::Chunk;
use super::edit::{
    Replacement, SearchMatch, apply_replacements, make_replacements, merge_found, replace_in_chunks,
};
use super::search::RedactSearch;
use super::{CallCredentials, FoundSecret, Placeholders, ROUNDS, Redactor, join_chunks};
use loomrec_provider::framing::{self, BufferMessage};

/// A payload of InvokeModel: the model's own event in base64.
#[derive(Deserialize)]
struct Carried<'a> {
    #[serde(borrow)]
    bytes: Cow<'a, str>,
}

/// The payloads of a stream's messages, concatenated.
#[derive(Default)]
struct Payloads {
    text: Vec<u8>,
    /// The payload of each message that decodes.
    of_messages: Vec<Payload>,
    /// The ranges of the stream's events in `text`.
    events: Vec<Range<usize>>,
}

/// The payload of a message.
struct Payload {
    range: Range<usize>,
    /// The model's own event: the range of its base64 in the payload, and the range of the decoded
    /// event in the text.
    native: Option<(Range<usize>, Range<usize>)>,
}

impl Redactor {
    /// Removes credentials from an AWS event stream: from each message, and from texts that are
    /// spread over messages. The chunks and their times stay.
    pub fn redact_messages(
        &self,
        chunks: &mut [Chunk],
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> Bytes {
        let mut clean = join_chunks(chunks);
        for _ in 0..ROUNDS {
            let new = self.messages_without(&clean, secrets, placeholders);
            if new.is_empty() {
                break;
            }
            clean = replace_in_chunks(clean, chunks, &new);
        }
        // The search above skips the names of headers. If a credential is left there, it is removed
        // even though the checksum becomes wrong.
        if secrets.are_in(&clean) {
            return self.redact_chunks(chunks, secrets);
        }
        clean
    }

    fn messages_without(
        &self,
        joined: &[u8],
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> Vec<Replacement> {
        let search = RedactSearch { redactor: self, secrets };
        let messages: Vec<BufferMessage<'_>> = framing::event_stream_messages(joined).collect();
        let payloads = Payloads::from_messages(&messages);
        let mut found = search.in_events(&payloads.text, &payloads.events);
        found.extend(payloads.beside_native(search));
        let within = make_replacements(merge_found(found), |at| at, placeholders, &self.names);
        let mut carried = payloads.of_messages.iter();
        let mut new = Vec::new();
        for message in &messages {
            let old = &joined[message.range.clone()];
            let Some(payload) = message.is_whole().then(|| carried.next()).flatten() else {
                let found = merge_found(search.in_text(old));
                let shifted = |edit: Replacement| Replacement {
                    range: message.range.start + edit.range.start
                        ..message.range.start + edit.range.end,
                    ..edit
                };
                let edits = make_replacements(found, |at| at, placeholders, &self.names);
                new.extend(edits.into_iter().map(shifted));
                continue;
            };
            let value = |value| self.redact_bytes(value, secrets);
            let clean = |old| payload.replace_within(old, &payloads.text, &within);
            let clean = |old| match clean(old) {
                // By chance or by design, the base64 itself may contain a key.
                new if secrets.are_in(&new) => {
                    Cow::Owned(self.redact_bytes(&new, secrets).into_owned())
                }
                new => new,
            };
            if let Some(message_new) = message.rewritten(value, clean) {
                let kept = framing::unchanged_ends(old, &message_new);
                let range = message.range.clone();
                new.push(Replacement { range, new: message_new, kept, divided: true });
            }
        }
        new
    }
}

impl RedactSearch<'_> {
    /// Searches the payloads of messages. Each match is reported at the start of its message.
    pub(super) fn in_messages(&self, joined: &[u8]) -> Vec<FoundSecret> {
        let messages: Vec<BufferMessage<'_>> = framing::event_stream_messages(joined).collect();
        let payloads = Payloads::from_messages(&messages);
        let mut found = self.in_events(&payloads.text, &payloads.events);
        found.extend(payloads.beside_native(*self));
        let mut secrets = FoundSecret::from_matches(found, &payloads.text);
        let whole: Vec<_> = messages.iter().filter(|message| message.is_whole()).collect();
        for secret in &mut secrets {
            let starts = &payloads.of_messages;
            let behind = starts.partition_point(|payload| payload.range.start <= secret.at);
            let message = behind.checked_sub(1).and_then(|at| whole.get(at));
            secret.at = message.map_or(0, |message| message.range.start);
        }
        for message in messages.iter().filter(|message| !message.is_whole()) {
            let range = message.range.clone();
            let broken = &joined[range.clone()];
            secrets.extend(
                FoundSecret::from_matches(self.in_text(broken), broken)
                    .into_iter()
                    .map(|secret| FoundSecret { at: secret.at + range.start, ..secret }),
            );
        }
        secrets
    }
}

impl Payloads {
    fn from_messages(messages: &[BufferMessage<'_>]) -> Self {
        let mut payloads = Self::default();
        for payload in messages.iter().filter_map(BufferMessage::payload) {
            let start = payloads.text.len();
            payloads.text.extend_from_slice(payload);
            let range = start..payloads.text.len();
            let native = carried_event(payload).map(|(base64, native)| {
                payloads.text.extend_from_slice(&native);
                (base64, range.end..payloads.text.len())
            });
            let event = native.as_ref().map_or_else(|| range.clone(), |(_, event)| event.clone());
            payloads.events.push(event);
            payloads.of_messages.push(Payload { range, native });
        }
        payloads
    }

    /// Searches payloads outside the model's own event.
    fn beside_native(&self, search: RedactSearch<'_>) -> Vec<SearchMatch> {
        let mut found = Vec::new();
        for Payload { range, native } in &self.of_messages {
            let Some((base64, _)) = native else { continue };
            for mut within in search.in_body("", &self.text[range.clone()]) {
                let meets =
                    |place: &Range<usize>| place.start < base64.end && base64.start < place.end;
                if within.places.iter().any(meets) {
                    continue;
                }
                for place in &mut within.places {
                    *place = place.start + range.start..place.end + range.start;
                }
                found.push(within);
            }
        }
        found
    }
}

impl Payload {
    /// Applies to this payload the replacements that belong to it.
    fn replace_within<'a>(
        &self,
        payload: &'a [u8],
        text: &[u8],
        replacements: &[Replacement],
    ) -> Cow<'a, [u8]> {
        let within = |range: &Range<usize>| -> Vec<Replacement> {
            let first = replacements.partition_point(|edit| edit.range.start < range.start);
            let edits = replacements[first..].iter().take_while(|edit| edit.range.end <= range.end);
            let shifted = |edit: &Replacement| Replacement {
                range: edit.range.start - range.start..edit.range.end - range.start,
                ..edit.clone()
            };
            edits.map(shifted).collect()
        };
        let mut edits = within(&self.range);
        if let Some((base64, native)) = &self.native {
            let in_native = within(native);
            if !in_native.is_empty() {
                let clean = apply_replacements(&text[native.clone()], &in_native);
                let new = STANDARD.encode(clean).into_bytes();
                edits.push(Replacement {
                    range: base64.clone(),
                    new,
                    kept: (0, 0),
                    divided: false,
                });
                edits.sort_by_key(|edit| edit.range.start);
            }
        }
        apply_replacements(payload, &edits)
    }
}

/// Returns the range of the base64 of a model's own event in a payload, and the decoded event.
fn carried_event(payload: &[u8]) -> Option<(Range<usize>, Vec<u8>)> {
    let Carried { bytes } = serde_json::from_slice(payload).ok()?;
    let native = STANDARD.decode(&*bytes).ok().filter(|native| !native.is_empty())?;
    // In the spelling of the payload: `/` may be escaped.
    let written = [bytes.to_string(), bytes.replace('/', "\\/")];
    let range = written.iter().find_map(|text| {
        let quoted = format!("\"{text}\"");
        let at = memchr::memmem::find(payload, quoted.as_bytes())? + 1;
        Some(at..at + text.len())
    })?;
    Some((range, native))
}

#[cfg(test)]
#[path = "event_stream_tests.rs"]
mod tests;
