use super::*;
use crate::yaml::composer::YamlComposer;

fn yaml(text: &str) -> YamlNode {
    let mut composer = YamlComposer::new(text.as_bytes(), 128 << 20);
    composer.next().unwrap();
    composer.next().unwrap();
    let first = composer.next().unwrap();
    composer.compose(first).unwrap()
}

fn json(text: &str) -> YamlNode {
    serde_json::from_str(text).unwrap()
}

fn body(node: YamlNode) -> VcrBody {
    VcrBody::from_node(node).unwrap()
}

#[test]
fn body_is_found_in_every_way_that_cassettes_have_it() {
    let bytes = |text: &str| VcrBody::Bytes(text.as_bytes().to_vec());
    assert_eq!(body(yaml("'a: b'")), bytes("a: b"));
    assert_eq!(body(yaml("{string: héllo, encoding: UTF-8}")), bytes("héllo"));
    assert_eq!(body(yaml("|-\n  one\n  two")), bytes("one\ntwo"));
    assert_eq!(body(yaml("!!binary |\n  /wD/\n  AA==")), VcrBody::Bytes(vec![255, 0, 255, 0]));
    assert_eq!(body(yaml("string: !!binary aGk=")), bytes("hi"));
    assert_eq!(body(yaml("string: !!python/unicode 'x'")), bytes("x"));
    assert_eq!(body(yaml("17")), bytes("17"));
    assert_eq!(body(yaml("null")), VcrBody::None);
    assert_eq!(body(yaml("!!binary '***'")), OBJECT);
    assert_eq!(body(yaml("!!python/object:io.BytesIO {state: [1]}")), OBJECT);
    assert_eq!(body(json(r#"{"base64_string": "aGk", "encoding": "utf-8"}"#)), bytes("hi"));
    assert_eq!(body(json(r#""text""#)), bytes("text"));
    assert_eq!(body(json("[1, {}]")), OBJECT);
}

#[test]
fn headers_are_lists_or_single_values_as_they_are_written() {
    let list = |pairs: &[(&str, &str)]| {
        Ok(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
    };
    let several = list(&[("a", "1"), ("a", "2"), ("b", "c")]);
    assert_eq!(read_headers(yaml("{a: ['1', 2], b: c}")), several);
    assert_eq!(read_headers(json(r#"{"a": ["1", "2"], "b": "c"}"#)), several);
    assert_eq!(read_headers(yaml("a: [!!binary aGk=]")), list(&[("a", "hi")]));
    assert_eq!(
        read_headers(yaml("a: [089, 1e5, y, null]\nb: 1.50")),
        list(&[("a", "089"), ("a", "1e5"), ("a", "y"), ("a", ""), ("b", "1.50")])
    );
    assert_eq!(read_headers(yaml("null")), list(&[]));
    let long = format!("a: [{}]", "x".repeat(HEADERS_LIMIT + 1));
    assert!(read_headers(yaml(&long)).unwrap_err().contains("1 MiB"));
    assert!(read_headers(yaml("a: {b: c}")).is_err());
    let last = [("a".to_owned(), "c".to_owned())];
    assert_eq!(read_headers(yaml("{a: b, 'a': c}")).unwrap(), last);
    let python = "? !!python/object/apply:multidict._multidict.istr\n- A\n: [b]\n";
    assert_eq!(read_headers(yaml(python)).unwrap(), [("A".to_owned(), "b".to_owned())]);
}

#[test]
fn number_is_text_as_it_is_written() {
    let told = |node: YamlNode| node_text(node, "a number").unwrap();
    assert_eq!(told(json("1")), "1");
    assert_eq!(told(yaml("1")), "1");
    assert_eq!(told(yaml("1e5")), "1e5");
    assert_eq!(told(json("12345678901234567890123")), "12345678901234567890123");
    assert!(node_text(json("{\"a\": 1}"), "a number").is_err());
}
