//! Calls for the tests: each operation in its usual framing.

use super::{
    Answer, Framing, JudgedAnswer, ModeError, Operation, ReceivedAnswer, ReceivedBody,
    ResponseFormat, TranscriptFormat, TransportEnd, VectorTypes, judge_answer,
};

/// The format that a request for `operation` asks for; events if there is a choice.
pub(super) fn format_of(operation: Operation, usage: bool) -> ResponseFormat<'static> {
    let framing = framing(operation);
    // A Bedrock model's own format is chosen by its name.
    let model = (operation == Operation::INVOKE).then_some("us.anthropic.claude-sonnet-4-v1:0");
    ResponseFormat {
        operation,
        upstream: "",
        model,
        framing,
        usage,
        base64: false,
        vectors: VectorTypes::Unspecified,
        inputs: None,
        choices: 1,
        transcript: TranscriptFormat::Json,
        target: None,
    }
}

pub(super) fn framing(operation: Operation) -> Framing {
    Framing::from_request(operation, "alt=sse")
}

pub(super) fn read(operation: Operation, streamed: bool, bytes: &[u8]) -> Option<Answer> {
    super::read_answer(operation, streamed.then(|| framing(operation)), bytes)
}

pub(super) fn to_complete(operation: Operation, stream: &[u8]) -> Result<Vec<u8>, ModeError> {
    super::to_complete(&format_of(operation, false), framing(operation), stream)
}

pub(super) fn to_stream(
    operation: Operation,
    body: &[u8],
    usage: bool,
) -> Result<Vec<Vec<u8>>, ModeError> {
    super::to_stream(&format_of(operation, usage), body)
}

pub(super) fn write(
    operation: Operation,
    answer: &Answer,
    seed: &str,
) -> Result<Vec<u8>, ModeError> {
    super::write_answer(&format_of(operation, true), answer, seed)
}

/// Whether a stream came to its own end; `None` if such streams are not merged.
pub(super) fn ended_well(operation: Operation, bytes: &[u8]) -> Option<bool> {
    let merge = operation.row().merge?;
    Some(merge(framing(operation), bytes).is_some_and(|merged| merged.ended))
}

/// Judges a whole answer with status 200 to a POST.
pub(super) fn judge(operation: Operation, media: &str, bytes: &[u8]) -> JudgedAnswer {
    judge_answer(&ReceivedAnswer {
        operation,
        method: "POST",
        status: 200,
        media,
        body: ReceivedBody::Plain(bytes),
        is_read: false,
        end: TransportEnd::Complete,
        grpc_status: None,
    })
}
