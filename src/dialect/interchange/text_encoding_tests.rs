use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

const JSON: &str = r#"{"id":"x","choices":[{"index":0,"message":{"content":"hi"}}]}"#;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn typed(content_type: &str) -> StatedBody<'_> {
    StatedBody { content_type, ..StatedBody::default() }
}

#[test]
fn text_in_base64_or_hex_is_decoded_where_its_type_or_length_shows_it() {
    for text in [STANDARD.encode(JSON), hex(JSON.as_bytes())] {
        let text = text.as_bytes();
        let json = Some(JSON.as_bytes().to_vec());
        assert_eq!(
            decode_untagged(text, typed("application/json; charset=utf-8")),
            Ok(json.clone())
        );
        assert_eq!(decode_untagged(text, typed("")), Ok(json.clone()));
        assert_eq!(decode_untagged(text, typed("text/plain")), Ok(None));
        let size = Some(JSON.len() as u64);
        for stated in [
            StatedBody { size, ..typed("text/plain") },
            StatedBody { length: size, ..typed("text/plain") },
        ] {
            assert_eq!(decode_untagged(text, stated), Ok(json.clone()));
        }
        // The text itself has the length of the body.
        let length = Some(text.len() as u64);
        assert_eq!(
            decode_untagged(text, StatedBody { length, ..typed("application/json") }),
            Ok(None)
        );
    }
    let stream = "data: {\"a\":1}\n\ndata: [DONE]\n\n";
    let text = STANDARD.encode(stream);
    let decoded = decode_untagged(text.as_bytes(), typed("text/event-stream"));
    assert_eq!(decoded, Ok(Some(stream.as_bytes().to_vec())));
    let sound = [0xff, 0xfb, 0x90, 0, 1, 2, 3, 4, 5];
    for text in [STANDARD.encode(sound), hex(&sound)] {
        assert_eq!(decode_untagged(text.as_bytes(), typed("audio/mpeg")), Ok(Some(sound.to_vec())));
    }
}

#[test]
fn words_and_numbers_are_no_encoded_bodies() {
    for text in ["Unauthorized", "12345678", "1234567890123456", "deadbeef", "not found"] {
        assert_eq!(decode_untagged(text.as_bytes(), typed("application/json")), Ok(None), "{text}");
    }
    let digits = "1".repeat(100);
    assert_eq!(decode_untagged(digits.as_bytes(), typed("application/json")), Ok(None));
    let garbage = STANDARD.encode([7; 90]);
    assert!(decode_untagged(garbage.as_bytes(), typed("application/json")).is_err());
    assert_eq!(decode_untagged(garbage.as_bytes(), typed("text/plain")), Ok(None));
}

#[test]
fn pieces_are_decoded_each_for_itself() {
    let pieces = json_pieces(br#"["00ff", "1f8b"]"#).unwrap();
    assert_eq!(join_pieces(&pieces, None), Some(vec![0, 0xff, 0x1f, 0x8b]));
    assert_eq!(join_pieces(&["aGk=", "IQ=="], Some(TextEncoding::Base64)), Some(b"hi!".to_vec()));
    assert_eq!(join_pieces(&["hi there"], None), None);
    for text in ["[1]", "[]", "{}", "[\"a\"", "text"] {
        assert_eq!(json_pieces(text.as_bytes()), None, "{text}");
    }
    assert_eq!(decode_hex(b"0"), None);
    assert_eq!(decode_hex(b"00 fF\n"), Some(vec![0, 0xff]));
}

#[test]
fn unknown_encoding_has_no_meaning() {
    for name in ["rot13", "gzip", "base32", "utf-16le", "quoted-printable"] {
        assert_eq!(TextEncoding::from_name(name), None, "{name}");
    }
    assert_eq!(TextEncoding::from_name("BASE64"), Some(TextEncoding::Base64));
    assert_eq!(TextEncoding::Latin1.decode("ÿa".as_bytes()), Some(vec![0xff, b'a']));
    assert_eq!(TextEncoding::Latin1.decode("€".as_bytes()), None);
}
