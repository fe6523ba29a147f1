use serde_json::json;

use super::*;
use loomrec_recording::{HeaderNames, RecordedRequest};

fn request(path: &str, headers: &[(&str, &str)], body: &[u8]) -> Entry {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let request = RecordedRequest {
        method: "POST".to_owned(),
        path: path.to_owned(),
        headers: headers.iter().map(owned).collect(),
        body: body.to_vec().into(),
        ..RecordedRequest::default()
    };
    Entry { request: Some(request), ..Entry::default() }
}

#[test]
fn known_upstream_gets_its_address_and_the_variable_of_its_key() {
    let headers = [("content-type", "application/json"), ("accept-encoding", "gzip"), ("x-a", "")];
    let asked = request("/v1/chat/completions", &headers, b"{\"a\":\"it's\"}\n");
    let expected = r#"curl --globoff --path-as-is 'https://api.openai.com/v1/chat/completions' \
  -H "authorization: Bearer ${OPENAI_API_KEY}" \
  -H 'content-type: application/json' \
  -H 'x-a;' \
  --data-raw '{"a":"it'\''s"}
'"#;
    assert_eq!(curl_command(&asked, Some("openai")).unwrap(), expected);
    let asked = request("/v1/messages", &[], b"x");
    let told = curl_command(&asked, Some("anthropic")).unwrap();
    assert!(told.contains(r#"-H "x-api-key: ${ANTHROPIC_API_KEY}" \"#), "{told}");
    assert!(told.contains("-H 'content-type:' \\"), "{told}");
}

#[test]
fn unknown_address_is_a_variable_and_no_key_goes_to_an_address_that_a_recording_names() {
    let mut asked = request("/v1/x", &[("content-type", "a/b")], b"x");
    let told = curl_command(&asked, Some("my gateway")).unwrap();
    assert!(told.contains(r#"path-as-is "${MY_GATEWAY_BASE_URL}"'/v1/x' "#), "{told}");
    assert!(!told.contains("API_KEY"), "it sent no key: {told}");
    let sent = asked.request.as_mut().unwrap();
    sent.other_headers = HeaderNames::parse("authorization");
    let told = curl_command(&asked, Some("my gateway")).unwrap();
    assert!(told.contains(r#"-H "authorization: Bearer ${MY_GATEWAY_API_KEY}""#), "{told}");
    let entry = Entry { upstream_origin: Some("http://evil.example".into()), ..asked };
    let told = curl_command(&entry, Some("openai")).unwrap();
    assert!(told.contains("'http://evil.example/v1/x'"), "{told}");
    assert!(told.contains("${UPSTREAM_API_KEY}") && !told.contains("OPENAI"), "{told}");
}

#[test]
fn nothing_of_a_recording_is_more_than_a_text_to_the_shell() {
    let hostile = "'; touch /tmp/x; $(touch y) `z` \\' \"";
    let headers = [("x-b", hostile), ("@/etc/passwd", "x"), ("x-c", "a\nb"), ("Cookie ", "x")];
    let asked = request("/v1/[x]", &headers, format!("@{hostile}").as_bytes());
    let told = curl_command(&asked, Some(hostile)).unwrap();
    let inside = hostile.replace('\'', r"'\''");
    assert!(told.contains(&format!("-H 'x-b: {inside}'")), "{told}");
    assert!(told.contains(&format!("--data-raw '@{inside}'")), "{told}");
    assert!(!told.contains("passwd") && !told.contains("x-c") && !told.contains("Cookie"));
    for path in ["/a b", "/a\u{1b}[201~", "a"] {
        assert!(curl_command(&request(path, &[], b""), Some("openai")).is_err(), "{path:?}");
    }
    let mut odd = request("/v1", &[], b"");
    odd.request.as_mut().unwrap().method = "GET -o x".into();
    assert!(curl_command(&odd, Some("openai")).is_err());
}

#[test]
fn body_that_cannot_be_pasted_comes_through_a_pipe() {
    for body in [&b"\x1b[201~"[..], b"a\0b", b"\xff", b"a\tb"] {
        let told = curl_command(&request("/v1", &[], body), Some("openai")).unwrap();
        let encoded = STANDARD.encode(body);
        assert!(told.starts_with(&format!("printf %s '{encoded}' | base64 -d | curl ")), "{told}");
        assert!(told.ends_with("--data-binary @-"), "{told}");
    }
    let long = "x".repeat(ARGUMENT + 1);
    let told = curl_command(&request("/v1", &[], long.as_bytes()), None).unwrap();
    assert!(told.starts_with("printf %s 'xxx") && told.ends_with("--data-binary @-"));
    let none = curl_command(&request("/v1", &[], b""), Some("openai")).unwrap();
    assert!(none.contains(" -X 'POST'") && !none.contains("--data"), "{none}");
    let huge = vec![b'x'; LARGEST + 1];
    let why = curl_command(&request("/v1", &[], &huge), None).unwrap_err();
    assert!(why.contains("too large"), "{why}");
}

#[test]
fn websocket_is_no_curl_command() {
    let answered = Entry::parse(&json!({ "content": "", "response": {
        "status": 101, "headers": {}, "end": "complete" } }));
    let request = request("/v1/realtime", &[], b"").request;
    let why = curl_command(&Entry { request, ..answered.unwrap() }, None);
    assert!(why.unwrap_err().contains("WebSocket"));
}
