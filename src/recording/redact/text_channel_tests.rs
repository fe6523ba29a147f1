use proptest::prelude::*;

use super::*;

/// Returns the texts of the channels of these events, in order of their beginnings.
fn channels(events: &[&str]) -> Vec<String> {
    let texts = texts_in(EventStrings::default(), events);
    assert_eq!(texts_in(EventStrings::of_texts(), events), texts);
    texts
}

fn texts_in(mut leaves: EventStrings, events: &[&str]) -> Vec<String> {
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
        format!(r#"{{"id":"{id}","n":1,"d":[{{"index":0,"t":"{text}","u":"same"}}],"e":{end}}}"#)
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
        let all = texts_in(EventStrings::default(), &events);
        prop_assert_eq!(texts_in(EventStrings::of_texts(), &events), all);
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
