use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::*;
use crate::upstream::UpstreamRequest;
use loomrec_identity::IdentityRules;
use loomrec_recording::body::{Chunk, ChunkLayout, ResponsePayload};
use loomrec_recording::entry::RecordedCut;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::{PendingChange, RecordedRequest, RecordedResponse};

fn order(before: Option<Entry>) -> RerecordRequest {
    let request = RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        body: Bytes::from_static(b"{}"),
        ..RecordedRequest::default()
    };
    let rules = IdentityRules::default();
    let observed = NormalizedRequest::new("openai".into(), request, std::slice::from_ref(&rules));
    let key = observed.key_under(&rules);
    let name = EntryName::Hash(key.clone());
    RerecordRequest {
        forward: UpstreamRequest {
            upstream: "openai".into(),
            base: "http://localhost".parse().unwrap(),
            method: Method::POST,
            path: "/".into(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            aws: None,
            turn: None,
        },
        observed,
        key,
        secrets: Arc::default(),
        run_values: Arc::default(),
        pending: PendingChange { reason: "rerecorded".into(), replaces: None },
        before: before.map(|entry| (name.clone(), entry)),
        name,
    }
}

fn answer(status: u16, end: ResponseEnd, body: &str, content: &str) -> Entry {
    let chunks = vec![Chunk { at_ms: 1.0, data: Bytes::from(body.to_owned()) }];
    let response = RecordedResponse {
        status,
        reason: None,
        headers: vec![("retry-after".into(), "2".into())],
        trailers: Vec::new(),
        payload: ResponsePayload::new(ChunkLayout::Whole, chunks),
        end,
    };
    Entry { content: Some(content.into()), response: Some(response), ..Entry::default() }
}

fn good(content: &str) -> Entry {
    answer(200, ResponseEnd::Complete, "{}", content)
}

#[test]
fn change_is_what_the_answer_says_else_what_counts_beside_it() {
    let judged = |before: Option<Entry>, mut entry: Entry| {
        let judged = judge_answer(&order(before), &mut entry).unwrap();
        assert_eq!(PendingChange::from_entry(&entry).unwrap().reason, "rerecorded");
        judged
    };
    assert_eq!(judged(None, good("a")), AnswerChange::New);
    assert_eq!(judged(Some(good("a")), good("a")), AnswerChange::Same);
    assert_eq!(judged(Some(good("b")), good("a")), AnswerChange::Answer);
    let other = Entry { finish_reason: Some("length".into()), ..good("a") };
    assert_eq!(judged(Some(other), good("a")), AnswerChange::Answer);
    let other = Entry { model: Some("m".into()), ..good("a") };
    assert_eq!(judged(Some(other), good("a")), AnswerChange::Aside);
}

#[test]
fn answer_is_kept_only_when_it_came_to_a_good_end() {
    let bad = |mut entry: Entry| {
        let judged = judge_answer(&order(None), &mut entry).unwrap_err();
        assert_eq!(PendingChange::from_entry(&entry), None);
        judged
    };
    let at = |status| {
        bad(answer(status, ResponseEnd::Complete, r#"{"error":{"message":"no\u0000 x"}}"#, ""))
    };
    let after = Some(Duration::from_secs(2));
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
        assert!(
            matches!(at(status), RejectReason::Busy { after: asked, .. } if asked == after),
            "{status}"
        );
    }
    assert!(matches!(at(401), RejectReason::Refused { .. }));
    for status in [301, 400, 403, 404, 413, 501] {
        assert!(matches!(at(status), RejectReason::Failed { .. }), "{status}");
    }
    assert_eq!(bad(answer(200, ResponseEnd::ClientAbort, "", "")), RejectReason::Stopped);
    let cut = bad(answer(200, ResponseEnd::UpstreamAbort(RecordedCut::Reset), "", ""));
    assert!(matches!(cut, RejectReason::Busy { after: asked, .. } if asked == after));
    assert!(matches!(
        bad(answer(200, ResponseEnd::Truncated, "", "")),
        RejectReason::Failed { .. }
    ));
    assert!(matches!(bad(Entry::default()), RejectReason::Failed { .. }));
}

#[test]
fn status_is_good_when_it_was_recorded() {
    let refused = || answer(429, ResponseEnd::Complete, "{}", "");
    assert_eq!(judge_answer(&order(Some(refused())), &mut refused()), Ok(AnswerChange::Same));
    assert!(judge_answer(&order(Some(good("a"))), &mut refused()).is_err());
}

#[test]
fn stream_that_breaks_off_with_an_error_is_no_answer() {
    let streamed = |body: &str| {
        let mut entry = answer(200, ResponseEnd::Complete, body, "");
        let response = entry.response.as_mut().unwrap();
        response.headers = vec![("content-type".into(), "text/event-stream; charset=utf-8".into())];
        entry
    };
    let good =
        "data: {\"choices\":[{\"delta\":{\"content\":\"event: error\"}}]}\n\ndata: [DONE]\n\n";
    assert_eq!(judge_answer(&order(None), &mut streamed(good)), Ok(AnswerChange::New));
    for bad in [
        "event: error\r\ndata: {\"type\":\"error\"}\r\n\r\n",
        "data: {\"choices\":[]}\n\ndata: {\"error\":{\"message\":\"x\"}}\n\n",
        "event:response.failed\ndata: {}\n\n",
    ] {
        let judged = judge_answer(&order(None), &mut streamed(bad));
        assert!(matches!(judged, Err(RejectReason::Busy { .. })), "{bad}: {judged:?}");
        let before = Some(streamed(bad));
        assert_eq!(
            judge_answer(&order(before), &mut streamed(bad)),
            Ok(AnswerChange::Same),
            "{bad}"
        );
    }
}
