use super::*;
use crate::replay::{Latency, Matcher, Repeat, ReplaySource, ReplayTerms};
use loomrec_recording::RecordedRequest;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_store::Recording;

/// Returns an engine that replays one take, and the request of it.
fn one_take() -> (Arc<ReplayEngine>, NormalizedRequest) {
    let request = RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        body: r#"{"model":"m","messages":[]}"#.into(),
        ..RecordedRequest::default()
    };
    let observed = NormalizedRequest::new("openai".to_owned(), request, &[]);
    let hash = observed.key_under(&loomrec_identity::IdentityRules::default());
    let entry = serde_json::json!({ "content": "x", "request_hash": hash.as_str() });
    let file = serde_json::json!({ "_version": 2, hash.as_str(): entry });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    std::fs::write(&path, file.to_string()).unwrap();
    let recording = Recording::open(&path).unwrap();
    let sources = vec![ReplaySource { label: "run".into(), recording }];
    let terms = ReplayTerms { repeat: Some(Repeat::Error), ..ReplayTerms::default() };
    let matcher = Matcher::new(sources, terms).unwrap();
    (Arc::new(ReplayEngine::new(matcher, Latency::None)), observed)
}

/// Finds the take, which is unused.
fn lease<'a>(replay: &'a Arc<ReplayEngine>, observed: &NormalizedRequest) -> TakeLease<'a> {
    let take = replay.find_take(observed).unwrap().index();
    TakeLease::new(replay, None, take)
}

fn is_used(replay: &ReplayEngine) -> bool {
    replay.matcher().unused_takes().count() == 0
}

#[test]
fn take_is_given_back_unless_its_lease_ends_in_another_way() {
    let (replay, observed) = one_take();
    drop(lease(&replay, &observed));
    assert!(!is_used(&replay));
    lease(&replay, &observed).release();
    assert!(!is_used(&replay));
    let mut consumed = lease(&replay, &observed);
    consumed.consume();
    assert!(is_used(&replay));
    // What was to use it up has failed.
    consumed.release();
    assert!(!is_used(&replay));
    lease(&replay, &observed).consume();
    assert!(is_used(&replay));
    assert!(replay.find_take(&observed).is_err());
}

#[test]
fn kept_take_is_lent_reclaimed_and_given_back() {
    let (replay, observed) = one_take();
    let kept = lease(&replay, &observed).keep_for_delay();
    assert!(is_used(&replay));
    let mut lent = kept.lend_answer();
    assert!(!is_used(&replay));
    lent.reclaim();
    assert!(is_used(&replay));
    drop(lent);
    assert!(!is_used(&replay));
    lease(&replay, &observed).keep_for_delay().lend_answer().release();
    assert!(!is_used(&replay));
    lease(&replay, &observed).keep_for_delay().lend_answer().consume();
    assert!(is_used(&replay));
}

#[test]
fn take_that_is_lent_answers_another_call() {
    let (replay, observed) = one_take();
    let lent = lease(&replay, &observed).keep_for_delay().lend_answer();
    lease(&replay, &observed).consume();
    drop(lent);
    assert!(is_used(&replay), "it was not held any more");
}
