//! The request key: AgentLoom's vectors, and what does and does not enter it.

use crate::identity::{Form, IdentityRules, Pointer, RequestKey, RequestParts, canonical_text};

pub(super) fn chat(body: &[u8]) -> RequestParts<'_> {
    RequestParts { form: Form::Chat, method: "POST", query: "", headers: &[], body }
}

pub(super) fn chat_key(body: &str) -> String {
    RequestKey::of(&chat(body.as_bytes()), &IdentityRules::default()).to_string()
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
        form: Form::Tagged { target: "anthropic.messages", delivery: true },
        method: "POST",
        query: "beta=true&key=secret&alt=sse",
        headers: &headers,
        body: br#"{"model":"c","stream":true,"metadata":{"run":"7","a":1}}"#,
    };
    let rules = IdentityRules::new(vec![Pointer::parse("/metadata/run").unwrap()]);
    let text = String::from_utf8(canonical_text(&parts, &rules)).unwrap();
    assert_eq!(
        text,
        r#"{"body": {"json": {"metadata": {"a": 1}, "model": "c"}}, "headers": {"anthropic-beta": "a,b", "anthropic-version": "2023-06-01", "content-type": "application/json"}, "loomrec": "request/1", "method": "POST", "query": "beta=true", "target": "anthropic.messages"}"#,
    );
}
