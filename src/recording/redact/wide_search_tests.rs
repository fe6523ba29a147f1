use super::super::super::body::Chunk;
use super::super::wide_text::WideEncoding;
use super::super::{CallCredentials, MARK, Placeholders, Redactor};

const OWN: &str = "CANq7ZxLk9Tt3wvB5nM2pR8xYhE4";

const ALL: [WideEncoding; 4] =
    [WideEncoding::Utf16Le, WideEncoding::Utf16Be, WideEncoding::Utf32Le, WideEncoding::Utf32Be];

/// A key with a well-known form, which is not in the source as such.
fn known() -> String {
    format!("ghp_{}", "CANaB3dE5f".repeat(4))
}

fn own() -> CallCredentials {
    CallCredentials::for_known_provider(
        &[("authorization".to_owned(), format!("Bearer {OWN}"))],
        "",
    )
}

fn redacted(redactor: &Redactor, media: &str, body: &[u8]) -> Vec<u8> {
    redactor.redact_body(media, body, &own(), &mut Placeholders::default()).into_owned()
}

#[test]
fn credentials_in_a_wide_body_are_replaced_in_its_encoding_and_nothing_else_changes() {
    let redactor = Redactor::new(&["MAIL=[a-z]+@x".to_owned()]).unwrap();
    let escaped = OWN.replace('q', "\\u0071");
    for encoding in ALL {
        for mark in ["", "\u{feff}"] {
            for media in ["application/json", "text/csv; charset=utf-16", "text/plain", ""] {
                let text = |own: &str, known: &str, mail: &str, escaped: &str| {
                    let said = format!("{own} \u{6f22}\u{5b57} {known}, {mail} \u{1f600}{own}");
                    format!("{mark}{{\"a\": \"{said}\", \"b\": \"{escaped}\"}}")
                };
                let body = encoding.encode(&text(OWN, &known(), "ann@x", &escaped));
                let clean = encoding.encode(&text(MARK, MARK, "<MAIL:1>", MARK));
                assert_eq!(redacted(&redactor, media, &body), clean, "{encoding:?} {media}");
                // What is clean stays as it is.
                assert_eq!(redacted(&redactor, media, &clean), clean, "{encoding:?} {media}");
                assert!(redactor.is_redacted(&clean) && !redactor.is_redacted(&body));
            }
        }
    }
}

#[test]
fn json_in_utf8_under_another_charset_is_searched_value_by_value() {
    let redactor = Redactor::new(&["a.*".to_owned()]).unwrap();
    let body = format!("{{\"k\": \"a b\", \"o\": \"{OWN}\", \"n\": 1}}");
    let clean = redacted(&redactor, "application/json; charset=utf-16", body.as_bytes());
    assert_eq!(clean, b"{\"k\": \"[REDACTED]\", \"o\": \"[REDACTED]\", \"n\": 1}");
}

#[test]
fn wide_text_is_found_in_any_bytes() {
    let redactor = Redactor::new(&[]).unwrap();
    for encoding in ALL {
        for before in [&b""[..], b"\0", b"\x01\x02\x03", b"MZ\x90\0\x03", b"\0\0\0\xff"] {
            for secret in [OWN.to_owned(), known()] {
                let said = encoding.encode(&format!("key={secret}"));
                let body = [before, &said, b"\xff\xfe\0\0\x07"].concat();
                let clean = redacted(&redactor, "application/octet-stream", &body);
                let left = encoding.encode(&secret[1..]);
                let is_left = memchr::memmem::find(&clean, &left[3..left.len() - 3]).is_some();
                assert!(!is_left, "{encoding:?} {before:?}: {clean:?}");
            }
        }
    }
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01";
    assert_eq!(redacted(&redactor, "image/png", png), png);
}

#[test]
fn wide_file_in_a_part_of_a_body_is_searched() {
    let redactor = Redactor::new(&[]).unwrap();
    for encoding in ALL {
        for kind in ["text/csv", "text/plain; charset=utf-16", "application/octet-stream"] {
            let body = |secret: &str| {
                let head = format!(
                    "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\
                     content-type: {kind}\r\n\r\n"
                );
                let file = encoding.encode(&format!("\u{feff}a;\u{e9};{secret}\r\n"));
                [head.as_bytes(), &file, b"\r\n--b--\r\n"].concat()
            };
            let media = "multipart/form-data; boundary=b";
            assert_eq!(redacted(&redactor, media, &body(&known())), body(MARK));
            assert_eq!(redacted(&redactor, media, &body(OWN)), body(MARK));
        }
    }
}

#[test]
fn credential_across_chunks_and_events_of_a_wide_stream_is_removed() {
    let redactor = Redactor::new(&[]).unwrap();
    for (encoding, media) in ALL.iter().flat_map(|it| ["text/event-stream", ""].map(|m| (*it, m))) {
        let delta = |text: &str| format!("data: {{\"delta\":{{\"text\":\"{text}\"}}}}\n\n");
        let text = [delta("a "), delta(&OWN[..9]), delta(&OWN[9..]), delta(&known())].concat();
        let body = encoding.encode(&text);
        for size in [1, 3, 7, 64, 10_000] {
            let mut chunks: Vec<Chunk> = body
                .chunks(size)
                .map(|data| Chunk { at_ms: 0.0, data: data.to_vec().into() })
                .collect();
            let count = chunks.len();
            let numbers = &mut Placeholders::default();
            let clean = redactor.redact_payload(None, media, &mut chunks, &own(), numbers);
            let expected = [delta("a "), delta(MARK), delta(""), delta(MARK)].concat();
            assert_eq!(clean, encoding.encode(&expected), "{encoding:?} {media} {size}");
            assert_eq!(chunks.len(), count);
        }
    }
}

#[test]
fn wide_text_within_escapes_is_removed() {
    let redactor = Redactor::new(&[]).unwrap();
    for secret in [OWN.to_owned(), known()] {
        let wide: String = secret.chars().flat_map(|letter| [letter, '\0']).collect();
        let json = serde_json::json!({ "output": format!("\u{fffd}{wide}") }).to_string();
        let clean = redacted(&redactor, "application/json", json.as_bytes());
        assert_eq!(String::from_utf8(clean).unwrap(), "{\"output\":\"\u{fffd}[REDACTED]\"}");
        let form = format!("a={}&b=1", wide.replace('\0', "%00"));
        let media = "application/x-www-form-urlencoded";
        assert_eq!(redacted(&redactor, media, form.as_bytes()), b"a=[REDACTED]&b=1");
    }
}

#[test]
fn own_credential_in_base64_and_hex_of_wide_text_is_removed() {
    use base64::Engine as _;
    let redactor = Redactor::new(&[]).unwrap();
    for encoding in ALL {
        for before in ["", "a", "echo 'some more words' "] {
            let wide = encoding.encode(&format!("{before}{OWN}"));
            let hex: String = wide.iter().map(|byte| format!("{byte:02x}")).collect();
            let base64 = base64::engine::general_purpose::STANDARD.encode(&wide);
            for spelled in [hex, base64] {
                let json = serde_json::json!({ "run": format!("-EncodedCommand {spelled}") });
                let clean = redacted(&redactor, "application/json", json.to_string().as_bytes());
                let clean = String::from_utf8(clean).unwrap();
                assert!(clean.contains(MARK) && !clean.contains(&spelled), "{clean}");
            }
        }
    }
}

#[test]
fn texts_in_one_byte_for_each_character_are_searched_as_ascii() {
    let redactor = Redactor::new(&[]).unwrap();
    for charset in ["iso-8859-1", "windows-1252", "koi8-r", "shift_jis", "gb18030", "utf-7"] {
        let body = [b"caf\xe9 ", OWN.as_bytes(), b"\x83\x5c ", known().as_bytes()].concat();
        let clean = redacted(&redactor, &format!("text/plain; charset={charset}"), &body);
        assert_eq!(clean, b"caf\xe9 [REDACTED]\x83\x5c [REDACTED]", "{charset}");
    }
}
