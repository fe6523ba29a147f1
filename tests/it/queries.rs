//! Tests of credentials in queries, targets, addresses and compressed bodies: what is kept, what
//! distinguishes requests, and what is refused.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::shape::{CHAT, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Server, Upstream};

const TOKEN: &str = "q7Zt2LmX9aRf4KpW8sVd1NcY6hBj3Gu5";

fn upstream() -> Upstream {
    Upstream::start(|request| Answer::json(200, format!("{{\"asked\": {:?}}}", request.text())))
}

/// A recording run with a custom upstream.
#[track_caller]
fn record(scene: &Scene, upstream: &Upstream, more: &[&str]) -> Server {
    let custom = format!("mine={}", upstream.url());
    scene.record(upstream, &[&["--upstream", &custom], more].concat())
}

fn call(query: &str) -> Call {
    Call::post(&format!("/mine/v1/things?{query}"), "{\"a\":1}")
}

#[test]
fn parameters_of_a_known_provider_that_carry_credentials_are_not_kept() {
    let (scene, upstream) = (Scene::new(), upstream());
    let ask = |secret: &str| {
        let query =
            ["auth", "client_secret", "refresh_token", "AWSAccessKeyId", "jwt", "signature"]
                .map(|name| format!("{name}={secret}-{name}"));
        Call::post(&format!("/openai/v1/things?a=1&{}&b=2", query.join("&")), "{}")
    };
    scene.recorded(&upstream, &[ask("canary-of-a-query")]);
    assert!(upstream.received()[0].target.contains("client_secret=canary-of-a-query"));
    assert!(!scene.text().contains("canary"), "{}", scene.text());
    assert_eq!(scene.only_take()["request"]["query"], "a=1&b=2");
    scene.replayed(&["--strict"], &[ask("another-value-in-ci")], 0).remove(0).expect(200);
}

#[test]
fn requests_that_differ_in_a_parameter_of_a_custom_upstream_are_two() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = record(&scene, &upstream, &[]);
    for query in ["key=customers", &format!("token={TOKEN}")] {
        server.call(&call(query)).expect(200);
    }
    server.stop().expect(0);
    assert!(scene.text().contains("key=customers") && scene.text().contains("token=sha256:"));
    assert!(!scene.text().contains(TOKEN), "{}", scene.text());
    let server = scene.replay(&[]);
    server.call(&call("key=customers")).expect(200);
    let missed = server.call(&call("key=orders")).expect(422);
    assert!(missed.text().contains("query"), "{}", missed.text());
    server.call(&call(&format!("token={TOKEN}"))).expect(200);
    let missed = server.call(&call(&format!("token={TOKEN}x"))).expect(422);
    assert!(!missed.text().contains(TOKEN), "{}", missed.text());
    server.stop().expect(1);
}

#[test]
fn parameter_that_is_named_a_credential_is_no_part_of_the_identity() {
    let (scene, upstream) = (Scene::new(), upstream());
    let named = ["--credential-param", "Key"];
    let server = record(&scene, &upstream, &named);
    server.call(&call("a=1&key=a-short-secret")).expect(200);
    server.stop().expect(0);
    assert!(!scene.text().contains("a-short-secret"), "{}", scene.text());
    assert_eq!(scene.only_take()["request"]["query"], "a=1");
    let strict = [&["--strict"], &named[..]].concat();
    scene.replayed(&strict, &[call("a=1&key=another")], 0).remove(0).expect(200);
}

#[test]
fn credential_parameters_of_the_settings_hold_beside_a_typed_one() {
    let (scene, upstream) = (Scene::new(), upstream());
    std::fs::write(scene.path("loomrec.toml"), "credential-param = [\"key\"]\n").unwrap();
    let server = record(&scene, &upstream, &["--credential-param", "pin"]);
    server.call(&call("a=1&key=a-short-secret&pin=another")).expect(200);
    server.stop().expect(0);
    assert_eq!(scene.only_take()["request"]["query"], "a=1");
    assert!(!scene.text().contains("a-short-secret"), "{}", scene.text());
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_request_that_holds_a_credential_is_kept_without_it_and_replayed() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("ok"))));
    let ask = |prompt: &str, key: &str| {
        let body = chat_body(&format!("{prompt}: my key is {key}")).to_string();
        let call = Call::post(CHAT, packed(&body)).header("content-encoding: gzip");
        call.header(&format!("authorization: Bearer {key}"))
    };
    scene.recorded(&upstream, &[ask("one", "packed-canary-5d4c3b2a")]);
    assert_eq!(
        scene.only_take()["request"]["body"]["messages"][0]["content"],
        "one: my key is [REDACTED]"
    );
    let server = scene.replay(&[]);
    server.call(&ask("one", "another-key-in-ci-1234")).expect(200);
    let missed = server.call(&ask("two", "packed-canary-5d4c3b2a")).expect(422);
    assert!(!missed.text().contains("canary"), "{}", missed.text());
    server.stop().expect(1);
}

#[test]
fn compressed_request_that_cannot_be_looked_into_is_kept_as_its_digest() {
    let (scene, upstream) = (Scene::new(), upstream());
    let ask = |cut: usize| {
        let body = packed(&format!("{{\"key\": {TOKEN:?}, \"more\": {:?}}}", "x".repeat(99)));
        let call = Call::post("/openai/v1/things", &body[..body.len() - cut]);
        call.header("content-encoding: gzip").header(&format!("x-api-key: {TOKEN}"))
    };
    scene.recorded(&upstream, &[ask(5)]);
    assert!(scene.text().contains("[REDACTED] a body of "), "{}", scene.text());
    let server = scene.replay(&[]);
    server.call(&ask(5)).expect(200);
    server.call(&ask(6)).expect(422);
    server.stop().expect(1);
}

#[test]
fn credential_in_a_method_a_fault_or_a_target_is_nowhere() {
    let canary = "placed-canary-5d4c3b2a1f0e";
    let (scene, upstream) = (Scene::new(), upstream());
    let journal = scene.path("journal.jsonl");
    let more = ["-v", "--log", "trace", "--journal", journal.to_str().unwrap()];
    let server = record(&scene, &upstream, &more);
    let own = |call: Call| call.header(&format!("x-api-key: {canary}"));
    let fault = own(call("a=1")).header(&format!("x-loomrec-fault: no-fault {canary}"));
    let refused = server.call(&fault).expect(400);
    assert!(!refused.text().contains(canary), "{}", refused.text());
    server.call(&own(Call::new(canary, "/mine/v1/things"))).expect(200);
    let target = format!("http://user:{canary}@127.0.0.1/mine/v1/things");
    let refused = server.call(&Call::get(&target)).expect(400);
    assert!(!refused.text().contains(canary), "{}", refused.text());
    let said = server.stop();
    let texts = [said.stdout, said.stderr].map(String::into_bytes);
    for bytes in texts.into_iter().chain(scene.files().into_iter().map(|(_, bytes)| bytes)) {
        assert!(!String::from_utf8_lossy(&bytes).contains(canary));
    }
}

#[test]
fn part_of_a_credential_is_in_no_message_about_a_fault() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = record(&scene, &upstream, &["-v"]);
    let key = "front-canary:back-canary=5d4c3b2a";
    for value in [key.to_owned(), format!("http_error:{key}"), format!("delay={key}")] {
        let call = call("a=1").header(&format!("x-api-key: {key}"));
        let refused = server.call(&call.header(&format!("x-loomrec-fault: {value}"))).expect(400);
        assert!(!refused.text().contains("canary"), "{}", refused.text());
    }
    assert!(!server.stop().stderr.contains("canary"));
}

#[test]
fn password_in_an_upstreams_address_is_nowhere_when_the_upstream_echoes_it() {
    let upstream = Upstream::start(|request| {
        let seen = String::from_utf8_lossy(&request.head.raw).into_owned();
        Answer::json(
            200,
            serde_json::json!({ "seen": seen, "plain": "pass-canary-5d4c3b2a" }).to_string(),
        )
    });
    let scene = Scene::new();
    let address = upstream.url().replace("://", "://user:pass-canary-5d4c3b2a@");
    let server = scene.record(&upstream, &["-v", "--upstream", &format!("mine={address}")]);
    server.call(&call("a=1")).expect(200);
    let said = server.stop().expect(0);
    assert!(scene.text().contains("[REDACTED]"), "{}", scene.text());
    for text in [scene.text(), said.stdout, said.stderr] {
        assert!(!text.contains("canary"), "{text}");
    }
}
