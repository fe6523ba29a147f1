use std::io::Write as _;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::replay::{Latency, Matcher, Repeat, ReplayEngine, ReplaySource, ReplayTerms};
use loomrec_recording::RecordedRequest;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_store::Recording;

/// Polls a future once.
fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The smallest size that is not small.
const LARGE: usize = SMALL + UNIT;

#[tokio::test]
async fn a_call_keeps_the_permits_that_it_waited_for() {
    let room = DecodeRoom::new(UNIT, WHILE_CHANGING * LARGE);
    let patience = RoomPatience::start();
    let mut first = room.reserve_room(LARGE, patience).await.unwrap();
    let mut second = pin!(room.reserve_room(LARGE, patience));
    let mut third = pin!(room.reserve_room(LARGE, patience));
    assert!(poll(second.as_mut()).is_pending());
    assert!(poll(third.as_mut()).is_pending());
    first.shrink_to(UNIT);
    assert!(poll(second.as_mut()).is_pending());
    drop(first);
    let second = second.await.unwrap();
    assert!(poll(third.as_mut()).is_pending());
    drop(second);
    drop(third.await.unwrap());
    assert_eq!(room.large.free.available_permits(), room.large.units as usize);
}

#[tokio::test]
async fn a_small_answer_never_waits_for_a_large_one() {
    let room = DecodeRoom::new(WHILE_CHANGING * SMALL, WHILE_CHANGING * LARGE);
    let patience = RoomPatience::start();
    let _held = room.reserve_room(LARGE, patience).await.unwrap();
    let mut large = pin!(room.reserve_room(LARGE, patience));
    assert!(poll(large.as_mut()).is_pending());
    let mut small = pin!(room.reserve_room(SMALL, patience));
    assert!(poll(small.as_mut()).is_ready());
}

#[tokio::test]
async fn patience_that_is_over_is_not_renewed_by_another_wait() {
    let room = DecodeRoom::new(UNIT, WHILE_CHANGING * LARGE);
    let _held = room.reserve_room(LARGE, RoomPatience::start()).await.unwrap();
    let over = RoomPatience(Instant::now());
    for _ in 0..2 {
        let refused = room.reserve_room(LARGE, over).await;
        assert!(matches!(refused, Err(DeliveryError::NoRoom)));
    }
}

#[tokio::test]
async fn no_more_than_a_few_threads_work_at_one_time() {
    let room = DecodeRoom::default();
    let patience = RoomPatience::start();
    let mut reserved = Vec::new();
    for _ in 0..room.small.workers.available_permits() {
        reserved.push(room.reserve_room(UNIT, patience).await.unwrap());
    }
    let mut next = pin!(room.reserve_room(UNIT, patience));
    assert!(poll(next.as_mut()).is_pending());
    // What is kept until the client has read it is no work.
    reserved[0].shrink_to(UNIT);
    assert!(poll(next.as_mut()).is_ready());
}

/// Returns an engine with an answer that decodes to `length` bytes, and this room for decoding.
fn replayer(length: usize, room: DecodeRoom) -> (ReplayEngine, NormalizedRequest) {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&vec![b'0'; length]).unwrap();
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let request = json!({"method": "POST", "path": "/v1/chat/completions", "text": body});
    let headers = json!([["content-encoding", "gzip"]]);
    let answer = json!({
        "status": 200, "headers": headers, "base64": STANDARD.encode(gzip.finish().unwrap()),
    });
    let take = json!({"request": request, "response": answer});
    let file = json!({"_version": 2, "_loomrec": {"format": "1.0"}, "plan": [take, take]});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    std::fs::write(&path, file.to_string()).unwrap();
    let recording = Recording::open(&path).unwrap();
    let source = ReplaySource { label: "run".into(), recording };
    let terms = ReplayTerms { repeat: Some(Repeat::Last), ..ReplayTerms::default() };
    let matcher = Matcher::new(vec![source], terms).unwrap();
    let request = RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        body: body.into(),
        ..RecordedRequest::default()
    };
    let replayer = ReplayEngine::new(matcher, Latency::None).with_room(room);
    (replayer, NormalizedRequest::new("openai".into(), request, &[]))
}

#[tokio::test]
async fn a_decoded_answer_waits_until_an_earlier_one_has_been_read() {
    let length = 1 << 20;
    let room = DecodeRoom::new(WHILE_CHANGING * SMALL, WHILE_CHANGING * length + length / 2);
    let (replayer, observed) = replayer(length, room);
    let first = replayer.answer(&observed, None, Instant::now()).await.unwrap();
    assert!(!first.response.headers().contains_key("content-encoding"));
    let mut second = pin!(replayer.answer(&observed, None, Instant::now()));
    assert!(poll(second.as_mut()).is_pending());
    drop(first);
    let second = second.await.unwrap();
    assert_eq!(second.response.status(), 200);
    drop(second);
}

#[tokio::test]
async fn callers_at_one_time_share_a_large_answer_that_was_decoded() {
    let length = 1 << 20;
    let room = DecodeRoom::new(WHILE_CHANGING * SMALL, WHILE_CHANGING * length + length / 2);
    let (replayer, observed) = replayer(length, room);
    // The first ones find out how large it is. All later calls get the last take.
    for _ in 0..2 {
        drop(replayer.answer(&observed, None, Instant::now()).await.unwrap());
    }
    let answer = || replayer.answer(&observed, None, Instant::now());
    let (one, other) = tokio::join!(answer(), answer());
    let answers = [one.unwrap(), other.unwrap()];
    let bodies = answers.each_ref().map(|answer| answer.response.body().whole_bytes());
    assert_eq!((bodies[0].len(), bodies[0].as_ptr()), (length, bodies[1].as_ptr()));
    // Nothing keeps it once they have read it.
    drop((answers, bodies));
    drop(replayer.answer(&observed, None, Instant::now()).await.unwrap());
}

#[tokio::test]
async fn an_answer_that_is_accepted_as_it_is_needs_no_room() {
    let (replayer, observed) = replayer(1 << 20, DecodeRoom::new(UNIT, UNIT));
    for _ in 0..2 {
        let answered = replayer.answer(&observed, Some("gzip"), Instant::now()).await.unwrap();
        assert!(answered.response.headers().contains_key("content-encoding"));
    }
}
