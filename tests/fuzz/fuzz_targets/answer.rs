//! Fuzz target for the answers of each provider: their meaning, and the other mode of delivery.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_provider::{
    Framing, Operation, ReceivedAnswer, ReceivedBody, ResponseFormat, TranscriptFormat,
    TransportEnd, VectorTypes, judge_answer, read_answer, reframe, to_complete, to_stream,
    write_answer,
};

const FRAMINGS: [Framing; 4] = [Framing::Sse, Framing::Lines, Framing::Array, Framing::EventStream];

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&[operation, form], body)) = data.split_first_chunk() else {
        return Corpus::Reject;
    };
    let operations: Vec<Operation> = Operation::all().collect();
    let asked = ResponseFormat {
        operation: operations[usize::from(operation) % operations.len()],
        upstream: "upstream",
        model: Some("model"),
        framing: FRAMINGS[usize::from(form) % 4],
        usage: form & 4 != 0,
        base64: form & 8 != 0,
        vectors: VectorTypes::Unspecified,
        inputs: None,
        choices: 1,
        transcript: TranscriptFormat::Json,
        target: None,
    };
    for framing in [None, Some(asked.framing)] {
        let Some(answer) = read_answer(asked.operation, framing, body) else { continue };
        assert_eq!(read_answer(asked.operation, framing, body).as_ref(), Some(&answer));
        if let Ok(written) = write_answer(&asked, &answer, "seed") {
            assert!(
                serde_json::from_slice::<serde_json::Value>(&written).is_ok(),
                "what is written of an answer is JSON"
            );
        }
    }
    for media in ["application/json", asked.framing.media_type()] {
        let judged = judge_answer(&ReceivedAnswer {
            operation: asked.operation,
            method: "POST",
            status: 200,
            media: media.split(';').next().unwrap_or_default(),
            body: ReceivedBody::Plain(body),
            is_read: false,
            end: TransportEnd::Complete,
            grpc_status: None,
        });
        assert_eq!(judged.is_failure(), !judged.reason.is_empty(), "each failure has a reason");
    }
    if let Ok(complete) = to_complete(&asked, asked.framing, body) {
        assert_eq!(to_complete(&asked, asked.framing, body).ok().as_ref(), Some(&complete));
    }
    if let Ok(events) = to_stream(&asked, body) {
        let stream = events.concat();
        // An answer that can be turned into a stream can be put together again.
        let again = to_complete(&asked, asked.framing, &stream);
        if let (Ok(again), Some(before)) = (again, read_answer(asked.operation, None, body)) {
            let after = read_answer(asked.operation, None, &again).map(|answer| answer.content);
            assert_eq!(after, Some(before.content), "a stream says what its answer says");
        }
    }
    for other in FRAMINGS {
        let _ = reframe(asked.operation, (asked.framing, other), body, form & 16 != 0);
    }
    Corpus::Keep
});
