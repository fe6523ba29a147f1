use super::*;

fn json<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap()
}

#[test]
fn byte_that_python_could_not_read_is_that_byte_again() {
    assert_eq!(json::<LenientString>(r#""a\udcff\udc80é""#).0, b"a\xff\x80\xc3\xa9");
    assert_eq!(json::<LenientString>(r#""\ud83d\ude00""#).0, "😀".as_bytes());
    assert_eq!(json::<Option<LenientString>>("null"), None);
}
