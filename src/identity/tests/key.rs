//! Tests of the request key: AgentLoom's vectors, and what enters it.

use proptest::prelude::*;

use super::source;
use crate::{IdentityRules, JsonPointer, KeyForm, RequestKey, RequestParts, canonical_text, parse};

pub(super) fn chat(body: &[u8]) -> RequestParts<'_> {
    RequestParts { form: KeyForm::Chat, method: "POST", query: "", headers: &[], body }
}

pub(super) fn chat_key(body: &str) -> String {
    RequestKey::from_parts(&chat(body.as_bytes()), &IdentityRules::default()).to_string()
}

#[test]
fn chat_key_equals_agentlooms_when_given_its_vectors() {
    let vectors = [
        (
            r#"{"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "héllo ☃ 😀"}], "temperature": 0.7, "max_tokens": 128}"#,
            "3b715cc037f2be400f098db7ac0e380f09128fb1329c8b5c8ecc29c0aaefaf27",
        ),
        (
            r#"{"messages":[{"role":"user","content":"hi"}],"model":"m"}"#,
            "3fa1e9653c6dc8faf7fdaff60ddc57555f47b1affc7602d625e58fa7a4523a7c",
        ),
        (
            r#"{"tools": [{"name": "t", "parameters": {"z": 1, "a": [1e-7, 1E16, 1e22, 0.1, 123456789012345680, true, null]}}],
                "max_tokens": 100, "messages": [{"content": "hi", "role": "user"}], "model": "m", "temperature": 1.0}"#,
            "0490aa023b865cd6ac358a8a88bdd87ec07b11474e5b0e8bbbfbe92efce5de85",
        ),
        (
            "{\"😀\": 5, \"\\uffff\": 4, \"é\": 3, \"b\": 1, \"B\": 2, \"temperature\": 0, \"model\": \"m\", \"messages\":
              [{\"role\": \"user\", \"content\": \"a/b \\u007f \\u2028 \\\"q\\\" \\\\ \\n\\t\\u0001\"}]}",
            "e8c90c53b16d859b826baa7c5b3fa28dbd9ead310a7cf9844559532dd78428f7",
        ),
    ];
    for (body, key) in vectors {
        assert_eq!(chat_key(body), key, "{body}");
    }
}

#[test]
fn tagged_text_is_as_documented_when_every_part_is_there() {
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("anthropic-beta", "a"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "b"),
        ("accept", "text/event-stream"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let parts = RequestParts {
        form: KeyForm::Tagged { target: "anthropic.messages", delivery: true, known: false },
        method: "POST",
        query: "beta=true&alt=sse",
        headers: &headers,
        body: br#"{"model":"c","stream":true,"metadata":{"run":"7","a":1}}"#,
    };
    let rules = IdentityRules::new(vec![JsonPointer::parse("/metadata/run").unwrap()]);
    let text = String::from_utf8(canonical_text(&parts, &rules)).unwrap();
    assert_eq!(
        text,
        r#"{"body": {"json": {"metadata": {"a": 1}, "model": "c"}}, "headers": {"anthropic-beta": "a,b", "anthropic-version": "2023-06-01", "content-type": "application/json"}, "loomrec": "request/1", "method": "POST", "query": "beta=true", "target": "anthropic.messages"}"#,
    );
}

pub(super) fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn rules(pointers: &[&str]) -> IdentityRules {
    IdentityRules::new(pointers.iter().map(|text| JsonPointer::parse(text).unwrap()).collect())
}

fn chat_key_under(body: &str, ignore: &[&str]) -> RequestKey {
    RequestKey::from_parts(&chat(body.as_bytes()), &rules(ignore))
}

/// The canonical text of a tagged request with one `content-type`, or none.
fn tagged_text(content_type: Option<&str>, body: &[u8]) -> String {
    let list: Vec<_> = content_type.iter().map(|value| ("content-type", *value)).collect();
    tagged_text_with(&headers(&list), body)
}

fn tagged_text_with(headers: &[(String, String)], body: &[u8]) -> String {
    let form = KeyForm::Tagged { target: "/x", delivery: false, known: false };
    let parts = RequestParts { form, method: "POST", query: "", headers, body };
    String::from_utf8(canonical_text(&parts, &IdentityRules::default())).unwrap()
}

#[test]
fn chat_keys_differ_when_anything_that_counts_differs() {
    let bodies = [
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":1}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":1.0}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":9007199254740992}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":9007199254740993}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"hi "}]}"#,
        r#"{"model":"m2","messages":[{"role":"user","content":"hi"}]}"#,
        r#"{"model":"m","messages":[{"role":"system","content":"hi"}]}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[]}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"hi","stream":true}]}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"x":{"stream":true}}"#,
    ];
    let keys: std::collections::BTreeSet<_> = bodies.iter().map(|body| chat_key(body)).collect();
    assert_eq!(keys.len(), bodies.len());
}

#[test]
fn chat_keys_agree_when_only_spelling_and_delivery_differ() {
    let spelt = [
        r#"{"model":"m","messages":[{"role":"user","content":"é/"}]}"#,
        r#" { "messages" : [ {"content": "\u00E9\/", "role": "user"} ] , "model" : "\u006d" } "#,
        r#"{"model":"m","messages":[{"role":"user","content":"é/"}],"stream":true,"stream_options":{"include_usage":true}}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"é/"}],"max_tokens":null,"str\u0065am":false}"#,
    ];
    for body in spelt {
        assert_eq!(chat_key(body), chat_key(spelt[0]), "{body}");
    }
}

#[test]
fn chat_key_counts_the_body_alone_when_it_is_an_object() {
    let list = headers(&[("accept", "x"), ("content-type", "application/json")]);
    let body = br#"{"model":"m","messages":[]}"#;
    let parts = RequestParts { query: "api-version=1", headers: &list, ..chat(body) };
    assert_eq!(
        RequestKey::from_parts(&parts, &rules(&[])),
        RequestKey::from_parts(&chat(body), &rules(&[]))
    );
}

#[test]
fn chat_takes_the_tagged_form_when_a_header_changes_its_answer() {
    let list = headers(&[("openai-beta", "x"), ("content-type", "application/json")]);
    let body = br#"{"model":"m","messages":[]}"#;
    let parts = RequestParts { headers: &list, ..chat(body) };
    let none = rules(&[]);
    let text = String::from_utf8(canonical_text(&parts, &none)).unwrap();
    assert!(text.contains(r#""openai-beta": "x""#) && text.contains("request/1"), "{text}");
    let plain = RequestKey::from_parts(&chat(body), &none);
    assert_ne!(RequestKey::from_parts(&parts, &none), plain);
    // The same key as in the first generation, and as with rules that leave that header out.
    assert_eq!(RequestKey::of_earlier_versions(&parts, &none)[0], plain);
    let without = none.with_headers(&[], &["openai-beta".to_owned()]);
    assert_eq!(RequestKey::from_parts(&parts, &without), plain);
}

#[test]
fn chat_takes_the_tagged_form_when_the_body_is_no_plain_object() {
    let none = rules(&[]);
    for body in [
        "[1]",
        "",
        "{",
        r#"{"a":1,"a":2}"#,
        r#"{"a":{"b":[{"c":1,"\u0063":1}]}}"#,
        r#"{"a":"\ud800"}"#,
    ] {
        let text = String::from_utf8(canonical_text(&chat(body.as_bytes()), &none)).unwrap();
        assert!(text.ends_with(r#""query": "", "target": "chat"}"#), "{text}");
        let by_bytes = !matches!(body, "[1]" | "");
        assert_eq!(text.contains("sha256"), by_bytes, "{text}");
        // A body that is hashed by its bytes has another key if it is spelled differently.
        let respelt = chat_key(&format!("{body} "));
        assert_eq!(chat_key(body) == respelt, body == "[1]", "{body}");
    }
}

#[test]
fn ignored_places_are_gone_when_the_key_is_made() {
    let first =
        r#"{"model":"m","messages":[{"role":"user","content":"a"}],"metadata":{"run":1,"keep":2}}"#;
    let second = r#"{"model":"m","messages":[{"role":"user","content":"a"}],"metadata":{"run":[7],"keep":2}}"#;
    let absent =
        r#"{"model":"m","messages":[{"role":"user","content":"a"}],"metadata":{"keep":2}}"#;
    let ignore = ["/metadata/run"];
    assert_eq!(chat_key_under(first, &ignore), chat_key_under(second, &ignore));
    assert_eq!(chat_key_under(first, &ignore), chat_key_under(absent, &[]));
    assert_ne!(
        chat_key_under(first, &["/metadata/keep"]),
        chat_key_under(second, &["/metadata/keep"])
    );
    // The text always has `temperature` and `max_tokens`; they are null if left out.
    let hot = r#"{"model":"m","messages":[],"temperature":1}"#;
    let plain = r#"{"model":"m","messages":[]}"#;
    assert_eq!(chat_key_under(hot, &["/temperature"]), chat_key_under(plain, &[]));
}

#[test]
fn neighbours_keep_their_places_when_an_element_is_ignored() {
    let body = |list: &str| format!(r#"{{"model":"m","messages":{list}}}"#);
    let ignore = ["/messages/0"];
    let key = |list: &str| chat_key_under(&body(list), &ignore);
    assert_eq!(key(r#"["volatile","b"]"#), key(r#"[{"x":1},"b"]"#));
    assert_eq!(key(r#"["volatile","b"]"#), chat_key_under(&body(r#"[null,"b"]"#), &[]));
    assert_ne!(key(r#"["volatile","b"]"#), key(r#"["b"]"#));
    assert_ne!(key(r#"["volatile","b"]"#), key(r#"["volatile","c"]"#));
}

#[test]
fn body_is_json_when_its_media_type_offers_it() {
    let (body, json) = (br#"{ "a": 1 }"#, r#"{"body": {"json": {"a": 1}}"#);
    for media in [
        None,
        Some(""),
        Some("application/json"),
        Some("Application/JSON; charset=utf-8"),
        Some("application/vnd.api+json"),
        Some("application/x-amz-json-1.1"),
        Some("application/x-www-form-urlencoded"),
        Some("json"),
    ] {
        assert!(tagged_text(media, body).starts_with(json), "{media:?}");
    }
    for media in [
        "text/plain",
        "application/octet-stream",
        "application/x-ndjson",
        "multipart/form-data; boundary=x",
    ] {
        let text = tagged_text(Some(media), body);
        assert!(text.starts_with(r#"{"body": {"length": 10, "sha256": ""#), "{text}");
    }
}

#[test]
fn body_is_bytes_when_it_is_encoded() {
    for (coding, json) in
        [("gzip", false), ("identity", true), ("Identity", true), ("", true), ("br", false)]
    {
        let list = headers(&[("content-type", "application/json"), ("content-encoding", coding)]);
        assert_eq!(tagged_text_with(&list, b"{}").contains("json\": {}"), json, "{coding}");
    }
}

#[test]
fn body_is_null_when_it_is_empty() {
    let text = tagged_text(Some("application/json"), b"");
    assert_eq!(
        text,
        r#"{"body": null, "headers": {"content-type": "application/json"}, "loomrec": "request/1", "method": "POST", "query": "", "target": "/x"}"#
    );
    assert_ne!(text, tagged_text(Some("application/json"), b"null"));
}

#[test]
fn delivery_counts_when_the_form_says_so() {
    let text = |delivery, query| {
        let form = KeyForm::Tagged { target: "t", delivery, known: false };
        let body = br#"{"stream": true, "a": {"stream": 1}}"#;
        let parts = RequestParts { form, method: "POST", query, headers: &[], body };
        String::from_utf8(canonical_text(&parts, &rules(&[]))).unwrap()
    };
    assert_eq!(text(true, "alt=sse&x=1"), text(true, "x=1"));
    assert!(text(true, "").contains(r#"{"json": {"a": {"stream": 1}}}"#));
    assert!(text(false, "alt=sse").contains(r#"{"json": {"a": {"stream": 1}, "stream": true}}"#));
    assert!(text(false, "alt=sse").contains(r#""query": "alt=sse""#));
}

#[test]
fn tagged_text_is_one_line_of_ascii_when_parts_are_hostile() {
    let list = headers(&[("anthropic-beta", "é\"\n"), ("content-type", "\"\\\u{1}")]);
    let form = KeyForm::Tagged { target: "/ü\"\u{7f}", delivery: false, known: false };
    let parts =
        RequestParts { form, method: "P\"", query: "a=\"\\ü", headers: &list, body: b"\xff" };
    let text = canonical_text(&parts, &rules(&[]));
    assert!(text.iter().all(|byte| (b' '..=b'~').contains(byte)));
    assert_eq!(parse(&text).unwrap().get("target").unwrap().as_str().unwrap(), "/ü\"\u{7f}");
}

#[test]
fn key_is_parsed_when_it_is_64_lower_case_digits() {
    let digits = "0123456789abcdef".repeat(4);
    assert_eq!(RequestKey::parse(&digits).unwrap().as_str(), digits);
    assert_eq!(RequestKey::parse(&digits).unwrap().short_form(), "0123456789ab");
    for text in [&digits[1..], &digits.to_uppercase(), "", &digits.replace('0', "é")] {
        assert!(RequestKey::parse(text).is_none(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn key_is_the_same_when_the_body_was_parsed_before(body in source::mutated(), text in any::<bool>(), chatty in any::<bool>()) {
        let list = headers(&[("content-type", if text { "text/plain" } else { "application/json" })]);
        let form = if chatty { KeyForm::Chat } else { KeyForm::Tagged { target: "t", delivery: true, known: false } };
        let parts = RequestParts { form, method: "POST", query: "", headers: &list, body: &body };
        let rules = rules(&["/a", "/b/0"]);
        let parsed = parse(&body).ok();
        prop_assert_eq!(RequestKey::of_parsed(&parts, parsed.as_ref(), &rules), RequestKey::from_parts(&parts, &rules));
    }

    #[test]
    fn key_is_made_when_all_parts_are_random(body in prop::collection::vec(any::<u8>(), 0..80), query in "\\PC{0,30}", media in "\\PC{0,40}") {
        let list = headers(&[("content-type", &media)]);
        let form = KeyForm::Tagged { target: "t", delivery: true, known: false };
        let parts = RequestParts { form, method: "POST", query: &query, headers: &list, body: &body };
        prop_assert!(RequestKey::parse(RequestKey::from_parts(&parts, &IdentityRules::default()).as_str()).is_some());
    }
}

#[test]
fn keys_that_begin_alike_are_kept_apart_in_memory() {
    use std::hash::BuildHasher as _;
    let hashing = foldhash::fast::RandomState::default();
    let key = |at: u64| RequestKey::parse(&format!("{:032x}{at:032x}", 7)).unwrap();
    let hashes: std::collections::HashSet<u64> =
        (0..1000).map(|at| hashing.hash_one(key(at))).collect();
    assert_eq!(hashes.len(), 1000);
}
