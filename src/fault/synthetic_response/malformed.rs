//! Responses with status 200 that do not parse.

use serde_json::json;

use super::SyntheticResponse;
use crate::broken_message;
use loomrec_provider::ResponseFormat;
use loomrec_provider::framing::{self, EventFrame, Framing};

/// The default text that does not parse.
const MALFORMED: &str = r#"{"malformed": "#;

/// Makes the response. In place of a stream it is an event whose data does not parse, because bytes
/// that are no event would be read as an empty stream. Text that already is an event is sent as it
/// is.
pub(super) fn malformed_response(
    raw: Option<&str>,
    format: &ResponseFormat<'_>,
    streamed: bool,
) -> SyntheticResponse {
    let text = raw.unwrap_or(MALFORMED);
    if !streamed {
        return SyntheticResponse::with_body(200, "application/json", text);
    }
    SyntheticResponse::with_body(200, format.framing.media_type(), framed_text(text, format))
}

fn framed_text(text: &str, format: &ResponseFormat<'_>) -> Vec<u8> {
    // SDKs that select events by name ignore one without a name.
    let name = format.operation.first_event();
    match format.framing {
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
            let whole = Framing::EventStream.write_events(&[frame]).concat();
            broken_message::with_payload(&whole, text.as_bytes()).unwrap_or(whole)
        }
    }
}
