//! Which strings of a stream's events belong together.
//!
//! A stream carries a text in pieces, one an event. The pieces of one text stand at the
//! same place in their events and have the same indexes beside them on the way there
//! (`index`, `output_index`, `item_id`, …): that is their channel. No provider needs to
//! be known for it.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::json_tokens::{JsonText, JsonTokens, Token};

/// Members whose strings name something, and are no piece of a text.
const LABELS: [&[u8]; 22] = [
    b"created_at",
    b"event",
    b"event_id",
    b"finishReason",
    b"finish_reason",
    b"id",
    b"modelVersion",
    b"model",
    b"native_finish_reason",
    b"obfuscation",
    b"object",
    b"p",
    b"provider",
    b"responseId",
    b"response_id",
    b"role",
    b"service_tier",
    b"status",
    b"stop_reason",
    b"system_fingerprint",
    b"type",
    b"stopReason",
];

/// A string of an event that is a value.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) text: JsonText,
    /// Its channel; `None` where it is no piece of a text.
    pub(super) channel: Option<Channel>,
}

/// The name of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    /// Of the strings with the same indexes beside them.
    pub(super) indexed: u64,
    /// Of all strings that stand at the same place.
    pub(super) place: u64,
    /// Of all strings under the same name.
    pub(super) name: u64,
}

/// The strings of a stream's events.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    pub(super) values: Vec<Leaf>,
    pub(super) names: Vec<JsonText>,
}

/// An object or an array of an event.
struct Container {
    parent: Option<usize>,
    /// The hash of the name it stands under.
    step: u64,
    /// That of the indexes in it.
    index: u64,
    /// That of what it is: its `type`, where it is the event itself.
    kind: u64,
}

/// A string whose channel is not known yet: its indexes may stand behind it.
struct Waiting {
    leaf: usize,
    container: usize,
    name: u64,
}

impl Leaves {
    /// Adds the strings of an event, which stands at `range` of `source`. Returns whether
    /// the event is JSON in full.
    pub(super) fn add_event(&mut self, source: &[u8], range: Range<usize>) -> bool {
        let json = &source[range.clone()];
        let mut event = Event { json, containers: Vec::new(), open: Vec::new(), name: None };
        let mut waiting = Vec::new();
        let mut tokens = JsonTokens::new(json);
        let placed = |text: JsonText| JsonText {
            range: text.range.start + range.start..text.range.end + range.start,
            ..text
        };
        while let Some(token) = tokens.next() {
            match token {
                Token::Open => event.open(tokens.depth()),
                Token::Close => event.close(),
                Token::Name(text) => {
                    event.name = Some(text.range.clone());
                    self.names.push(placed(text));
                }
                Token::Scalar(value) => _ = event.take_index(value),
                Token::Value(text) => {
                    let is_index = event.take_index(text.range.clone());
                    let name = event.name.take().map(|name| &json[name]);
                    let is_label = is_index || name.is_some_and(|name| LABELS.contains(&name));
                    if let (false, Some(container)) = (is_label, event.open.last()) {
                        let (leaf, container) = (self.values.len(), *container);
                        waiting.push(Waiting { leaf, container, name: hash(name.unwrap_or(b"")) });
                    }
                    self.values.push(Leaf { text: placed(text), channel: None });
                }
            }
        }
        self.name_channels(&event.containers, &waiting);
        tokens.is_complete()
    }

    /// Names the channels of an event's strings, once all its indexes are known.
    fn name_channels(&mut self, containers: &[Container], waiting: &[Waiting]) {
        let mut named: Vec<Channel> = Vec::with_capacity(containers.len());
        for container in containers {
            let above = container.parent.and_then(|parent| named.get(parent).copied());
            let above = above.unwrap_or(Channel { indexed: 0, place: 0, name: 0 });
            let place = mix(mix(above.place, container.step), container.kind);
            let indexed =
                mix(mix(mix(above.indexed, container.step), container.kind), container.index);
            named.push(Channel { indexed, place, name: 0 });
        }
        for Waiting { leaf, container, name } in waiting {
            let Some(within) = named.get(*container) else { continue };
            let (indexed, place) = (mix(within.indexed, *name), mix(within.place, *name));
            self.values[*leaf].channel = Some(Channel { indexed, place, name: *name });
        }
    }
}

/// An event that is being read.
struct Event<'a> {
    json: &'a [u8],
    containers: Vec<Container>,
    open: Vec<usize>,
    /// The name of the member whose value comes next.
    name: Option<Range<usize>>,
}

impl Event<'_> {
    /// A container begins; `depth` counts it. The elements of an array have one channel,
    /// unless an index tells them apart.
    fn open(&mut self, depth: usize) {
        // What was read before is broken where it was not closed.
        self.open.truncate(depth.saturating_sub(1));
        let step = self.name.take().map_or(1, |name| hash(&self.json[name]));
        self.containers.push(Container {
            parent: self.open.last().copied(),
            step,
            index: 0,
            kind: 0,
        });
        self.open.push(self.containers.len() - 1);
    }

    fn close(&mut self) {
        self.name = None;
        self.open.pop();
    }

    /// Takes a value that tells its container apart from others at the same place.
    fn take_index(&mut self, value: Range<usize>) -> bool {
        let (Some(name), Some(container)) = (&self.name, self.open.last()) else { return false };
        let (name, value) = (&self.json[name.clone()], &self.json[value]);
        let container = &mut self.containers[*container];
        let is_root = container.parent.is_none();
        if name.ends_with(b"ndex") || name == b"item_id" {
            // In any order.
            container.index ^= mix(hash(name), hash(value));
        } else if is_root && name == b"type" {
            container.kind = hash(value);
        } else {
            return false;
        }
        true
    }
}

fn hash(bytes: &[u8]) -> u64 {
    FixedState::with_seed(7).hash_one(bytes)
}

fn mix(above: u64, below: u64) -> u64 {
    (above.rotate_left(23) ^ below).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the channels of these events, in the order of their beginnings.
    fn channels(events: &[&str]) -> Vec<String> {
        let source = events.concat();
        let mut leaves = Leaves::default();
        let mut at = 0;
        for event in events {
            assert!(leaves.add_event(source.as_bytes(), at..at + event.len()), "{event}");
            at += event.len();
        }
        let mut texts: Vec<(u64, String)> = Vec::new();
        for leaf in &leaves.values {
            let Some(channel) = leaf.channel else { continue };
            let text = &source[leaf.text.range.clone()];
            match texts.iter_mut().find(|(known, _)| *known == channel.indexed) {
                Some((_, known)) => known.push_str(text),
                None => texts.push((channel.indexed, text.to_owned())),
            }
        }
        texts.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn pieces_with_the_same_index_are_one_text_wherever_they_stand() {
        let texts = channels(&[
            r#"{"id":"x","choices":[{"index":0,"delta":{"content":"a"}},{"delta":{"content":"1"},"index":1}]}"#,
            r#"{"id":"x","choices":[{"delta":{"content":"2"},"index":1}]}"#,
            r#"{"id":"x","choices":[{"delta":{"content":"b","role":"assistant"},"index":0}]}"#,
        ]);
        assert_eq!(texts, ["ab", "12"]);
    }

    #[test]
    fn events_of_another_type_or_item_are_another_text() {
        let texts = channels(&[
            r#"{"type":"text.delta","item_id":"i1","output_index":0,"delta":"a"}"#,
            r#"{"type":"arguments.delta","item_id":"i2","output_index":1,"delta":"{"}"#,
            r#"{"type":"text.delta","item_id":"i1","output_index":0,"delta":"b"}"#,
            r#"{"type":"arguments.delta","item_id":"i2","output_index":1,"delta":"}"}"#,
        ]);
        assert_eq!(texts, ["ab", "{}"]);
    }

    #[test]
    fn parts_without_an_index_are_one_text() {
        let texts = channels(&[
            r#"{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]},"index":0}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"c"}]},"index":0}]}"#,
        ]);
        assert_eq!(texts, ["abc"]);
    }
}
