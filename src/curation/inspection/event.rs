//! Messages of AWS event streams as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use loomrec_provider::Framing;
use loomrec_provider::framing::{self, StreamEvent};
use loomrec_recording::Chunk;

/// Returns for each chunk the messages that end in it: their type from the headers, and their
/// payload. A model's own JSON is decoded from its base64.
pub fn chunk_texts(chunks: &[Chunk]) -> Vec<String> {
    let bytes: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.data.iter().copied()).collect();
    let mut texts = vec![String::new(); chunks.len()];
    let mut ends = chunks.iter().scan(0, |end, chunk| {
        *end += chunk.data.len();
        Some(*end)
    });
    let (mut at, mut end) = (0, ends.next().unwrap_or(0));
    for event in framing::events(Framing::EventStream, &bytes) {
        while end < event.range.end
            && let Some(next) = ends.next()
        {
            (at, end) = (at + 1, next);
        }
        if let Some(text) = texts.get_mut(at) {
            let between = if text.is_empty() { "" } else { " " };
            text.push_str(between);
            text.push_str(&event_text(&event));
        }
    }
    for (text, chunk) in texts.iter_mut().zip(chunks) {
        if text.is_empty() && !chunk.data.is_empty() {
            "(part of a message)".clone_into(text);
        }
    }
    texts
}

/// Returns one message as text.
fn event_text(event: &StreamEvent<'_>) -> String {
    let kind = match (event.name, event.failed) {
        (Some(name), true) => format!("exception {name}"),
        (Some(name), false) => name.to_owned(),
        (None, true) => return "(a message that does not decode)".to_owned(),
        (None, false) if !event.finished => return "(a message that is cut)".to_owned(),
        (None, false) => "(a message without a type)".to_owned(),
    };
    let inner = event.json_data().as_ref().and_then(inner_event);
    let data = inner.as_deref().or(event.data.as_deref()).unwrap_or_default();
    format!("{kind} {}", String::from_utf8_lossy(data)).trim_end().to_owned()
}

/// Returns a model's own event from the base64 in a Bedrock chunk.
pub fn inner_event(chunk: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(chunk.get("bytes")?.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use loomrec_provider::framing::EventFrame;

    fn frame(name: &'static str, data: Value) -> Vec<u8> {
        let frame = EventFrame { name: Some(name), data: Some(data), exception: false };
        Framing::EventStream.write_events(&[frame]).concat()
    }

    fn told(chunks: &[&[u8]]) -> Vec<String> {
        let chunk = |data: &&[u8]| Chunk { at_ms: 0.0, data: data.to_vec().into() };
        chunk_texts(&chunks.iter().map(chunk).collect::<Vec<_>>())
    }

    #[test]
    fn a_message_is_told_in_the_chunk_in_which_it_ends() {
        let start = frame("messageStart", json!({ "role": "assistant" }));
        let stop = frame("contentBlockStop", json!({ "contentBlockIndex": 0 }));
        let all = [start.clone(), stop.clone(), stop].concat();
        let (start, stop) =
            (r#"messageStart {"role":"assistant"}"#, r#"contentBlockStop {"contentBlockIndex":0}"#);
        let within = all.len() - 9;
        let found = told(&[&all[..5], b"", &all[5..within], &all[within..]]);
        assert_eq!(found, ["(part of a message)", "", &format!("{start} {stop}"), stop]);
        assert_eq!(told(&[]), [""; 0]);
    }

    #[test]
    fn a_models_own_event_is_told_out_of_its_base64() {
        let bytes = STANDARD.encode("{\"type\":\"message_stop\"}");
        let chunk = frame("chunk", json!({ "bytes": bytes, "p": "abc" }));
        assert_eq!(told(&[&chunk]), ["chunk {\"type\":\"message_stop\"}"]);
    }

    #[test]
    fn what_is_no_event_is_told_as_what_it_is() {
        let exception = EventFrame::exception("throttlingException", json!({ "message": "no" }));
        let exception = Framing::EventStream.write_events(&[exception]).concat();
        assert_eq!(told(&[&exception]), [r#"exception throttlingException {"message":"no"}"#]);
        let mut changed = frame("a", json!({}));
        changed[20] ^= 1;
        let cut = &exception[..exception.len() - 1];
        assert_eq!(
            told(&[&changed, cut]),
            ["(a message that does not decode)", "(a message that is cut)"]
        );
    }
}
