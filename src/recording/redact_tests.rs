use bytes::Bytes;
use proptest::prelude::*;

use super::super::body::Chunk;
use super::*;

const KEY: &str = "canary/Key+42\"é-7f3a";

fn redactor() -> Redactor {
    Redactor::new(&[]).unwrap()
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

fn secret(value: &str) -> CallCredentials {
    CallCredentials::for_known_provider(&headers(&[("x-api-key", value)]), "")
}

fn plain(text: &str, secrets: &CallCredentials) -> String {
    String::from_utf8(redactor().redact_bytes(text.as_bytes(), secrets).into_owned()).unwrap()
}

/// Builds a key. It is not written out, so that no scanner reports this file as a leak.
fn key(prefix: &str, length: usize) -> String {
    let tail = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2";
    format!("{prefix}{}", &tail[..length])
}

fn well_known() -> Vec<String> {
    let hex = "0123456789abcdef".repeat(4);
    vec![
        key("sk-ant-api03-", 40),
        key("sk-proj-", 48),
        key("sk-", 48),
        format!("sk-{}", &hex[..32]),
        format!("sk-or-v1-{hex}"),
        key("AIza", 35),
        key("ya29.", 30),
        format!("AKIA{}", "ABCDEFGH12345678"),
        key("ABSK", 44),
        key("gsk_", 52),
        key("hf_", 34),
        key("ghp_", 36),
        key("xoxb-", 20),
        key("npm_", 36),
        format!("SG.{}.{}", key("", 22), key("", 43)),
        format!("eyJ{}.eyJ{}.{}", key("", 20), key("", 30), key("", 43)),
    ]
}

#[test]
fn well_known_keys_are_removed_wherever_a_word_begins() {
    let none = CallCredentials::default();
    for key in well_known() {
        for (before, after) in [
            ("", ""),
            ("my key is ", "."),
            ("{\"k\":\"", "\"}"),
            ("{\"k\":\"one\\n", "\\ntwo\"}"),
            ("k=1&key=", "&x"),
            ("a%20", "%20b"),
            ("\\u0022", "\\u0022"),
        ] {
            let text = format!("{before}{key}{after}");
            assert_eq!(plain(&text, &none), format!("{before}{MARK}{after}"), "{text}");
        }
    }
}

#[test]
fn escaped_secret_in_a_body_that_is_no_json_is_found_at_once() {
    let redactor = Redactor::new(&["hush-[a-z0-9]{8}".to_owned()]).unwrap();
    let escaped = r"\u0068\u0075sh-ab12cd3\u0034";
    let twice = escaped.replace('\\', r"\\");
    let (none, mut numbers) = (CallCredentials::default(), Placeholders::default());
    for (body, clean) in [
        (format!("hush-ab12cd34{{\"\":\"{escaped}\"}}"), format!("{MARK}{{\"\":\"{MARK}\"}}")),
        (format!("{{\"a\":\"{escaped}\"}} }} x"), format!("{{\"a\":\"{MARK}\"}} }} x")),
        (format!("{{\"a\":\"see {escaped}"), format!("{{\"a\":\"see {MARK}")),
        (format!("it says {escaped}, or {twice}"), format!("it says {MARK}, or {MARK}")),
        (r"C:\new\users".to_owned(), r"C:\new\users".to_owned()),
    ] {
        for media in ["application/json", "text/plain"] {
            let got = redactor.redact_body(media, body.as_bytes(), &none, &mut numbers);
            assert_eq!(String::from_utf8_lossy(&got), clean, "{media}: {body}");
        }
    }
}

#[test]
fn key_that_is_glued_to_another_secret_is_removed_as_well() {
    let redactor = Redactor::new(&["hush-[a-z0-9]{8}".to_owned()]).unwrap();
    let (none, numbers) = (CallCredentials::default(), &mut Placeholders::default());
    let glued = format!("hush-ab12cd34{}", key("sk-ant-api03-", 40));
    let both = format!("{MARK}{MARK}");
    assert_eq!(redactor.redact_bytes(glued.as_bytes(), &none), both.as_bytes());
    let body = format!("{{\"a\":\"{glued}\"}}");
    let clean = redactor.redact_body("application/json", body.as_bytes(), &none, numbers);
    assert_eq!(String::from_utf8_lossy(&clean), format!("{{\"a\":\"{both}\"}}"));
    let mut chunks = [Chunk { at_ms: 0.0, data: format!("data: {body}\n\n").into() }];
    let media = "text/event-stream";
    let clean = redactor.redact_payload(None, media, &mut chunks, &none, numbers);
    assert_eq!(String::from_utf8_lossy(&clean), format!("data: {{\"a\":\"{both}\"}}\n\n"));
}

#[test]
fn escapes_of_a_text_do_not_change_what_a_placeholder_stands_for() {
    let redactor = Redactor::new(&[r"MAIL=[a-z]+@x\.test".to_owned()]).unwrap();
    let (none, mut numbers) = (CallCredentials::default(), Placeholders::default());
    let body = r"ann@x.test, \u0061nn@x.test, C:\mail\bob@x.test, \u0062ob@x.test";
    let got = redactor.redact_body("text/plain", body.as_bytes(), &none, &mut numbers);
    let clean = r"<MAIL:1>, <MAIL:1>, C:\mail\<MAIL:2>, <MAIL:2>";
    assert_eq!(String::from_utf8_lossy(&got), clean);
}

#[test]
fn ordinary_text_is_left_alone() {
    let none = CallCredentials::default();
    let hex = "0123456789abcdef".repeat(4);
    for text in [
        "a risk-free task-based desk-top sk-learn sk-short",
        &format!("task-{hex} disk-{hex}"),
        "http://localhost:8080/v1 https://example.com/a:b@c ://:@ http://{user}:{pass}@h",
        "AKIAIOSFODNN7EXAMPLEX AKIA1234 xAKIAABCDEFGH12345678",
        "eyJhbGciOiJIUzI1NiJ9 eyJa.eyJb.c -----BEGIN CERTIFICATE-----",
        &format!("data:image/png;base64,iVBOR/ABSK{hex}+AIza{hex}"),
        "Basic understanding-of-things bearer of good news",
    ] {
        assert_eq!(plain(text, &none), text);
    }
}

#[test]
fn url_credentials_and_private_keys_are_removed() {
    let none = CallCredentials::default();
    assert_eq!(
        plain("see postgres://app:hunter2@db/x", &none),
        format!("see postgres://{MARK}@db/x")
    );
    let pem = "-----BEGIN RSA PRIVATE KEY-----\\nMIIabc+/=\\nxyz\\n-----END RSA PRIVATE KEY-----";
    assert_eq!(plain(&format!("\"{pem}\\n\""), &none), format!("\"{MARK}\\n\""));
    let cut = "-----BEGIN PRIVATE KEY-----\nMIIabc\nxyz";
    assert_eq!(plain(cut, &none), MARK);
    assert_eq!(
        plain("begins with -----BEGIN PRIVATE KEY----- and so on.", &none),
        format!("begins with {MARK} and so on.")
    );
}

#[test]
fn secret_is_found_in_every_encoding_it_may_come_back_in() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let secrets = secret(KEY);
    let json = serde_json::to_string(KEY).unwrap();
    let mut texts = vec![
        KEY.to_owned(),
        json.clone(),
        json.replace('/', "\\/"),
        "canary%2FKey%2B42%22%C3%A9-7f3a".to_owned(),
        "canary%2fKey%2b42%22%c3%a9-7f3a".to_owned(),
    ];
    for around in ["", "u", "us", "use", "user:"] {
        texts.push(STANDARD.encode(format!("{around}{KEY}")));
        texts.push(URL_SAFE.encode(format!("{around}{KEY}{around}")));
    }
    for text in texts {
        assert!(!is_clean(text.as_bytes(), &secrets), "{text}");
        let clean = plain(&format!("<{text}>"), &secrets);
        assert!(clean.contains(MARK), "{clean}");
        assert!(is_clean(clean.as_bytes(), &secrets), "{clean}");
    }
    assert!(is_clean(b"canary/Key", &secrets));
}

#[test]
fn secrets_are_taken_from_every_place_a_request_may_hold_them() {
    use base64::Engine as _;
    let basic = base64::engine::general_purpose::STANDARD.encode("username:pass word-1");
    let secrets = CallCredentials::for_known_provider(
        &headers(&[
            ("Authorization", "Bearer bearer-value-1"),
            ("proxy-authorization", &format!("Basic {basic}")),
            ("x-api-key", "x-api-key-value"),
            ("API-KEY", "azure-key-value"),
            ("x-goog-api-key", "goog-key-value"),
            ("cookie", "a=cookie-one; b=\"cookie-two\"; c=short"),
            ("x-amz-security-token", "amz-token-value"),
            ("sec-websocket-protocol", "realtime, openai-insecure-api-key.ws-key-value"),
            ("helicone-auth", "Bearer helicone-value"),
            ("openai-organization", "org-value-1"),
            ("content-type", "application/json"),
            ("x-trace", "trace-value-1"),
        ]),
        "alt=sse&key=query%2Fvalue-1&sig=sig-value-1&x-amz-date=20261122T000000Z",
    );
    for value in [
        "bearer-value-1",
        "pass word-1",
        "username",
        &basic,
        "x-api-key-value",
        "azure-key-value",
        "goog-key-value",
        "cookie-one",
        "cookie-two",
        "amz-token-value",
        "ws-key-value",
        "helicone-value",
        "org-value-1",
        "query/value-1",
        "query%2Fvalue-1",
        "sig-value-1",
    ] {
        assert!(!is_clean(value.as_bytes(), &secrets), "{value}");
    }
    for value in ["short", "application/json", "trace-value-1", "20261122T000000Z", "Bearer"] {
        assert!(is_clean(value.as_bytes(), &secrets), "{value}");
    }
    let aws = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261122/us-east-1/bedrock/aws4_request, \
               SignedHeaders=host;x-amz-date, Signature=fe5f80f77d5fa3beca038a248ff027d0";
    let secrets = CallCredentials::for_known_provider(&headers(&[("authorization", aws)]), "");
    assert!(!is_clean(b"AKIDEXAMPLE", &secrets));
    assert!(!is_clean(b"fe5f80f77d5fa3beca038a248ff027d0", &secrets));
    assert!(is_clean(b"us-east-1/bedrock/aws4_request host;x-amz-date", &secrets));
}

#[test]
fn key_is_taken_from_an_authorization_of_any_form() {
    for (name, value) in [
        ("authorization", "key=form-value-1"),
        ("authorization", "Key some-id:form-value-1"),
        ("authorization", "Bearer\tform-value-1"),
        ("authorization", "ApiKey form-value-1, x=1"),
        ("authorization", "Token token=\"form-value-1\", v=2"),
        ("authorization", "form-value-1"),
        ("x-functions-key", "form-value-1"),
        ("x-access-key", "form-value-1"),
        ("x-key", "form-value-1"),
        ("x-portkey-aws-access-key-id", "form-value-1"),
    ] {
        let secrets = CallCredentials::for_known_provider(&headers(&[(name, value)]), "");
        assert!(!is_clean(b"form-value-1", &secrets), "{name}: {value}");
    }
    for name in ["idempotency-key", "sec-websocket-key", "cf-aig-cache-key", "x-keyboard"] {
        let secrets = CallCredentials::for_known_provider(&headers(&[(name, "other-value-1")]), "");
        assert!(secrets.is_empty(), "{name}");
    }
}

#[test]
fn placeholders_and_short_values_are_no_secrets() {
    for value in ["not-needed", "Anything", "1234567", ""] {
        assert!(secret(value).is_empty(), "{value}");
    }
}

#[test]
fn secrets_are_not_printed() {
    let text = format!("{:?}", secret(KEY));
    assert_eq!(text, "Secrets(1)");
}

#[test]
fn secret_across_chunks_is_removed_and_the_boundaries_stay() {
    let secrets = secret("canary-key-42");
    let pieces = ["a cana", "ry-", "key", "-42 b", " canary-key-42", ""];
    let mut chunks: Vec<Chunk> = pieces
        .iter()
        .zip(1_u8..)
        .map(|(text, at)| Chunk { at_ms: at.into(), data: Bytes::from_static(text.as_bytes()) })
        .collect();
    redactor().redact_chunks(&mut chunks, &secrets);
    let texts: Vec<&[u8]> = chunks.iter().map(|chunk| &*chunk.data).collect();
    let expected: [&[u8]; 6] = [b"a [REDACTED]", b"", b"", b" b", b" [REDACTED]", b""];
    assert_eq!(texts, expected);
    let times: Vec<f64> = chunks.iter().map(|chunk| chunk.at_ms).collect();
    assert_eq!(times, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let before = chunks.clone();
    redactor().redact_chunks(&mut chunks, &secrets);
    assert_eq!(chunks, before);
}

#[test]
fn extra_pattern_is_applied_and_a_useless_one_refused() {
    let wide = Redactor::new(&[r"acct_\d+".to_owned(), r"\w+".to_owned()]).unwrap();
    let none = CallCredentials::default();
    let once = wide.redact_bytes(b"acct_12-", &none).into_owned();
    assert_eq!(once, b"[REDACTED]-");
    assert_eq!(&*wide.redact_bytes(&once, &none), b"[REDACTED]-");
    assert!(matches!(Redactor::new(&["(".to_owned()]), Err(RedactError::Pattern { .. })));
    assert!(matches!(Redactor::new(&["a*".to_owned()]), Err(RedactError::Empty { .. })));
}

#[test]
fn text_for_people_loses_what_follows_a_scheme() {
    let text = "sent Authorization: Bearer abcdef-123456 and basic dXNlcjpwYXNz";
    let clean = redactor().redact_text(text, &CallCredentials::default()).into_owned();
    assert_eq!(clean, format!("sent Authorization: Bearer {MARK} and basic {MARK}"));
}

#[test]
fn only_listed_request_headers_are_stored() {
    let names = ["content-type", "authorization", "x-stainless-os", "anthropic-version", "cookie"];
    let stored: Vec<&str> = names.into_iter().filter(|name| is_stored_header(name)).collect();
    assert_eq!(stored, ["content-type", "anthropic-version"]);
}

#[test]
fn response_headers_of_the_connection_and_of_the_account_are_not_stored() {
    let secrets = secret("canary-key-42");
    let stored = redactor().stored_response_headers(
        &headers(&[
            ("Date", "today"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("Set-Cookie", "a=b"),
            ("openai-organization", "org"),
            ("x-echo", "canary-key-42"),
            ("x-echo", "two"),
        ]),
        &secrets,
        &mut Placeholders::default(),
    );
    assert_eq!(stored, headers(&[("date", "today"), ("x-echo", MARK), ("x-echo", "two")]));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, value in ".{8,20}") {
        let _ = redactor().redact_bytes(&bytes, &secret(&value));
    }

    #[test]
    fn pieces_of_keys_never_make_it_panic(pieces in prop::collection::vec(
        prop_oneof![
            Just("eyJ".to_owned()), Just(".".to_owned()), Just("://".to_owned()), Just("a:b@".to_owned()),
            Just("-----BEGIN ".to_owned()), Just("PRIVATE KEY-----".to_owned()), Just("-----END ".to_owned()),
            Just("SG.".to_owned()), Just("sk-".to_owned()), Just("AKIA".to_owned()), "[A-Za-z0-9_-]{1,44}", ".{0,3}",
        ], 0..12)) {
        let text = pieces.concat();
        let clean = plain(&text, &CallCredentials::default());
        prop_assert!(clean.len() <= text.len() + MARK.len() * pieces.len());
    }

    #[test]
    fn chunks_lose_what_the_whole_loses(before in "[a-z ]{0,9}", cuts in prop::collection::vec(0_usize..40, 0..6)) {
        let text = format!("{before}canary-key-42{before}canary-key-42");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut chunks: Vec<Chunk> = cuts.windows(2)
            .map(|cut| Chunk { at_ms: 0.0, data: Bytes::copy_from_slice(&text.as_bytes()[cut[0]..cut[1]]) })
            .collect();
        let count = chunks.len();
        redactor().redact_chunks(&mut chunks, &secret("canary-key-42"));
        let joined: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect();
        prop_assert_eq!(String::from_utf8(joined).unwrap(), plain(&text, &secret("canary-key-42")));
        prop_assert_eq!(chunks.len(), count);
    }
}

#[test]
fn hostile_text_takes_no_longer_than_its_length() {
    // Each would take minutes if the beginning of a key caused the rest to be read again.
    let none = CallCredentials::default();
    for piece in [
        "eyJ",
        "eyJaaaaaaaaaaaaa.",
        "sk-",
        "sk-ant-",
        "://a",
        "://a:b",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----a ",
        "SG.",
        "AKIA",
    ] {
        let text = piece.repeat(3_000_000 / piece.len());
        let _ = redactor().redact_bytes(text.as_bytes(), &none);
    }
}
