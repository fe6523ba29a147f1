//! The fields of an entry that only loomrec knows. Its own HAR files hold them as a recording does;
//! of any other format, an export names them as lost.

use serde_json::{Map, Value};

use super::format::ForeignFormat;
use loomrec_recording::entry::CHAOS;
use loomrec_recording::{Entry, EntryError};

/// The names of the fields, and how an export names those that it loses. Without a name, the export
/// leaves the entry out or names what is lost itself.
const CARRIED: [(&str, Option<&str>); 6] = [
    ("preset", None),
    ("ended_at", None),
    ("edited_at", Some("that answers were edited by hand")),
    ("client_left", None),
    ("fault", None),
    (CHAOS, Some("the chaos of entries")),
];

/// Listed as lost if an entry has fields that no format can hold.
const UNKNOWN: &str = "fields that are not part of a call";

/// The fields of an entry that a file of loomrec holds unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedFields(Map<String, Value>);

impl CarriedFields {
    /// Returns those of an entry.
    pub(super) fn from_entry(entry: &Entry) -> Self {
        let carried = Entry {
            preset: entry.preset.clone(),
            ended_at: entry.ended_at.clone(),
            edited_at: entry.edited_at.clone(),
            client_left: entry.client_left,
            fault: entry.fault.clone(),
            extra: entry.extra.clone(),
            ..Entry::default()
        };
        carried.to_json().as_object().map(Self::from_fields).unwrap_or_default()
    }

    /// Returns those among these fields.
    pub(super) fn from_fields(fields: &Map<String, Value>) -> Self {
        let known = CARRIED.iter().filter_map(|(name, _)| fields.get_key_value(*name));
        Self(known.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Returns them by name.
    pub(super) fn into_fields(self) -> Map<String, Value> {
        self.0
    }

    /// Gives them to an entry.
    ///
    /// # Errors
    /// If one of them has the wrong type: an entry without it could give another answer.
    pub(super) fn add_to(self, entry: &mut Entry) -> Result<(), EntryError> {
        let carried = Entry::parse(&Value::Object(self.0))?;
        entry.preset = carried.preset.or(entry.preset.take());
        (entry.ended_at, entry.edited_at) = (carried.ended_at, carried.edited_at);
        (entry.client_left, entry.fault) = (carried.client_left, carried.fault);
        entry.extra.extend(carried.extra);
        Ok(())
    }
}

/// Returns why a format cannot hold an entry whose answer is not the one that its client gets.
pub(super) fn refuse_limited(format: ForeignFormat, entry: &Entry) -> Result<(), String> {
    if format == ForeignFormat::Har {
        return Ok(());
    }
    if entry.client_left.is_some() {
        return Err("its client got only a part of the answer, which only har holds".to_owned());
    }
    if entry.fault.is_some() {
        return Err("a fault takes the place of its answer, which only har holds".to_owned());
    }
    Ok(())
}

/// Returns the fields of an entry that a format cannot hold, in a few words each.
pub(super) fn lost_fields(format: ForeignFormat, entry: &Entry) -> Vec<&'static str> {
    let mut lost = Vec::new();
    if format != ForeignFormat::Har {
        let held = CarriedFields::from_entry(entry).0;
        let carried = CARRIED.iter().filter(|(name, _)| held.contains_key(*name));
        lost.extend(carried.filter_map(|(_, part)| *part));
    }
    if entry.extra.keys().any(|name| name != CHAOS) {
        lost.push(UNKNOWN);
    }
    lost
}

#[cfg(test)]
mod tests {
    use loomrec_recording::entry::KNOWN_FIELDS;
    use serde_json::json;

    use super::*;

    /// The fields that HAR holds in another form, or that an import makes again of the call.
    const MADE_AGAIN: [&str; 18] = [
        "content",
        "model",
        "usage",
        "cost_usd",
        "latency_ms",
        "finish_reason",
        "tool_calls",
        "embeddings",
        "request_hash",
        "provider",
        "upstream",
        "upstream_origin",
        "run_values",
        "session",
        "recorded_at",
        "request",
        "response",
        "messages",
    ];

    #[test]
    fn every_field_of_an_entry_is_made_again_or_carried() {
        for field in KNOWN_FIELDS {
            let carried = CARRIED.iter().any(|(name, _)| *name == field);
            assert!(carried != MADE_AGAIN.contains(&field), "{field}");
        }
    }

    #[test]
    fn carried_fields_come_back_as_they_were() {
        let fields: Map<String, Value> = serde_json::from_value(json!({
            "preset": "claude-code 4", "ended_at": "2026-11-30T18:00:00Z",
            "edited_at": "2026-11-30T19:00:00Z", "client_left": { "ms": 1.5, "bytes": 40 },
            "fault": { "type": "http_error" }, "chaos": { "dropRate": 0.5 },
        }))
        .unwrap();
        assert_eq!(fields.len(), CARRIED.len());
        let mut entry = Entry::default();
        CarriedFields::from_fields(&fields).add_to(&mut entry).unwrap();
        assert_eq!(CarriedFields::from_entry(&entry).into_fields(), fields);
        let wrong = Map::from_iter([("client_left".to_owned(), json!(7))]);
        CarriedFields::from_fields(&wrong).add_to(&mut entry).unwrap_err();
    }
}
