//! Tests of what a client asks of the connection itself, and of where its request may go.

use crate::support::shape::{chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("Hello")))
}

#[test]
fn an_offer_of_another_protocol_is_answered_in_http_1() {
    let (scene, upstream) = (Scene::new(), upstream());
    // Java's client, Apache's client, and what is no handshake of a WebSocket.
    let offer = |named: &str| {
        let call = chat("hi").header("connection: Upgrade, HTTP2-Settings");
        call.header(&format!("upgrade: {named}")).header("http2-settings: AAMAAABkAAQAoAAAAAIAAAAA")
    };
    let offers = ["h2c", "TLS/1.2", "websocket", "other/1, h2c"].map(offer);
    scene.recorded(&upstream, &offers);
    let received = upstream.received();
    assert_eq!(received.len(), offers.len());
    for name in ["upgrade", "http2-settings", "connection"] {
        assert!(received.iter().all(|call| call.header(name).is_none()), "{name}");
    }
    for answer in scene.replayed(&["--repeat", "last"], &offers, 0) {
        answer.expect(200);
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
