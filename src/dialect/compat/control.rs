//! aimock's control endpoints: their paths, what they are asked, and what they answer, in the shapes
//! of aimock 1.43.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use loomrec_fault::ChaosRates;

/// The path prefix of the control endpoints.
const PREFIX: &str = "/__aimock/";
/// The other path of the journal.
const REQUESTS: &str = "/v1/_requests";

/// The paths for load balancers.
const HEALTH: &str = "/health";
const READY: &str = "/ready";

/// The rates.
const RATES: [&str; 4] = ["dropRate", "malformedRate", "disconnectRate", "rateLimitRate"];
/// The delay.
const LATENCY: &str = "latencyMs";

/// An endpoint.
#[derive(Clone, Copy, Debug)]
pub struct CompatEndpoint {
    /// The method.
    pub method: &'static str,
    /// The path.
    pub path: &'static str,
    /// Whether it can weaken a strict replay.
    pub weakens: bool,
}

const fn harmless(method: &'static str, path: &'static str) -> CompatEndpoint {
    CompatEndpoint { method, path, weakens: false }
}

const fn weakening(method: &'static str, path: &'static str) -> CompatEndpoint {
    CompatEndpoint { method, path, weakens: true }
}

/// The endpoints.
pub const ENDPOINTS: [CompatEndpoint; 13] = [
    harmless("GET", "/health"),
    harmless("GET", "/ready"),
    harmless("GET", "/__aimock/health"),
    harmless("GET", "/__aimock/fixtures"),
    harmless("GET", "/__aimock/chaos"),
    weakening("POST", "/__aimock/chaos"),
    weakening("DELETE", "/__aimock/chaos"),
    harmless("GET", "/__aimock/journal"),
    weakening("POST", "/__aimock/reset"),
    weakening("POST", "/__aimock/reset/fixtures"),
    harmless("POST", "/__aimock/reset/journal"),
    harmless("GET", "/v1/_requests"),
    harmless("DELETE", "/v1/_requests"),
];

/// What a control request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompatOperation {
    /// Whether the server runs.
    Health,
    /// How many fixtures are loaded.
    CountFixtures,
    /// The rates in force.
    ShowRates,
    /// Other rates.
    SetRates,
    /// No rates.
    ClearRates,
    /// The entries of the journal that a query asks for.
    ReadJournal,
    /// The latest entries of the journal.
    ReadLatest,
    /// A new beginning: takes, counts, the journal, rates.
    Reset,
    /// An empty journal.
    ResetJournal,
    /// An empty journal, without an answer.
    DeleteJournal,
    /// Nothing that is known. The text says so.
    Unknown(String),
}

/// A refusal, in aimock's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompatRefusal(pub String);

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct CompatReply {
    /// The status.
    pub status: StatusCode,
    /// The body.
    pub body: Value,
}

/// Whether a path is one of these control endpoints.
pub fn is_endpoint(path: &str) -> bool {
    path.starts_with(PREFIX) || path == REQUESTS || is_probe(path)
}

/// Whether a path is one that load balancers ask. Anybody may.
pub fn is_probe(path: &str) -> bool {
    path == HEALTH || path == READY
}

impl CompatOperation {
    /// Returns what a request to one of the endpoints asks for.
    pub fn from_request(method: &Method, path: &str) -> Self {
        match (method, path.strip_prefix(PREFIX)) {
            (&Method::GET, Some("health")) => Self::Health,
            (&Method::GET, Some("fixtures")) => Self::CountFixtures,
            (&Method::GET, Some("chaos")) => Self::ShowRates,
            (&Method::POST, Some("chaos")) => Self::SetRates,
            (&Method::DELETE, Some("chaos")) => Self::ClearRates,
            (&Method::GET, Some("journal")) => Self::ReadJournal,
            (&Method::POST, Some("reset" | "reset/fixtures")) => Self::Reset,
            (&Method::POST, Some("reset/journal")) => Self::ResetJournal,
            (&Method::GET, None) => Self::ReadLatest,
            (&Method::DELETE, None) => Self::DeleteJournal,
            (_, Some(_)) => Self::Unknown(format!("Unknown control endpoint: {path}")),
            (_, None) => Self::Unknown("Not found".to_owned()),
        }
    }
}

impl CompatReply {
    /// Makes an answer.
    pub fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body }
    }

    /// Answers a request of a load balancer.
    pub fn answer_probe(method: &Method, path: &str) -> Self {
        match (method, path) {
            (&Method::GET | &Method::HEAD, HEALTH) => Self::health(),
            (&Method::GET | &Method::HEAD, _) => Self::ok(json!({ "status": "ready" })),
            _ => Self::not_found("Not found"),
        }
    }

    /// Says that the server runs.
    pub fn health() -> Self {
        Self::ok(json!({ "status": "ok" }))
    }

    /// Says how many fixtures are loaded.
    pub fn fixture_count(count: usize) -> Self {
        Self::ok(json!({ "count": count }))
    }

    /// Says that something begins anew.
    pub fn reset() -> Self {
        Self::ok(json!({ "reset": true }))
    }

    /// Shows rates.
    pub fn rates(rates: &ChaosRates) -> Self {
        Self::ok(json!({ "chaos": shown_rates(rates) }))
    }

    /// Says that there is no such endpoint.
    pub fn not_found(message: &str) -> Self {
        let error = json!({ "message": message, "type": "not_found" });
        Self { status: StatusCode::NOT_FOUND, body: json!({ "error": error }) }
    }
}

impl From<CompatRefusal> for CompatReply {
    fn from(CompatRefusal(why): CompatRefusal) -> Self {
        Self { status: StatusCode::BAD_REQUEST, body: json!({ "error": why }) }
    }
}

/// Reads the number of entries that a query of [`CompatOperation::ReadLatest`] asks for.
///
/// # Errors
/// The answer to a value that is 0 or not a number.
pub fn latest_limit(query: &str) -> Result<usize, CompatReply> {
    let limit = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "limit");
    match limit.filter(|(_, value)| !value.is_empty()) {
        None => Ok(usize::MAX),
        Some((_, value)) => match value.parse() {
            Ok(limit) if limit > 0 => Ok(limit),
            _ => {
                let message = format!("Invalid limit parameter: \"{value}\"");
                let error = json!({ "message": message, "type": "invalid_request_error" });
                let body = json!({ "error": error });
                Err(CompatReply { status: StatusCode::BAD_REQUEST, body })
            }
        },
    }
}

/// Reads rates.
///
/// # Errors
/// If they are no JSON object, have an unknown name, or a value out of range.
pub fn read_rates(body: &[u8]) -> Result<ChaosRates, CompatRefusal> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| CompatRefusal(format!("Invalid JSON: {error}")))?;
    let Value::Object(fields) = &value else {
        return Err(CompatRefusal("Invalid body: expected a JSON object".to_owned()));
    };
    let is_known = |name: &str| RATES.contains(&name) || name == LATENCY;
    if let Some(name) = fields.keys().find(|name| !is_known(name)) {
        return Err(CompatRefusal(format!("Unknown chaos field: '{name}'")));
    }
    let invalid =
        |name: &str, shape: &str| CompatRefusal(format!("Invalid '{name}': must be {shape}"));
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
    ChaosRates::from_value(&value).map_err(|_| invalid(LATENCY, shape))
}

/// Returns rates under these names. There are no others.
fn shown_rates(rates: &ChaosRates) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: &str) -> String {
        read_rates(body.as_bytes()).err().map(|CompatRefusal(why)| why).expect("refused")
    }

    #[test]
    fn rates_are_read_and_refused_as_aimock_does() {
        let rates = read_rates(br#"{"dropRate":1,"rateLimitRate":0.5,"latencyMs":20}"#);
        let Ok(rates) = rates else { panic!("refused") };
        let expected = json!({ "dropRate": 1, "rateLimitRate": 0.5, "latencyMs": 20 });
        assert_eq!(shown_rates(&rates), expected);
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
    fn every_endpoint_asks_for_something() {
        for CompatEndpoint { method, path, .. } in ENDPOINTS {
            assert!(is_endpoint(path), "{path}");
            let asked = CompatOperation::from_request(&method.parse().unwrap(), path);
            let is_unknown = matches!(asked, CompatOperation::Unknown(_));
            assert!(is_probe(path) || !is_unknown, "{method} {path}");
        }
    }
}
