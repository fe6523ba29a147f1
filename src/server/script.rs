//! Answers calls from a script.

use std::sync::Arc;

use http::{HeaderValue, Response, StatusCode};
use serde_json::json;

use super::incoming_call::{IncomingCall, track};
use super::respond::{self, AnyBody};
use super::stream::StreamBody;
use super::{Proxy, UserNotice};
use crate::replay::{NoScriptedResponse, ScriptAnswer};
use crate::telemetry::call_record::OutcomeDetail;
use crate::telemetry::run_counters::RunCounters;

/// The name of the error that a call behind the end of a script gets.
const NONE: &str = "no_scripted_response";

/// Goes with a response: which call of the script it is, from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptedCall(pub(super) usize);

/// What the script has for a call, held back until its first byte is due.
pub(super) async fn answer(
    proxy: &Proxy,
    asked: &IncomingCall,
    scripted: Result<ScriptAnswer, NoScriptedResponse>,
) -> Response<AnyBody> {
    let ScriptAnswer { response, call, streamed } = match scripted {
        Ok(scripted) => scripted,
        Err(why) => return refuse(proxy, asked, &why),
    };
    RunCounters::count(&proxy.telemetry.counters.scripted);
    // Counted from here on: a client that leaves before the first byte has left, too.
    let counted = |body| StreamBody::new(body, Arc::clone(&proxy.telemetry.counters));
    let mut response = match streamed {
        true => response.map(|body| AnyBody::Script(counted(body))),
        false => response.map(AnyBody::Replay),
    };
    let due = match response.body() {
        AnyBody::Script(stream) => stream.first_due(),
        AnyBody::Replay(body) => body.first_due(),
        _ => None,
    };
    asked.wait_until(due).await;
    if let Some(call) = call {
        response.extensions_mut().insert(ScriptedCall(call));
    }
    let more = OutcomeDetail::value(json!({ "script": { "call": call } }));
    asked.account.write(|seen| seen.matched_by = Some("script"));
    track(asked, "scripted", Some(response.status()), more);
    response
}

/// The error of a call that the script has no answer for. It is not to be made again:
/// there would be none then, either.
fn refuse(proxy: &Proxy, asked: &IncomingCall, why: &NoScriptedResponse) -> Response<AnyBody> {
    let message = why.to_string();
    RunCounters::count(&proxy.telemetry.counters.unscripted);
    (proxy.notify)(UserNotice::Refused(&message));
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    let mut response = respond::error(asked.shape(), status, NONE, &message);
    response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    track(asked, "unscripted", Some(status), OutcomeDetail::value(json!({ "error": message })));
    response
}
