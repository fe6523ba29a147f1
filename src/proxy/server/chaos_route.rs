//! The control endpoint `/__loomrec/chaos`: it shows, sets and clears rates of chaos while a run
//! goes on.

use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::Proxy;
use super::control_reply::{json_reply, read_body, session_of};
use super::respond::ResponseBody;
use loomrec_engine::StrictAdmission;
use loomrec_fault::{ChaosRates, ChaosScope};

/// The most bytes of rates that are set.
pub(super) const MOST_BYTES: usize = 64 << 10;
/// The longest name of a session, in bytes.
const LONGEST_SESSION: usize = 1024;

/// Answers a request that was admitted.
pub(super) async fn answer_request(
    proxy: &Proxy,
    method: &Method,
    query: Option<&str>,
    body: Incoming,
    admission: StrictAdmission,
) -> Response<ResponseBody> {
    let session = session_of(query);
    let refused = |why: &str| json_reply(StatusCode::BAD_REQUEST, &json!({ "error": why }));
    if session.as_ref().is_some_and(|name| name.is_empty() || name.len() > LONGEST_SESSION) {
        return refused("session: expected a name of 1 to 1024 bytes");
    }
    let scope = session.clone().map_or(ChaosScope::Run, ChaosScope::Session);
    if *method == Method::DELETE {
        clear_rates(proxy, &scope, admission);
    } else if *method == Method::POST {
        let rates = match read_body(proxy, body, MOST_BYTES).await {
            Ok(body) => read_rates(&body),
            Err(why) => Err(why),
        };
        if let Err(why) = rates.and_then(|rates| set_rates(proxy, scope, rates, admission)) {
            return refused(&why);
        }
    }
    json_reply(StatusCode::OK, &describe_rates(proxy, session.as_deref()))
}

/// Sets the rates of `scope`.
///
/// # Errors
/// Why they cannot be set.
pub(super) fn set_rates(
    proxy: &Proxy,
    scope: ChaosScope,
    rates: ChaosRates,
    _: StrictAdmission,
) -> Result<(), String> {
    let faults = &proxy.faults;
    faults.run_time().set_rates(scope, rates, faults.now_ms()).map_err(|error| error.to_string())
}

/// Clears the rates of `scope`.
pub(super) fn clear_rates(proxy: &Proxy, scope: &ChaosScope, _: StrictAdmission) {
    proxy.faults.run_time().clear_rates(scope, proxy.faults.now_ms());
}

/// Returns the rates in force for a session and a test, below those of entries and headers, and
/// whether they were set while the run goes on.
pub(super) fn in_force(
    proxy: &Proxy,
    session: Option<&str>,
    test: Option<&str>,
) -> (ChaosRates, bool) {
    match proxy.faults.run_time().rates_for(session, test) {
        Some(rates) => ((*rates).clone(), true),
        None => (proxy.faults.decider().plan().chaos.clone(), false),
    }
}

fn read_rates(body: &[u8]) -> Result<ChaosRates, String> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| format!("expected an object of rates as JSON: {error}"))?;
    ChaosRates::from_value(&value).map_err(|error| error.to_string())
}

fn describe_rates(proxy: &Proxy, session: Option<&str>) -> Value {
    let (rates, is_set) = in_force(proxy, session, None);
    json!({ "session": session, "chaos": rates.to_json(), "set": is_set })
}
