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

/// Whether the strings of members of this name name something, and are no piece of a text.
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
    /// Whether only pieces of texts are wanted.
    texts_only: bool,
    template: Option<Template>,
}

/// An event that the next ones may be like: they differ in what some strings say, and in
/// nothing else.
#[derive(Debug)]
struct Template {
    event: Range<usize>,
    /// The strings that may differ: where they stand in the event, and their channels.
    strings: Vec<(Range<usize>, Option<Channel>)>,
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
    /// For the pieces of texts alone: no names, and no strings that name something.
    pub(super) fn of_texts() -> Self {
        Self { texts_only: true, ..Self::default() }
    }

    /// Adds the strings of an event, which stands at `range` of `source`. Returns whether
    /// the event is JSON in full.
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
        let place = |leaf: &Leaf| {
            let text = &leaf.text.range;
            (text.start - range.start..text.end - range.start, leaf.channel)
        };
        let strings = added.iter().map(place).collect();
        self.template = is_json.then(|| Template { event: range.clone(), strings });
        self.values.extend(added.into_iter().filter(|leaf| leaf.channel.is_some()));
        is_json
    }

    /// Adds the pieces of an event that is like the template. Gives whether it is.
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
                self.values.push(Leaf { text, channel: *channel });
            }
        }
        let is_alike = new.get(at..) == Some(&old[old_at..]);
        if !is_alike {
            self.values.truncate(count);
        }
        is_alike
    }

    /// Reads an event and adds all its strings, but for those that are indexes.
    fn read_event(&mut self, source: &[u8], range: Range<usize>) -> bool {
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
                    let is_label = is_index || name.is_some_and(is_label);
                    if let (false, Some(container)) = (is_label, event.open.last()) {
                        let (leaf, container) = (self.values.len(), *container);
                        waiting.push(Waiting { leaf, container, name: hash(name.unwrap_or(b"")) });
                    }
                    // Another index, another channel: it may not differ.
                    if !(is_index && self.texts_only) {
                        self.values.push(Leaf { text: placed(text), channel: None });
                    }
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

/// How long the string is that a text begins with, up to its closing quote, and whether
/// there are escapes in it; `None` where it does not end.
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
    use proptest::prelude::*;

    use super::*;

    /// The texts of the channels of these events, in the order of their beginnings.
    fn channels(events: &[&str]) -> Vec<String> {
        let texts = texts_in(Leaves::default(), events);
        assert_eq!(texts_in(Leaves::of_texts(), events), texts);
        texts
    }

    fn texts_in(mut leaves: Leaves, events: &[&str]) -> Vec<String> {
        let source = events.concat();
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
    fn events_that_differ_in_their_strings_alone_are_read_alike() {
        let event = |id: &str, text: &str, end: &str| {
            format!(
                r#"{{"id":"{id}","n":1,"d":[{{"index":0,"t":"{text}","u":"same"}}],"e":{end}}}"#
            )
        };
        let events = [
            event("a", "one", "null"),
            event("abc", r#" \"two\\"#, "null"),
            event("", "", "null"),
            event("a", "three", "1"),
            event("a", "}],", "1"),
            event("a", "four", "\"stop\""),
            event("b", "five", "\"\""),
        ];
        let texts = channels(&events.each_ref().map(String::as_str));
        let all = r#"one \"two\\three}],fourfive"#;
        assert_eq!(texts, [all, &"same".repeat(7), "stop"]);
    }

    proptest! {
        #[test]
        fn what_is_wanted_is_the_same_whether_events_are_alike_or_not(
            events in prop::collection::vec(("[ab\"\\\\{]{0,3}", 0..3_u8, 0..2_u8, "[ab]{0,2}"), 1..12),
        ) {
            let event = |(text, index, shape, label): &(String, u8, u8, String)| {
                let text = serde_json::to_string(text).unwrap();
                match shape {
                    0 => format!(r#"{{"id":"{label}","index":{index},"text":{text}}}"#),
                    _ => format!(r#"{{"type":"{label}","part":{{"text":{text}}},"n":{index}}}"#),
                }
            };
            let events: Vec<String> = events.iter().map(event).collect();
            let events: Vec<&str> = events.iter().map(String::as_str).collect();
            let all = texts_in(Leaves::default(), &events);
            prop_assert_eq!(texts_in(Leaves::of_texts(), &events), all);
        }
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
