//! Calls that the recording does not answer, in a run that does not record.

use std::sync::Arc;

use http::{Response, StatusCode};

use super::answer_body::AnswerBody;
use super::call_outcome::{AnswerOrigin, CallOutcome};
use super::call_result::CallResult;
use super::error_response;
use super::forwarding::Forwarding;
use super::incoming_call::IncomingCall;
use super::live_call;
use super::prescribed_answer::{mismatch_answer, prescribed_answer};
use crate::replay::{RecordingMismatchError, ReplayEngine, ScriptAnswer, UnexplainedMiss};
use crate::upstream::UpstreamClient;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;
use loomrec_script::{NoScriptedResponse, RuleLookup};

/// What a call gets if the recording does not answer it.
#[derive(Clone)]
pub enum MissPolicy {
    /// A mismatch error.
    Error,
    /// The placeholder answer.
    Placeholder,
    /// The live upstream's answer, which is not recorded.
    Forward {
        /// Sends the request.
        client: UpstreamClient,
        /// Makes the request that goes upstream.
        forwarding: Forwarding,
    },
}

/// An explained miss.
pub struct ExplainedMiss<'a> {
    /// When the call arrived, in microseconds since 1970.
    pub arrived_at: i64,
    /// The request, as it may be stored.
    pub observed: &'a NormalizedRequest,
    /// The credentials that it carried.
    pub secrets: &'a Arc<CallCredentials>,
    /// Why there is no answer.
    pub error: &'a RecordingMismatchError,
}

/// Callback for each explained miss. It runs on a thread that may block on files.
pub type OnExplainedMiss = Arc<dyn Fn(&ExplainedMiss<'_>) + Send + Sync>;

/// Answers a call that no take answers: from the script, else as the policy says.
pub(super) async fn answer_call(
    replay: &Arc<ReplayEngine>,
    on_miss: &MissPolicy,
    on_explained: &OnExplainedMiss,
    call: &IncomingCall,
    mut miss: UnexplainedMiss,
) -> CallResult {
    let (observed, arrived) = (call.storable_request(), call.arrived.into());
    let rule = std::mem::take(&mut miss.rule);
    let is_answered =
        matches!((on_miss, &rule), (MissPolicy::Forward { .. }, _) | (_, RuleLookup::Claimed(_)));
    // A take that cannot be given to the call is no reason for another answer.
    if !is_answered
        && !miss.has_take()
        && let Some(answer) = prescribed_answer(call, replay.matcher().recorded_servers())
    {
        return answer;
    }
    if let Some(scripted) = replay.scripted_answer(observed, call.error_shape(), arrived, rule) {
        return match scripted {
            Ok(answer) => scripted_answer(answer),
            Err(why) => unscripted_result(call, &why),
        };
    }
    match on_miss {
        MissPolicy::Forward { client, forwarding } => {
            return live_call::forward_call(client, forwarding, call).await;
        }
        MissPolicy::Placeholder => {
            if let Ok(response) = replay.placeholder_answer(observed, arrived) {
                let response = response.map(AnswerBody::Replay);
                let origin = Some(AnswerOrigin::Placeholder);
                return CallResult {
                    origin,
                    ..CallResult::new(response, CallOutcome::Placeholder)
                };
            }
        }
        MissPolicy::Error => {}
    }
    let error = explain_on_own_thread(replay, on_explained, call, miss).await;
    let response = mismatch_answer(call, &error);
    CallResult::new(response, CallOutcome::Missed(Arc::new(error)))
}

fn scripted_answer(answer: ScriptAnswer) -> CallResult {
    let ScriptAnswer { response, turn, streamed } = answer;
    let due = response.body().first_due();
    let response: Response<AnswerBody> = response.map(AnswerBody::Replay);
    let origin = Some(AnswerOrigin::Script { streamed });
    CallResult { origin, due, ..CallResult::new(response, CallOutcome::Scripted { turn }) }
}

/// Returns the error for a call that the script has no answer for.
fn unscripted_result(call: &IncomingCall, why: &NoScriptedResponse) -> CallResult {
    let message = why.to_string();
    let (shape, status) = (call.error_shape(), StatusCode::UNPROCESSABLE_ENTITY);
    let response = error_response::final_error(shape, status, "no_scripted_response", &message);
    CallResult::new(response, CallOutcome::Unscripted { message })
}

/// Explains a miss on a thread that may block on files.
pub(super) async fn explain_on_own_thread(
    replay: &Arc<ReplayEngine>,
    on_explained: &OnExplainedMiss,
    call: &IncomingCall,
    miss: UnexplainedMiss,
) -> RecordingMismatchError {
    let _turn = replay.wait_to_explain().await;
    let brief = replay.describe_miss(&miss, call.storable_request());
    let (replay, on_explained) = (Arc::clone(replay), Arc::clone(on_explained));
    let (parsed, arrived_at) = (Arc::clone(&call.parsed), call.arrived_at);
    let explained = tokio::task::spawn_blocking(move || {
        let observed = parsed.redacted.storable_request();
        let error = replay.explain_miss(&miss, observed);
        let secrets = &parsed.redacted.secrets;
        on_explained(&ExplainedMiss { arrived_at, observed, secrets, error: &error });
        error
    });
    explained.await.unwrap_or(brief)
}
