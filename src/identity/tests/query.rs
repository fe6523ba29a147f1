//! Tests of which parts of a query count.

use crate::query::{QueryRules, is_token, key_part};

const TOKEN: &str = "q7Zt2LmX9aRf4KpW8sVd1NcY6hBj3Gu5";

fn known(query: &str) -> String {
    QueryRules::KNOWN.without_credentials(query).into_owned()
}

fn custom(query: &str) -> String {
    QueryRules { is_known: false, named: &[] }.without_credentials(query).into_owned()
}

#[test]
fn credentials_of_a_known_provider_are_left_out_when_spelt_in_any_way() {
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
        "auth",
        "secret",
        "Password",
        "client_secret",
        "refresh_token",
        "id_token",
        "signature",
        "AWSAccessKeyId",
        "auth_token",
        "jwt",
        "private_token",
        "subscription-key",
        "x-goog-api-key",
    ] {
        assert_eq!(known(&format!("a=1&{name}=s3cret&b=2")), "a=1&b=2", "{name}");
        assert_eq!(known(name), "", "{name}");
    }
    for name in [
        "keys",
        "max_tokens",
        "page_token",
        "pageToken",
        "monkey",
        "alt",
        "api-version",
        "",
        "x-goog-user",
        "author",
        "code",
    ] {
        let query = format!("a=1&{name}=s3cret&b=2");
        assert_eq!(known(&query), query);
    }
    assert_eq!(known(&format!("code={TOKEN}&a")), "a");
}

#[test]
fn parameters_of_a_custom_upstream_are_data_unless_they_look_like_a_credential() {
    for query in ["key=customer-list-2024-final", "token=3&auth=basic", "sig=", "code=python"] {
        assert_eq!(custom(query), query);
    }
    let first = custom(&format!("a=1&key={TOKEN}&b=2"));
    assert_eq!(first, custom(&first), "freed once");
    assert!(first.starts_with("a=1&key=sha256:") && first.ends_with("&b=2"), "{first}");
    assert!(!first.contains(TOKEN));
    assert_ne!(first, custom(&format!("a=1&key={TOKEN}x&b=2")), "two values stay different");
    assert_eq!(custom("x-amz-date=20261123T000000Z&a=1"), "a=1");
}

#[test]
fn parameters_that_are_named_are_left_out_wherever_a_request_goes() {
    let named = ["tenant-pass".to_owned(), "key".to_owned()];
    for is_known in [true, false] {
        let rules = QueryRules { is_known, named: &named };
        assert_eq!(rules.without_credentials("a=1&Tenant-Pass=x&key=data&b"), "a=1&b");
        assert_eq!(rules.credentials("key=data-1&a=1").collect::<Vec<_>>(), ["data-1"]);
    }
}

#[test]
fn credentials_are_told_without_the_stamps_of_a_signature() {
    let query = "a=1&key=the-key&x-amz-date=20261123&X-Amz-Signature=abc&x-goog-expires=60";
    let found: Vec<&str> = QueryRules::KNOWN.credentials(query).collect();
    assert_eq!(found, ["the-key", "abc"]);
}

#[test]
fn tokens_are_told_from_words_dates_and_ids() {
    for token in [TOKEN, "sk-proj-Zq3vT9xLw2Rk8mNb5cHs7dJf4g", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"] {
        assert!(is_token(token), "{token}");
    }
    for text in [
        "",
        "customer-list-2024-final-version-3",
        "550e8400-e29b-41d4-a716-446655440000",
        "internationalization-of-everything",
        "20261123000000000000000",
        "aaaaaaaaaaaaaaaaaaaaa11111",
        "two words q7Zt2LmX9aRf4KpW8sVd1NcY",
        "sha256:0123456789abcdef",
    ] {
        assert!(!is_token(text), "{text}");
    }
}

#[test]
fn parameters_stay_as_they_came_when_they_count() {
    let raw = "b=%20x&a=+&&a=1&flag&=v&c=a=b";
    assert_eq!(known(raw), raw);
    assert_eq!(custom(raw), raw);
    assert_eq!(key_part(raw, true), raw);
    assert_eq!(key_part("", true), "");
    assert_eq!(key_part("alt=sse&alt=json&x=1&key=k", true), "alt=json&x=1&key=k");
    assert_eq!(key_part("alt=sse", false), "alt=sse");
    assert_eq!(key_part("%61lt=ss%65", true), "");
}
