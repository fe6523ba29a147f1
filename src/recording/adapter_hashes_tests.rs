//! The cases in `adapter_hashes_tests.json` were made by AgentLoom itself, its head of May 2026
//! (commit 0f4f7e7): each adapter's `complete` was called with an HTTP client that keeps the
//! request, and `prompt_hash` with the same arguments. `messages_hash` is the hash of AgentLoom
//! 0.4.0, which the published package makes for the same messages.

use super::*;
use crate::RecordedRequest;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Case {
    case: String,
    path: String,
    body: String,
    request_hash: String,
    messages_hash: String,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("adapter_hashes_tests.json")).unwrap()
}

fn request(path: &str, body: &str) -> RecordedRequest {
    let anthropic = path.ends_with("/messages");
    let version = anthropic.then(|| ("anthropic-version".to_owned(), "2023-06-01".to_owned()));
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    headers.extend(version);
    RecordedRequest {
        method: "POST".into(),
        path: path.into(),
        query: String::new(),
        headers,
        other_headers: Default::default(),
        packed: None,
        body: body.to_owned().into(),
    }
}

fn observed(request: &RecordedRequest) -> NormalizedRequest {
    NormalizedRequest::new(String::new(), request.clone(), &[])
}

fn hashes(request: &RecordedRequest) -> Vec<RequestKey> {
    observed(request).adapter_hashes(&[IdentityRules::default()])
}

fn place(hashes: &[RequestKey], hash: &str) -> Option<usize> {
    hashes.iter().position(|known| known.as_str() == hash)
}

#[test]
fn each_request_of_an_adapter_has_the_hash_that_agentloom_makes() {
    let cases = cases();
    assert_eq!(cases.len(), 42);
    for case in cases {
        let hashes = hashes(&request(&case.path, &case.body));
        // OpenAI's adapter drops a step's `thinking`, so nothing can tell what it was.
        if case.case.starts_with("openai thinking") {
            assert_eq!(place(&hashes, &case.request_hash), None, "{}", case.case);
            continue;
        }
        let at = place(&hashes, &case.request_hash);
        assert!(at.is_some(), "{}: {} is none of {hashes:?}", case.case, case.request_hash);
        // What a workflow gives comes first, but for what no request tells apart.
        let is_hidden = ["empty system", "sampling", "4096", "thinking quiet"];
        if !is_hidden.iter().any(|hidden| case.case.ends_with(hidden)) {
            assert_eq!(at, Some(0), "{}", case.case);
        }
        // An export writes an entry under so many hashes.
        assert!(at < Some(20), "{}: {at:?}", case.case);
        assert!(hashes.len() <= 32, "{}: {}", case.case, hashes.len());
    }
}

#[test]
fn messages_have_the_hash_that_agentloom_0_4_0_makes() {
    for case in cases() {
        let request = request(&case.path, &case.body);
        let hashes = observed(&request).messages_hashes(&[IdentityRules::default()]);
        // 0.4.0 hashes Python's text of an attachment, which is not made here.
        let has_blocks = ["image", "document", "audio", "url"];
        let expected = !has_blocks.iter().any(|kind| case.case.ends_with(kind));
        assert_eq!(place(&hashes, &case.messages_hash).is_some(), expected, "{}", case.case);
    }
}

#[test]
fn request_that_no_adapter_sends_has_no_hash() {
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let claude = json!({"model": "m", "max_tokens": 9, "messages": messages});
    let gemini = json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]});
    let chat = json!({"model": "m", "messages": messages});
    let with = |body: &Value, name: &str, value: Value| {
        let mut body = body.clone();
        body[name] = value;
        body
    };
    let [anthropic, google, openai] =
        ["/v1/messages", "/v1beta/models/m:generateContent", "/v1/chat/completions"];
    for (path, body) in [(anthropic, &claude), (google, &gemini), (openai, &chat)] {
        assert!(!hashes(&request(path, &body.to_string())).is_empty(), "{body}");
    }
    for (path, body) in [
        (anthropic, with(&claude, "container", json!("c"))),
        (anthropic, with(&claude, "system", json!([{"type": "text", "text": "s"}]))),
        (anthropic, with(&claude, "system", json!(""))),
        (anthropic, with(&claude, "max_tokens", json!(null))),
        (anthropic, with(&claude, "temperature", json!(null))),
        (anthropic, with(&claude, "messages", json!([{"role": "user", "content": 7}]))),
        (anthropic, with(&claude, "messages", json!([{"role": "system", "content": "s"}]))),
        (anthropic, with(&claude, "messages", json!([{"role": "user", "content": "a", "x": 1}]))),
        (google, with(&gemini, "cachedContent", json!("c"))),
        (google, with(&gemini, "generationConfig", json!({}))),
        (google, with(&gemini, "generationConfig", json!({"audioTimestamp": true}))),
        (google, with(&gemini, "systemInstruction", json!({"role": "user", "parts": []}))),
        (google, with(&gemini, "contents", json!([{"parts": [{"text": "Hi"}]}]))),
        (openai, with(&chat, "store", json!(true))),
        (openai, with(&chat, "messages", json!([{"role": "user", "content": null}]))),
        (anthropic, json!([1])),
        ("/v1/embeddings", json!({"model": "m", "input": "Hi"})),
    ] {
        assert_eq!(hashes(&request(path, &body.to_string())), [], "{body}");
    }
}

#[test]
fn request_with_a_query_or_with_a_header_that_counts_has_no_hash() {
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#;
    let plain = request("/v1/messages", body);
    assert_eq!(hashes(&plain).len(), 2);
    let asked = RecordedRequest { query: "beta=true".into(), ..plain.clone() };
    assert_eq!(hashes(&asked), []);
    let add = |name: &str, value: &str| {
        let mut more = plain.clone();
        more.headers.push((name.to_owned(), value.to_owned()));
        more
    };
    assert_eq!(hashes(&add("anthropic-beta", "files-api-2025-04-14")), []);
    assert_eq!(hashes(&add("accept", "*/*")), hashes(&plain));
    let mut older = plain.clone();
    older.headers[1].1 = "2023-01-01".to_owned();
    assert_eq!(hashes(&older), []);
    let named = IdentityRules::default().with_headers(&["x-tenant".to_owned()], &[]);
    let tenant = add("x-tenant", "a");
    assert_eq!(hashes(&tenant), hashes(&plain));
    assert_eq!(observed(&tenant).adapter_hashes(&[named]), []);
}

/// A text of a prompt, with what JSON escapes.
fn prompt() -> impl Strategy<Value = String> {
    "[a-z \"\\\\\n\u{7f}é☃😀]{0,12}"
}

/// SHA-256 of the text that AgentLoom hashes, by `serde_json` instead of the canonical writer.
fn made(call: &Value) -> String {
    let mut text = String::new();
    for c in spaced(call).chars() {
        match c {
            ' '..='~' => text.push(c),
            _ => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON text with Python's separators and sorted keys.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), spaced(value))
            };
            format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn conversation_is_found_back_whatever_its_adapter_makes_of_it(
        system in proptest::option::of(prompt()),
        turns in proptest::collection::vec((any::<bool>(), prompt()), 1..4),
        limit in proptest::option::of(prop_oneof![Just(4096u32), 1u32..9000]),
        temperature in proptest::option::of(0u32..3),
    ) {
        let role = |is_user: bool| if is_user { "user" } else { "assistant" };
        let plain: Vec<Value> = turns.iter()
            .map(|(is_user, text)| json!({"role": role(*is_user), "content": text})).collect();
        let first = system.iter().map(|text| json!({"role": "system", "content": text}));
        let given: Vec<Value> = first.chain(plain.iter().cloned()).collect();
        let sent_system = system.as_ref().filter(|text| !text.is_empty());

        let mut claude = json!({"model": "m", "messages": plain, "max_tokens": limit.unwrap_or(4096)});
        let contents: Vec<Value> = turns.iter().map(|(is_user, text)| json!({
            "role": if *is_user { "user" } else { "model" }, "parts": [{"text": text}],
        })).collect();
        let mut gemini = json!({"contents": contents});
        if let Some(text) = sent_system {
            claude["system"] = json!(text);
            gemini["systemInstruction"] = json!({"parts": [{"text": text}]});
        }
        if let Some(degree) = temperature {
            claude["temperature"] = json!(degree);
            gemini["generationConfig"]["temperature"] = json!(degree);
        }
        if let Some(limit) = limit {
            gemini["generationConfig"]["maxOutputTokens"] = json!(limit);
        }
        let hash = made(&json!({
            "messages": given, "model": "m", "temperature": temperature, "max_tokens": limit, "extra": {},
        }));
        for (path, body) in
            [("/v1/messages", &claude), ("/v1beta/models/m:streamGenerateContent", &gemini)]
        {
            let found = hashes(&request(path, &body.to_string()));
            prop_assert!(place(&found, &hash).is_some(), "{} {}", path, body);
        }
    }
}
