//! What a request must look like to match an imported call, and which values differ between calls.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use loomrec_cli::terminal;
use loomrec_recording::Entry;

/// How many kinds of calls and how many places are counted.
const COUNTED: usize = 200;

/// How many of them are shown to people.
const SHOWN: usize = 10;

/// The most bytes of a body that is searched.
const BODY_LIMIT: usize = 1 << 20;

/// How many bodies are searched.
const BODIES: usize = 5000;

/// A method, an upstream and a path.
type CallKind = (String, String, String);

/// What imported requests have in common, and where they differ.
#[derive(Debug, Default)]
pub(super) struct MatchReport {
    kinds: BTreeMap<CallKind, KindHeaders>,
    places: BTreeMap<(String, ValueKind), PlaceValues>,
    bodies: usize,
}

/// The headers of the calls of a kind.
#[derive(Debug)]
struct KindHeaders {
    calls: usize,
    common: BTreeSet<(String, String)>,
}

/// What a value looks like that may differ in each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ValueKind {
    Id,
    Date,
}

/// The values at a place.
#[derive(Debug)]
struct PlaceValues {
    first: String,
    differs: bool,
}

impl MatchReport {
    /// Looks at an imported call.
    pub(super) fn add(&mut self, entry: &Entry) {
        let Some(request) = &entry.request else { return };
        let upstream = entry.upstream.clone().unwrap_or_default();
        let kind = (request.method.clone(), upstream, request.path.clone());
        // `accept` is kept, and not part of a key by itself.
        let counts = |(name, _): &&(String, String)| name != "accept";
        let headers: BTreeSet<_> = request.headers.iter().filter(counts).cloned().collect();
        let has_room = self.kinds.len() < COUNTED;
        match self.kinds.get_mut(&kind) {
            Some(known) => {
                known.calls += 1;
                known.common.retain(|header| headers.contains(header));
            }
            None if has_room => {
                self.kinds.insert(kind, KindHeaders { calls: 1, common: headers });
            }
            None => {}
        }
        if self.bodies < BODIES && request.body.len() <= BODY_LIMIT {
            self.bodies += 1;
            if let Ok(body) = serde_json::from_slice::<Value>(&request.body) {
                self.search(&body, &mut String::new());
            }
        }
    }

    fn search(&mut self, value: &Value, place: &mut String) {
        let length = place.len();
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    place.push('/');
                    place.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.search(member, place);
                    place.truncate(length);
                }
            }
            Value::Array(items) => {
                place.push_str("/*");
                for item in items {
                    self.search(item, place);
                }
                place.truncate(length);
            }
            Value::String(text) => {
                if let Some((kind, found)) = telling_part(text) {
                    self.note(place, kind, found);
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, place: &str, kind: ValueKind, found: &str) {
        let key = (place.to_owned(), kind);
        let has_room = self.places.len() < COUNTED;
        match self.places.get_mut(&key) {
            Some(known) => known.differs |= known.first != found,
            None if has_room => {
                let first = found.to_owned();
                self.places.insert(key, PlaceValues { first, differs: false });
            }
            None => {}
        }
    }

    fn differing(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let differing = self.places.iter().filter(|(_, values)| values.differs);
        differing.map(|((place, kind), _)| match kind {
            ValueKind::Id => (place.as_str(), "ids"),
            ValueKind::Date => (place.as_str(), "dates"),
        })
    }

    /// Returns the members of the receipt.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let kinds = self.kinds.iter().map(|((method, upstream, path), kind)| {
            let headers: Map<String, Value> = kind
                .common
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().into()))
                .collect();
            json!({ "method": method, "upstream": upstream, "path": path, "headers": headers,
                "calls": kind.calls })
        });
        let places = self.differing().map(|(place, kind)| json!({ "place": place, "kind": kind }));
        Map::from_iter([
            ("matching".to_owned(), kinds.collect()),
            ("differing".to_owned(), places.collect()),
        ])
    }

    /// Returns lines for people.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: &str| {
            text.push_str("\n  ");
            text.push_str(&terminal::line(line));
        };
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.calls));
        for ((method, upstream, path), kind) in kinds.iter().take(SHOWN) {
            let headers: Vec<String> =
                kind.common.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            let headers = match headers.is_empty() {
                true => String::new(),
                false => format!(" {}, and", headers.join(", ")),
            };
            line(&format!(
                "to match: {method} /{upstream}{path} with{headers} the same body ({} call{})",
                kind.calls,
                if kind.calls == 1 { "" } else { "s" }
            ));
        }
        if kinds.len() > SHOWN {
            line(&format!("to match: {} more kinds; --json lists each", kinds.len() - SHOWN));
        }
        let differing: Vec<_> = self.differing().collect();
        for (place, kind) in differing.iter().take(SHOWN) {
            line(&format!(
                "differs between calls: {place} ({kind}); if it also differs in each run, a rule \
                 is needed (--ignore, --normalize)"
            ));
        }
        text
    }
}

/// Returns the part of a text that is an id or a date.
fn telling_part(text: &str) -> Option<(ValueKind, &str)> {
    if text.len() <= 128 && is_id(text) {
        return Some((ValueKind::Id, text));
    }
    let is_date = |window: &[u8]| {
        window.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    };
    let at = text.as_bytes().windows(10).position(is_date)?;
    Some((ValueKind::Date, text.get(at..at + 10)?))
}

/// Whether a text is a UUID, many hexadecimal digits, or a prefix with random characters.
fn is_id(text: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if text.len() >= 24 && is_hex(text) {
        return true;
    }
    let Some((prefix, rest)) = text.split_once(['_', '-']) else { return false };
    let is_prefix =
        (2..=16).contains(&prefix.len()) && prefix.bytes().all(|b| b.is_ascii_lowercase());
    let has_digit = rest.bytes().any(|byte| byte.is_ascii_digit());
    let is_random = rest.len() >= 16 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_prefix && has_digit && is_random
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_recording::RecordedRequest;

    fn entry(body: &Value, headers: &[(&str, &str)]) -> Entry {
        let headers = headers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let request = RecordedRequest {
            method: "POST".to_owned(),
            path: "/v1/x".to_owned(),
            headers,
            body: body.to_string().into(),
            ..RecordedRequest::default()
        };
        Entry { request: Some(request), upstream: Some("openai".to_owned()), ..Entry::default() }
    }

    #[test]
    fn common_headers_and_differing_ids_and_dates_are_told() {
        let mut report = MatchReport::default();
        let body = |id: &str, day: &str| {
            json!({"model": "gpt-4o", "messages": [{"tool_call_id": id,
                "content": format!("Today is {day}.")}]})
        };
        let kind = ("content-type", "application/json");
        report.add(&entry(
            &body("call_a1b2c3d4e5f6a1b2c3", "2026-01-02"),
            &[kind, ("accept", "*/*"), ("x", "1")],
        ));
        report.add(&entry(
            &body("call_b1b2c3d4e5f6a1b2c3", "2026-01-03"),
            &[kind, ("accept", "*/*"), ("x", "2")],
        ));
        let text = report.text();
        let wanted = "to match: POST /openai/v1/x with content-type: application/json, and the \
                      same body (2 calls)";
        assert!(text.contains(wanted), "{text}");
        assert!(text.contains("/messages/*/tool_call_id (ids)"), "{text}");
        assert!(text.contains("/messages/*/content (dates)"), "{text}");
        assert!(!text.contains("/model"), "{text}");
        assert_eq!(report.to_json()["differing"].as_array().map(Vec::len), Some(2));
    }
}
