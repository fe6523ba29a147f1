//! Tests of what a client asks of the connection itself, and of where its request may go.

use crate::support::shape::{chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("Hello")))
}

#[test]
fn an_offer_of_http_2_goes_on_in_http_1() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    let call = chat("hi").header("connection: Upgrade, HTTP2-Settings").header("upgrade: h2c");
    server.call(&call.header("http2-settings: AAMAAABkAAQAoAAAAAIAAAAA")).expect(200);
    server.call(&chat("hi").header("connection: upgrade").header("upgrade: websocket")).expect(501);
    server.stop().expect(0);
    let received = upstream.received();
    assert_eq!(received.len(), 1);
    for name in ["upgrade", "http2-settings", "connection"] {
        assert_eq!(received[0].header(name), None, "{name}");
    }
}

#[test]
fn a_call_meant_for_another_host_is_sent_to_no_upstream_and_answered_by_none() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let call = || {
        let body = chat_body("hi").to_string();
        Call::post("http://gateway.test/v1/chat/completions", body)
            .header("host: gateway.test")
            .header("authorization: Bearer key-of-the-gateway")
    };
    let server = scene.record(&upstream, &["--upstream", &upstream.url()]);
    let refused = server.call(&call()).expect(421);
    assert!(refused.text().contains("--upstream NAME=http://gateway.test"), "{}", refused.text());
    server.stop().expect(1);
    assert_eq!(upstream.requests(), 1);
    scene.replayed(&[], &[call()], 1).remove(0).expect(421);
}

#[test]
fn a_post_without_a_body_goes_upstream_with_its_length() {
    let (scene, upstream) = (Scene::new(), upstream());
    let call = Call::post("/openai/v1/batches/b/cancel", "");
    scene.recorded(&upstream, &[call, Call::get("/openai/v1/models")]);
    let received = upstream.received();
    assert_eq!(received[0].header("content-length"), Some("0"));
    assert_eq!(received[1].header("content-length"), None);
}
