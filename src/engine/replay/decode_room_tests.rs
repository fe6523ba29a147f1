use std::io::Write as _;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::replay::{Latency, Matcher, ReplayEngine, ReplaySource, ReplayTerms};
use loomrec_recording::RecordedRequest;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_store::Recording;

/// Polls a future once.
fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn room_is_reserved_for_the_most_and_kept_for_what_it_was() {
    let room = DecodeRoom::new(WHILE_DECODING * LARGEST + LARGEST);
    let mut first = room.reserve("br", 10).unwrap();
    let Err(DeliveryError::NoRoom(units)) = room.reserve("gzip, gzip", 10) else { panic!() };
    assert_eq!(units as usize * UNIT, WHILE_DECODING * LARGEST);
    // A small body of gzip needs little.
    let small = room.reserve("gzip", 1000).unwrap();
    let mut waits = pin!(room.wait(units));
    assert!(poll(waits.as_mut()).is_pending());
    first.shrink_to(LARGEST);
    assert!(poll(waits.as_mut()).is_pending());
    drop(small);
    assert!(waits.await);
    drop(first);
    assert_eq!(room.free.available_permits(), room.units as usize);
}

/// Returns an engine with an answer that decodes to `length` bytes, and `room` bytes for decoding.
fn replayer(length: usize, room: usize) -> (ReplayEngine, NormalizedRequest) {
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
    let matcher = Matcher::new(vec![source], ReplayTerms::default()).unwrap();
    let request = RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        query: String::new(),
        headers: Vec::new(),
        other_headers: Default::default(),
        body: body.into(),
    };
    let replayer = ReplayEngine::new(matcher, Latency::None).with_room(DecodeRoom::new(room));
    (replayer, NormalizedRequest::new("openai".into(), request, &[]))
}

#[tokio::test]
async fn a_decoded_answer_waits_until_an_earlier_one_has_been_read() {
    let length = 1 << 20;
    let (replayer, observed) = replayer(length, WHILE_DECODING * length + length / 2);
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
async fn an_answer_that_is_accepted_as_it_is_needs_no_room() {
    let (replayer, observed) = replayer(1 << 20, UNIT);
    for _ in 0..2 {
        let answered = replayer.answer(&observed, Some("gzip"), Instant::now()).await.unwrap();
        assert!(answered.response.headers().contains_key("content-encoding"));
    }
}
