use http::HeaderMap;
use serde_json::{Value, json};

use super::*;

fn read(value: Value) -> ChaosRates {
    ChaosRates::from_value(&value).unwrap()
}

fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

/// The rates that headers declare, and the warnings about them.
fn declared(given: &[(&'static str, &str)]) -> (ChaosRates, Vec<&'static str>) {
    let HeaderChaos { rates, ignored } = HeaderChaos::read(&headers(given)).unwrap();
    (rates, ignored)
}

#[test]
fn headers_ask_for_rates_and_ours_win() {
    let (rates, ignored) = declared(&[
        ("x-aimock-chaos-drop", "0.25"),
        ("x-aimock-chaos-malformed", "1"),
        ("x-loomrec-chaos-drop", " 0.5 "),
        ("x-loomrec-chaos-rate-limit", "0"),
        ("x-loomrec-fault", "hang"),
        ("authorization", "Bearer x"),
    ]);
    assert!(ignored.is_empty());
    assert_eq!(rates, read(json!({ "drop": 0.5, "malformedRate": 1.0, "rate_limit": 0.0 })));
    let none = HeaderChaos::read(&headers(&[("accept", "*/*")])).unwrap();
    assert_eq!(none, HeaderChaos::default());
}

#[test]
fn aimocks_headers_are_read_as_aimock_reads_them() {
    let (rates, ignored) = declared(&[
        ("x-aimock-chaos-drop", " 1. "),
        ("x-aimock-chaos-malformed", ".5"),
        ("x-aimock-chaos-ratelimit", "0.25, 0.250"),
        ("x-aimock-chaos-latency", ""),
        ("x-aimock-chaos-latency", "0300"),
    ]);
    let expected = json!({
        "dropRate": 1, "malformedRate": 0.5, "rateLimitRate": 0.25, "latencyMs": 300,
    });
    assert_eq!((rates, ignored), (read(expected), vec![]));
    let (rates, ignored) =
        declared(&[("x-aimock-chaos-drop", "0.5"), ("x-aimock-chaos-drop", "0, 0")]);
    assert_eq!(rates, read(json!({ "drop": 0.5 })));
    assert_eq!(ignored, ["x-aimock-chaos-drop has several values: the first one counts"]);
}

#[test]
fn an_invalid_header_of_aimocks_is_ignored_with_a_warning() {
    for value in ["1.5", "-0.1", "NaN", "inf", "half", "1e-1", "0x1", "+1", "0.5abc", "."] {
        let (rates, ignored) = declared(&[("x-aimock-chaos-drop", value)]);
        assert!(rates.is_empty(), "{value}");
        let expected = "x-aimock-chaos-drop was ignored: its value is not a rate from 0 to 1";
        assert_eq!(ignored, [expected], "{value}");
    }
    for value in ["30001", "1.0", "-1", "soon"] {
        let (rates, ignored) = declared(&[("x-aimock-chaos-latency", value)]);
        assert!(rates.is_empty() && ignored.len() == 1, "{value}");
    }
    let (rates, ignored) = declared(&[("x-aimock-chaos-dorp", "1")]);
    assert!(rates.is_empty());
    assert!(ignored[0].contains("there are drop, malformed,"), "{ignored:?}");
}
