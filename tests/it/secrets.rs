//! Tests of secrets: a canary in every place where a credential may be is never found.

use std::path::PathBuf;

use crate::support::shape::{CHAT, MESSAGES, chat_body, message_body};
use crate::support::{Answer, Call, Finished, Gate, Scene, Server, Upstream};

/// The searched texts: the canary itself, and its forms in other encodings.
fn traces(canary: &str) -> Vec<Vec<u8>> {
    use base64::Engine;
    let percent: String = canary.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let code = base64::engine::general_purpose::STANDARD.encode(canary);
    let hex: String = canary.bytes().map(|byte| format!("{byte:02x}")).collect();
    [canary.to_owned(), percent, code, hex, json(canary)].map(String::into_bytes).to_vec()
}

/// The canary in JSON, with every character escaped.
fn json(canary: &str) -> String {
    canary.bytes().map(|byte| format!("\\u{byte:04x}")).collect()
}

fn holds(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[track_caller]
fn is_nowhere(canary: &str, scene: &Scene, said: &[&Finished]) {
    for trace in traces(canary) {
        for (path, bytes) in scene.files() {
            assert!(!holds(&bytes, &trace), "{canary} in {}", path.display());
        }
        for finished in said {
            for text in [&finished.stdout, &finished.stderr] {
                assert!(!holds(text.as_bytes(), &trace), "{canary} in {text}");
            }
        }
    }
}

/// Echoes everything it received, in one chunk and in two, and in a header.
fn echo() -> Upstream {
    Upstream::start(|request| {
        let seen = String::from_utf8_lossy(&request.head.raw).into_owned();
        let body = serde_json::json!({ "seen": seen, "again": seen }).to_string();
        let word = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        let canary = seen.split(word).find(|word| word.contains("-canary-"));
        let header = format!("x-echo: {}", canary.unwrap_or("none"));
        match request.text().contains("\"stream\":true") {
            false => Answer::whole(401, &["content-type: application/json", &header], body),
            true => {
                // Cut in the middle of the first canary.
                let at = body.find("canary").map_or(0, |at| at + 4);
                let (front, back) = body.split_at(at);
                Answer::stream().chunk(front).chunk(back).end()
            }
        }
    })
}

fn log_files(scene: &Scene) -> (PathBuf, PathBuf) {
    (scene.path("journal.jsonl"), scene.path("receipt.json"))
}

#[track_caller]
fn start(scene: &Scene, upstream: Option<&Upstream>) -> Server {
    let (journal, receipt) = log_files(scene);
    let more =
        ["-v", "--journal", journal.to_str().unwrap(), "--receipt", receipt.to_str().unwrap()];
    match upstream {
        Some(upstream) => scene.record(upstream, &[&more[..], &["--keep-failures"]].concat()),
        None => scene.replay(&more),
    }
}

/// Records and replays the call (hit and miss) and searches for the canary.
#[track_caller]
fn keeps_secret(canary: &str, put: impl Fn(&str, &str) -> Call) {
    for (scene, stream) in [(Scene::new(), false), (Scene::new(), true)] {
        let body = |prompt: &str| {
            let mut body = chat_body(prompt);
            body["stream"] = stream.into();
            body.to_string()
        };
        let upstream = echo();
        let server = start(&scene, Some(&upstream));
        let answer = server.call(&put(canary, &body("hi")));
        assert!(answer.text().contains(canary), "{}", answer.text());
        let recorded = server.stop().expect(0);
        assert!(holds(&upstream.received()[0].head.raw, canary.as_bytes()));
        assert!(stream || answer.header("x-echo") == Some(canary), "{:?}", answer.head);
        is_nowhere(canary, &scene, &[&recorded]);
        assert_eq!(scene.takes().len(), 1);
        let server = start(&scene, None);
        let hit = server.call(&put(canary, &body("hi")));
        let miss = server.call(&put(canary, &body("other"))).expect(422);
        assert!(hit.status != 422, "a stored request must still match: {}", hit.text());
        let replayed = server.stop().expect(1);
        for text in [hit.text(), miss.text()] {
            assert!(!text.contains(canary), "{text}");
        }
        is_nowhere(canary, &scene, &[&replayed]);
    }
}

#[test]
fn a_bearer_token_is_nowhere() {
    keeps_secret("sk-canary-Abc123456789xyz0", |canary, body| {
        Call::post(CHAT, body).header(&format!("authorization: Bearer {canary}"))
    });
}

#[test]
fn an_odd_authorization_scheme_is_nowhere() {
    keeps_secret("odd-canary-4f5e6d7c8b9a", |canary, body| {
        Call::post(CHAT, body).header(&format!("Authorization: {canary}"))
    });
}

#[test]
fn an_anthropic_key_is_nowhere() {
    keeps_secret("ant-canary-0a1b2c3d4e5f", |canary, body| {
        let body = body.replace("gpt-4o-mini", "claude");
        let call = Call::post(MESSAGES, body).header("anthropic-version: 2023-06-01");
        call.header(&format!("x-api-key: {canary}"))
    });
}

#[test]
fn a_google_key_in_a_header_is_nowhere() {
    keeps_secret("goog-canary-AIza00112233", |canary, body| {
        let call = Call::post("/gemini/v1beta/models/gemini-2.5-flash:generateContent", body);
        call.header(&format!("x-goog-api-key: {canary}"))
    });
}

#[test]
fn a_key_in_the_query_is_nowhere() {
    keeps_secret("query-canary-99887766", |canary, body| {
        let path = "/gemini/v1beta/models/gemini-2.5-flash:generateContent";
        Call::post(&format!("{path}?x=1&key={canary}&y=2"), body)
    });
}

#[test]
fn an_azure_key_is_nowhere() {
    keeps_secret("azure-canary-31415926535", |canary, body| {
        Call::post(CHAT, body).header(&format!("api-key: {canary}"))
    });
}

#[test]
fn a_cookie_is_nowhere() {
    keeps_secret("cookie-canary-2718281828", |canary, body| {
        Call::post(CHAT, body).header(&format!("cookie: a=b; session={canary}; c=d"))
    });
}

#[test]
fn an_aws_session_token_is_nowhere() {
    keeps_secret("token-canary-FwoGZXIvYXdz", |canary, body| {
        Call::post(CHAT, body).header(&format!("x-amz-security-token: {canary}"))
    });
}

#[test]
fn well_known_key_shapes_in_a_body_are_replaced_and_the_call_still_matches() {
    let scene = Scene::new();
    // Assembled here, because a complete key in a source file alarms scanners.
    let keys = [
        ["sk-", "proj-", "Zq3vT9xLw2Rk8mNb5cHs7dJf4gPa6yUe1oIt0lXz"].concat(),
        ["sk-", "ant-api03-", "Kd93jf0Wq2Lm5Nx8Rt1Vy4Bz7Cp6Hs0Jg3Fa9Eu2Ti5Oo8-AAAAAA"].concat(),
        ["AKI", "A", "Q3EGRNZZWXY7PLKM"].concat(),
        ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat(),
    ];
    let prompt = format!("my keys are {}", keys.join(" and "));
    let answer = crate::support::shape::chat_answer(&format!("I saw {}", keys.join(", ")));
    let upstream = Upstream::always(Answer::json(200, answer));
    let call = Call::post(CHAT, chat_body(&prompt).to_string());
    scene.recorded(&upstream, std::slice::from_ref(&call));
    assert!(upstream.received()[0].text().contains(&keys[0]));
    let replayed = scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
    for key in &keys {
        assert!(!scene.text().contains(key.as_str()), "{key}");
        assert!(!replayed.text().contains(key.as_str()), "{key}");
    }
    let other = scene.replayed(&[], &[Call::post(CHAT, chat_body("no keys").to_string())], 1);
    keys.iter().for_each(|key| assert!(!other[0].text().contains(key.as_str())));
}

#[test]
fn a_callers_own_key_in_a_prompt_is_nowhere_when_the_call_misses() {
    // Without a known form: only the request's own header shows that it is a key.
    let canary = "odd-canary-4f5e6d7c8b9a";
    let scene = Scene::new();
    scene.recorded(&echo(), &[Call::post(CHAT, chat_body("hi").to_string())]);
    let server = start(&scene, None);
    let body = chat_body(&format!("my key is {canary}")).to_string();
    let call = Call::post(CHAT, body).header(&format!("authorization: Bearer {canary}"));
    let miss = server.call(&call).expect(422);
    assert!(miss.text().contains("my key is [REDACTED]"), "{}", miss.text());
    is_nowhere(canary, &scene, &[&server.stop().expect(1)]);
}

#[test]
fn a_users_own_pattern_is_replaced() {
    let (scene, upstream) = (Scene::new(), echo());
    let call = Call::post(CHAT, chat_body("patient P-12345 is well").to_string());
    let server = scene.record(&upstream, &["--redact", "P-[0-9]{5}", "--keep-failures"]);
    server.call(&call);
    server.stop().expect(0);
    assert!(upstream.received()[0].text().contains("P-12345"));
    assert!(!scene.text().contains("P-12345"));
    let server = scene.replay(&["--redact", "P-[0-9]{5}"]);
    server.call(&call).expect(401);
    server.stop().expect(0);
}

#[test]
fn a_secret_that_straddles_two_chunks_is_removed() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let canary = "sk-canary-straddle-5566778899";
    let (front, back) = canary.split_at(13);
    let answer = Answer::stream().chunk(format!("data: {front}")).wait(&gate);
    let upstream = Upstream::always(answer.chunk(format!("{back}\n\n")).chunk("data: 2\n\n").end());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    let body = serde_json::json!({"model": "m", "messages": [], "stream": true}).to_string();
    client.send(&Call::post(CHAT, body).header(&format!("authorization: Bearer {canary}")));
    let head = client.head();
    let first = client.until(front);
    gate.open();
    let rest = client.collect(head).expect(200);
    assert!(String::from_utf8([first, rest.body()].concat()).unwrap().contains(canary));
    let said = server.stop().expect(0);
    is_nowhere(canary, &scene, &[&said]);
    for part in [front, back] {
        assert!(!scene.text().contains(part), "{part} in {}", scene.text());
    }
    assert!(scene.text().contains("data: 2\\n\\n"));
}

#[test]
fn a_key_is_in_no_error_text_when_the_upstream_is_unreachable() {
    let scene = Scene::new();
    let canary = "sk-canary-unreachable-001122";
    let gone = "gemini=http://127.0.0.1:9";
    let upstream = Upstream::always(Answer::json(200, "{}"));
    let server = scene.record(&upstream, &["-v", "--upstream", gone]);
    let path = format!("/gemini/v1beta/models/g:generateContent?key={canary}");
    let call = Call::post(&path, message_body("hi").to_string());
    let answer = server.call(&call.header(&format!("x-goog-api-key: {canary}")));
    assert_eq!(answer.status, 502);
    assert!(!answer.text().contains(canary), "{}", answer.text());
    is_nowhere(canary, &scene, &[&server.stop()]);
}

#[test]
fn a_key_that_stands_in_the_prompt_too_is_in_no_mismatch() {
    keeps_secret("prompt-canary-5d4c3b2a1f0e", |canary, body| {
        let body = body.replace("hi", &format!("hi {canary}"));
        let body = body.replace("other", &format!("other {canary}"));
        assert!(body.contains(canary));
        Call::post(CHAT, body).header(&format!("x-api-key: {canary}"))
    });
}

#[test]
fn a_key_that_is_escaped_in_the_prompt_is_nowhere() {
    keeps_secret("spelled-canary-5d4c3b2a1f0e", |canary, body| {
        let percent: String = canary.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let spelled = format!("{} {percent}", json(canary));
        let body = body.replace("hi", &format!("hi {spelled}"));
        let body = body.replace("other", &format!("other {spelled}"));
        Call::post(CHAT, body).header(&format!("x-api-key: {canary}"))
    });
}

#[test]
fn a_body_that_holds_the_key_is_replayed_with_the_stand_in_for_it() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let call = |key: &str| {
        let mut body = chat_body("hi");
        body["api_key"] = key.into();
        let call = Call::post(&format!("{CHAT}/{key}"), body.to_string());
        call.header(&format!("authorization: Bearer {key}"))
    };
    scene.recorded(&upstream, &[call("body-canary-7f6e5d4c3b2a")]);
    let stand_in = format!("{:0<164}", "sk-proj-loomrec-replay-stand-in-");
    for key in [&stand_in, "loomrec-replay-stand-in", "another-key-a1b2c3d4e5"] {
        scene.replayed(&["--strict"], &[call(key)], 0).remove(0).expect(200);
    }
}

#[test]
fn a_body_that_holds_the_key_of_another_provider_is_replayed_with_the_stand_in_for_it() {
    let call = |key: &str| {
        let call = Call::post(CHAT, chat_body(&format!("use {key}, please")).to_string());
        call.header("authorization: Bearer key-of-this-provider-5e4d3c2b1a")
    };
    let stand_in = |start: &str, length: usize| format!("{start:0<length$}");
    for (real, stand_in) in [
        (
            ["sk-", "ant-", "api03-", &"Zq3vT9x_".repeat(11), "Zq3vTAA"].concat(),
            stand_in("sk-ant-api03-loomrec-replay-stand-in-", 108),
        ),
        (
            ["AI", "zaSy", &"Zq3vT9x_".repeat(4), "Z"].concat(),
            stand_in("AIzaSy-loomrec-replay-stand-in-", 39),
        ),
        (
            ["gsk", "_", &"Zq3vT9xL".repeat(6), "Zq3v"].concat(),
            stand_in("gsk_loomrecReplayStandIn", 56),
        ),
    ] {
        let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
        scene.recorded(&upstream, &[call(&real)]);
        is_nowhere(&real, &scene, &[]);
        scene.replayed(&["--strict"], &[call(&stand_in)], 0).remove(0).expect(200);
    }
}

#[test]
fn a_key_in_a_step_id_and_a_session_is_nowhere() {
    keeps_secret("step-canary-8e7d6c5b4a39", |canary, body| {
        let call = Call::post(CHAT, body).header(&format!("authorization: Bearer {canary}"));
        let call = call.header(&format!("x-loomrec-step-id: step {canary}"));
        call.header(&format!("x-loomrec-session: session {canary}"))
    });
}

#[test]
fn a_key_in_an_ordinary_query_parameter_and_stored_headers_is_nowhere() {
    keeps_secret("stray-canary-0f1e2d3c4b5a", |canary, body| {
        let call = Call::post(&format!("{CHAT}?trace={canary}"), body);
        let call = call.header(&format!("authorization: Bearer {canary}"));
        call.header(&format!("accept: text/{canary}")).header(&format!("openai-beta: {canary}"))
    });
}

#[test]
fn a_key_in_a_path_that_cannot_be_placed_or_sent_is_nowhere() {
    let (scene, upstream) = (Scene::new(), echo());
    let canary = "lost-canary-6a7b8c9d0e1f";
    let server = start(&scene, Some(&upstream));
    for path in [format!("/nowhere/{canary}"), format!("/openai/v1/../{canary}")] {
        let call = Call::post(&path, chat_body("hi").to_string());
        let answer = server.call(&call.header(&format!("authorization: Bearer {canary}")));
        assert!(matches!(answer.status, 400 | 404), "{}", answer.text());
        assert!(!answer.text().contains(canary), "{}", answer.text());
    }
    is_nowhere(canary, &scene, &[&server.stop()]);
}

#[test]
fn a_key_in_a_path_or_an_unknown_parameter_is_nowhere() {
    let key = ["sk-", "proj-", "Zq3vT9xLw2Rk8mNb5cHs7dJf4gPa6yUe1oIt0lXz"].concat();
    let (scene, upstream) = (Scene::new(), echo());
    let server = start(&scene, Some(&upstream));
    let call = Call::get(&format!("/openai/v1/models/{key}?for={key}&after=2"));
    server.call(&call).expect(401);
    server.call(&Call::get(&format!("/what/{key}"))).expect(404);
    server.call(&Call::get(&format!("/openai/{key}/../x"))).expect(400);
    is_nowhere(&key, &scene, &[&server.stop().expect(0)]);
    assert!(scene.text().contains("for=[REDACTED]&after=2"), "{}", scene.text());
    scene.replayed(&["--strict"], &[call], 0).remove(0).expect(401);
}

#[test]
fn recordings_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (scene, upstream) = (Scene::new(), echo());
    let server = start(&scene, Some(&upstream));
    server.call(&Call::post(CHAT, chat_body("hi").to_string()));
    let check = || {
        for (path, _) in scene.files() {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
        }
    };
    check();
    server.stop().expect(0);
    // The receipt also shows what a program requested.
    assert!(scene.path("receipt.json").is_file());
    check();
}
