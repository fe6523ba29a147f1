//! The application of faults to answers.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use loomrec_fault::{BodyStep, BodyTransform, Fault, rewrite_answer, substitute_for};
use loomrec_provider::{
    Framing, Operation, Provider, ResponseFormat, TranscriptFormat, VectorTypes,
};

const COMPLETE: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
const STREAM: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"He\"}}]}\n\ndata: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"llo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// More steps than such a body can have.
const MOST: usize = 10_000;

/// Applies a fault to each of the answers in every possible way.
///
/// # Panics
/// If it does not come to an end, or sends more than it can.
pub fn put_to_work(fault: &Fault) {
    for framing in [None, Some(Framing::Sse)] {
        let asked = asked();
        let body = if framing.is_some() { STREAM } else { COMPLETE };
        let _ = substitute_for(fault, Provider::OPEN_AI, &asked, framing.is_some());
        let _ = rewrite_answer(fault, &asked, framing, body.as_bytes());
        let announced = framing.is_none().then_some(body.len() as u64);
        let Ok(distort) = BodyTransform::new(fault, &asked, framing, announced, 0.5) else {
            continue;
        };
        send(distort, body.as_bytes());
    }
}

fn asked() -> ResponseFormat<'static> {
    ResponseFormat {
        operation: Operation::CHAT_COMPLETIONS,
        upstream: "openai",
        model: Some("m"),
        framing: Framing::Sse,
        usage: true,
        base64: false,
        vectors: VectorTypes::Unspecified,
        inputs: None,
        choices: 1,
        transcript: TranscriptFormat::Json,
        target: None,
    }
}

fn send(mut distort: BodyTransform, body: &[u8]) {
    let (mut status, mut headers) = (StatusCode::OK, HeaderMap::new());
    distort.change_head(&mut status, &mut headers, Some(body.len() as u64));
    let mut steps = 0;
    let mut sent = 0;
    let mut drain = |distort: &mut BodyTransform| {
        while let Some(step) = distort.next_step() {
            steps += 1;
            assert!(steps < MOST, "a fault comes to its end");
            match step {
                BodyStep::Send(bytes) | BodyStep::Behind(bytes) => sent += bytes.len(),
                BodyStep::Wait(_) => {}
                BodyStep::Stall | BodyStep::Cut(_) | BodyStep::End => return,
            }
        }
    };
    for chunk in body.chunks(50) {
        distort.feed(Bytes::copy_from_slice(chunk));
        drain(&mut distort);
    }
    distort.finish();
    drain(&mut distort);
    assert!(sent <= 2 * body.len() + (1 << 20), "no more is sent than there is: {sent}");
}
