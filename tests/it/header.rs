//! Tests of headers: which are passed on, which are held back, and encodings.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::support::shape::{chat, chat_answer, chat_streamed};
use crate::support::{Answer, Call, Response, Scene, Upstream};

fn names(call: &Call, more: &[&str]) -> Vec<String> {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let server = scene.record(&upstream, more);
    server.call(call).expect(200);
    server.stop().expect(0);
    let received = upstream.received().remove(0);
    received.head.headers.iter().map(|(n, v)| format!("{}: {v}", n.to_lowercase())).collect()
}

#[test]
fn end_to_end_headers_reach_the_upstream_and_nothing_is_added() {
    let call = chat("hi")
        .header("Authorization: Bearer sk-original-key-000001")
        .header("User-Agent: OpenAI/Python 2.54.0")
        .header("X-Stainless-Retry-Count: 0")
        .header("OpenAI-Organization: org-1")
        .header("accept: application/json")
        .header("x-multi: one")
        .header("x-multi: two");
    let mut seen = names(&call, &[]);
    seen.retain(|line| !line.starts_with("host:") && !line.starts_with("content-length:"));
    seen.sort();
    let expected = [
        "accept-encoding: identity",
        "accept: application/json",
        "authorization: Bearer sk-original-key-000001",
        "content-type: application/json",
        "openai-organization: org-1",
        "user-agent: OpenAI/Python 2.54.0",
        "x-multi: one",
        "x-multi: two",
        "x-stainless-retry-count: 0",
    ];
    assert_eq!(seen, expected);
    let mut bare = names(&Call::get("/openai/v1/models"), &[]);
    bare.retain(|line| !line.starts_with("host:"));
    assert_eq!(bare, ["accept-encoding: identity"]);
}

#[test]
fn hop_by_hop_and_own_headers_stay_here() {
    let call = chat("hi")
        .header("connection: keep-alive, x-hop")
        .header("x-hop: 1")
        .header("keep-alive: timeout=5")
        .header("te: deflate")
        .header("proxy-authorization: Basic cHJveHk6cGFzc3dvcmQ=")
        .header("proxy-connection: keep-alive")
        .header("x-loomrec-session: s1")
        .header("x-loomrec-step-id: plan")
        .header("x-loomrec-anything: else")
        .header("x-kept: 1");
    let seen = names(&call, &[]);
    for held in ["connection", "x-hop", "keep-alive", "te", "proxy-", "x-loomrec"] {
        assert!(!seen.iter().any(|line| line.starts_with(held)), "{held} in {seen:?}");
    }
    assert!(seen.contains(&"x-kept: 1".to_owned()));
}

#[test]
fn hop_by_hop_headers_of_an_answer_are_neither_passed_on_nor_kept() {
    let (scene, headers) = (
        Scene::new(),
        [
            "content-type: application/json",
            "connection: keep-alive, x-hop",
            "keep-alive: timeout=77",
            "x-hop: 1",
            "proxy-authenticate: Basic",
            "x-kept: 1",
            "date: Sat, 01 Jan 2000 00:00:00 GMT",
        ],
    );
    let upstream = Upstream::always(Answer::whole(200, &headers, "{}"));
    let recorded = scene.recorded(&upstream, &[chat("hi")]).remove(0).expect(200);
    let replayed = scene.replayed(&[], &[chat("hi")], 0).remove(0).expect(200);
    for answer in [recorded, replayed] {
        assert_eq!(answer.header("x-kept"), Some("1"));
        assert_eq!(answer.head.all("date"), ["Sat, 01 Jan 2000 00:00:00 GMT"]);
        assert_eq!((answer.header("x-hop"), answer.header("proxy-authenticate")), (None, None));
        assert_ne!(answer.header("keep-alive"), Some("timeout=77"));
    }
    assert!(!scene.text().contains("timeout=77") && !scene.text().contains("x-hop"));
}

#[test]
fn nothing_is_added_to_an_answer_that_is_recorded() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let recorded = scene.recorded(&upstream, &[chat("hi")]).remove(0).expect(200);
    let mut seen: Vec<String> =
        recorded.head.headers.iter().map(|(name, _)| name.to_lowercase()).collect();
    seen.retain(|name| !name.starts_with("x-loomrec-") && name != "date" && name != "connection");
    assert_eq!(seen, ["content-type", "content-length"]);
}

#[test]
fn upstreams_are_asked_for_answers_that_are_not_compressed() {
    let call = chat("hi").header("accept-encoding: gzip, deflate, zstd");
    assert!(names(&call, &[]).contains(&"accept-encoding: identity".to_owned()));
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_answer_is_kept_as_it_was_and_decoded_only_for_who_cannot_read_it() {
    let (scene, body) = (Scene::new(), chat_answer("compressed all the same"));
    let packed = gzip(&body);
    let headers = ["content-type: application/json", "content-encoding: gzip"];
    let upstream = Upstream::always(Answer::whole(200, &headers, &packed));
    let able = chat("hi").header("accept-encoding: gzip, deflate");
    let unable = chat("ho").header("accept-encoding: identity");
    let calls = [able, unable];
    let recorded = scene.recorded(&upstream, &calls);
    assert_eq!(scene.takes()[0].1["content"], "compressed all the same");
    let replayed = scene.replayed(&[], &calls, 0);
    // A recorder passes an upstream's answer through unchanged.
    for answer in recorded.iter().chain(&replayed[..1]) {
        assert_eq!(answer.body(), packed);
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
    }
    assert_eq!(replayed[1].text(), body);
    assert_eq!(replayed[1].header("content-encoding"), None);
}

#[test]
fn a_compressed_stream_is_decoded_for_a_client_that_cannot_read_it() {
    let (scene, events) = (Scene::new(), "data: {\"a\":1}\n\ndata: [DONE]\n\n");
    let packed = gzip(events);
    let (front, back) = packed.split_at(packed.len() / 2);
    let headers =
        ["content-type: text/event-stream", "content-encoding: gzip", "transfer-encoding: chunked"];
    let answer = Answer::head(200, &headers).chunk(front).chunk(back).end();
    let upstream = Upstream::always(answer);
    let able = chat_streamed("hi").header("accept-encoding: gzip");
    let unable = chat_streamed("ho").header("accept-encoding: identity");
    let calls = [able, unable];
    let recorded = scene.recorded(&upstream, &calls);
    let replayed = scene.replayed(&[], &calls, 0);
    for answer in recorded.iter().chain(&replayed[..1]) {
        assert_eq!(answer.chunks, [front, back]);
    }
    assert_eq!(replayed[1].text(), events);
}

#[test]
fn cookies_of_an_answer_reach_the_client_but_not_the_file() {
    let (scene, headers) = (Scene::new(), ["set-cookie: __cf_bm=cookie-canary-1; path=/"]);
    let upstream = Upstream::always(Answer::whole(200, &headers, "{}"));
    let recorded = scene.recorded(&upstream, &[chat("hi")]).remove(0).expect(200);
    assert_eq!(recorded.header("set-cookie"), Some("__cf_bm=cookie-canary-1; path=/"));
    assert!(!scene.text().contains("cookie-canary-1"));
}

#[test]
fn trailers_reach_clients_that_take_them_and_are_recorded_for_all() {
    let (scene, other) = (Scene::new(), Scene::new());
    let headers =
        ["content-type: text/event-stream", "transfer-encoding: chunked", "trailer: x-sum, X-B"];
    let end = "0\r\nx-sum: 1\r\nX-B: two\r\nset-cookie: trailer-canary\r\n\r\n";
    let stream = Answer::head(200, &headers).chunk("data: 1\n\n").bytes(end);
    let upstream = Upstream::always(stream);
    let calls = |takers: [bool; 2]| {
        ["hi", "ho"].into_iter().zip(takers).map(|(text, is_taker)| match is_taker {
            true => chat_streamed(text).header("te: gzip, trailers"),
            false => chat_streamed(text),
        })
    };
    let calls = |takers| calls(takers).collect::<Vec<Call>>();
    let check = |answers: Vec<Response>, takers: [bool; 2]| {
        for (answer, is_taker) in answers.into_iter().zip(takers) {
            let answer = answer.expect(200);
            let sent: &[&str] = if is_taker { &["x-b: two", "x-sum: 1"] } else { &[] };
            assert_eq!(
                (answer.text().as_str(), answer.trailers.as_slice()),
                (
                    "data: 1\n\n",
                    &sent.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()[..]
                )
            );
            assert_eq!(answer.header("trailer").is_some(), is_taker);
        }
    };
    check(scene.recorded(&upstream, &calls([true, false])), [true, false]);
    let asked = upstream.received();
    assert_eq!((asked[0].header("te"), asked[1].header("te")), (Some("trailers"), None));
    for (_, take) in scene.takes() {
        assert_eq!(take["response"]["trailers"], json!({"x-sum": "1", "x-b": "two"}));
        assert_eq!(take["response"]["headers"].get("trailer"), None);
    }
    assert!(!scene.text().contains("trailer-canary"));
    scene.run(&["verify", scene.name()]).expect(0);
    for takers in [[true, true], [false, false]] {
        check(scene.replayed(&["--strict"], &calls(takers), 0), takers);
    }
    let empty = Answer::head(200, &headers).bytes(end);
    let recorded = other.recorded(&Upstream::always(empty), &calls([true, false]));
    assert_eq!(recorded[0].trailers, ["x-b: two", "x-sum: 1"]);
    let replayed = other.replayed(&[], &calls([true, true]), 0);
    assert_eq!(replayed[1].trailers, ["x-b: two", "x-sum: 1"]);
}
