//! Damage in a response: a wrong checksum, an event that was cut, invalid JSON. The recording keeps
//! such bytes unchanged, and so does replay.

use serde::de::IgnoredAny;

use loomrec_curation::inspection::event as message;
use loomrec_provider::framing::{self, StreamEvent};
use loomrec_provider::{Framing, Operation};

/// How many are described.
const NAMED: usize = 3;

/// Describes what does not decode in the uncompressed bytes of a successful response, in only a few
/// lines.
pub(super) fn notes(operation: Operation, media: &str, bytes: &[u8]) -> Vec<String> {
    // The data of an unknown endpoint is not judged, except for checksums.
    let framing = Framing::from_answer(operation, media, bytes);
    let known = operation != Operation::OTHER || framing == Some(Framing::EventStream);
    if bytes.is_empty() || !known {
        return Vec::new();
    }
    match framing {
        Some(Framing::Array) => check_json(bytes),
        Some(framing) => check_events(framing, bytes),
        None if media == "application/json" => check_json(bytes),
        None => Vec::new(),
    }
}

/// Checks a single JSON value.
fn check_json(bytes: &[u8]) -> Vec<String> {
    if is_json(bytes) { Vec::new() } else { vec!["the body is cut, or is not JSON".to_owned()] }
}

fn check_events(framing: Framing, bytes: &[u8]) -> Vec<String> {
    let numbered = framing::events(framing, bytes).enumerate();
    let mut found =
        numbered.filter_map(|(at, event)| Some((at + 1, event_damage(framing, &event)?)));
    let mut notes: Vec<String> =
        found.by_ref().take(NAMED).map(|(number, what)| format!("event {number} {what}")).collect();
    let more = found.count();
    if more > 0 {
        notes.push(format!("and {more} more"));
    }
    notes
}

/// Describes what is wrong with an event.
fn event_damage(framing: Framing, event: &StreamEvent<'_>) -> Option<String> {
    if event.failed {
        return Some(match event.name {
            Some(name) => format!("is an exception: {name}"),
            None => "does not decode: a checksum or a header is wrong".to_owned(),
        });
    }
    let Some(data) = event.data.as_deref() else {
        let cut = framing == Framing::EventStream && !event.finished;
        return cut.then(|| "is cut".to_owned());
    };
    if event.is_done() {
        return None;
    }
    if !is_json(data) {
        return Some(if event.finished { "is not JSON" } else { "is cut" }.to_owned());
    }
    let chunk = framing == Framing::EventStream && event.name == Some("chunk");
    let inner = || message::inner_event(&event.json_data()?);
    let broken = chunk && !inner().is_some_and(|inner| is_json(&inner));
    broken.then(|| "holds bytes that are cut, or are not JSON".to_owned())
}

fn is_json(bytes: &[u8]) -> bool {
    // The parser does not check skipped text, so the UTF-8 check comes first.
    std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;
    use loomrec_provider::framing::EventFrame;

    const STREAM: &str = "application/vnd.amazon.eventstream";

    fn chunk(text: &str) -> Value {
        json!({ "bytes": STANDARD.encode(text) })
    }

    fn stream(data: &[Value]) -> Vec<Vec<u8>> {
        let frames: Vec<EventFrame> = data
            .iter()
            .map(|data| EventFrame {
                exception: false,
                name: Some("chunk"),
                data: Some(data.clone()),
            })
            .collect();
        Framing::EventStream.write_events(&frames)
    }

    #[test]
    fn nothing_is_said_of_what_decodes() {
        let chunks = stream(&[chunk("{}"), chunk("{\"a\":1}")]).concat();
        for (operation, media, bytes) in [
            (Operation::INVOKE, STREAM, chunks.as_slice()),
            (Operation::CHAT_COMPLETIONS, "text/event-stream", b": hi\n\ndata: {}\n\ndata: [DONE]"),
            (Operation::OLLAMA_CHAT, "application/x-ndjson", b"{}\n{}"),
            (Operation::MESSAGES, "application/json", b"{}"),
            (Operation::MESSAGES, "application/json", b""),
            (Operation::GENERATE_CONTENT, "application/json", b"[{}\r\n,{}]"),
            (Operation::SPEECH, "audio/mpeg", b"\xff\xfb"),
            (Operation::OTHER, "application/json", b"{"),
            (Operation::OTHER, "text/event-stream", b"data: hello\n\n"),
        ] {
            assert_eq!(notes(operation, media, bytes), [""; 0], "{operation:?} {media}");
        }
    }

    #[test]
    fn what_does_not_decode_is_named() {
        let chunks = stream(&[chunk("{}"), chunk("{\"a\":"), chunk("{}")]);
        let mut changed = chunks[0].clone();
        changed[20] ^= 1;
        let exception = EventFrame::exception("throttlingException", json!({ "message": "no" }));
        let exception = Framing::EventStream.write_events(&[exception]).concat();
        let bytes =
            [&changed, &chunks[1], &exception, &chunks[2][..30]].map(<[u8]>::to_vec).concat();
        assert_eq!(
            notes(Operation::INVOKE, STREAM, &bytes),
            [
                "event 1 does not decode: a checksum or a header is wrong",
                "event 2 holds bytes that are cut, or are not JSON",
                "event 3 is an exception: throttlingException",
                "and 1 more",
            ]
        );
        assert_eq!(notes(Operation::OTHER, STREAM, &chunks[0][..30]), ["event 1 is cut"]);
        let lines = notes(Operation::OLLAMA_CHAT, "application/x-ndjson", b"{}\n{\"a\n{\"b\":");
        assert_eq!(lines, ["event 2 is not JSON", "event 3 is cut"]);
        let event = b"data: {}\n\ndata: {\"a\":\"\xff\"}\n\n";
        let bytes = notes(Operation::CHAT_COMPLETIONS, "text/event-stream", event);
        assert_eq!(bytes, ["event 2 is not JSON"]);
        for (operation, body) in [
            (Operation::MESSAGES, &b"{\"a\":"[..]),
            (Operation::MESSAGES, b"{\"a\":\"\xff\"}"),
            (Operation::GENERATE_CONTENT, b"[{}"),
        ] {
            let found = notes(operation, "application/json", body);
            assert_eq!(found, ["the body is cut, or is not JSON"]);
        }
    }
}
