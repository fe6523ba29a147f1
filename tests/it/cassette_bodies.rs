//! Tests of importing cassettes whose bodies are not the bytes that were sent.

use serde_json::{Value, json};

use crate::interchange::{entries, run};
use crate::support::Scene;
use crate::support::memory::measured;
use crate::support::shape::chat;

/// The output of pydantic-ai's serializer: JSON bodies as values, streams as strings.
const PARSED: &str = "interactions:
- request:
    headers:
      content-length: ['67']
      content-type: [application/json]
    method: POST
    parsed_body:
      messages:
      - content: hi
        role: user
      model: gpt-4o-mini
    uri: https://api.openai.com/v1/chat/completions
  response:
    headers:
      content-length: ['4711']
      content-type: [application/json]
    parsed_body:
      choices:
      - finish_reason: stop
        index: 0
        message: {content: Hello, role: assistant}
      model: gpt-4o-mini-2024-07-18
      usage: {completion_tokens: 1, prompt_tokens: 8, total_tokens: 9}
    status: {code: 200, message: OK}
- request:
    headers: {content-type: [application/json]}
    method: POST
    parsed_body:
      messages:
      - content: stream
        role: user
      model: gpt-4o-mini
      stream: true
    uri: https://api.openai.com/v1/chat/completions
  response:
    body:
      string: |+
        data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hey\"}}]}

        data: [DONE]

    headers: {content-type: [text/event-stream], transfer-encoding: [chunked]}
    status: {code: 200, message: OK}
version: 1
";

#[test]
fn cassette_of_parsed_bodies_comes_over_with_its_bodies_and_says_that_they_were_written_again() {
    let scene = Scene::new();
    std::fs::write(scene.path("c.yaml"), PARSED).unwrap();
    let ran = run(&scene, &["import", "c.yaml", "-o", "run.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("2 calls to run.json"), "{}", ran.stderr);
    let told = "the bodies are written again (2 calls)";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(ran.stderr.contains("the length of JSON bodies"), "{}", ran.stderr);
    let held = entries(&scene.path("run.json"));
    assert_eq!(held[0].1["request"]["body"]["messages"][0]["content"], "hi");
    assert_eq!(held[0].1["content"], "Hello");
    let body = serde_json::to_string(&held[0].1["response"]["body"]).unwrap();
    let length = held[0].1["response"]["headers"]["content-length"].clone();
    assert_eq!(length, json!(body.len().to_string()));
    assert_eq!(held[1].1["content"], "Hey");
    let verified = run(&scene, &["verify", "run.json"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    let server = scene.replay(&["--strict"]);
    let answer = server.call(&chat("hi"));
    let answer: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "Hello");
    server.stop();
}

/// One chat whose request and answer state their lengths.
fn lengths(request: usize, answer: usize) -> String {
    let body = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}"#;
    let said = r#"{"model":"m","choices":[]}"#;
    format!(
        "- request:
    method: POST
    uri: https://api.openai.com/v1/chat/completions
    headers: {{content-type: [application/json], content-length: ['{request}']}}
    body: '{body}'
  response:
    status: {{code: 200, message: OK}}
    headers: {{content-type: [application/json], content-length: ['{answer}']}}
    body: {{string: '{said}'}}
"
    )
}

#[test]
fn interaction_whose_length_disagrees_is_left_out_by_name_and_the_import_does_not_end_well() {
    let scene = Scene::new();
    let calls = [lengths(67, 26), lengths(68, 26), lengths(67, 27)];
    let text = format!("interactions:\n{}version: 1\n", calls.concat());
    std::fs::write(scene.path("c.yaml"), text).unwrap();
    let ran = run(&scene, &["import", "c.yaml", "-o", "r.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("1 call to r.json"), "{}", ran.stderr);
    for told in [
        "interaction 2: its request's body has 67 bytes, and 68 by its content-length",
        "interaction 3: its response's body has 26 bytes, and 27 by its content-length",
        "2 of the calls could not be imported as they are",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let all = run(&scene, &["import", "c.yaml", "-o", "all.json", "--any-length", "--json"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    let receipt: Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!((&receipt["calls"], &receipt["damaged_count"]), (&json!(3), &json!(0)));
    let lost = receipt["lost"].as_array().unwrap();
    let told = json!({"what": "the length of bodies that another tool has changed", "calls": 2});
    assert!(lost.contains(&told), "{lost:?}");
}

#[test]
fn interaction_whose_body_cannot_be_understood_is_left_out_by_name_and_the_import_does_not_end_well()
 {
    let scene = Scene::new();
    let odd = "- request: {method: POST, uri: 'https://api.openai.com/v1/chat/completions', body: !!python/object:io.BytesIO {}}
  response: {status: {code: 200}, headers: {}, body: {string: ''}}
";
    let text = format!("interactions:\n{}{}version: 1\n", lengths(67, 26), odd.repeat(12));
    std::fs::write(scene.path("c.yaml"), text).unwrap();
    let ran = run(&scene, &["import", "c.yaml", "-o", "r.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for number in 2..14 {
        let told = format!("left out: interaction {number}: its request's body is an object");
        assert!(ran.stderr.contains(&told), "{told}: {}", ran.stderr);
    }
}

/// A cassette as PyYAML (`yaml.safe_dump`) writes it: the strings `1e5`, `7e2` and `0o17` without
/// quotes, which it also reads as strings.
const TEXTS: &str = "interactions:
- request:
    headers:
      content-type:
      - application/json
    method: POST
    parsed_body:
      messages:
      - content: 1e5
        role: user
      model: gpt-4o-mini
    uri: https://api.openai.com/v1/chat/completions
  response:
    headers:
      content-type:
      - application/json
    parsed_body:
      choices:
      - finish_reason: stop
        index: 0
        message:
          content: 7e2
          role: assistant
      id: 0o17
    status:
      code: 200
version: 1
";

#[test]
fn texts_that_py_yaml_writes_without_quotes_stay_texts() {
    let scene = Scene::new();
    std::fs::write(scene.path("c.yaml"), TEXTS).unwrap();
    let ran = run(&scene, &["import", "c.yaml", "-o", "run.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let server = scene.replay(&["--strict"]);
    let answer = server.call(&chat("1e5"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "7e2");
    assert_eq!(answer["id"], "0o17");
    server.stop();
}

/// A cassette whose interactions have these request bodies, as values.
fn with_values(bodies: &[&str]) -> String {
    let interactions = bodies.iter().map(|body| {
        format!(
            "- request:
    method: POST
    uri: https://api.openai.com/v1/chat/completions
    headers: {{content-type: [application/json]}}
    parsed_body: {body}
  response: {{status: {{code: 200}}, headers: {{}}, body: {{string: '{{}}'}}}}
"
        )
    });
    format!("interactions:\n{}version: 1\n", interactions.collect::<String>())
}

#[test]
fn digits_of_an_integer_come_over_exactly_and_names_that_become_one_are_told() {
    let scene = Scene::new();
    let text = with_values(&[
        "{model: m, seed: 18446744073709551616, big: -123456789012345678901234567890}",
        "{model: m, 1: a, '1': b}",
        "{model: m, seed: 1.0e+999}",
        "{model: m, messages: ['a\u{2028}    b']}",
        "{model: m, model: n}",
    ]);
    std::fs::write(scene.path("c.yaml"), text).unwrap();
    let ran = run(&scene, &["import", "c.yaml", "-o", "r.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let held = std::fs::read_to_string(scene.path("r.json")).unwrap();
    assert!(held.contains("18446744073709551616"), "{held}");
    assert!(held.contains("-123456789012345678901234567890"), "{held}");
    for told in [
        "1 call to r.json",
        "interaction 2: its request's body holds two members of one name",
        "interaction 3: its request's body holds a number that JSON cannot represent",
        "interaction 4: its request's body holds a text with U+0085, U+2028 or U+2029",
        "interaction 5: its request's body holds two members of one name",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}

#[test]
fn aliases_that_repeat_one_large_text_cost_no_memory() {
    let scene = Scene::new();
    let large = "A".repeat(100 << 10);
    let aliases = vec!["*a"; 8000].join(",");
    let text = with_values(&[&format!("{{x: &a '{large}', y: [{aliases}]}}")]);
    std::fs::write(scene.path("c.yaml"), &text).unwrap();
    let (most, said) = measured(&scene, &["import", "c.yaml", "-o", "r.json"], 4);
    assert!(said.contains("its aliases multiply"), "{said}");
    assert!(most < 300 << 10, "{most} kB");
}
