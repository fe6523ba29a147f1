//! Tests of recordings from a stranger: which parts of their answers a client must not get, or wait
//! for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, Response, Scene, Upstream};

/// A recording of one call whose response was changed by hand.
fn recording(change: impl Fn(&mut Value)) -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello")));
    scene.recorded(&upstream, &[chat("hi")]);
    let mut value = scene.json();
    let (_, entry) =
        value.as_object_mut().unwrap().iter_mut().find(|(name, _)| !name.starts_with('_')).unwrap();
    change(entry);
    scene.write(serde_json::to_vec_pretty(&value).unwrap());
    scene
}

/// What a client gets, twice on one connection: the second answer shows whether the first ended
/// where its framing said.
fn served(scene: &Scene, more: &[&str]) -> Response {
    let flags = [&["--repeat", "last"], more].concat();
    let server = scene.replay(&flags);
    let mut client = server.connect();
    let first = client.exchange(&chat("hi"));
    let second = client.exchange(&chat("hi"));
    assert_eq!((first.status, first.body()), (second.status, second.body()));
    drop(client);
    server.stop();
    first
}

/// The places of the problems of a kind that `verify` finds.
fn found(scene: &Scene, kind: &str) -> Vec<String> {
    let path = scene.recording();
    let said = scene.run(&["verify", "--json", path.to_str().unwrap()]);
    let value: Value = serde_json::from_str(&said.stdout).unwrap();
    let mut places = Vec::new();
    collect(&value, kind, &mut places);
    places
}

fn collect(value: &Value, kind: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if members.get("kind").is_some_and(|is| is == kind) {
                places.push(members["pointer"].as_str().unwrap_or_default().to_owned());
            }
            members.values().for_each(|value| collect(value, kind, places));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, kind, places)),
        _ => {}
    }
}

/// Headers that affect more than their own answer.
const BINDING: [(&str, &str); 22] = [
    ("connection", "upgrade, close"),
    ("keep-alive", "timeout=1"),
    ("proxy-authenticate", "Basic"),
    ("proxy-authentication-info", "x"),
    ("te", "trailers"),
    ("trailer", "x-later"),
    ("transfer-encoding", "chunked"),
    ("upgrade", "websocket"),
    ("set-cookie", "session=evil"),
    ("set-cookie2", "session=evil"),
    ("alt-svc", "h3=\"evil.example:443\""),
    ("strict-transport-security", "max-age=31536000"),
    ("clear-site-data", "\"*\""),
    ("refresh", "0; url=https://evil.example"),
    ("nel", "{}"),
    ("report-to", "{}"),
    ("access-control-allow-origin", "*"),
    ("Access-Control-Allow-Credentials", "true"),
    ("access-control-expose-headers", "x-request-id"),
    ("accept-ch", "sec-ch-ua-model"),
    ("service-worker-allowed", "/"),
    ("x-loomrec-error", "spoofed"),
];

#[test]
fn headers_that_are_about_more_than_the_answer_are_never_replayed() {
    let scene = recording(|entry| {
        for (name, value) in BINDING {
            entry["response"]["headers"][name] = value.into();
        }
        entry["response"]["headers"]["x-kept"] = "yes".into();
        entry["response"]["headers"]["x-split"] = "a\r\nset-cookie: session=evil".into();
        entry["response"]["headers"]["x split"] = "a".into();
    });
    let answer = served(&scene, &[]).expect(200);
    for (name, _) in BINDING.iter().filter(|(name, _)| *name != "connection") {
        assert_eq!(answer.header(name), None, "{name}");
    }
    assert_eq!((answer.header("x-kept"), answer.header("x-split")), (Some("yes"), None));
    assert_eq!((answer.text(), answer.header("connection")), (chat_answer("Hello"), None));
    let places = found(&scene, "header");
    for name in ["connection", "transfer-encoding", "set-cookie", "x-loomrec-error", "x-split"] {
        assert!(places.contains(&format!("/response/headers/{name}")), "{name}: {places:?}");
    }
    // Recorders keep this one, and a recorder's own output is valid.
    assert!(!places.contains(&"/response/headers/alt-svc".to_owned()), "{places:?}");
}

#[test]
fn a_retry_after_of_more_than_an_hour_is_not_replayed_and_verify_reports_it() {
    let with = |waits: &[(&str, &str)]| {
        recording(|entry| {
            entry["response"]["status"] = 429.into();
            for (name, value) in waits {
                entry["response"]["headers"][*name] = (*value).into();
            }
        })
    };
    for value in ["1e9", "3601", "inf", "soon", "Fri, 01 Jan 2999 00:00:00 GMT"] {
        let scene = with(&[("retry-after", value), ("retry-after-ms", "1e300")]);
        let answer = served(&scene, &[]).expect(429);
        assert_eq!(answer.header("retry-after"), None, "{value}");
        assert_eq!(answer.header("retry-after-ms"), None);
        let places = found(&scene, "header");
        for name in ["retry-after", "retry-after-ms"] {
            assert!(places.contains(&format!("/response/headers/{name}")), "{value}: {places:?}");
        }
    }
    for value in ["2", "0.5", "3600", "Wed, 21 Oct 2015 07:28:00 GMT"] {
        let scene = with(&[("retry-after", value)]);
        assert_eq!(served(&scene, &[]).expect(429).header("retry-after"), Some(value));
        assert_eq!(found(&scene, "header"), [""; 0], "{value}");
    }
}

#[test]
fn a_status_that_has_no_body_is_replayed_without_one() {
    for status in [204, 304] {
        let scene = recording(|entry| {
            entry["response"]["status"] = status.into();
            entry["response"]["headers"]["content-length"] = "5".into();
        });
        let answer = served(&scene, &[]);
        assert_eq!((answer.status, answer.body().len()), (status, 0));
        assert_eq!(answer.header("content-length"), None);
    }
}

#[test]
fn a_length_that_disagrees_with_the_body_gives_way_to_the_true_one() {
    let length = chat_answer("Hello").len().to_string();
    for lie in ["5", "99999", "0", "abc", "-1", "+7", "5, 5", "18446744073709551616", ""] {
        let scene = recording(|entry| entry["response"]["headers"]["content-length"] = lie.into());
        let answer = served(&scene, &[]).expect(200);
        assert_eq!(
            (answer.text(), answer.header("content-length")),
            (chat_answer("Hello"), Some(&*length))
        );
    }
    let scene = recording(|entry| {
        entry["response"]["headers"] =
            json!([["content-length", "5"], ["content-length", "7"], ["Content-Length", "9"]]);
    });
    let answer = served(&scene, &[]).expect(200);
    assert_eq!(
        (answer.text(), answer.header("content-length")),
        (chat_answer("Hello"), Some(&*length))
    );
}

#[test]
fn a_status_that_is_no_answers_and_endless_headers_are_refused() {
    for status in [100, 101, 103, 199] {
        let scene = recording(|entry| entry["response"]["status"] = status.into());
        served(&scene, &[]).expect(422);
    }
    let scene = recording(|entry| {
        let many = (0..40_000).map(|n| json!([format!("x-{n}"), "a"]));
        entry["response"]["headers"] = many.collect();
    });
    let refused = served(&scene, &[]).expect(422);
    assert!(refused.text().contains("1000 headers"), "{}", refused.text());
    assert_eq!(found(&scene, "header"), ["/response/headers"]);
}

#[test]
fn a_redirect_to_another_server_is_replayed_without_its_address() {
    for (target, served_as) in [
        ("https://evil.example/v1/chat/completions", None),
        ("//evil.example/", None),
        ("/v1/elsewhere", Some("/openai/v1/elsewhere")),
    ] {
        let scene = recording(|entry| {
            entry["response"]["status"] = 307.into();
            entry["response"]["headers"]["location"] = target.into();
        });
        let answer = served(&scene, &[]).expect(307);
        assert_eq!(answer.header("location"), served_as);
        assert_eq!(found(&scene, "header").is_empty(), served_as.is_some());
    }
}

#[test]
fn an_address_on_another_server_is_left_out_whatever_the_status_is() {
    for status in [200, 201, 202, 303] {
        for name in ["location", "Location", "operation-location", "x-goog-upload-url"] {
            for (target, served_as) in
                [("https://evil.example/next", None), ("/v1/next", Some("/openai/v1/next"))]
            {
                let scene = recording(|entry| {
                    entry["response"]["status"] = status.into();
                    entry["response"]["headers"][name] = target.into();
                });
                let answer = served(&scene, &[]).expect(status);
                assert_eq!(answer.header(name), served_as, "{status} {name}");
            }
        }
    }
}

#[test]
fn times_that_cannot_be_are_not_waited_for_and_verify_reports_them() {
    for ms in [json!(1e300), json!(-1e300), json!(3_600_001)] {
        let scene = recording(|entry| {
            entry["latency_ms"] = ms.clone();
            let body = entry["response"].as_object_mut().unwrap().remove("body").unwrap();
            entry["response"].as_object_mut().unwrap().remove("style");
            entry["response"]["chunks"] = json!([[1.0, "{"], [ms, body.to_string()], [0.5, "}"]]);
        });
        let before = Instant::now();
        served(&scene, &["--latency", "replay", "--speed", "0.001"]).expect(200);
        assert!(before.elapsed() < Duration::from_secs(20), "{ms}");
        let places = found(&scene, "time");
        assert!(places.contains(&"/latency_ms".to_owned()), "{ms}: {places:?}");
        assert!(places.iter().any(|place| place.starts_with("/response/chunks")), "{places:?}");
    }
}

#[test]
fn waits_that_no_run_could_mean_are_refused_before_listening() {
    let scene = recording(|_| {});
    for (flag, value) in [
        ("--speed", "1e-300"),
        ("--speed", "0"),
        ("--speed", "-1"),
        ("--speed", "nan"),
        ("--speed", "inf"),
        ("--latency", "constant:1e300"),
        ("--latency", "normal:nan"),
        ("--latency", "none:1"),
    ] {
        let flags = format!("{flag}={value}");
        let path = scene.recording();
        scene.run(&["replay", "-r", path.to_str().unwrap(), &flags]).expect(2).says(&[flag]);
    }
    let call =
        Call::get("/openai/v1/models").header("x-loomrec-fault: timeout:99999999999999999999");
    scene.replayed(&[], &[call], 1).remove(0).expect(400);
}
