//! An answer with status 200 that does not parse.

use serde_json::json;

use super::SyntheticResponse;
use crate::broken_message;
use loomrec_provider::ResponseFormat;
use loomrec_provider::framing::{self, EventFrame, Framing};

/// What does not parse where nothing is given.
const MALFORMED: &str = r#"{"malformed": "#;

/// The answer. In place of a stream it is an event that carries what does not parse:
/// bytes that are no event at all would be taken for a stream that says nothing. What
/// is given as an event already goes out as it is.
pub(super) fn malformed(
    raw: Option<&str>,
    asked: &ResponseFormat<'_>,
    streamed: bool,
) -> SyntheticResponse {
    let text = raw.unwrap_or(MALFORMED);
    if !streamed {
        return SyntheticResponse::of(200, "application/json", text);
    }
    SyntheticResponse::of(200, asked.framing.media(), framed(text, asked))
}

fn framed(text: &str, asked: &ResponseFormat<'_>) -> Vec<u8> {
    // SDKs that go by the name pass over an event without one.
    let name = asked.operation.first_event();
    match asked.framing {
        Framing::Sse
            if framing::events(Framing::Sse, text.as_bytes()).any(|it| it.data.is_some()) =>
        {
            text.into()
        }
        Framing::Sse => {
            let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
            let lines: String = text.split('\n').map(|line| format!("data: {line}\n")).collect();
            format!("{name}{lines}\n").into_bytes()
        }
        Framing::Lines => format!("{text}\n").into_bytes(),
        Framing::Array if text.trim_start().starts_with('[') => text.into(),
        Framing::Array => format!("[{text}").into_bytes(),
        Framing::EventStream => {
            let frame = EventFrame { name, data: Some(json!({})), exception: false };
            let whole = Framing::EventStream.write(&[frame]).concat();
            broken_message::with_payload(&whole, text.as_bytes()).unwrap_or(whole)
        }
    }
}
