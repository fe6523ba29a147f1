//! The search for credentials in streams: in each event, and in the texts that are spread over
//! events.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::decoded_text::DecodedText;
use super::edit::SearchMatch;
use super::json_tokens::is_json;
use super::search::{RedactSearch, place_in_source};
use super::second_spelling::second_spellings;
use super::text_channel::{EventString, EventStrings, TextChannel};
use super::text_group::{by_channel, by_name};
use loomrec_provider::Framing;
use loomrec_provider::framing;

/// The data of a stream's events.
pub(super) struct EventData {
    /// The text decoded from its framing; `None` if the data is in the stream literally.
    pub(super) text: Option<DecodedText>,
    /// The range of each event's data.
    pub(super) events: Vec<Range<usize>>,
}

impl RedactSearch<'_> {
    /// Searches a stream, and the texts that it carries.
    pub(super) fn in_stream(&self, framing: Framing, bytes: &[u8]) -> Vec<SearchMatch> {
        let data = EventData::new(framing, bytes);
        let is_clean = self.is_plainly_clean(bytes);
        let mut found = match &data.text {
            None => self.in_searched_events(bytes, &data.events, is_clean),
            Some(text) => {
                let found = self.in_events(text.as_bytes(), &data.events);
                if found.is_empty() { found } else { place_in_source(found, text, bytes) }
            }
        };
        let may_be_beside =
            || !is_clean && (!self.redactor.rules.is_empty() || self.begins_in(bytes));
        if framing == Framing::Sse && may_be_beside() {
            found.extend(self.beside_data(bytes));
        }
        found
    }

    /// Searches the lines of server-sent events that are not data.
    fn beside_data(&self, bytes: &[u8]) -> Vec<SearchMatch> {
        let mut found = Vec::new();
        for (line, _) in framing::sse_lines(bytes) {
            let text = &bytes[line.clone()];
            let within = match text {
                [b':', ..] => self.in_text(text),
                _ if text.starts_with(b"data:") => continue,
                _ => self.in_name(text),
            };
            found.extend(within.into_iter().map(|found| shift_match(found, line.start)));
        }
        found
    }

    /// Searches the data of events: their values, and the texts that are spread over them.
    pub(super) fn in_events(&self, text: &[u8], events: &[Range<usize>]) -> Vec<SearchMatch> {
        self.in_searched_events(text, events, self.is_plainly_clean(text))
    }

    /// As [`Self::in_events`], if it is known whether the text is [plainly
    /// clean](Self::is_plainly_clean).
    fn in_searched_events(
        &self,
        text: &[u8],
        events: &[Range<usize>],
        is_clean: bool,
    ) -> Vec<SearchMatch> {
        let mut found = Vec::new();
        let each = !is_clean;
        let mut leaves = if each { EventStrings::default() } else { EventStrings::of_texts() };
        let mut plain = Vec::new();
        for event in events {
            let data = &text[event.clone()];
            let start = data.trim_ascii_start().first();
            if !matches!(start, Some(b'{' | b'[' | b'"')) || data.trim_ascii() == b"[DONE]" {
                plain.push(event.clone());
                continue;
            }
            if !leaves.add_event(text, event.clone()) && each {
                found.extend(self.in_text(data).into_iter().map(|f| shift_match(f, event.start)));
            }
        }
        if each {
            for name in &leaves.names {
                found.extend(self.in_json_text(text, name, true, 0));
            }
        }
        let groups = by_channel(&leaves.values);
        for channel in &groups {
            found.extend(self.in_channel(text, channel, each));
        }
        found.extend(self.in_plain(text, &plain));
        // Searched only if no channel holds anything. Otherwise the same match would be found
        // twice.
        if found.iter().all(SearchMatch::is_placeholder) {
            for pieces in by_name(&groups) {
                found.extend(self.in_pieces_of_one_name(text, &pieces));
            }
        }
        if !found.is_empty() || self.redactor.is_redacted(text) {
            found.extend(second_spellings(text, events));
        }
        found
    }

    /// Searches the pieces of a text one by one, and the joined text.
    fn in_channel(&self, text: &[u8], pieces: &[&EventString], each: bool) -> Vec<SearchMatch> {
        let in_each = || {
            let within = |leaf: &&EventString| self.in_json_text(text, &leaf.text, false, 0);
            pieces.iter().flat_map(within).collect::<Vec<SearchMatch>>()
        };
        if pieces.len() < 2 {
            return if each { in_each() } else { Vec::new() };
        }
        let joined = join_pieces(text, pieces);
        let mut found = self.in_value(joined.as_bytes(), 0);
        if !found.is_empty() {
            found = place_in_source(found, &joined, text);
        }
        // A rule must not match across the end of a string of JSON that arrives in pieces.
        if each && !is_json(joined.as_bytes()) {
            found.extend(in_each());
        }
        found
    }

    /// Searches pieces that may belong to one text. Only credentials count: rules could match
    /// across unrelated texts.
    fn in_pieces_of_one_name(&self, text: &[u8], pieces: &[&EventString]) -> Vec<SearchMatch> {
        let joined = join_pieces(text, pieces);
        let found = self.in_name(joined.as_bytes());
        if found.is_empty() { found } else { place_in_source(found, &joined, text) }
    }

    /// Searches events that are not JSON.
    fn in_plain(&self, text: &[u8], events: &[Range<usize>]) -> Vec<SearchMatch> {
        let mut joined = DecodedText::default();
        let mut found = Vec::new();
        for event in events {
            joined.push_verbatim(text, event.clone());
            found.extend(
                self.in_text(&text[event.clone()]).into_iter().map(|f| shift_match(f, event.start)),
            );
        }
        if events.len() > 1 {
            found.extend(place_in_source(self.in_value(joined.as_bytes(), 0), &joined, text));
        }
        found
    }

    /// Whether strings with the same name, joined, hold something to redact. The bytes are any JSON
    /// without a known framing. For a single JSON document, and for strings without a name, only
    /// credentials count: rules could match across unrelated texts.
    pub(super) fn is_in_strings_together(&self, bytes: &[u8]) -> bool {
        let mut leaves = EventStrings::default();
        let is_json = leaves.add_event(bytes, 0..bytes.len());
        let mut texts: HashMap<u64, (TextChannel, Vec<&EventString>)> = HashMap::new();
        for leaf in &leaves.values {
            let Some(channel) = leaf.channel else { continue };
            texts.entry(channel.name).or_insert((channel, Vec::new())).1.push(leaf);
        }
        texts.values().filter(|(_, pieces)| pieces.len() > 1).any(|(channel, pieces)| {
            let text = join_pieces(bytes, pieces);
            let found = match is_json || channel.is_unnamed() {
                true => self.in_name(text.as_bytes()),
                false => self.in_value(text.as_bytes(), 0),
            };
            self.has_new(&found, text.as_bytes())
        })
    }

    /// Whether a text that is to be kept holds something to redact.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.has_new(&self.in_value(text, 0), text)
    }

    /// Whether a match in a text is new, not a remainder of what was removed.
    fn has_new(&self, found: &[SearchMatch], text: &[u8]) -> bool {
        let is_rest = |found: &SearchMatch| !found.own && self.touches_mark(text, found);
        found.iter().any(|found| !found.is_placeholder() && !is_rest(found))
    }
}

/// Joins the decoded pieces.
pub(super) fn join_pieces(text: &[u8], pieces: &[&EventString]) -> DecodedText {
    let mut joined = DecodedText::default();
    for leaf in pieces {
        joined.push_json(text, leaf.text.range.clone(), leaf.text.escaped);
    }
    joined
}

fn shift_match(mut found: SearchMatch, by: usize) -> SearchMatch {
    for place in &mut found.places {
        *place = place.start + by..place.end + by;
    }
    found
}

impl EventData {
    pub(super) fn new(framing: Framing, bytes: &[u8]) -> Self {
        let base = bytes.as_ptr() as usize;
        let mut events = Vec::new();
        for event in framing::events(framing, bytes) {
            match event.data {
                Some(Cow::Borrowed(data)) => {
                    let start = data.as_ptr() as usize - base;
                    events.push(start..start + data.len());
                }
                // Its data has several lines.
                Some(Cow::Owned(_)) => return Self::decode_sse_data(bytes),
                None => {}
            }
        }
        Self { text: None, events }
    }

    /// Decodes the data of server-sent events, if some of it has several lines.
    fn decode_sse_data(bytes: &[u8]) -> Self {
        let mut text = DecodedText::default();
        let mut events: Vec<Range<usize>> = Vec::new();
        let mut current = None;
        for (line, event) in framing::sse_lines(bytes) {
            let Some(value) = bytes[line.clone()].strip_prefix(b"data:") else { continue };
            let value = value.strip_prefix(b" ").unwrap_or(value);
            if current == Some(event) {
                text.push_boundary(b'\n', line.start);
            } else {
                let at = text.as_bytes().len();
                events.push(at..at);
            }
            current = Some(event);
            text.push_verbatim(bytes, line.end - value.len()..line.end);
            if let Some(last) = events.last_mut() {
                last.end = text.as_bytes().len();
            }
        }
        Self { text: Some(text), events }
    }
}
