//! Streams of JSON-RPC messages, as servers of tools send them over HTTP (the Model Context Protocol).
//! Such a stream answers one request: its response is the last message.

use super::answer_outcome::{AnswerEvent, OutcomeRules, StreamProgress};

/// The rules of operations that no provider's row describes. Only HTTP judges their answers.
pub(super) const RULES: OutcomeRules =
    OutcomeRules { event: Some(take_event), end_mark: "a response", ..OutcomeRules::HTTP_ONLY };

/// Takes a message: a response ends the stream, requests and notifications do not.
fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    let is_response = event.read_json(|json| {
        let has = |name| json.get(name).is_some();
        has("jsonrpc") && has("id") && (has("result") || has("error"))
    });
    if is_response == Some(true) {
        progress.note_end();
    }
}
