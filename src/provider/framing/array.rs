//! The elements of one JSON array.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::event::{EventFrame, StreamEvent};

/// Iterates over the elements of an array. The bytes after the last complete element are one more
/// event: it carries nothing if it is the closing bracket, else it is an incomplete element.
pub(super) fn events(bytes: &[u8]) -> impl Iterator<Item = StreamEvent<'_>> {
    let blank = |rest: &[u8]| {
        rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b',').count()
    };
    let start = blank(bytes);
    let mut at = start + usize::from(bytes.get(start) == Some(&b'['));
    let mut begin = 0;
    std::iter::from_fn(move || {
        at += blank(bytes.get(at..)?);
        let rest = bytes.get(at..)?;
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Box<RawValue>>();
        if let Some(Ok(_)) = values.next() {
            let end = at + values.byte_offset();
            let data = Some(Cow::Borrowed(&bytes[at..end]));
            let range = begin..end;
            (at, begin) = (end, end);
            return Some(StreamEvent { range, name: None, data, finished: true, failed: false });
        }
        let range = begin..bytes.len();
        let closed = rest.trim_ascii_end() == b"]";
        let cut = !closed && !rest.is_empty();
        let data = cut.then_some(Cow::Borrowed(rest));
        (at, begin) = (bytes.len() + 1, bytes.len());
        let event = StreamEvent { range, name: None, data, finished: closed, failed: false };
        (!event.range.is_empty()).then_some(event)
    })
}

/// The bytes of a whole array, one chunk per element; the last chunk ends the array.
pub(super) fn write(frames: &[EventFrame]) -> Vec<Vec<u8>> {
    let data: Vec<_> = frames.iter().filter_map(|frame| frame.data.as_ref()).collect();
    let last = data.len().saturating_sub(1);
    let element = |(place, data): (usize, &&serde_json::Value)| {
        let before = if place == 0 { "[" } else { ",\r\n" };
        let after = if place == last { "]" } else { "" };
        format!("{before}{data}{after}").into_bytes()
    };
    data.iter().enumerate().map(element).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn seen(bytes: &[u8]) -> Vec<(Option<String>, bool)> {
        let text = |data: Cow<'_, [u8]>| String::from_utf8(data.into_owned()).unwrap();
        events(bytes).map(|event| (event.data.map(text), event.finished)).collect()
    }

    #[test]
    fn elements_are_found_when_they_stand_in_many_lines() {
        let found = seen(b" [{\"a\":\n [1]},\r\n[2] ,3\n]\n");
        let data: Vec<_> = found.iter().map(|(data, _)| data.as_deref()).collect();
        assert_eq!(data, [Some("{\"a\":\n [1]}"), Some("[2]"), Some("3"), None]);
        assert!(found.iter().all(|(_, finished)| *finished));
    }

    #[test]
    fn a_cut_element_is_the_last_and_unfinished() {
        let found = seen(b"[{\"a\":1},{\"b\":[1]");
        assert_eq!(found.last().unwrap(), &(Some("{\"b\":[1]".to_owned()), false));
        assert_eq!(seen(b"[{}"), [(Some("{}".to_owned()), true)]);
        assert_eq!(seen(b"["), [(None, false)]);
        assert_eq!(seen(b"[]"), [(None, true)]);
        assert_eq!(seen(b""), []);
    }

    proptest! {
        #[test]
        fn events_cover_any_buffer_without_a_gap(text in "[\\[\\]{},\"a1 \n]{0,40}") {
            let mut at = 0;
            for event in events(text.as_bytes()) {
                prop_assert_eq!(event.range.start, at);
                prop_assert!(event.range.end > at);
                at = event.range.end;
            }
            prop_assert_eq!(at, text.len());
        }

        #[test]
        fn what_is_written_is_found_again(numbers in prop::collection::vec(any::<u32>(), 1..5)) {
            let frames: Vec<EventFrame> =
                numbers.iter().map(|number| EventFrame::unnamed(json!({"n": number}))).collect();
            let bytes = write(&frames).concat();
            let found: Vec<Option<Value>> = events(&bytes).map(|event| event.json()).collect();
            let mut expected: Vec<_> = frames.into_iter().map(|frame| frame.data).collect();
            expected.push(None);
            prop_assert_eq!(found, expected);
        }
    }
}
