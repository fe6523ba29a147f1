use super::*;

fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> T {
    let options = serde_saphyr::options! { ignore_binary_tag_for_string: true };
    serde_saphyr::from_str_with_options(text, options).unwrap()
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap()
}

#[test]
fn body_is_found_in_every_way_that_cassettes_have_it() {
    let bytes = |text: &str| Body::Bytes(text.as_bytes().to_vec());
    assert_eq!(yaml::<Body>("'a: b'"), bytes("a: b"));
    assert_eq!(yaml::<Body>("{string: héllo, encoding: UTF-8}"), bytes("héllo"));
    assert_eq!(yaml::<Body>("|-\n  one\n  two"), bytes("one\ntwo"));
    assert_eq!(yaml::<Body>("!!binary |\n  /wD/\n  AA=="), Body::Bytes(vec![255, 0, 255, 0]));
    assert_eq!(yaml::<Body>("string: !!binary aGk="), bytes("hi"));
    assert_eq!(yaml::<Body>("string: !!python/unicode 'x'"), bytes("x"));
    assert_eq!(yaml::<Body>("17"), bytes("17"));
    assert_eq!(yaml::<Body>("null"), Body::None);
    assert_eq!(yaml::<Body>("!!binary '***'"), Body::Other);
    assert_eq!(yaml::<Body>("!!python/object:io.BytesIO {state: [1]}"), Body::Other);
    assert_eq!(json::<Body>(r#"{"base64_string": "aGk", "encoding": "utf-8"}"#), bytes("hi"));
    assert_eq!(json::<Body>(r#""text""#), bytes("text"));
    assert_eq!(json::<Body>("[1, {}]"), Body::Other);
}

#[test]
fn headers_are_lists_or_single_values() {
    let list = |pairs: &[(&str, &str)]| {
        Headers(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
    };
    let several = list(&[("a", "1"), ("a", "2"), ("b", "c")]);
    assert_eq!(yaml::<Headers>("{a: ['1', 2], b: c}"), several);
    assert_eq!(json::<Headers>(r#"{"a": ["1", "2"], "b": "c"}"#), several);
    assert_eq!(yaml::<Headers>("a: [!!binary aGk=]"), list(&[("a", "hi")]));
    assert_eq!(yaml::<Headers>("a: [089, 1e5, y, null]").0.len(), 4);
    assert_eq!(yaml::<Headers>("a: [089, 1e5]"), list(&[("a", "089"), ("a", "1e5")]));
    assert_eq!(yaml::<Headers>("null"), list(&[]));
    let long = format!("a: [{}]", "x".repeat(HEADERS_LIMIT + 1));
    assert!(serde_saphyr::from_str::<Headers>(&long).is_err());
}

#[test]
fn number_is_text_as_it_is_written() {
    assert_eq!(json::<Text>("1"), Text("1".to_owned()));
    assert_eq!(yaml::<Text>("1"), Text("1".to_owned()));
    assert_eq!(json::<Text>("12345678901234567890123"), Text("12345678901234567890123".to_owned()));
    assert!(serde_json::from_str::<Text>("{\"a\": 1}").is_err());
}

#[test]
fn byte_that_python_could_not_read_is_that_byte_again() {
    assert_eq!(json::<Lenient>(r#""a\udcff\udc80é""#).0, b"a\xff\x80\xc3\xa9");
    assert_eq!(json::<Lenient>(r#""\ud83d\ude00""#).0, "😀".as_bytes());
    assert_eq!(json::<Option<Lenient>>("null"), None);
}
