//! aimock's own control endpoints, in runs that speak its words: chaos and the journal, in the
//! shapes of aimock 1.43.

use http::header::HeaderName;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};

use super::Proxy;
use super::aimock_request::{InvalidTestName, test_of_control};
use super::chaos_route::{MOST_BYTES, clear, in_force, set};
use super::control_reply::read_body;
use super::respond::{self, ResponseBody};
use loomrec_engine::StrictAdmission;
use loomrec_fault::{ChaosRates, ChaosScope};
use loomrec_telemetry::aimock_journal::AimockEntry;

/// The path prefix of aimock's control endpoints.
const PREFIX: &str = "/__aimock/";
/// aimock's other path for its journal.
const REQUESTS: &str = "/v1/_requests";

/// aimock's paths for load balancers.
const HEALTH: &str = "/health";
const READY: &str = "/ready";

/// The rates that aimock has.
const RATES: [&str; 4] = ["dropRate", "malformedRate", "disconnectRate", "rateLimitRate"];
/// Its delay.
const LATENCY: &str = "latencyMs";
/// The parameters of its journal.
const JOURNAL: [&str; 8] =
    ["limit", "offset", "path", "method", "status", "service", "testId", "requestId"];

/// Whether a path is one of aimock's control endpoints.
pub(super) fn is_aimock(path: &str) -> bool {
    path.starts_with(PREFIX) || path == REQUESTS || is_probe(path)
}

/// Whether a path is one that load balancers ask. Anybody may, as in aimock.
pub(super) fn is_probe(path: &str) -> bool {
    path == HEALTH || path == READY
}

/// Answers such a request.
pub(super) fn probe(method: &Method, path: &str) -> Response<ResponseBody> {
    match (method, path) {
        (&Method::GET | &Method::HEAD, HEALTH) => reply(StatusCode::OK, &json!({ "status": "ok" })),
        (&Method::GET | &Method::HEAD, _) => reply(StatusCode::OK, &json!({ "status": "ready" })),
        _ => not_found("Not found"),
    }
}

/// A refusal in aimock's words.
struct AimockRefusal(String);

/// Answers a request that was admitted.
pub(super) async fn answer(
    proxy: &Proxy,
    request: &Request<()>,
    body: Incoming,
    admission: StrictAdmission,
) -> Response<ResponseBody> {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let answered = match (request.method(), path.strip_prefix(PREFIX)) {
        (&Method::GET, Some("health")) => Ok(json!({ "status": "ok" })),
        (&Method::GET, Some("fixtures")) => Ok(json!({ "count": loaded(proxy) })),
        (&Method::GET | &Method::DELETE | &Method::POST, Some("chaos")) => {
            chaos(proxy, request, body, admission).await
        }
        (&Method::GET, Some("journal")) => return journal(proxy, query),
        (&Method::POST, Some("reset" | "reset/fixtures")) => {
            reset(proxy, admission);
            Ok(json!({ "reset": true }))
        }
        (&Method::POST, Some("reset/journal")) => {
            proxy.telemetry.aimock.clear();
            Ok(json!({ "reset": true }))
        }
        (&Method::GET, None) => return requests(proxy, query),
        (&Method::DELETE, None) => {
            proxy.telemetry.aimock.clear();
            return respond::full(StatusCode::NO_CONTENT, "application/json", Vec::new());
        }
        (_, Some(_)) => return not_found(&format!("Unknown control endpoint: {path}")),
        (_, None) => return not_found("Not found"),
    };
    match answered {
        Ok(value) => reply(StatusCode::OK, &value),
        Err(AimockRefusal(why)) => reply(StatusCode::BAD_REQUEST, &json!({ "error": why })),
    }
}

/// Shows, sets or clears the rates of the run, or of the test that the request names.
async fn chaos(
    proxy: &Proxy,
    request: &Request<()>,
    body: Incoming,
    admission: StrictAdmission,
) -> Result<Value, AimockRefusal> {
    let query = request.uri().query().unwrap_or_default();
    let test = test_of_control(request.headers(), query).map_err(|InvalidTestName| {
        AimockRefusal("Invalid 'X-Test-Id': header is present but empty".to_owned())
    })?;
    let test = test.as_deref();
    let scope = test.map_or(ChaosScope::Run, |test| ChaosScope::Test(test.to_owned()));
    if *request.method() == Method::DELETE {
        clear(proxy, &scope, admission);
    } else if *request.method() == Method::POST {
        let body = read_body(proxy, body, MOST_BYTES)
            .await
            .map_err(|why| AimockRefusal(format!("Failed to read request body: {why}")))?;
        set(proxy, scope, read_rates(&body)?, admission).map_err(AimockRefusal)?;
    }
    Ok(json!({ "chaos": to_json(&in_force(proxy, None, test).0) }))
}

/// Reads rates as aimock does.
fn read_rates(body: &[u8]) -> Result<ChaosRates, AimockRefusal> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| AimockRefusal(format!("Invalid JSON: {error}")))?;
    let Value::Object(fields) = &value else {
        return Err(AimockRefusal("Invalid body: expected a JSON object".to_owned()));
    };
    let is_known = |name: &str| RATES.contains(&name) || name == LATENCY;
    if let Some(name) = fields.keys().find(|name| !is_known(name)) {
        return Err(AimockRefusal(format!("Unknown chaos field: '{name}'")));
    }
    let invalid =
        |name: &str, shape: &str| AimockRefusal(format!("Invalid '{name}': must be {shape}"));
    for name in RATES {
        let Some(value) = fields.get(name) else { continue };
        if !value.as_f64().is_some_and(|rate| (0.0..=1.0).contains(&rate)) {
            return Err(invalid(name, "a number between 0 and 1"));
        }
    }
    let shape = "a whole number of ms between 0 and 30000";
    if fields.get(LATENCY).is_some_and(Value::is_null) {
        return Err(invalid(LATENCY, shape));
    }
    ChaosRates::read(&value).map_err(|_| invalid(LATENCY, shape))
}

/// Returns rates in aimock's names. It has no others.
fn to_json(rates: &ChaosRates) -> Value {
    let [malformed, limit] = [rates.malformed, rates.rate_limit].map(|rate| rate.map(|it| it.rate));
    let mut out = Map::new();
    for (name, rate) in RATES.into_iter().zip([rates.drop, malformed, rates.disconnect, limit]) {
        if let Some(rate) = rate {
            // JavaScript writes whole numbers without a point.
            let is_whole = rate.fract() == 0.0;
            let value = if is_whole { json!(rate as u64) } else { json!(rate) };
            out.insert(name.to_owned(), value);
        }
    }
    if let Some(delay_ms) = rates.delay_ms {
        out.insert(LATENCY.to_owned(), delay_ms.into());
    }
    Value::Object(out)
}

/// Returns the entries of the journal that a query asks for.
fn journal(proxy: &Proxy, query: &str) -> Response<ResponseBody> {
    match JournalFilter::from_query(query) {
        Ok(filter) => {
            let found = proxy.telemetry.aimock.entries(|entry| filter.admits(entry));
            let total = found.len();
            let wanted = found.into_iter().skip(filter.offset);
            let wanted: Vec<Value> = wanted.take(filter.limit.unwrap_or(usize::MAX)).collect();
            let mut response = reply(StatusCode::OK, &Value::Array(wanted));
            let name = HeaderName::from_static("x-total-count");
            response.headers_mut().insert(name, HeaderValue::from(total));
            response
        }
        Err(AimockRefusal(why)) => reply(StatusCode::BAD_REQUEST, &json!({ "error": why })),
    }
}

/// What a query asks of the journal.
#[derive(Debug, Default)]
struct JournalFilter {
    limit: Option<usize>,
    offset: usize,
    path: Option<String>,
    method: Option<String>,
    status: Option<usize>,
    service: Option<String>,
    test: Option<String>,
    request_id: Option<String>,
}

impl JournalFilter {
    fn from_query(query: &str) -> Result<Self, AimockRefusal> {
        let mut filter = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let whole = |shape: &str| {
                let is_plain = value.trim().bytes().all(|byte| byte.is_ascii_digit());
                let number = value.trim().parse().ok().filter(|_| is_plain);
                number.ok_or_else(|| AimockRefusal(format!("Invalid '{name}': must be {shape}")))
            };
            let text = || Some(value.clone().into_owned());
            match &*name {
                "limit" => filter.limit = Some(whole("an integer >= 0")?),
                "offset" => filter.offset = whole("an integer >= 0")?,
                "status" => filter.status = Some(whole("an integer")?),
                "path" => filter.path = text(),
                "method" => filter.method = text(),
                "service" => filter.service = text(),
                "testId" => filter.test = text(),
                "requestId" => filter.request_id = text(),
                other => {
                    let known = JOURNAL.join(", ");
                    let why = format!("Unknown query parameter: '{other}'. Supported: {known}");
                    return Err(AimockRefusal(why));
                }
            }
        }
        Ok(filter)
    }

    fn admits(&self, entry: &AimockEntry) -> bool {
        let holds =
            |wanted: &Option<String>, is: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(is);
        // A run has no mounted services.
        self.service.is_none()
            && self.status.is_none_or(|status| status == usize::from(entry.status))
            && holds(&self.path, &|part| entry.target.contains(part))
            && holds(&self.method, &|method| entry.method.eq_ignore_ascii_case(method))
            && holds(&self.test, &|test| entry.test.as_deref() == Some(test))
            && holds(&self.request_id, &|id| entry.has_header("x-request-id", id))
    }
}

/// Returns the latest entries of the journal.
fn requests(proxy: &Proxy, query: &str) -> Response<ResponseBody> {
    let limit = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "limit");
    let limit = match limit.filter(|(_, value)| !value.is_empty()) {
        None => usize::MAX,
        Some((_, value)) => match value.parse() {
            Ok(limit) if limit > 0 => limit,
            _ => {
                let message = format!("Invalid limit parameter: \"{value}\"");
                let error = json!({ "message": message, "type": "invalid_request_error" });
                return reply(StatusCode::BAD_REQUEST, &json!({ "error": error }));
            }
        },
    };
    let entries = proxy.telemetry.aimock.entries(|_| true);
    let skipped = entries.len().saturating_sub(limit);
    reply(StatusCode::OK, &Value::Array(entries.into_iter().skip(skipped).collect()))
}

/// Begins anew: every take is unused, calls are counted anew, the journal is empty, and no rates
/// are set.
fn reset(proxy: &Proxy, admission: StrictAdmission) {
    if let Some(replay) = proxy.engine.replay() {
        replay.reset(None, admission);
    }
    proxy.faults.decider().reset(None);
    proxy.telemetry.aimock.clear();
    proxy.faults.run_time().clear_all(proxy.faults.now_ms());
}

/// Returns how many fixtures were loaded, in aimock's words: takes of recordings and rules of the
/// script.
fn loaded(proxy: &Proxy) -> usize {
    let Some(replay) = proxy.engine.replay() else { return 0 };
    replay.matcher().len() + replay.script().map_or(0, |script| script.rule_count())
}

fn not_found(message: &str) -> Response<ResponseBody> {
    reply(StatusCode::NOT_FOUND, &json!({ "error": { "message": message, "type": "not_found" } }))
}

fn reply(status: StatusCode, value: &Value) -> Response<ResponseBody> {
    respond::full(status, "application/json", value.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: &str) -> String {
        read_rates(body.as_bytes()).err().map(|AimockRefusal(why)| why).expect("refused")
    }

    #[test]
    fn rates_are_read_and_refused_as_aimock_does() {
        let rates = read_rates(br#"{"dropRate":1,"rateLimitRate":0.5,"latencyMs":20}"#);
        let Ok(rates) = rates else { panic!("refused") };
        let expected = json!({ "dropRate": 1, "rateLimitRate": 0.5, "latencyMs": 20 });
        assert_eq!(to_json(&rates), expected);
        assert_eq!(refused("[]"), "Invalid body: expected a JSON object");
        assert_eq!(refused(r#"{"drop":1}"#), "Unknown chaos field: 'drop'");
        let expected = "Invalid 'dropRate': must be a number between 0 and 1";
        for value in ["2", "-0.1", "\"1\"", "null", "true"] {
            assert_eq!(refused(&format!(r#"{{"dropRate":{value}}}"#)), expected);
        }
        let expected = "Invalid 'latencyMs': must be a whole number of ms between 0 and 30000";
        for value in ["30001", "1.5", "-1", "null", "\"5\""] {
            assert_eq!(refused(&format!(r#"{{"latencyMs":{value}}}"#)), expected);
        }
    }

    #[test]
    fn a_query_of_the_journal_names_known_parameters_and_whole_numbers() {
        let refused = |query: &str| {
            JournalFilter::from_query(query).err().map(|AimockRefusal(why)| why).expect("refused")
        };
        assert!(
            refused("sttus=1").starts_with("Unknown query parameter: 'sttus'. Supported: limit,")
        );
        assert_eq!(refused("limit=-1"), "Invalid 'limit': must be an integer >= 0");
        assert_eq!(refused("status=2x"), "Invalid 'status': must be an integer");
        let filter = JournalFilter::from_query("status=500&limit=2&offset=1").ok().expect("read");
        assert_eq!((filter.status, filter.limit, filter.offset), (Some(500), Some(2), 1));
    }
}
