//! What a request must look like to match an imported call, and which values differ between calls.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use loomrec_cli::terminal;
use loomrec_curation::noise::kinds_between;
use loomrec_identity::HoleKind;
use loomrec_recording::Entry;

/// How many kinds of calls are counted.
const COUNTED: usize = 200;

/// How many places of bodies are compared.
const PLACES: usize = 2000;

/// How many values of a place are compared with its first one.
const COMPARED: usize = 16;

/// The most bytes of a value that is compared.
const VALUE_LIMIT: usize = 8 << 10;

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
    places: BTreeMap<String, PlaceValues>,
    bodies: usize,
}

/// The headers of the calls of a kind.
#[derive(Debug)]
struct KindHeaders {
    calls: usize,
    common: BTreeSet<(String, String)>,
}

/// The values at a place.
#[derive(Debug)]
struct PlaceValues {
    first: Value,
    compared: usize,
    /// The kinds of what differs from the first one.
    kinds: BTreeSet<HoleKind>,
}

impl MatchReport {
    /// Looks at an imported call.
    pub(super) fn add(&mut self, entry: &Entry) {
        let (Some(method), Some(path)) = (entry.request_method(), entry.request_path()) else {
            return;
        };
        let upstream = entry.upstream.clone().unwrap_or_default();
        let kind = (method.to_owned(), upstream, path.to_owned());
        // `accept` is kept, and not part of a key by itself.
        let counts = |(name, _): &&(String, String)| name != "accept";
        let headers: BTreeSet<_> = entry.request_headers().iter().filter(counts).cloned().collect();
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
        let body = entry.request_body().filter(|body| body.len() <= BODY_LIMIT);
        if let Some(body) = body.filter(|_| self.bodies < BODIES) {
            self.bodies += 1;
            if let Ok(body) = serde_json::from_slice::<Value>(body) {
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
            Value::String(text) if text.len() <= VALUE_LIMIT => self.compare(place, value),
            Value::Number(_) => self.compare(place, value),
            _ => {}
        }
    }

    /// Compares a value with the first one at its place. The model decides the answer.
    fn compare(&mut self, place: &str, value: &Value) {
        let has_room = self.places.len() < PLACES && place != "/model";
        match self.places.get_mut(place) {
            Some(known) if known.compared < COMPARED && known.first != *value => {
                known.compared += 1;
                known.kinds.extend(kinds_between(&known.first, value));
            }
            None if has_room => {
                let (compared, kinds) = (0, BTreeSet::new());
                let first = value.clone();
                self.places.insert(place.to_owned(), PlaceValues { first, compared, kinds });
            }
            _ => {}
        }
    }

    fn differing_values(&self) -> impl Iterator<Item = (&str, String)> {
        self.places.iter().flat_map(|(place, values)| {
            values.kinds.iter().map(|kind| (place.as_str(), kind.to_string()))
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
        let places =
            self.differing_values().map(|(place, kind)| json!({ "place": place, "kind": kind }));
        Map::from_iter([
            ("matching".to_owned(), kinds.collect()),
            ("differing".to_owned(), places.collect()),
        ])
    }

    /// Returns lines for people.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: &str| {
            text.push_str("\n  ");
            text.push_str(&terminal::printable_line(line));
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
        let differing: Vec<_> = self.differing_values().collect();
        for (place, kind) in differing.iter().take(SHOWN) {
            line(&format!(
                "differs between calls: {place} ({kind}); if it also differs in each run, a rule \
                 is needed (--ignore, --normalize)"
            ));
        }
        text
    }
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
    fn common_headers_and_differing_ids_and_dates_are_named() {
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
        let text = report.to_text();
        let wanted = "to match: POST /openai/v1/x with content-type: application/json, and the \
                      same body (2 calls)";
        assert!(text.contains(wanted), "{text}");
        assert!(text.contains("/messages/*/tool_call_id (hex18)"), "{text}");
        assert!(text.contains("/messages/*/content (date)"), "{text}");
        assert!(!text.contains("/model"), "{text}");
        assert_eq!(report.to_json()["differing"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn texts_that_differ_in_words_are_no_candidates_for_rules() {
        let mut report = MatchReport::default();
        for text in ["Is it 2026?", "Who wrote call_of_the_wild_in_1903?", "The cat sat."] {
            report.add(&entry(&json!({"model": "m", "input": text, "seed": 7}), &[]));
        }
        assert_eq!(report.to_json()["differing"], json!([]));
    }
}
