//! The control endpoints under `/__loomrec/`: health, journal, metrics, mismatches, reset, chaos,
//! the inspector; and `/metrics`, where scrapers look.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::connection_context::ConnectionContext;
use super::control_access::ControlAccess;
use super::control_reply::{json_reply, query_parameter, session_of};
use super::fault;
use super::inspector_route::{self as route, InspectorPage};
use super::peer::ControlCaller;
use super::request_body;
use super::respond::{self, ResponseBody};
use super::{Proxy, chaos_route, compat_route, control_endpoint, session};
use crate::inspector;
use crate::inspector::query::{CallsQuery, QueryKind, QueryTurns, answer_query};
use crate::inspector::questions::{self, LineNumbers};
use crate::inspector::run::RunCalls;
use loomrec_dialect::compat::control::{is_endpoint, is_probe as is_load_balancer_path};
use loomrec_engine::{Engine, StrictAdmission};
use loomrec_script::{Script, ScriptCursor};
use loomrec_telemetry::journal::follow::{JournalFollower, JournalQuery};
use loomrec_telemetry::run_counters::RunCounters;
use loomrec_telemetry::{log, metric};

/// The path prefix of the control endpoints.
const PREFIX: &str = "/__loomrec/";

/// The endpoint that says only that loomrec serves. It is for probes, which have no token.
const LIVE: &str = "/__loomrec/live";

/// The endpoint that says whether further calls may come. It is for load balancers, which have no
/// token.
const READY: &str = "/__loomrec/ready";

/// The endpoint of chaos rates.
const CHAOS: &str = "/__loomrec/chaos";

/// The most bytes of a refused request that are read.
const REFUSED: u64 = 1 << 16;

/// How many cursors of a script are shown.
const MOST_CURSORS: usize = 100;

/// The path that scrapers use for metrics by default.
const METRICS: &str = "/metrics";

/// Whether a path is one of loomrec's own.
pub fn is_control(proxy: &Proxy, path: &str) -> bool {
    path.starts_with(PREFIX)
        || path == METRICS
        || route::requested_page(path).is_some()
        || (proxy.telemetry.metrics.is_compat() && is_endpoint(path))
}

/// Answers a control request.
pub(super) async fn answer_request(
    caller: &ConnectionContext,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let (parts, body) = request.into_parts();
    let request = Request::from_parts(parts, ());
    let response = match route::requested_page(request.uri().path()) {
        Some(asked) => answer_inspector(caller, asked, &request).await,
        None if is_probe(&request, LIVE) => json_reply(StatusCode::OK, &json!({ "status": "ok" })),
        None if is_probe(&request, READY) => readiness_response(is_about_to_stop(caller)),
        None if is_load_balancer_path(request.uri().path()) => {
            compat_route::answer_probe(request.method(), request.uri().path())
        }
        None => match caller_refusal(caller, &request).await {
            Some(refusal) => {
                // A connection whose request was not read to its end cannot be used again.
                request_body::discard_body(body, REFUSED, caller.proxy.config.client_timeout).await;
                refusal
            }
            None => answer_admitted(caller, &request, body).await,
        },
    };
    log::note_control(response.status().as_u16());
    response
}

/// Answers a request of a caller that may use the control endpoints, unless the replay is strict and
/// the request would weaken it.
async fn answer_admitted(
    caller: &ConnectionContext,
    request: &Request<()>,
    body: Incoming,
) -> Response<ResponseBody> {
    let proxy = &caller.proxy;
    let path = request.uri().path();
    let admission = match control_endpoint::admit_request(proxy, request.method(), path) {
        Ok(admission) => admission,
        Err(refusal) => {
            request_body::discard_body(body, REFUSED, proxy.config.client_timeout).await;
            return json_reply(StatusCode::FORBIDDEN, &json!({ "error": refusal.to_string() }));
        }
    };
    if is_about_chaos(request) {
        let query = request.uri().query();
        return chaos_route::answer_request(proxy, request.method(), query, body, admission).await;
    }
    if session::is_session_path(path) {
        return session::answer_request(caller, request, body).await;
    }
    if is_endpoint(path) {
        return compat_route::answer_request(proxy, request, body, admission).await;
    }
    answer_endpoint(caller, request, admission)
}

/// Answers a request of the inspector.
async fn answer_inspector(
    caller: &ConnectionContext,
    asked: InspectorPage,
    request: &Request<()>,
) -> Response<ResponseBody> {
    let proxy = &caller.proxy;
    let query = request.uri().query().unwrap_or_default();
    let who = who_calls(caller).await;
    let from = route::RequestOrigin { access: control_access(proxy), caller: who };
    match route::answer_without_data(from, asked, request.method(), request.headers()) {
        Some(reply) => reply,
        None if asked == InspectorPage::Run => {
            route::data_reply(&inspector::run::describe_subject(proxy.run_view()))
        }
        None if asked == InspectorPage::Call => {
            let looking = Arc::clone(proxy);
            let find = move |which: &_| inspector::run::find_call(looking.run_view(), which);
            route::call_reply(inspector::look_up(query, &proxy.inspector.turns, find).await)
        }
        None if asked == InspectorPage::Questions => match LineNumbers::from_query(query) {
            Err(why) => route::error_reply(StatusCode::BAD_REQUEST, &why),
            Ok(numbers) => {
                let reading = Arc::clone(proxy);
                let read = move |numbers: &_| questions::of_run(reading.run_view(), numbers);
                let turn = &proxy.inspector.question_turn;
                route::data_reply(&questions::read_questions(numbers, turn, read).await)
            }
        },
        None => match asked {
            InspectorPage::Query(kind) => calls_query(proxy, kind, query).await,
            _ => answer_journal(caller, query),
        },
    }
}

/// Answers a query over the calls of the run.
async fn calls_query(proxy: &Arc<Proxy>, kind: QueryKind, query: &str) -> Response<ResponseBody> {
    let looking = Arc::clone(proxy);
    let answer = move |query: &CallsQuery| {
        query.answer(&RunCalls::from_run(looking.run_view()), &looking.inspector.histories)
    };
    let inspector = &proxy.inspector;
    let turns = QueryTurns { calls: &inspector.turns, scans: &inspector.question_turn };
    route::call_reply(answer_query(kind, query, turns, answer).await)
}

/// Returns the access check of the control endpoints.
fn control_access(proxy: &Proxy) -> ControlAccess<'_> {
    ControlAccess {
        token: proxy.config.control_token.as_deref(),
        policy: Some(&proxy.config.access),
    }
}

/// Returns who makes a control call. Where a token decides, the user is not looked up.
async fn who_calls(caller: &ConnectionContext) -> ControlCaller {
    match caller.proxy.config.control_token {
        Some(_) => caller.peer.caller_with_token(),
        None => caller.peer.control_caller().await,
    }
}

/// Whether a request only asks whether loomrec serves, at this endpoint.
fn is_probe(request: &Request<()>, endpoint: &str) -> bool {
    request.uri().path() == endpoint && matches!(*request.method(), Method::GET | Method::HEAD)
}

/// Whether the stop has begun, or further sessions are refused because it is about to.
fn is_about_to_stop(caller: &ConnectionContext) -> bool {
    let is_draining = caller.sessions.as_ref().is_some_and(|sessions| sessions.is_draining());
    is_draining || caller.proxy.faults.is_stopping()
}

/// Says whether further calls may come: not once the stop has begun.
fn readiness_response(is_stopping: bool) -> Response<ResponseBody> {
    let status = if is_stopping { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    json_reply(status, &json!({ "ready": !is_stopping }))
}

/// Whether a request is one of the endpoint of chaos rates.
fn is_about_chaos(request: &Request<()>) -> bool {
    let known = [Method::GET, Method::HEAD, Method::POST, Method::DELETE];
    request.uri().path() == CHAOS && known.contains(request.method())
}

/// Returns the refusal of a caller that may not use the control endpoints.
async fn caller_refusal(
    caller: &ConnectionContext,
    request: &Request<()>,
) -> Option<Response<ResponseBody>> {
    let who = who_calls(caller).await;
    let admitted =
        control_access(&caller.proxy).admit_request(request.method(), request.headers(), who);
    let why = admitted.err()?;
    Some(json_reply(StatusCode::FORBIDDEN, &json!({ "error": why })))
}

fn answer_endpoint(
    caller: &ConnectionContext,
    request: &Request<()>,
    admission: StrictAdmission,
) -> Response<ResponseBody> {
    let proxy = &*caller.proxy;
    let path = request.uri().path();
    let path = path.strip_prefix(PREFIX).unwrap_or(path);
    match (request.method(), path) {
        (&Method::GET | &Method::HEAD, "health") => {
            let session = session_of(request.uri().query());
            let mut health = describe_run(proxy, session.as_deref());
            if let Some(sessions) = &caller.sessions {
                health["sessions"] = session::health_fields(sessions);
            }
            json_reply(StatusCode::OK, &health)
        }
        (&Method::GET | &Method::HEAD, "metrics" | METRICS) => answer_metrics(caller, request),
        (&Method::GET | &Method::HEAD, "mismatches") => {
            let mismatches: Vec<Value> = proxy
                .telemetry
                .counters
                .to_detail()
                .mismatches
                .iter()
                .map(|error| error.to_json())
                .collect();
            json_reply(StatusCode::OK, &json!({ "mismatches": mismatches }))
        }
        (&Method::POST, "reset") => {
            let session = session_of(request.uri().query());
            if let Some(replay) = proxy.engine.replay_engine() {
                replay.reset(session.as_deref(), admission);
            }
            proxy.faults.decider().forget_calls(session.as_deref());
            json_reply(
                StatusCode::OK,
                &json!({ "reset": session.map_or(json!("all"), Value::from) }),
            )
        }
        (&Method::POST, "recovered") => note_recovery(proxy, request),
        _ => {
            let endpoints = control_endpoint::endpoint_texts();
            let error = json!({ "error": "no such control endpoint", "endpoints": endpoints });
            json_reply(StatusCode::NOT_FOUND, &error)
        }
    }
}

/// Returns the latest calls. With a query, returns the journal's lines from a place on, and
/// optionally those to come.
fn answer_journal(caller: &ConnectionContext, query: &str) -> Response<ResponseBody> {
    let proxy = &caller.proxy;
    let wanted = match JournalQuery::from_query(query) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            return json_reply(
                StatusCode::OK,
                &json!({ "calls": proxy.telemetry.journal.recent_lines() }),
            );
        }
        Err(why) => return json_reply(StatusCode::BAD_REQUEST, &json!({ "error": why })),
    };
    let (journal, connection) = (&proxy.telemetry.journal, Arc::clone(&caller.connection));
    let abandon = move || connection.end_at_once();
    let Some(follower) = JournalFollower::new(journal, wanted, abandon) else {
        let why = "the journal has too many followers";
        return json_reply(StatusCode::SERVICE_UNAVAILABLE, &json!({ "error": why }));
    };
    route::lines_reply(ResponseBody::Follow(Box::new(follower)))
}

/// Describes what this run is doing. With a session, the script's cursors are those of that session.
fn describe_run(proxy: &Proxy, session: Option<&str>) -> Value {
    let mode = match &proxy.engine {
        Engine::NewEpisodes { .. } => "record new episodes",
        Engine::Record { .. } => "record",
        Engine::Replay { .. } => "replay",
    };
    let mut health = json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "mode": mode,
        "url": proxy.config.url,
        "served": RunCounters::counter_value(&proxy.telemetry.counters.served),
        "recorded": RunCounters::counter_value(&proxy.telemetry.counters.recorded),
        "scripted": RunCounters::counter_value(&proxy.telemetry.counters.scripted),
        "unscripted": RunCounters::counter_value(&proxy.telemetry.counters.unscripted),
        "missed": proxy.telemetry.counters.missed_calls(),
        "journal": proxy.telemetry.journal.health_json(),
        "traces": proxy.telemetry.spans.health_json(),
        "script_streams": {
            "drained": RunCounters::counter_value(&proxy.telemetry.counters.streams_drained),
            "left": RunCounters::counter_value(&proxy.telemetry.counters.streams_left),
        },
    });
    if let Some(script) = proxy.engine.replay_engine().and_then(|replay| replay.script()) {
        health["script"] = script_state(script, session);
    }
    health
}

/// Describes how far a script is used: by all, and by each session, or by one.
fn script_state(script: &Script, session: Option<&str>) -> Value {
    let (cursors, left_out) = match session {
        None => script.session_cursors(MOST_CURSORS),
        Some(name) => (script.cursor(name).into_iter().collect(), 0),
    };
    let cursor = |cursor: ScriptCursor| {
        let ScriptCursor { session, made, index, stream_index } = cursor;
        let mut told = json!({ "session": session, "made": made, "index": index });
        if let Some(index) = stream_index {
            told["stream_index"] = index.into();
        }
        told
    };
    let cursors: Vec<Value> = cursors.into_iter().map(cursor).collect();
    json!({ "calls": script.len(), "left": script.unreached_calls(), "cursors": cursors, "left_out": left_out })
}

/// Returns the metrics of this run, in the format that the scraper asks for.
fn answer_metrics(caller: &ConnectionContext, request: &Request<()>) -> Response<ResponseBody> {
    let proxy = &*caller.proxy;
    let accepted = request.headers().get_all(header::ACCEPT).iter();
    let open = accepted.filter_map(|value| value.to_str().ok()).any(metric::wants_open_metrics);
    let replay = proxy.engine.replay_engine();
    let script = replay.and_then(|replay| replay.script());
    let input = metric::ScrapeInput {
        mode: proxy.engine.mode_name(),
        loaded: replay.map_or(0, |replay| replay.matcher().len()) as u64,
        rules: script.map_or(0, |script| script.rule_count()) as u64,
        journal_lost: proxy.telemetry.journal.lost_lines(),
        sessions: caller.sessions.as_ref().map(|sessions| sessions.scraped_counts()),
    };
    let telemetry = &proxy.telemetry;
    let counters = [Some(&telemetry.counters), telemetry.session_counters.as_ref()];
    let counters = counters.into_iter().flatten().cloned().collect();
    let text = telemetry.metrics.scrape(counters, input, open);
    let media = if open { metric::OPEN_METRICS } else { metric::PLAIN };
    respond::full_response(StatusCode::OK, media, text.into_bytes())
}

/// Takes the program's word that it reported a clean error, and so has recovered from its faults.
fn note_recovery(proxy: &Proxy, request: &Request<()>) -> Response<ResponseBody> {
    let query = request.uri().query();
    let (session, step) = (session_of(query), query_parameter(query, "step_id"));
    let (recovered, waiting) = fault::note_report(proxy, session.as_deref(), step.as_deref());
    if recovered.is_empty() && waiting.is_empty() {
        let why = "there is no fault to recover from: none has happened in this session (and step) \
                   that is still open";
        return json_reply(StatusCode::CONFLICT, &json!({ "error": why }));
    }
    json_reply(StatusCode::OK, &json!({ "recovered": recovered, "waiting": waiting }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_ready_until_its_stop_begins() {
        assert_eq!(readiness_response(false).status(), StatusCode::OK);
        assert_eq!(readiness_response(true).status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
