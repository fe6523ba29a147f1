//! Text channels: which strings of a stream's events belong together.
//!
//! A stream carries a text in pieces, one in each event. The pieces of a text are at the same place
//! in their events and have the same indexes next to them on the path to it (`index`,
//! `output_index`, `item_id`, …). This is their channel. It works without knowing the provider.

use std::borrow::Cow;
use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::json_tokens::{JsonText, JsonToken, JsonTokens};

/// Whether members with this name hold labels, not pieces of a text.
fn is_label(name: &[u8]) -> bool {
    matches!(
        name,
        b"created_at"
            | b"event"
            | b"event_id"
            | b"finishReason"
            | b"finish_reason"
            | b"id"
            | b"modelVersion"
            | b"model"
            | b"native_finish_reason"
            | b"obfuscation"
            | b"object"
            | b"p"
            | b"provider"
            | b"responseId"
            | b"response_id"
            | b"role"
            | b"service_tier"
            | b"status"
            | b"stop_reason"
            | b"system_fingerprint"
            | b"type"
            | b"stopReason"
    )
}

/// A string value in an event.
#[derive(Clone, Debug)]
pub(super) struct EventString {
    pub(super) text: JsonText,
    /// Its channel; `None` if it is not a piece of a text.
    pub(super) channel: Option<TextChannel>,
}

/// The identity of a channel, at three levels of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextChannel {
    /// Shared by strings at the same place with the same indexes.
    pub(super) indexed: u64,
    /// Shared by all strings at the same place.
    pub(super) place: u64,
    /// Shared by all strings under the same name.
    pub(super) name: u64,
}

impl TextChannel {
    /// Whether its strings are members of this name.
    pub(super) fn has_name(&self, name: &[u8]) -> bool {
        self.name == hash_bytes(name)
    }

    /// Whether its strings are not members of an object.
    pub(super) fn is_unnamed(&self) -> bool {
        self.name == hash_bytes(b"")
    }
}

/// The channel of the root, before any name or index.
const ROOT: TextChannel = TextChannel { indexed: 0, place: 0, name: 0 };

/// The strings of a stream's events.
#[derive(Debug, Default)]
pub(super) struct EventStrings {
    pub(super) values: Vec<EventString>,
    pub(super) names: Vec<JsonText>,
    /// Whether only pieces of texts are wanted.
    texts_only: bool,
    template: Option<Template>,
}

/// An event that later events may resemble: they differ only in the content of some strings.
#[derive(Debug)]
struct Template {
    event: Range<usize>,
    /// The strings that may differ: their ranges in the event, and their channels.
    strings: Vec<(Range<usize>, Option<TextChannel>)>,
}

/// An object or an array of an event.
struct ChannelContainer {
    parent: Option<usize>,
    /// The hash of its name.
    step: u64,
    /// The hash of its indexes.
    index: u64,
    /// The hash of its `type`, if it is the event itself.
    kind: u64,
}

/// A string whose channel is not known yet, since its indexes may come after it.
struct UnnamedString {
    leaf: usize,
    /// `None` if the event is a string.
    container: Option<usize>,
    name: u64,
}

impl EventStrings {
    /// Returns a collection of pieces of texts only, without names and labels.
    pub(super) fn of_texts() -> Self {
        Self { texts_only: true, ..Self::default() }
    }

    /// Adds the strings of the event at `range` of `source`. Returns whether the event is complete
    /// JSON.
    pub(super) fn add_event(&mut self, source: &[u8], range: Range<usize>) -> bool {
        if !self.texts_only {
            return self.read_event(source, range);
        }
        if self.add_alike(source, range.clone()) {
            return true;
        }
        let first = self.values.len();
        let is_json = self.read_event(source, range.clone());
        let added = self.values.split_off(first);
        let place = |leaf: &EventString| {
            let text = &leaf.text.range;
            (text.start - range.start..text.end - range.start, leaf.channel)
        };
        let strings = added.iter().map(place).collect();
        self.template = is_json.then(|| Template { event: range.clone(), strings });
        self.values.extend(added.into_iter().filter(|leaf| leaf.channel.is_some()));
        is_json
    }

    /// Adds the pieces of an event if it resembles the template. Returns whether it does.
    fn add_alike(&mut self, source: &[u8], range: Range<usize>) -> bool {
        let Some(template) = &self.template else { return false };
        let (old, new) = (&source[template.event.clone()], &source[range.clone()]);
        let count = self.values.len();
        let (mut old_at, mut at) = (0, 0);
        for (string, channel) in &template.strings {
            let before = &old[old_at..string.start];
            let text = new.get(at..).and_then(|rest| rest.strip_prefix(before));
            let Some((length, escaped)) = text.and_then(string_length) else {
                self.values.truncate(count);
                return false;
            };
            let start = at + before.len();
            (old_at, at) = (string.end, start + length);
            if channel.is_some() {
                let text = JsonText { range: range.start + start..range.start + at, escaped };
                self.values.push(EventString { text, channel: *channel });
            }
        }
        let is_alike = new.get(at..) == Some(&old[old_at..]);
        if !is_alike {
            self.values.truncate(count);
        }
        is_alike
    }

    /// Parses an event, and adds all its strings. Leaves out indexes if only texts are wanted.
    /// Returns whether the event is complete JSON.
    fn read_event(&mut self, source: &[u8], range: Range<usize>) -> bool {
        let json = &source[range.clone()];
        let mut event = ChannelEvent { json, containers: Vec::new(), open: Vec::new(), name: None };
        let mut waiting = Vec::new();
        let mut tokens = JsonTokens::new(json);
        let placed = |text: JsonText| JsonText {
            range: text.range.start + range.start..text.range.end + range.start,
            ..text
        };
        while let Some(token) = tokens.next() {
            match token {
                JsonToken::Open => event.open_container(tokens.depth()),
                JsonToken::Close => event.close_container(),
                JsonToken::Name(text) => {
                    event.name = Some(text.clone());
                    self.names.push(placed(text));
                }
                JsonToken::Scalar(value) => _ = event.take_index(value),
                JsonToken::Value(text) => {
                    let is_index = event.take_index(text.range.clone());
                    let name = event.name.take();
                    let name = name.map_or(Cow::Borrowed(&[][..]), |name| name.decoded_bytes(json));
                    if !is_index && !is_label(&name) {
                        let (leaf, container) = (self.values.len(), event.open.last().copied());
                        waiting.push(UnnamedString { leaf, container, name: hash_bytes(&name) });
                    }
                    // An index is part of the template: another value means another channel.
                    if !(is_index && self.texts_only) {
                        self.values.push(EventString { text: placed(text), channel: None });
                    }
                }
            }
        }
        self.name_channels(&event.containers, &waiting);
        tokens.is_complete()
    }

    /// Computes the channels of an event's strings, after all its indexes are known.
    fn name_channels(&mut self, containers: &[ChannelContainer], waiting: &[UnnamedString]) {
        let mut named: Vec<TextChannel> = Vec::with_capacity(containers.len());
        for container in containers {
            let above = container.parent.and_then(|parent| named.get(parent).copied());
            let above = above.unwrap_or(ROOT);
            let place = mix_hashes(mix_hashes(above.place, container.step), container.kind);
            let indexed = mix_hashes(
                mix_hashes(mix_hashes(above.indexed, container.step), container.kind),
                container.index,
            );
            named.push(TextChannel { indexed, place, name: 0 });
        }
        for UnnamedString { leaf, container, name } in waiting {
            let within = container.and_then(|container| named.get(container).copied());
            let within = within.unwrap_or(ROOT);
            let (indexed, place) =
                (mix_hashes(within.indexed, *name), mix_hashes(within.place, *name));
            self.values[*leaf].channel = Some(TextChannel { indexed, place, name: *name });
        }
    }
}

/// Returns the length of the string that a text begins with, up to its closing quote, and whether
/// it has escapes; `None` if it does not end.
fn string_length(text: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (0, false);
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((at, escaped));
        }
        escaped = true;
        at += 2;
    }
}

/// An event that is being read.
struct ChannelEvent<'a> {
    json: &'a [u8],
    containers: Vec<ChannelContainer>,
    open: Vec<usize>,
    /// The name of the member whose value comes next.
    name: Option<JsonText>,
}

impl ChannelEvent<'_> {
    /// Handles the beginning of a container, which `depth` includes. The elements of an array share
    /// one channel, unless an index distinguishes them.
    fn open_container(&mut self, depth: usize) {
        // Containers that were not closed are broken.
        self.open.truncate(depth.saturating_sub(1));
        let step = self.name.take().map_or(1, |name| hash_bytes(&name.decoded_bytes(self.json)));
        self.containers.push(ChannelContainer {
            parent: self.open.last().copied(),
            step,
            index: 0,
            kind: 0,
        });
        self.open.push(self.containers.len() - 1);
    }

    fn close_container(&mut self) {
        self.name = None;
        self.open.pop();
    }

    /// Takes a value that distinguishes its container from others at the same place. Returns
    /// whether it does.
    fn take_index(&mut self, value: Range<usize>) -> bool {
        let (Some(name), Some(container)) = (&self.name, self.open.last()) else { return false };
        let (name, value) = (name.decoded_bytes(self.json), &self.json[value]);
        let container = &mut self.containers[*container];
        let is_root = container.parent.is_none();
        if name.ends_with(b"ndex") || *name == *b"item_id" {
            // The order does not matter.
            container.index ^= mix_hashes(hash_bytes(&name), hash_bytes(value));
        } else if is_root && *name == *b"type" {
            container.kind = hash_bytes(value);
        } else {
            return false;
        }
        true
    }
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    FixedState::with_seed(7).hash_one(bytes)
}

fn mix_hashes(above: u64, below: u64) -> u64 {
    (above.rotate_left(23) ^ below).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
#[path = "text_channel_tests.rs"]
mod tests;
