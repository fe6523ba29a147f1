use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const KEY: &str = "canary-Key_42.7f3aQ";

fn secret(value: &str) -> CallCredentials {
    CallCredentials::for_known_provider(&[("x-api-key".to_owned(), value.to_owned())], "")
}

/// Returns the joined range of all matches.
fn place(text: &[u8], secrets: &CallCredentials) -> Option<Range<usize>> {
    let mut ranges = Vec::new();
    secrets.find_ranges(text, &mut ranges);
    let start = ranges.iter().map(|range| range.start).min()?;
    Some(start..ranges.iter().map(|range| range.end).max()?)
}

fn hex(text: &[u8]) -> String {
    text.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn credential_is_found_where_some_of_its_characters_are_escaped() {
    let secrets = secret(KEY);
    for text in [
        r"canary-\u004bey_42.7f3aQ",
        r"\u0063anary-Key_42.7f3a\u0051",
        r"canary\-Key\_42\.7f3aQ",
        r"canary-\x4bey_42.7f3aQ",
        r"canary-\u{4b}ey_42.7f3aQ",
        r"canary-\113ey_42.7f3aQ",
        r"canary-\\u004bey_42.7f3aQ",
        r"canary-\\\\u004bey_42.7f3aQ",
        r"canary-\u005cu004bey_42.7f3aQ",
        "canary-%4bey_42.7f3aQ",
        "canary-%4Bey%5f42.7f3aQ",
        "canary-%254Bey_42.7f3aQ",
        "canary-%u004Bey_42.7f3aQ",
        r"canary-%5Cu004bey_42.7f3aQ",
        r"canary-%5C\u004bey_42.7f3aQ",
        r"canary-\%5Cu004bey_42.7f3aQ",
        r"canary-\%75004bey_42.7f3aQ",
        r"canary-\u00254bey_42.7f3aQ",
        "canary-&#75;ey_42.7f3aQ",
        "canary-&#x4B;ey_42.7f3aQ",
        "canary-&amp;#75;ey_42.7f3aQ",
        "CANARY-KEY_42.7F3AQ".to_ascii_lowercase().as_str(),
    ] {
        let all = format!("100% <{text}> C:\\dir &c");
        assert_eq!(place(all.as_bytes(), &secrets), Some(6..6 + text.len()), "{text}");
        assert!(secrets.are_in(all.as_bytes()), "{text}");
    }
}

#[test]
fn credential_is_found_where_escapes_of_several_kinds_were_applied_over_one_another() {
    let text = r"%255cx5c%5Cx78%5C%257833%255c%25783%2531%2567%25255Cx5c\x7%38%25255Cx%25335%5Cx61\x%2535c%5Cx%37%38\%783%2537\x31%5C%2578%%25335cx3%%2535Cx%25337k%255cx5c\%257878\x35%5Cx37\%5C\%%253787%2538%25255C%78%337\x%%25333%38%5Cx4%61\\x%%2535%2543%2525%25378%333\%7837\x5cx\x3%2535\x%25334\x%35c\%7878%252534\x32\%7%25385c%2578%255cx3%34%255c%257861%252576%5C%25783%39%255cx%364T%2570\x5c\%7878\x36d\%255c\%2525787%38\%257834%5Cx%%253361\\%785\x35\\\x7%38\%257832%25255%2543x%36%32";
    assert!(secret("1gZq7kWxJ7TBJv9dTpmJU+").are_in(text.as_bytes()));
}

#[test]
fn credential_is_found_within_base64_and_hex_of_a_text_that_escapes_it() {
    let secrets = secret(KEY);
    for inner in [KEY, "canary-%4Bey_42.7f3aQ", r"canary-\u004bey_42.7f3aQ"] {
        for before in ["", "x", "{\"key\":\"", "the key is "] {
            let text = format!("{before}{inner}, is it not?");
            let once = STANDARD.encode(&text);
            let twice = URL_SAFE_NO_PAD.encode(format!("data {once}"));
            let spelled = [
                once.clone(),
                once.replace('/', "\\/"),
                once.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"),
                URL_SAFE_NO_PAD.encode(&text),
                twice.clone(),
                format!("path/{once}"),
                format!("a-{once}"),
                hex(text.as_bytes()),
                hex(text.as_bytes()).to_uppercase(),
                hex(once.as_bytes()),
                STANDARD.encode(hex(text.as_bytes())),
                format!("a{}", hex(text.as_bytes())),
                twice.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
            ];
            for spelled in spelled {
                assert!(secrets.are_in(format!("[{spelled}]").as_bytes()), "{text}: {spelled}");
            }
        }
    }
}

#[test]
fn hex_of_binary_data_around_a_credential_is_read() {
    let data = [&[0, 255, 1, 128, 7][..], KEY.as_bytes(), &[0, 200]].concat();
    assert!(secret(KEY).are_in(hex(&data).as_bytes()));
    assert!(secret(KEY).are_in(STANDARD.encode(&data).as_bytes()));
}

#[test]
fn credential_that_holds_escapes_is_found_with_and_without_them() {
    let secrets = secret("abc%2Fdef%3D%20ghi");
    for text in [
        "abc%2Fdef%3D%20ghi",
        "abc/def= ghi",
        "abc/def=+ghi",
        "abc%252Fdef%253D%2520ghi",
        r"abc\/def=\u0020ghi",
        r"\u0061bc%2Fdef%3D%20ghi",
    ] {
        assert!(secrets.are_in(text.as_bytes()), "{text}");
    }
}

#[test]
fn credentials_that_overlap_are_both_found() {
    let headers = [("x-api-key", "first-secret"), ("x-auth", "secret-second")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let secrets = CallCredentials::for_known_provider(&headers, "");
    assert_eq!(place(b"a first-secret-second b", &secrets), Some(2..21));
}

#[test]
fn ordinary_text_is_searched_once() {
    let secrets = secret(KEY);
    let text =
        r#"{"messages": [{"role": "user", "content": "100% of \"it\"\nand \u00e9\\n, C:\\tmp"}]}"#;
    assert!(!secrets.are_in(text.as_bytes()));
    assert!(escape::unescaped_layers(text.as_bytes(), true).is_empty());
}

#[test]
fn hostile_text_takes_no_longer_than_its_length() {
    let secrets = secret(KEY);
    let deep = (0..12).fold("x".repeat(99), |text, _| STANDARD.encode(text));
    for piece in
        ["\\", "\\u005c", "%25", "&amp;", "AAAA", "IIII", "41", "%5C\\u0025", "canary-Key_42.7f3a"]
            .map(str::to_owned)
            .into_iter()
            .chain([deep])
    {
        let text = piece.repeat(500_000 / piece.len());
        assert!(!secrets.are_in(text.as_bytes()));
    }
}

/// Generates a way to write a text.
fn spelling() -> impl Strategy<Value = (&'static str, u64)> {
    const KINDS: [&str; 11] = [
        "json",
        "json all",
        "slash",
        "percent",
        "percent all",
        "percent twice",
        "base64",
        "url base64",
        "hex",
        "html",
        "html hex",
    ];
    (select(&KINDS[..]), any::<u64>())
}

fn spell(text: &str, kind: &str, seed: u64) -> String {
    let mut state = seed | 1;
    let mut flip = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 63 == 1
    };
    let mut each = |all: bool, write: &dyn Fn(u32) -> String| -> String {
        text.chars().map(|c| if flip() || all { write(c.into()) } else { c.into() }).collect()
    };
    match kind {
        "json" => json(&each(false, &|c| format!("\u{e000}{c:04x}"))),
        "json all" => json(&each(true, &|c| format!("\u{e000}{c:04x}"))),
        "slash" => serde_json::to_string(text).unwrap().replace('/', "\\/"),
        "percent" | "percent all" => each(kind == "percent all", &|c| format!("%{c:02X}")),
        "percent twice" => each(false, &|c| format!("%25{c:02x}")),
        "base64" => {
            STANDARD.encode(&"{\"a\": "[..(seed % 7) as usize]).replace('=', "")
                + &STANDARD.encode(format!("{}{text} tail", &"prefix"[..(seed % 6) as usize]))
        }
        "url base64" => {
            URL_SAFE_NO_PAD.encode(format!("{}{text}", &"prefix"[..(seed % 6) as usize]))
        }
        "hex" => hex(text.as_bytes()),
        "html" => each(false, &|c| format!("&#{c};")),
        _ => each(false, &|c| format!("&#x{c:x};")),
    }
}

/// Returns a text as JSON writes it. The escapes in it are kept.
fn json(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\u{e000}', "\\u")
}

#[test]
fn credential_with_an_escape_is_found_in_base64_of_any_length() {
    for key in ["1Zq7kWx0+Wz/Jv9dTp7", "+Zq7kWx@*e4cecJv9dTp/A47B", "Zq7kWx/v9dTpd3fd"] {
        let secrets = secret(key);
        let run = STANDARD.encode(key.replace('/', "\\/"));
        for text in [format!("a {run} b"), format!("a {} b", run.trim_end_matches('='))] {
            assert!(secrets.are_in(text.as_bytes()), "{key} in {text}");
        }
    }
}

/// The whole body has more text than its value. So less of what it encodes is decoded.
#[test]
fn credential_that_only_a_value_by_itself_shows_is_removed_from_a_body() {
    let key = "Zq7kWxf1Jv9dTpd3fdbbd";
    let spelled = concat!(
        r"see \&#x78;5a&#x5C;%2526%2523x7%2538;7%2531\&%2523%257878;%2526%2523x33;%2537%255cx%",
        r"2526#%257836;&%2523x62;&#x5C%253b%2526#%2578%25378;%2526#x35%253b7\%2526#%25787%2538",
        r";&#x%25337%253b&#x3%2538;&%2523%25785C;%25786&#x%2533%2536;%255c&#x78;%2526#x%25333%",
        r"253b%2531&#x5C;%2526#x78;%2534%2561%2526#%25785C%253b%2578%2526#x%2533%2537;&#x%2533",
        r"6;\&%2523x%25378%253b%2526%2523%2578%2533%2533%253b9&%2523x%2535C%253bx&#x3%2536;4%2",
        r"526#%2578%2535C;%2526%2523x78%253b&#%2578%25335;4&#%25785C;%25787%2530&#%2578%2535C;",
        r"&%2523x7%2538;%2536&#%2578%25334%253b&%2523x5C;x%25333%255c&#x78;&%2523x3%2536;%2536",
        r"&#x5C;x64\%2526%2523x7%2538;%2536%2526%2523x32%253b%2526#%25785%2543;&%2523x7%2538%2",
        r"53b&#%257836;%2532%255cx6%2526%2523x3%2534%253b",
    );
    let body = serde_json::json!({ "a": "words ".repeat(2_000), "b": [spelled] }).to_string();
    let redactor = super::super::Redactor::new(&[]).unwrap();
    let clean = redactor.redact_body(
        "application/json",
        body.as_bytes(),
        &secret(key),
        &mut <_>::default(),
    );
    let clean: serde_json::Value = serde_json::from_slice(&clean).unwrap();
    let left = clean["b"][0].as_str().unwrap();
    assert!(left.contains("[REDACTED]") && !secret(key).are_in(left.as_bytes()), "{left}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn credential_is_found_and_removed_in_every_chain_of_spellings(
        key in "[A-Za-z0-9._~+/=-]{8,40}",
        chain in prop::collection::vec(spelling(), 1..=3),
        before in "[ -~]{0,12}",
        after in "[ -~]{0,12}",
    ) {
        let secrets = secret(&key);
        prop_assume!(!secrets.is_empty());
        let spelled = chain.iter().fold(key.clone(), |text, (kind, seed)| spell(&text, kind, *seed));
        let text = format!("{before} \"{spelled}\" {after}");
        prop_assert!(secrets.are_in(text.as_bytes()), "{text}");
        let redactor = super::super::Redactor::new(&[]).unwrap();
        let clean = redactor.redact_bytes(text.as_bytes(), &secrets);
        prop_assert!(!secrets.are_in(&clean), "{}", String::from_utf8_lossy(&clean));
    }

    #[test]
    fn places_lie_within_the_text_whatever_its_bytes_are(text: Vec<u8>, value in ".{8,12}") {
        let mut ranges = Vec::new();
        let text = [&text[..], value.as_bytes(), &text[..]].concat();
        secret(&value).find_ranges(&text, &mut ranges);
        prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= text.len()));
    }
}
