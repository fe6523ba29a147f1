//! Tests of headers: which are passed on, which are held back, and encodings.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::shape::{chat, chat_answer, chat_streamed};
use crate::support::{Answer, Call, Scene, Upstream};

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
        .header("te: trailers")
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
fn trailers_do_no_harm() {
    let scene = Scene::new();
    let stream = Answer::stream().chunk("data: 1\n\n").bytes("0\r\nx-trailer: 1\r\nx-b: 2\r\n\r\n");
    let upstream = Upstream::always(stream);
    let recorded = scene.recorded(&upstream, &[chat_streamed("hi")]).remove(0).expect(200);
    let replayed = scene.replayed(&[], &[chat_streamed("hi")], 0).remove(0).expect(200);
    assert_eq!(
        (recorded.text().as_str(), replayed.text().as_str()),
        ("data: 1\n\n", "data: 1\n\n")
    );
}
