//! Requests that are refused without an engine.

use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};

use super::connection_context::ConnectionContext;
use super::open_call::{CallArrival, OpenCall};
use super::protocol_upgrade;
use super::respond::{self, ResponseBody};
use loomrec_engine::{CallOutcome, RequestSummary};
use loomrec_identity::QueryRules;
use loomrec_provider::Provider;

/// Why a request is refused without an engine.
pub(super) struct CallRefusal {
    pub(super) provider: Provider,
    pub(super) status: StatusCode,
    pub(super) kind: &'static str,
    pub(super) message: String,
}

/// What is known of the head of a request that is refused.
pub(super) struct RefusedHead<'h> {
    pub(super) method: &'h str,
    pub(super) path: &'h str,
    pub(super) query: &'h str,
    pub(super) headers: &'h HeaderMap,
}

/// Refuses a request, and notifies the person at the terminal, without credentials.
pub(super) fn refuse_call(
    caller: &Arc<ConnectionContext>,
    parts: &Parts,
    refusal: CallRefusal,
) -> (Box<OpenCall>, Response<ResponseBody>) {
    let head = RefusedHead {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
    };
    refuse_head(caller, &head, refusal)
}

/// Refuses a request with this head.
pub(super) fn refuse_head(
    caller: &Arc<ConnectionContext>,
    head: &RefusedHead<'_>,
    refusal: CallRefusal,
) -> (Box<OpenCall>, Response<ResponseBody>) {
    let proxy = &*caller.proxy;
    let secrets = caller.request_credentials(head.headers, head.query, QueryRules::KNOWN);
    let clean = |text: &str| proxy.redactor.redact_text(text, &secrets).into_owned();
    let message = clean(&refusal.message);
    let (method, path) = (clean(head.method), clean(head.path));
    let summary = RequestSummary::from_refused(&method, &path, refusal.provider);
    let arrival = CallArrival { instant: Instant::now(), micros: proxy.clock.next_arrival_time() };
    let mut open = OpenCall::new(caller, arrival, Arc::new(summary), head.headers, &secrets);
    let mut response =
        respond::provider_error(refusal.provider, refusal.status, refusal.kind, &message);
    protocol_upgrade::name_protocol(&mut response);
    let outcome = match refusal.status {
        StatusCode::UPGRADE_REQUIRED => CallOutcome::UpgradeRefused,
        _ => CallOutcome::Refused { kind: Some(refusal.kind), message },
    };
    open.set_outcome(outcome, Some(refusal.status));
    (open, response)
}
