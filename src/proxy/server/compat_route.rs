//! The control endpoints of another tool, in runs that speak its words: chaos and the journal.

use http::header::HeaderName;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::Value;

use super::Proxy;
use super::chaos_route::{MOST_BYTES, clear, in_force, set};
use super::control_reply::read_body;
use super::respond::{self, ResponseBody};
use loomrec_dialect::compat::control::{
    CompatOperation, CompatRefusal, CompatReply, latest_limit, read_rates,
};
use loomrec_dialect::compat::journal::JournalFilter;
use loomrec_dialect::compat::test_name::test_of_control;
use loomrec_engine::StrictAdmission;
use loomrec_fault::ChaosScope;

/// Answers a request of a load balancer.
pub(super) fn probe(method: &Method, path: &str) -> Response<ResponseBody> {
    send(&CompatReply::probe(method, path))
}

/// Answers a request that was admitted.
pub(super) async fn answer(
    proxy: &Proxy,
    request: &Request<()>,
    body: Incoming,
    admission: StrictAdmission,
) -> Response<ResponseBody> {
    let query = request.uri().query().unwrap_or_default();
    let operation = CompatOperation::of(request.method(), request.uri().path());
    send(&match operation {
        CompatOperation::Health => CompatReply::health(),
        CompatOperation::CountFixtures => CompatReply::count(loaded(proxy)),
        CompatOperation::ShowRates | CompatOperation::SetRates | CompatOperation::ClearRates => {
            let rates = chaos(proxy, request, &operation, body, admission).await;
            rates.unwrap_or_else(CompatReply::from)
        }
        CompatOperation::ReadJournal => match JournalFilter::from_query(query) {
            Ok(filter) => return journal(proxy, &filter),
            Err(refusal) => refusal.into(),
        },
        CompatOperation::ReadLatest => latest(proxy, query),
        CompatOperation::Reset => {
            reset(proxy, admission);
            CompatReply::reset()
        }
        CompatOperation::ResetJournal => {
            proxy.telemetry.compat.clear();
            CompatReply::reset()
        }
        CompatOperation::DeleteJournal => {
            proxy.telemetry.compat.clear();
            return respond::full(StatusCode::NO_CONTENT, "application/json", Vec::new());
        }
        CompatOperation::Unknown(message) => CompatReply::not_found(&message),
    })
}

/// Shows, sets or clears the rates of the run, or of the test that the request names.
async fn chaos(
    proxy: &Proxy,
    request: &Request<()>,
    operation: &CompatOperation,
    body: Incoming,
    admission: StrictAdmission,
) -> Result<CompatReply, CompatRefusal> {
    let query = request.uri().query().unwrap_or_default();
    let test = test_of_control(request.headers(), query)?;
    let test = test.as_deref();
    let scope = test.map_or(ChaosScope::Run, |test| ChaosScope::Test(test.to_owned()));
    if *operation == CompatOperation::ClearRates {
        clear(proxy, &scope, admission);
    } else if *operation == CompatOperation::SetRates {
        let body = read_body(proxy, body, MOST_BYTES)
            .await
            .map_err(|why| CompatRefusal(format!("Failed to read request body: {why}")))?;
        set(proxy, scope, read_rates(&body)?, admission).map_err(CompatRefusal)?;
    }
    Ok(CompatReply::rates(&in_force(proxy, None, test).0))
}

/// Returns the entries of the journal that a query asks for.
fn journal(proxy: &Proxy, filter: &JournalFilter) -> Response<ResponseBody> {
    let found = proxy.telemetry.compat.entries(|entry| filter.admits(entry));
    let total = found.len();
    let wanted = found.into_iter().skip(filter.offset);
    let wanted: Vec<Value> = wanted.take(filter.limit.unwrap_or(usize::MAX)).collect();
    let mut response = send(&CompatReply::ok(Value::Array(wanted)));
    let name = HeaderName::from_static("x-total-count");
    response.headers_mut().insert(name, HeaderValue::from(total));
    response
}

/// Returns the latest entries of the journal.
fn latest(proxy: &Proxy, query: &str) -> CompatReply {
    let limit = match latest_limit(query) {
        Ok(limit) => limit,
        Err(refusal) => return refusal,
    };
    let entries = proxy.telemetry.compat.entries(|_| true);
    let skipped = entries.len().saturating_sub(limit);
    CompatReply::ok(Value::Array(entries.into_iter().skip(skipped).collect()))
}

/// Begins anew: every take is unused, calls are counted anew, the journal is empty, and no rates
/// are set.
fn reset(proxy: &Proxy, admission: StrictAdmission) {
    if let Some(replay) = proxy.engine.replay() {
        replay.reset(None, admission);
    }
    proxy.faults.decider().reset(None);
    proxy.telemetry.compat.clear();
    proxy.faults.run_time().clear_all(proxy.faults.now_ms());
}

/// Returns how many takes of recordings and rules of the script were loaded.
fn loaded(proxy: &Proxy) -> usize {
    let Some(replay) = proxy.engine.replay() else { return 0 };
    replay.matcher().len() + replay.script().map_or(0, |script| script.rule_count())
}

fn send(reply: &CompatReply) -> Response<ResponseBody> {
    respond::full(reply.status, "application/json", reply.body.to_string().into_bytes())
}
