//! The replay engine: takes a request and returns the recorded response, paced as asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http::{HeaderValue, Response};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

#[cfg(test)]
use super::asked_form::AskedForm;
use super::body::ReplayBody;
use super::client_ids::SessionIds;
#[cfg(test)]
use super::decode_room::DecodeRoom;
use super::end_order::EndOrder;
use super::explain::UnexplainedMiss;
use super::form_maker::FormMaker;
use super::latency::{DeliverySchedule, Latency, LatencyDraw};
use super::matched_by::MatchedBy;
use super::matcher::{Matcher, TakeMatch};
use super::mismatch::RecordingMismatchError;
use super::order_limits::OrderLimits;
use super::ready_response::{BOUND, MATCHED_BY, ReadyResponse};
use super::waiting_connections::WaitingConnections;
use crate::strictness::StrictAdmission;
use loomrec_identity::BoundValues;
use loomrec_provider::{Answer, AnswerOutcome, Provider, TokenUsage};
use loomrec_recording::entry::RecordedCut;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_script::plain_answer;
use loomrec_script::{NoScriptedResponse, RuleLookup, Script, ScriptTurn};

/// The text of the placeholder answer unless the user gives another.
const PLACEHOLDER: &str = "Mock response";

/// How many misses are explained at one time. Each may hold a few large requests.
const EXPLAINED: usize = 2;

/// The replay engine.
#[derive(Debug)]
pub struct ReplayEngine {
    matcher: Matcher,
    pub(super) latency: Latency,
    script: Option<Script>,
    explaining: Arc<Semaphore>,
    pub(super) forms: FormMaker,
    /// The ids of the calls that were answered.
    pub(super) client_ids: SessionIds,
    /// The text of the placeholder answer.
    placeholder: Arc<str>,
    /// How many calls were answered with the placeholder.
    placeholders: AtomicU32,
    /// The connections whose clients have not sent a message yet.
    pub(super) waiting: WaitingConnections,
    /// The order in which answers end, if it is kept and any overlapped.
    pub(super) end_order: Option<Arc<EndOrder>>,
}

/// An answer, and where it came from.
#[derive(Debug)]
pub struct ReplayAnswer {
    /// The response, ready to be sent.
    pub response: Response<ReplayBody>,
    /// The tokens that the recorded call used.
    pub usage: TokenUsage,
    /// The cost of the recorded call; `None` if it is unknown.
    pub cost_usd: Option<f64>,
    /// How the take was found.
    pub by: MatchedBy,
    /// The number of the take under its name, from 1.
    pub take: usize,
    /// The same take, as [`TakeMatch::index`] has it.
    pub index: usize,
    /// The outcome of the recorded answer.
    pub outcome: AnswerOutcome,
    /// The values of this run that were put in the place of recorded ones.
    pub bound: Option<Arc<BoundValues>>,
}

impl ReplayAnswer {
    /// Returns the body of the response, to change how it is sent.
    pub(super) fn body_mut(&mut self) -> &mut ReplayBody {
        self.response.body_mut()
    }
}

/// A script's answer.
#[derive(Debug)]
pub struct ScriptAnswer {
    /// The response, ready to be sent.
    pub response: Response<ReplayBody>,
    /// What of the script answers; `None` for a scripted temporary failure.
    pub turn: Option<ScriptTurn>,
    /// Whether it is a stream.
    pub streamed: bool,
}

/// An extension of a response that is not to be sent: the connection ends in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithheldAnswer {
    /// How the connection ends.
    pub cut: RecordedCut,
}

impl ReplayEngine {
    /// Returns an engine that replays loaded recordings.
    pub fn new(matcher: Matcher, latency: Latency) -> Self {
        let (explaining, forms) = (Arc::new(Semaphore::new(EXPLAINED)), FormMaker::default());
        let (placeholder, placeholders) = (Arc::from(PLACEHOLDER), AtomicU32::new(0));
        let (script, end_order) = (None, end_order(&matcher));
        let waiting = WaitingConnections::default();
        Self {
            matcher,
            latency,
            script,
            explaining,
            forms,
            client_ids: SessionIds::default(),
            placeholder,
            placeholders,
            waiting,
            end_order,
        }
    }

    /// Returns an engine that replays the same takes for a session that begins. None of them is
    /// used in it. It has no script. Both engines share answers whose form is changed, and the room
    /// for them.
    pub fn for_session(&self, name: &str, latency: Latency) -> Self {
        Self {
            explaining: Arc::clone(&self.explaining),
            forms: self.forms.clone(),
            placeholder: Arc::clone(&self.placeholder),
            ..Self::new(self.matcher.for_session(name), latency)
        }
    }

    /// Returns the same engine, with a script that answers what the recordings do not.
    pub fn with_script(self, script: Option<Script>) -> Self {
        Self { script, ..self }
    }

    /// Returns the same engine, with another text of the placeholder answer, if there is one.
    pub fn with_default_response(self, text: Option<String>) -> Self {
        let placeholder = text.map_or(self.placeholder, Arc::from);
        Self { placeholder, ..self }
    }

    /// Returns the same engine, with this room for decoded answers.
    #[cfg(test)]
    pub(super) fn with_room(self, room: DecodeRoom) -> Self {
        Self { forms: FormMaker::new(room), ..self }
    }

    /// Returns the script, if there is one.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_ref()
    }

    /// Starts over, for one session or for all: every take is unused again, and the script is at
    /// its beginning. The strictness of the run has to let it through.
    pub fn reset(&self, session: Option<&str>, _: StrictAdmission) {
        self.matcher.reset(session);
        self.client_ids.forget_session(session);
        if let Some(script) = &self.script {
            script.reset(session);
        }
    }

    /// Undoes [`ReplayEngine::find_take`] for a session: a later call can get the take.
    pub fn release_take(&self, take: usize, session: Option<&str>) {
        self.matcher.release_take(take, session);
    }

    /// Undoes [`ReplayEngine::release_take`]: a call was answered by the take after all.
    pub fn consume_take(&self, take: usize, session: Option<&str>) {
        self.matcher.consume_take(take, session);
    }

    /// Returns the takes, and how far they are used.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Returns the recorded answer to `observed`, due from `arrived` on. A call goes by way of
    /// [`Engine::find_answer`](crate::Engine::find_answer) in place of this.
    ///
    /// # Errors
    /// An [`UnexplainedMiss`] if the recordings have no answer left for this call; see
    /// [`ReplayEngine::explain_miss`].
    #[cfg(test)]
    pub async fn answer(
        &self,
        observed: &NormalizedRequest,
        accept_encoding: Option<&str>,
        arrived: Instant,
    ) -> Result<ReplayAnswer, UnexplainedMiss> {
        let mut hit = self.find_take(observed)?;
        let asked = AskedForm { accept_encoding, ..AskedForm::default() };
        let answered = self.deliver_take(&mut hit, observed, asked, arrived).await;
        if answered.is_err() {
            self.release_take(hit.index, observed.session.as_deref());
        }
        answered
    }

    /// Finds the take for `observed`. The call uses the take up unless it is given back.
    ///
    /// # Errors
    /// An [`UnexplainedMiss`] if there is none.
    pub fn find_take(&self, call: &NormalizedRequest) -> Result<TakeMatch<'_>, UnexplainedMiss> {
        let rule = RuleLookup::Pending;
        let unexplained = |reason| UnexplainedMiss { reason, refused: None, rule };
        let found = self.matcher.find_take(call).map_err(unexplained);
        found.map(|hit| self.with_turn(hit, call))
    }

    /// Returns the answer as a response that follows the run's latency from `arrived` on.
    pub(super) fn paced_answer(
        &self,
        hit: &TakeMatch<'_>,
        answer: Arc<ReadyResponse>,
        arrived: Instant,
    ) -> ReplayAnswer {
        let take = hit.take;
        let (name, number) = (self.matcher.take_name(take), take.number());
        let draw = LatencyDraw { key: &name, take: number, nth: hit.nth };
        let schedule = match take.is_plain() {
            true => self.latency.spread_evenly(answer.pieces.len(), take.latency_ms(), &draw),
            false => self.latency.schedule(answer.chunk_times(), take.latency_ms(), &draw),
        };
        let mut response = response_from_answer(answer, schedule, arrived);
        self.latency.shorten_waits(response.headers_mut());
        if hit.by != MatchedBy::RequestHash {
            let by = HeaderValue::from_static(hit.by.as_str());
            response.headers_mut().insert(MATCHED_BY, by);
        }
        if let Some(bound) = &hit.bound {
            response.headers_mut().insert(BOUND, bound.header.clone());
        }
        let (usage, cost_usd) = (take.usage(), take.cost_usd());
        let (by, index) = (hit.by, hit.index);
        let bound = hit.bound.as_ref().map(|bound| Arc::clone(&bound.values));
        let outcome = take.outcome();
        ReplayAnswer { response, usage, cost_usd, by, take: number, index, outcome, bound }
    }

    /// Returns the script's answer to `observed`, due from `arrived` on; `None` if there is no
    /// script. `shape` is the shape of the client's errors, `rule` what is known of the rule that
    /// answers.
    ///
    /// # Errors
    /// The reason why the script has no answer.
    pub fn scripted_answer(
        &self,
        observed: &NormalizedRequest,
        shape: Provider,
        arrived: Instant,
        rule: RuleLookup,
    ) -> Option<Result<ScriptAnswer, NoScriptedResponse>> {
        let scripted = match self.script.as_ref()?.answer(observed, shape, rule) {
            Ok(scripted) => scripted,
            Err(why) => return Some(Err(why)),
        };
        let (turn, streamed) = (scripted.turn, scripted.rendered.streamed);
        let (withheld, draft) = (scripted.rendered.withheld, scripted.rendered.delivery);
        let label = turn.as_ref().map(ScriptTurn::label);
        let label = label.and_then(|label| HeaderValue::from_bytes(label.as_bytes()).ok());
        let answer = Arc::new(ReadyResponse::from_draft(draft, label.as_ref()));
        let number = turn.as_ref().map_or(0, ScriptTurn::number);
        let schedule = self.latency.scripted_schedule(answer.chunk_times(), number);
        let mut response = response_from_answer(answer, schedule, arrived);
        response.headers_mut().insert(MATCHED_BY, HeaderValue::from_static("script"));
        if let Some(cut) = withheld {
            response.extensions_mut().insert(WithheldAnswer { cut });
        }
        Some(Ok(ScriptAnswer { response, turn, streamed }))
    }

    /// Waits for the turn to explain a miss. The turn ends when the returned permit is dropped.
    pub async fn wait_to_explain(&self) -> Option<SemaphorePermit<'_>> {
        self.explaining.acquire().await.ok()
    }

    /// Explains a miss of `observed`. It reads recorded calls again, so it blocks and must not run
    /// on a serving thread.
    pub fn explain_miss(
        &self,
        miss: &UnexplainedMiss,
        observed: &NormalizedRequest,
    ) -> RecordingMismatchError {
        RecordingMismatchError::explain_miss(&self.matcher, miss, observed)
    }

    /// Describes a miss, as far as that is possible without reading a recording again.
    pub fn describe_miss(
        &self,
        miss: &UnexplainedMiss,
        observed: &NormalizedRequest,
    ) -> RecordingMismatchError {
        RecordingMismatchError::from_miss(&self.matcher, miss, observed)
    }

    /// Returns the placeholder answer of `--on-miss default`, in the shape that the call asks for.
    ///
    /// # Errors
    /// The operation is one whose answers cannot be made up.
    pub fn placeholder_answer(
        &self,
        observed: &NormalizedRequest,
        arrived: Instant,
    ) -> Result<Response<ReplayBody>, String> {
        let answer = Answer {
            content: self.placeholder.to_string(),
            model: observed.call.model.clone(),
            usage: Some(TokenUsage::default()),
            ..Answer::default()
        };
        let delivery = plain_answer::build(&answer, observed, PLACEHOLDER, 0.0)?;
        let answer = Arc::new(ReadyResponse::from_draft(delivery, None));
        let nth = self.placeholders.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let draw = LatencyDraw { key: &PLACEHOLDER, take: 0, nth };
        let schedule = self.latency.schedule(answer.chunk_times(), None, &draw);
        let mut response = response_from_answer(answer, schedule, arrived);
        response.headers_mut().insert(MATCHED_BY, HeaderValue::from_static("default"));
        Ok(response)
    }
}

/// Returns the order in which the answers of a run, or of a session, end.
fn end_order(matcher: &Matcher) -> Option<Arc<EndOrder>> {
    let limits = OrderLimits::with_agents(matcher.has_known_agents());
    EndOrder::new(&matcher.recorded.ends, limits)
}

/// Returns an answer as a response whose body follows `schedule`.
fn response_from_answer(
    answer: Arc<ReadyResponse>,
    schedule: Option<DeliverySchedule>,
    arrived: Instant,
) -> Response<ReplayBody> {
    let (status, headers) = (answer.status, answer.headers.clone());
    let reason = answer.reason.clone();
    let mut response = Response::new(ReplayBody::new(answer, schedule, arrived));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if let Some(reason) = reason {
        response.extensions_mut().insert(reason);
    }
    response
}
