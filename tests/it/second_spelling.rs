//! Tests that the second form of an answer's text (tokens, words, numbers) is not kept if something
//! was removed from the text.

use serde_json::{Value, json};

use crate::support::shape::{CHAT, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

const KEY: &str = "canaryKeyQ7f3aZb94Wm2x0";
const TOKENS: [&str; 9] = ["Your ", "key ", "is ", "cana", "ryKe", "yQ7f3aZ", "b94", "Wm2x0", "."];

fn token(text: &str) -> Value {
    let other = json!({"token": "zz", "logprob": -3.5, "bytes": [122, 122]});
    let token = json!({"token": text, "logprob": -0.1, "bytes": text.as_bytes()});
    let mut spelled = token.clone();
    spelled["top_logprobs"] = json!([token, other]);
    spelled
}

fn asked(path: &str, streams: bool) -> Call {
    let mut body = chat_body("hi");
    body["stream"] = json!(streams);
    Call::post(path, body.to_string()).header(&format!("authorization: Bearer {KEY}"))
}

/// Records one call with this answer, and checks that the recording is clean. Returns the scene and
/// the replayed answer. The recording must not spell any part of the key.
fn recorded(call: &Call, answer: Answer, rules: &[&str]) -> (Scene, String) {
    let scene = Scene::new();
    let upstream = Upstream::always(answer);
    let server = scene.record(&upstream, rules);
    server.call(call).expect(200);
    server.stop().expect(0);
    let text = scene.text();
    for spelled in ["ryKe", "yQ7f3aZ", "Wm2x0", "logprob\""] {
        assert!(!text.contains(spelled), "{spelled} in {text}");
    }
    // As the numbers of its bytes. A time may have these digits behind its point.
    let byte = regex::Regex::new(r"[\s\[,]121[\s\],]").unwrap();
    assert!(!byte.is_match(&text), "121 in {text}");
    scene.run(&["verify", "run.json"]).expect(0);
    let clean = scene.run(&[&["redact", "run.json"], rules].concat()).expect(0);
    assert!(clean.stdout.contains("clean"), "{}", clean.stdout);
    let replayed = scene.replayed(rules, std::slice::from_ref(call), 0);
    let text = replayed[0].text().to_owned();
    (scene, text)
}

fn chat_answer() -> Value {
    let logprobs = json!({"content": TOKENS.map(token), "refusal": null});
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
           "choices": [{"index": 0, "message": {"role": "assistant", "content": TOKENS.concat()},
                        "logprobs": logprobs, "finish_reason": "stop"}]})
}

#[test]
fn log_probabilities_of_a_removed_text_are_not_kept() {
    let body = chat_answer().to_string();
    let (_, said) = recorded(&asked(CHAT, false), Answer::json(200, body), &[]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["choices"][0]["message"]["content"], "Your key is [REDACTED].");
    assert_eq!(said["choices"][0]["logprobs"], Value::Null);
    let event = |text: &str| {
        let choice = json!({"index": 0, "delta": {"content": text},
                            "logprobs": {"content": [token(text)]}});
        format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}))
    };
    let mut events: Vec<String> = TOKENS.iter().map(|text| event(text)).collect();
    events.push("data: [DONE]\n\n".to_owned());
    let (scene, said) = recorded(&asked(CHAT, true), Answer::events(&events), &[]);
    assert_eq!(said.matches("\"logprobs\":null").count(), TOKENS.len());
    assert_eq!(scene.only_take()["content"], "Your key is [REDACTED].");
    // Responses have a list there, and Gemini an object with another name.
    let part = json!({"type": "output_text", "text": TOKENS.concat(), "annotations": [],
                      "logprobs": TOKENS.map(token)});
    let item = json!({"type": "message", "id": "i", "role": "assistant", "content": [part]});
    let body = json!({"id": "r", "object": "response", "status": "completed", "output": [item]});
    let call = asked("/openai/v1/responses", false);
    let (_, said) = recorded(&call, Answer::json(200, body.to_string()), &[]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["output"][0]["content"][0]["logprobs"], json!([]));
    let result =
        json!({"chosenCandidates": TOKENS.map(|text| json!({"token": text, "tokenId": 1}))});
    let body = json!({"candidates": [{"content": {"parts": [{"text": TOKENS.concat()}]},
                                      "logprobsResult": result}]});
    let call = asked("/gemini/v1beta/models/g:generateContent", false);
    let (_, said) = recorded(&call, Answer::json(200, body.to_string()), &[]);
    assert!(said.contains("\"logprobsResult\":null"), "{said}");
}

#[test]
fn words_and_segments_of_a_removed_text_are_not_kept() {
    let words = ["call", "555", "1234", "now"];
    let word = |word: &str| json!({"word": word, "start": 0, "end": 1});
    let segment = json!({"id": 0, "text": "call 555", "tokens": [9, 8, 7]});
    let body = json!({"text": words.join(" "), "words": words.map(word), "segments": [segment]});
    let parts = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n\
                 x\r\n--b--\r\n";
    let call = Call::new("POST", "/openai/v1/audio/transcriptions")
        .body(parts)
        .header("content-type: multipart/form-data; boundary=b");
    let rules = ["--redact", "555 1234"];
    let (scene, said) = recorded(&call, Answer::json(200, body.to_string()), &rules);
    let take = scene.only_take();
    // The time of the call may have the same digits.
    let kept = format!("{}{}{}", take["content"], take["request"], take["response"]);
    assert!(!kept.contains("555") && !kept.contains("1234"), "{kept}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said, json!({"text": "call [REDACTED] now", "words": [], "segments": []}));
}

#[test]
fn log_probabilities_of_a_text_that_is_kept_are_kept() {
    let scene = Scene::new();
    let mut body = chat_answer();
    let tokens = ["Hel", "lo."].map(token);
    let kept = json!({"content": tokens, "refusal": null});
    body["choices"][0]["message"]["content"] = json!("Hello.");
    body["choices"][0]["logprobs"] = kept.clone();
    let upstream = Upstream::always(Answer::json(200, body.to_string()));
    scene.recorded(&upstream, &[asked(CHAT, false)]);
    assert_eq!(scene.only_take()["response"]["body"]["choices"][0]["logprobs"], kept);
}

#[test]
fn log_probabilities_that_an_older_recording_kept_are_found_and_removed() {
    let scene = Scene::new();
    let mut body = chat_answer();
    body["choices"][0]["message"]["content"] = json!("Your key is");
    let upstream = Upstream::always(Answer::json(200, body.to_string()));
    let call = asked(CHAT, false);
    scene.recorded(&upstream, std::slice::from_ref(&call));
    // As it was recorded before such members were emptied.
    let mut file = scene.json();
    let (name, mut entry) = scene.takes()[0].clone();
    entry["content"] = json!("Your key is [REDACTED].");
    let choice = &mut entry["response"]["body"]["choices"][0];
    choice["message"]["content"] = json!("Your key is [REDACTED].");
    choice["logprobs"]["content"] = json!(TOKENS.map(token));
    file[&name] = entry;
    scene.write(serde_json::to_string_pretty(&file).unwrap());
    scene.run(&["verify", "run.json"]).expect(1);
    let said = scene.run(&["redact", "run.json"]).expect(0);
    assert!(said.stdout.contains("1 of 1 takes would be redacted"), "{}", said.stdout);
    scene.run(&["redact", "run.json", "--apply"]).expect(0);
    scene.run(&["verify", "run.json"]).expect(0);
    assert!(!scene.text().contains("ryKe"), "{}", scene.text());
}
