//! How a fixture's answer is played: the pace and the end of its stream, and its chaos.

use serde_json::{Map, Value};

use loomrec_fault::ChaosRates;

/// The fields of a fixture that are read.
const FIXTURE: [&str; 11] = [
    "match",
    "response",
    "chaos",
    "latency",
    "chunkSize",
    "streamingProfile",
    "recordedTimings",
    "replaySpeed",
    "truncateAfterChunks",
    "disconnectAfterMs",
    // Hashes of what was recorded, which are not looked at.
    "metadata",
];
/// The fields of an answer that are read. `role`, and `fallthrough`, are always as they are by
/// default.
const RESPONSE: [&str; 11] = [
    "content",
    "toolCalls",
    "blocks",
    "error",
    "status",
    "embedding",
    "transcription",
    "usage",
    "finishReason",
    "model",
    "role",
];

/// The conditions that are checked.
const MATCH: [&str; 13] = [
    "userMessage",
    "systemMessage",
    "inputText",
    "toolCallId",
    "toolResultContains",
    "toolName",
    "model",
    "responseFormat",
    "endpoint",
    "sequenceIndex",
    "turnIndex",
    "hasToolResult",
    "context",
];

/// The rates of a fixture.
const CHAOS: [&str; 5] =
    ["dropRate", "malformedRate", "rateLimitRate", "disconnectRate", "latencyMs"];

/// The most fields that are named as not played.
const NAMED: usize = 20;

/// The default number of characters in a piece of a stream.
const CHUNK_SIZE: usize = 20;

/// The longest wait, in milliseconds: a day.
const LONGEST: f64 = 86_400_000.0;

/// The pace of a stream, and its early end.
#[derive(Clone, Debug, PartialEq)]
pub struct FixturePace {
    /// The number of characters in a piece of text.
    pub chunk_size: usize,
    /// After how many events the connection is destroyed.
    pub truncate_after: Option<usize>,
    /// After how many milliseconds the connection is destroyed.
    pub disconnect_after_ms: Option<f64>,
    /// The wait before the first event, in milliseconds.
    first_ms: f64,
    /// The waits before the next events.
    between_ms: Vec<f64>,
    /// The wait before every later event.
    later_ms: f64,
}

impl Default for FixturePace {
    fn default() -> Self {
        Self {
            chunk_size: CHUNK_SIZE,
            truncate_after: None,
            disconnect_after_ms: None,
            first_ms: 0.0,
            between_ms: Vec::new(),
            later_ms: 0.0,
        }
    }
}

impl FixturePace {
    /// Reads the pace of a fixture: its profile, else its recorded times, else its latency.
    ///
    /// # Errors
    /// If a field is not a number that can be waited for or counted.
    pub(super) fn read(fixture: &Map<String, Value>) -> Result<Self, String> {
        let none = &Value::Null;
        let outer = |name: &str| fixture.get(name).unwrap_or(none);
        let (profile, times) = (outer("streamingProfile"), outer("recordedTimings"));
        let speed = read_number(outer("replaySpeed"), "replaySpeed")?.filter(|speed| *speed > 0.0);
        let speed = speed.unwrap_or(1.0);
        let latency = read_number(outer("latency"), "latency")?.unwrap_or(0.0);
        let mut pace = Self { first_ms: latency, later_ms: latency, ..Self::default() };
        if profile.is_object() {
            let of = |name: &str| read_number(&profile[name], &format!("streamingProfile.{name}"));
            if let Some(rate) = of("tps")?.filter(|rate| *rate > 0.0) {
                (pace.first_ms, pace.later_ms) = (1000.0 / rate, 1000.0 / rate);
            }
            pace.first_ms = of("ttft")?.unwrap_or(pace.first_ms);
        } else if times.is_object() {
            // A time that cannot be used counts as none.
            let usable = |value: &Value| value.as_f64().filter(|ms| (0.0..=LONGEST).contains(ms));
            let between = times["interChunkDelaysMs"].as_array().into_iter().flatten();
            pace.between_ms = between.filter_map(usable).collect();
            pace.first_ms = usable(&times["ttftMs"]).unwrap_or(0.0);
            let mean = pace.between_ms.iter().sum::<f64>() / pace.between_ms.len() as f64;
            pace.later_ms = if pace.between_ms.is_empty() { 0.0 } else { mean };
        }
        (pace.first_ms, pace.later_ms) = (pace.first_ms / speed, pace.later_ms / speed);
        pace.between_ms.iter_mut().for_each(|ms| *ms /= speed);
        if let Some(size) = read_count(outer("chunkSize"), "chunkSize")? {
            pace.chunk_size = size.max(1);
        }
        pace.truncate_after = read_count(outer("truncateAfterChunks"), "truncateAfterChunks")?;
        pace.disconnect_after_ms = read_number(outer("disconnectAfterMs"), "disconnectAfterMs")?;
        Ok(pace)
    }

    /// Returns the wait before the event at `index`, in milliseconds.
    pub fn wait_ms(&self, index: usize) -> f64 {
        match index.checked_sub(1) {
            None => self.first_ms,
            Some(index) => self.between_ms.get(index).copied().unwrap_or(self.later_ms),
        }
    }
}

fn read_number(value: &Value, name: &str) -> Result<Option<f64>, String> {
    let read = value.as_f64().filter(|number| (0.0..=LONGEST).contains(number));
    match (value, read) {
        (Value::Null, _) => Ok(None),
        (_, Some(number)) => Ok(Some(number)),
        _ => Err(format!("`{name}` is not a number from 0 to {LONGEST}")),
    }
}

fn read_count(value: &Value, name: &str) -> Result<Option<usize>, String> {
    let read = value.as_u64().and_then(|count| usize::try_from(count).ok());
    match (value, read) {
        (Value::Null, _) => Ok(None),
        (_, Some(count)) => Ok(Some(count)),
        _ => Err(format!("`{name}` is not a whole number")),
    }
}

/// Reads the rates of a fixture. Their actions have the uniform form.
pub(super) fn read_rates(value: &Value) -> Result<ChaosRates, String> {
    let rates = value.as_object().ok_or("`chaos` is not an object")?;
    if let Some(other) = rates.keys().find(|name| !CHAOS.contains(&name.as_str())) {
        let other: String = other.chars().take(40).collect();
        return Err(format!("`chaos` has no rate {other:?}"));
    }
    let rates = ChaosRates::from_value(value).map_err(|error| error.under("/chaos").to_string())?;
    // No wait is none.
    let delay_ms = rates.delay_ms.filter(|wait| *wait > 0);
    Ok(ChaosRates { delay_ms, ..rates })
}

/// Returns the names of the fields that change nothing in an answer of loomrec.
pub(super) fn unused_fields(
    fixture: &Map<String, Value>,
    response: &Map<String, Value>,
) -> Vec<String> {
    let short = |name: &str| name.chars().take(40).collect::<String>();
    let outer = fixture.iter().filter(|(name, _)| !FIXTURE.contains(&name.as_str()));
    let inner = response.iter().filter(|(name, _)| !RESPONSE.contains(&name.as_str()));
    let rule = fixture.get("match").and_then(Value::as_object).into_iter().flatten();
    let rule = rule.filter(|(name, _)| !MATCH.contains(&name.as_str()));
    let jitter = fixture.get("streamingProfile").and_then(|profile| profile.get("jitter"));
    let jitter = jitter.map(|value| ("streamingProfile.jitter".to_owned(), value));
    outer
        .map(|(name, value)| (short(name), value))
        .chain(inner.map(|(name, value)| (format!("response.{}", short(name)), value)))
        .chain(rule.map(|(name, value)| (format!("match.{}", short(name)), value)))
        .chain(jitter)
        .filter(|(_, value)| !value.is_null())
        .map(|(name, _)| name)
        .take(NAMED)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pace(fixture: Value) -> Result<FixturePace, String> {
        FixturePace::read(fixture.as_object().unwrap())
    }

    #[test]
    fn a_profile_stands_above_recorded_times_and_these_above_the_latency() {
        let waits = |fixture: Value| {
            let pace = pace(fixture).unwrap();
            [0, 1, 2, 3].map(|index| pace.wait_ms(index))
        };
        assert_eq!(waits(json!({ "latency": 5 })), [5.0; 4]);
        let times = json!({ "ttftMs": 8, "interChunkDelaysMs": [2, 4, -1] });
        let timed = json!({ "latency": 5, "recordedTimings": times, "replaySpeed": 2 });
        assert_eq!(waits(timed), [4.0, 1.0, 2.0, 1.5]);
        let profile = json!({ "ttft": 70, "tps": 100 });
        let profiled = json!({ "streamingProfile": profile, "recordedTimings": times });
        assert_eq!(waits(profiled), [70.0, 10.0, 10.0, 10.0]);
    }

    #[test]
    fn a_pace_that_cannot_be_kept_is_refused_by_its_name() {
        assert!(pace(json!({ "latency": -1 })).unwrap_err().contains("`latency`"));
        assert!(pace(json!({ "chunkSize": "x" })).unwrap_err().contains("`chunkSize`"));
        let profile = json!({ "streamingProfile": { "tps": [] } });
        assert!(pace(profile).unwrap_err().contains("`streamingProfile.tps`"));
    }

    #[test]
    fn rates_keep_their_names_and_with_them_their_form() {
        let rates = json!({ "dropRate": 0.5, "malformedRate": 0.25, "rateLimitRate": 1,
            "disconnectRate": null, "latencyMs": 30 });
        let read = json!({ "drop": 0.5, "malformedRate": 0.25, "rateLimitRate": 1.0,
            "latencyMs": 30 });
        assert_eq!(read_rates(&rates).unwrap().to_json(), read);
        assert!(read_rates(&json!({ "latencyMs": 0 })).unwrap().is_empty());
        assert!(read_rates(&json!({ "dropRate": 2 })).unwrap_err().contains("dropRate"));
        assert!(read_rates(&json!({ "drop": 1 })).unwrap_err().contains("no rate \"drop\""));
    }

    #[test]
    fn fields_that_change_nothing_are_named() {
        let fixture = json!({ "match": { "predicate": "p" }, "response": { "content": "", "reasoning": "r", "id": null },
            "openRouterProcessing": true, "streamingProfile": { "jitter": 0.1 } });
        let response = fixture["response"].as_object().unwrap();
        let named = unused_fields(fixture.as_object().unwrap(), response);
        let all = [
            "openRouterProcessing",
            "response.reasoning",
            "match.predicate",
            "streamingProfile.jitter",
        ];
        assert_eq!(named, all);
    }
}
