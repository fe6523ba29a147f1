use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::super::json_style::tests::any_json;
use super::super::super::log_codec::tests::any_entry;
use super::*;

fn long(text: &str) -> Option<Entry> {
    Entry::parse(&serde_json::from_str(text).ok()?).ok()
}

/// Reads a text both ways, unless the fast reader gives up.
fn quick_as_long(text: &str) -> Option<Entry> {
    let quick = read_quickly(text);
    if quick.is_some() {
        assert_eq!(quick, long(text), "{text}");
    }
    quick
}

#[test]
fn what_the_quick_way_could_get_wrong_is_left_to_the_long_one() {
    let request = |more: &str| format!(r#"{{"request": {{"method": "GET", "path": "/"{more}}}}}"#);
    let response = |more: &str| format!(r#"{{"response": {{"status": 200{more}}}}}"#);
    for text in [
        r#"{"model": "a", "model": "b"}"#,
        r#"{"model": null, "model": "b"}"#,
        r#"{"x": null}"#,
        r#"{"content": 1}"#,
        r#"{"usage": {"prompt_tokens": 1.5}}"#,
        r#"{"usage": {"prompt_tokens": 1, "prompt_tokens": 1}}"#,
        r#"{"cost_usd": "0.5"}"#,
        r#"{"cost_usd": 1e999}"#,
        r#"{"fault": 1}"#,
        r#"{} x"#,
        &request(r#", "headers": {"A": "1", "a": "2"}"#),
        &request(r#", "headers": {"a": "1", "a": "2"}"#),
        &request(r#", "headers": null"#),
        &request(r#", "body": null, "text": "x""#),
        &request(r#", "text": null"#),
        &request(r#", "text": "a", "base64": "AA==""#),
        &request(r#", "body": {"a": 1, "a": 2}"#),
        &request(r#", "style": "tabs""#),
        &response(r#", "status": 201"#),
        &response(r#", "chunks": [], "text": "a""#),
        &response(r#", "chunks": [[1, {"base64": "AA==", "x": "AA=="}]]"#),
        &response(r#", "text": "abc", "frames": [[1, 2]]"#),
        &response(r#", "text": "abc", "frames": [[1, 2], [2, 2]]"#),
        r#"{"response": {"status": 99}}"#,
    ] {
        assert_eq!(read_quickly(text), None, "{text}");
    }
}

#[test]
fn body_comes_back_in_any_style_and_field() {
    for (fields, bytes) in [
        (json!({"body": {"a": [1, 2]}}), "{\"a\":[1,2]}"),
        (json!({"body": {"a": [1, 2]}, "style": "spaced newline"}), "{\"a\": [1, 2]}\n"),
        (json!({"style": "pretty ascii", "body": ["é"]}), "[\n  \"\\u00e9\"\n]"),
        (json!({"text": "a\u{1}"}), "a\u{1}"),
        (json!({"base64": "YWI="}), "ab"),
        (json!({"body": null}), "null"),
    ] {
        let mut entry = json!({"request": {"method": "GET", "path": "/", "headers": {}}});
        entry["request"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let read = quick_as_long(&entry.to_string()).unwrap();
        assert_eq!(read.request.unwrap().body, bytes.as_bytes());
    }
}

proptest! {
    #[test]
    fn what_recorders_write_takes_the_quick_way(entry in any_entry()) {
        let text = String::from_utf8(entry.to_text()).unwrap();
        let read = quick_as_long(&text);
        let response = entry.response.as_ref();
        let headers = [entry.request.as_ref().map(|r| &r.headers), response.map(|r| &r.headers), response.map(|r| &r.trailers)];
        let lower = headers.into_iter().flatten().flatten().all(|(name, _)| !name.contains('A'));
        prop_assert!(read.is_some() || !lower || !entry.extra.is_empty(), "{text}");
        prop_assert_eq!(Entry::from_text(text.as_bytes()).ok(), long(&text));
    }

    #[test]
    fn any_value_in_any_field_is_read_alike(
        field in prop::sample::select(&super::super::KNOWN_FIELDS[..]),
        inner in prop::sample::select(&["method", "path", "query", "headers", "body", "style", "text", "base64", "status", "end", "cut", "chunks", "frames", "prompt_tokens"][..]),
        value in prop_oneof![any_json(), Just(json!([[1, "a"], [2.5, {"base64": "/w=="}]])), Just(json!([[0, 1]])), Just(json!("x"))],
        base in prop::sample::select(&[0, 1, 2][..]),
    ) {
        quick_as_long(&json!({ field: value }).to_string());
        let mut object = match base {
            0 => json!({"request": {"method": "GET", "path": "/"}}),
            1 => json!({"response": {"status": 200, "text": "a"}, "latency_ms": 1.5}),
            _ => json!({"usage": {}}),
        };
        for (_, inside) in object.as_object_mut().unwrap().iter_mut().take(1) {
            inside[inner] = value.clone();
        }
        quick_as_long(&object.to_string());
    }

    #[test]
    fn changed_text_is_read_alike(entry in any_entry(), at: prop::sample::Index, byte in 0x20_u8..0x7f, cut: bool) {
        let mut text = entry.to_text();
        let at = at.index(text.len());
        text[at] = byte;
        let text = String::from_utf8_lossy(if cut { &text[..at] } else { &text }).into_owned();
        quick_as_long(&text);
        let _: Option<Value> = serde_json::from_str(&text).ok();
    }
}

#[test]
fn many_headers_are_not_compared_with_each_other() {
    let names = |count: usize| (0..count).map(|at| format!("\"x-{at}\":\"v\""));
    let text = |count| {
        let names: Vec<String> = names(count).collect();
        format!(r#"{{"response":{{"status":200,"headers":{{{}}}}}}}"#, names.join(","))
    };
    assert!(read_quickly(&text(MOST_HEADERS)).is_some());
    assert!(read_quickly(&text(MOST_HEADERS + 1)).is_none(), "the long way takes a map");
    let entry = Entry::from_text(text(50_000).as_bytes()).unwrap();
    assert_eq!(entry.response.unwrap().headers.len(), 50_000);
}
