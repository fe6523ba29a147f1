//! What of a query counts.

use crate::identity::query::{identity, is_credential, without_credentials};

#[test]
fn credentials_are_left_out_when_spelt_in_any_way() {
    for name in [
        "key",
        "KEY",
        "api_key",
        "api-key",
        "apikey",
        "Access_Token",
        "token",
        "sig",
        "%6Bey",
        "k%65y",
        "X-Amz-Signature",
        "x-amz-date",
        "X-Goog-Signature",
        "X-Goog-Credential",
        "X-Goog-SignedHeaders",
    ] {
        assert!(is_credential(name), "{name}");
        assert_eq!(without_credentials(&format!("a=1&{name}=s3cret&b=2")), "a=1&b=2");
        assert_eq!(without_credentials(name), "");
    }
    for name in
        ["keys", "max_tokens", "page_token", "monkey", "alt", "api-version", "", "x-goog-user"]
    {
        assert!(!is_credential(name), "{name}");
    }
}

#[test]
fn parameters_stay_as_they_came_when_they_count() {
    let raw = "b=%20x&a=+&&a=1&flag&=v&c=a=b";
    assert_eq!(without_credentials(raw), raw);
    assert_eq!(identity(raw, true), raw);
    assert_eq!(identity("", true), "");
    assert_eq!(identity("alt=sse&alt=json&x=1&key=k", true), "alt=json&x=1");
    assert_eq!(identity("alt=sse&key=k", false), "alt=sse");
    assert_eq!(identity("%61lt=ss%65", true), "");
}
