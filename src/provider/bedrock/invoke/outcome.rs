//! How the streams of Bedrock's InvokeModel end and fail: Bedrock adds its counts to the last chunk,
//! and a model's own event may end the answer, too.

use super::chunk::{METRICS, decode_chunk};
use crate::answer_outcome::{AnswerEvent, OutcomeRules, StreamProgress};
use crate::error_text::with_json;
use crate::json_view::JsonView;
use crate::openai::chat;
use loomrec_identity::Json;
use serde_json::Value;

pub(super) const OUTCOME: OutcomeRules =
    OutcomeRules { event: Some(take_event), end_mark: "its last chunk", ..OutcomeRules::JSON };

/// The members in which older models say why they stopped.
const REASONS: [&str; 4] = ["stop_reason", "completionReason", "finish_reason", "finishReason"];

fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    let Some(native) =
        serde_json::from_slice::<Value>(event.bytes).ok().as_ref().and_then(decode_chunk)
    else {
        return;
    };
    with_json(Value::Object(native).to_string().as_bytes(), |json| {
        take_native_event(progress, json)
    });
}

/// Takes a model's own event.
fn take_native_event(progress: &mut StreamProgress, json: &Json<'_>) {
    progress.note_known();
    chat::take_chunk(progress, json);
    let says = |kind: &str| json.get("type").and_then(Json::as_str).as_deref() == Some(kind);
    let told = |name: &&str| json.get(name).is_some_and(|reason| !reason.is_nothing());
    let is_last = json.get(METRICS).is_some()
        || says("message_stop")
        || json.get("messageStop").is_some()
        || REASONS.iter().any(told);
    if is_last {
        progress.note_end();
    }
}
