//! The control endpoints of another tool, in runs that speak its words: chaos and the journal.

use http::header::HeaderName;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::Value;

use super::Proxy;
use super::chaos_route::{MOST_BYTES, clear_rates, in_force, set_rates};
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
pub(super) fn answer_probe(method: &Method, path: &str) -> Response<ResponseBody> {
    to_response(&CompatReply::answer_probe(method, path))
}

/// Answers a request that was admitted.
pub(super) async fn answer_request(
    proxy: &Proxy,
    request: &Request<()>,
    body: Incoming,
    admission: StrictAdmission,
) -> Response<ResponseBody> {
    let query = request.uri().query().unwrap_or_default();
    let operation = CompatOperation::from_request(request.method(), request.uri().path());
    to_response(&match operation {
        CompatOperation::Health => CompatReply::health(),
        CompatOperation::CountFixtures => CompatReply::fixture_count(loaded_count(proxy)),
        CompatOperation::ShowRates | CompatOperation::SetRates | CompatOperation::ClearRates => {
            let rates = answer_chaos(proxy, request, &operation, body, admission).await;
            rates.unwrap_or_else(CompatReply::from)
        }
        CompatOperation::ReadJournal => match JournalFilter::from_query(query) {
            Ok(filter) => return answer_journal(proxy, &filter),
            Err(refusal) => refusal.into(),
        },
        CompatOperation::ReadLatest => latest_entries(proxy, query),
        CompatOperation::Reset => {
            reset_run(proxy, admission);
            CompatReply::reset()
        }
        CompatOperation::ResetJournal => {
            proxy.telemetry.compat.clear();
            CompatReply::reset()
        }
        CompatOperation::DeleteJournal => {
            proxy.telemetry.compat.clear();
            return respond::full_response(StatusCode::NO_CONTENT, "application/json", Vec::new());
        }
        CompatOperation::Unknown(message) => CompatReply::not_found(&message),
    })
}

/// Shows, sets or clears the rates of the run, or of the test that the request names.
async fn answer_chaos(
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
        clear_rates(proxy, &scope, admission);
    } else if *operation == CompatOperation::SetRates {
        let body = read_body(proxy, body, MOST_BYTES)
            .await
            .map_err(|why| CompatRefusal(format!("Failed to read request body: {why}")))?;
        set_rates(proxy, scope, read_rates(&body)?, admission).map_err(CompatRefusal)?;
    }
    Ok(CompatReply::rates(&in_force(proxy, None, test).0))
}

/// Returns the entries of the journal that a query asks for.
fn answer_journal(proxy: &Proxy, filter: &JournalFilter) -> Response<ResponseBody> {
    let found = proxy.telemetry.compat.matching_entries(|entry| filter.is_match(entry));
    let total = found.len();
    let wanted = found.into_iter().skip(filter.offset);
    let wanted: Vec<Value> = wanted.take(filter.limit.unwrap_or(usize::MAX)).collect();
    let mut response = to_response(&CompatReply::ok(Value::Array(wanted)));
    let name = HeaderName::from_static("x-total-count");
    response.headers_mut().insert(name, HeaderValue::from(total));
    response
}

/// Returns the latest entries of the journal.
fn latest_entries(proxy: &Proxy, query: &str) -> CompatReply {
    let limit = match latest_limit(query) {
        Ok(limit) => limit,
        Err(refusal) => return refusal,
    };
    let entries = proxy.telemetry.compat.matching_entries(|_| true);
    let skipped = entries.len().saturating_sub(limit);
    CompatReply::ok(Value::Array(entries.into_iter().skip(skipped).collect()))
}

/// Begins anew: every take is unused, calls are counted anew, the journal is empty, and no rates
/// are set.
fn reset_run(proxy: &Proxy, admission: StrictAdmission) {
    if let Some(replay) = proxy.engine.replay_engine() {
        replay.reset(None, admission);
    }
    proxy.faults.decider().forget_calls(None);
    proxy.telemetry.compat.clear();
    proxy.faults.run_time().clear_all(proxy.faults.now_ms());
}

/// Returns how many takes of recordings and rules of the script were loaded.
fn loaded_count(proxy: &Proxy) -> usize {
    let Some(replay) = proxy.engine.replay_engine() else { return 0 };
    replay.matcher().len() + replay.script().map_or(0, |script| script.rule_count())
}

fn to_response(reply: &CompatReply) -> Response<ResponseBody> {
    respond::full_response(reply.status, "application/json", reply.body.to_string().into_bytes())
}
