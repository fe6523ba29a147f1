use super::*;
use crate::replay::{MissReason, RecordingMismatchError, UnexplainedMiss};
use loomrec_recording::normalized_request::NormalizedRequest;

/// More entries than one thread reads, and more than are read again for a miss.
const MANY: usize = 3 * ALONE;

fn body(words: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{words}"}}]}}"#)
}

/// Words of which no other call has many.
fn words(at: usize) -> String {
    (0..40).map(|n| format!("w{} ", (at * 7919 + n * 104_729) % 9973)).collect()
}

fn file(broken: Option<usize>) -> String {
    let mut file = serde_json::Map::new();
    file.insert("_version".into(), 2.into());
    file.insert("_loomrec".into(), serde_json::json!({"format": "1.0"}));
    for at in 0..MANY {
        let status = if broken == Some(at) { 0 } else { 200 };
        let entry = serde_json::json!({
            "upstream": "openai",
            "request": { "method": "POST", "path": "/v1/chat/completions", "text": body(&words(at)) },
            "response": { "status": status, "text": format!("answer {at}") },
        });
        file.insert(format!("call {at}"), entry);
    }
    serde_json::Value::Object(file).to_string()
}

fn matcher(text: &str) -> Result<Matcher, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    std::fs::write(&path, text).unwrap();
    let recording = Recording::open(&path)?;
    Matcher::new(vec![ReplaySource { label: "run.json".into(), recording }], ReplayTerms::default())
}

fn observed(words: &str) -> NormalizedRequest {
    let request = loomrec_recording::entry::RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        body: body(words).into(),
        ..Default::default()
    };
    NormalizedRequest::new("openai".into(), request, &[])
}

#[test]
fn every_entry_of_a_large_recording_is_there_in_its_order() {
    let matcher = matcher(&file(None)).unwrap();
    let names: Vec<String> =
        matcher.unused_takes().map(|take| matcher.name_of(take).to_string()).collect();
    assert_eq!(names, (0..MANY).map(|at| format!("call {at}")).collect::<Vec<_>>());
    for at in [0, ALONE - 1, ALONE, ALONE + 1, MANY - 1] {
        let call = observed(&words(at));
        let found = matcher.find_take(&call).unwrap().take;
        assert_eq!(matcher.name_of(found).to_string(), format!("call {at}"));
        assert_eq!(matcher.find_take(&call).unwrap_err(), MissReason::Exhausted);
    }
}

#[test]
fn an_entry_that_cannot_be_used_is_named_wherever_it_stands() {
    for at in [3, ALONE + 5, MANY - 1] {
        let error = matcher(&file(Some(at))).unwrap_err();
        let said = format!("{error}: {:?}", error);
        assert!(said.contains(&format!("call {at}")), "{said}");
    }
}

#[test]
fn the_nearest_of_many_calls_is_found_wherever_it_stands() {
    let matcher = matcher(&file(None)).unwrap();
    for (at, used) in [(1, false), (200, false), (250, true), (MANY - 1, true)] {
        if used {
            matcher.find_take(&observed(&words(at))).unwrap();
        }
        let call = observed(&words(at).replacen("w", "changed", 1));
        let reason = matcher.find_take(&call).unwrap_err();
        assert_eq!(reason, MissReason::Unknown);
        let miss = UnexplainedMiss { reason, refused: None, rule: Default::default() };
        let error = RecordingMismatchError::explain_miss(&matcher, &miss, &call);
        let nearest = error.nearest.unwrap();
        assert_eq!(nearest.name, format!("call {at}"));
        assert_eq!(nearest.differences.len(), 1);
        assert_eq!(error.reason, if used { MissReason::Unknown } else { MissReason::Drifted });
    }
}
