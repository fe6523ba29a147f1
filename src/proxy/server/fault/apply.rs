//! Applying a fault to the answer that a call would have got.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body as _;

use super::super::buffered_body::{self, UnchangedBody};
use super::super::respond::ResponseBody;
use super::active_fault::ActiveFault;
use super::body::FaultBody;
use super::faulted_call::FaultedCall;
use super::faulted_conversation::FaultedConversation;
use super::good_answer::{is_good_answer, mark_recovered};
use loomrec_engine::replay::ReplayBody;
use loomrec_engine::websocket::conversation::NextConversation;
use loomrec_engine::websocket::turn_link::UpstreamClose;
use loomrec_engine::{AnswerBody, IncomingCall};
use loomrec_fault::{
    BodyTransform, DecidedFault, Fault, FaultObstacle, MessageTransform, NotApplicable, Truncation,
};
use loomrec_identity::media_type;
use loomrec_provider::{Framing, ResponseFormat, SocketProtocol};
use loomrec_recording::encoding;
use loomrec_recording::normalized_request::NormalizedRequest;

/// The most bytes of an answer that a fault rewrites. A larger one is sent on unchanged.
const MOST: usize = 64 << 20;

/// Whether a fault has to read the answer: it cannot handle a compressed one.
pub(super) fn looks_inside(fault: &Fault) -> bool {
    !fault.only_delays() || matches!(fault, Fault::StreamStall { .. })
}

impl FaultedCall<'_> {
    /// Finds out whether the fault can happen to an answer, as far as that is known before the answer
    /// is sent. From here on, the next call of the key can be decided: if the fault cannot happen,
    /// this call has used up its take.
    pub(super) fn foresee_obstacle(&mut self, response: &Response<AnswerBody>) {
        let observed = self.call.storable_request();
        let format = observed.asked_format();
        let framing = answer_framing(&format, observed, response.headers());
        if self.fault.is_alone && framing.is_none() {
            // The answer behind the fault is made up, so the client must not get the whole of it.
            self.fault.decided.fault.move_to_default_point();
        }
        if let Err(why) = find_obstacle(&self.fault, self.call, &format, framing, response) {
            if let Some(settlement) = self.open.settlement_mut() {
                settlement.reclaim_lease(&self.caller.proxy);
            }
            self.fault.note_obstacle(why);
        }
        self.fault.release_order();
    }

    /// Applies the fault to the answer of the call.
    pub(super) async fn apply_fault(
        mut self,
        response: Response<AnswerBody>,
    ) -> Response<ResponseBody> {
        if has_messages(self.call.storable_request(), &response) && self.fault.obstacle.is_none() {
            return self.change_messages(response);
        }
        match (&self.fault.decided.fault, self.fault.obstacle.take()) {
            (Fault::Slow { .. }, _) => self.pass_late(response),
            (_, Some(why)) => self.pass_without_fault(response, why),
            (fault, None) if fault.rewrites() => self.rewrite_answer(response).await,
            (_, None) => self.transform_body(response),
        }
    }

    /// Changes the messages of the conversation that follows the response.
    fn change_messages(mut self, mut response: Response<AnswerBody>) -> Response<ResponseBody> {
        let transform = match MessageTransform::new(&self.fault.decided.fault) {
            Ok(transform) => transform,
            Err(why) => return self.pass_without_fault(response, why),
        };
        let Some(conversation) = NextConversation::take_from_response(&mut response) else {
            return self.pass_unchanged(response);
        };
        self.fault.add_fault_headers(response.headers_mut());
        if self.fault.decided.fault.only_delays() {
            self.set_recovers(&response);
        }
        let (faults, control) = (Arc::clone(&self.caller.proxy.faults), self.control.clone());
        let fault = self.fault;
        let faulted = FaultedConversation { conversation, transform, fault, faults, control };
        NextConversation::attach_to_response(&mut response, faulted);
        response.map(ResponseBody::Answer)
    }

    /// Passes on an answer that is late.
    fn pass_late(mut self, mut response: Response<AnswerBody>) -> Response<ResponseBody> {
        self.fault.add_fault_headers(response.headers_mut());
        if is_bodiless(self.call.storable_request(), response.status()) {
            return self.pass_unchanged(response);
        }
        self.set_recovers(&response);
        response.map(ResponseBody::Answer)
    }

    /// Rewrites the answer so that it says something else.
    async fn rewrite_answer(mut self, response: Response<AnswerBody>) -> Response<ResponseBody> {
        let observed = self.call.storable_request();
        let format = observed.asked_format();
        let framing = answer_framing(&format, observed, response.headers());
        match rewrite_response(&format, framing, &mut self.fault, response).await {
            Ok(response) => {
                // The call did not get the answer of its take, so the take is given back.
                if let Some(settlement) = self.open.settlement_mut() {
                    settlement.release_lease(&self.caller.proxy);
                }
                response.map(ResponseBody::Answer)
            }
            Err((response, why)) => self.pass_without_fault(response, why),
        }
    }

    /// Changes how the body of the answer is sent.
    fn transform_body(mut self, response: Response<AnswerBody>) -> Response<ResponseBody> {
        let observed = self.call.storable_request();
        let format = observed.asked_format();
        let framing = answer_framing(&format, observed, response.headers());
        let announced = response.body().size_hint().exact();
        let DecidedFault { fault, roll, .. } = &self.fault.decided;
        let mut changing = match BodyTransform::new(fault, &format, framing, announced, *roll) {
            Ok(changing) => changing,
            Err(why) => return self.pass_without_fault(response, why),
        };
        let total = match response.body() {
            AnswerBody::Replay(body) => Some(body.total_bytes()),
            _ => None,
        };
        if fault.only_delays() {
            self.set_recovers(&response);
        }
        let fault = &self.fault.decided.fault;
        let (mut parts, body) = response.into_parts();
        if let Fault::StreamTruncate(truncation) = fault {
            // The turn over a WebSocket ends with its close, and not with that of the upstream.
            parts.extensions.remove::<UpstreamClose>();
            if let Some(close) = &truncation.close {
                parts.extensions.insert(close.clone());
            }
        }
        changing.change_head(&mut parts.status, &mut parts.headers, total);
        self.fault.add_fault_headers(&mut parts.headers);
        if matches!(fault, Fault::WrongLength { .. }) {
            // What follows the announced length is sent before the close.
            parts.headers.insert(http::header::CONNECTION, HeaderValue::from_static("close"));
        }
        let faults = Arc::clone(&self.caller.proxy.faults);
        let body = FaultBody::new(body, changing, self.fault, (faults, self.control.clone()));
        Response::from_parts(parts, ResponseBody::Fault(Box::new(body)))
    }

    /// Arranges that the open faults of the call's key end once a good answer was sent whole.
    fn set_recovers(&mut self, response: &Response<AnswerBody>) {
        let is_good = is_good_answer(self.call, response, self.open.record_mut());
        if let Some(settlement) = self.open.settlement_mut() {
            settlement.recovers = is_good;
        }
    }

    /// Passes on the answer because its fault could not happen. The answer is used up.
    fn pass_without_fault(
        mut self,
        response: Response<AnswerBody>,
        why: FaultObstacle,
    ) -> Response<ResponseBody> {
        self.fault.not_applied(why);
        if let Some(request) = &mut self.open.record_mut().journaled {
            request.chaos = None;
        }
        self.pass_unchanged(response)
    }

    /// Settles the call, and passes on its answer.
    pub(super) fn pass_unchanged(self, response: Response<AnswerBody>) -> Response<ResponseBody> {
        let proxy = &self.caller.proxy;
        let is_good = response.status().as_u16() < 400;
        let settlement = self.open.settlement_mut().take();
        settlement.into_iter().for_each(|it| it.settle_unchanged(proxy, is_good));
        mark_recovered(proxy, self.call, &response, self.fault.tracked.clone(), self.open);
        response.map(ResponseBody::Answer)
    }
}

/// Looks for what keeps a fault from happening to an answer.
///
/// # Errors
/// Why it cannot happen.
fn find_obstacle(
    active: &ActiveFault,
    call: &IncomingCall,
    format: &ResponseFormat<'_>,
    framing: Option<Framing>,
    response: &Response<AnswerBody>,
) -> Result<(), FaultObstacle> {
    let (fault, observed) = (&active.decided.fault, call.storable_request());
    if has_messages(observed, response) {
        let trial = MessageTransform::new(fault)?;
        let count = NextConversation::server_messages(response);
        return count.map_or(Ok(()), |count| trial.try_on(count));
    }
    check_transport(fault, call.is_turn)?;
    match fault {
        Fault::Slow { .. } => return Ok(()),
        _ if is_bodiless(observed, response.status()) => return Err(FaultObstacle::NoBody),
        Fault::ToolResultFault { .. } if !observed.call.operation.has_tool_results() => {
            return Err(NotApplicable::NoToolResult.into());
        }
        fault if fault.rewrites() => {
            let AnswerBody::Replay(body) = response.body() else { return Ok(()) };
            loomrec_fault::rewrite_answer(fault, format, framing, &body.whole_bytes())?;
            return Ok(());
        }
        _ => {}
    }
    let announced = response.body().size_hint().exact();
    let trial = BodyTransform::new(fault, format, framing, announced, active.decided.roll)?;
    match response.body() {
        AnswerBody::Replay(body) => try_fault(trial, response, body),
        _ if matches!(fault, Fault::WrongLength { .. }) && announced.is_none() => {
            Err(FaultObstacle::UnknownLength)
        }
        _ => Ok(()),
    }
}

/// Whether an answer has no body by its nature.
fn is_bodiless(observed: &NormalizedRequest, status: StatusCode) -> bool {
    observed.method() == "HEAD" || matches!(status.as_u16(), 101 | 204 | 304)
}

/// Whether messages follow a response. Those of OpenAI's Responses are answers to calls of their own.
fn has_messages(observed: &NormalizedRequest, response: &Response<AnswerBody>) -> bool {
    response.extensions().get::<NextConversation>().is_some()
        && SocketProtocol::of_path(observed.path()) != SocketProtocol::Responses
}

/// Looks for what keeps a fault from happening over HTTP, or to a turn over a WebSocket.
///
/// # Errors
/// Why it cannot happen.
fn check_transport(fault: &Fault, is_turn: bool) -> Result<(), FaultObstacle> {
    Err(match fault {
        Fault::StreamTruncate(Truncation { close: Some(_), .. }) if !is_turn => {
            NotApplicable::NoSocket.into()
        }
        Fault::WrongLength { .. } | Fault::BadEncoding if is_turn => {
            NotApplicable::Socket { fault: fault.name() }.into()
        }
        _ => return Ok(()),
    })
}

/// Applies a fault to a recorded answer that is not sent.
///
/// # Errors
/// Why it does not happen.
fn try_fault(
    mut trial: BodyTransform,
    response: &Response<AnswerBody>,
    body: &ReplayBody,
) -> Result<(), FaultObstacle> {
    let (mut status, mut headers) = (response.status(), response.headers().clone());
    trial.change_head(&mut status, &mut headers, Some(body.total_bytes()));
    for chunk in body.chunks() {
        trial.feed(chunk);
        while !trial.has_struck() && trial.next_step().is_some() {}
        if trial.has_struck() {
            return Ok(());
        }
    }
    match body.is_cut() {
        true => trial.send_held_bytes(),
        false => trial.finish(),
    }
    while !trial.has_struck() && trial.next_step().is_some() {}
    if trial.has_struck() { Ok(()) } else { Err(trial.obstacle()) }
}

/// Returns how an answer with these headers is framed, or `None` if it is not a stream.
fn answer_framing(
    format: &ResponseFormat<'_>,
    observed: &NormalizedRequest,
    headers: &HeaderMap,
) -> Option<Framing> {
    if encoding::coding_of(headers).is_some() {
        return None;
    }
    let media = headers.get(http::header::CONTENT_TYPE)?.to_str().ok()?;
    let media = media_type(media).to_ascii_lowercase();
    let array = format.framing == Framing::Array && observed.call.streamed;
    match Framing::of_media(&media) {
        None if array && media == "application/json" => Some(Framing::Array),
        framing => framing,
    }
}

/// Rewrites an answer so that it says something else.
///
/// # Errors
/// The answer as it is, and why it could not be rewritten.
async fn rewrite_response(
    format: &ResponseFormat<'_>,
    framing: Option<Framing>,
    active: &mut ActiveFault,
    response: Response<AnswerBody>,
) -> Result<Response<AnswerBody>, (Response<AnswerBody>, FaultObstacle)> {
    let fault = active.decided.fault.clone();
    let change = |bytes: &[u8]| loomrec_fault::rewrite_answer(&fault, format, framing, bytes);
    response.body().note_change();
    let (mut parts, body) = response.into_parts();
    let changed = match body {
        AnswerBody::Replay(body) => match body.try_map_bytes(change) {
            Ok(body) => Ok(AnswerBody::Replay(body)),
            Err((body, why)) => Err((AnswerBody::Replay(body), why.into())),
        },
        other => buffered_body::change_whole_body(other, MOST, change)
            .await
            .map_err(|(body, why)| (body, obstacle_of(why))),
    };
    match changed {
        Ok(body) => {
            active.note_fired();
            active.add_fault_headers(&mut parts.headers);
            if let Some(length) = body.size_hint().exact() {
                parts.headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from(length));
            }
            Ok(Response::from_parts(parts, body))
        }
        Err((body, why)) => Err((Response::from_parts(parts, body), why)),
    }
}

/// Returns why a fault cannot rewrite a body.
fn obstacle_of(why: UnchangedBody<NotApplicable>) -> FaultObstacle {
    match why {
        UnchangedBody::TooLarge => FaultObstacle::LargeAnswer { mib: MOST >> 20 },
        UnchangedBody::Cut => FaultObstacle::CutAnswer,
        UnchangedBody::Refused(why) => why.into(),
    }
}
