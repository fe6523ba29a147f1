use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::HttpError;

#[track_caller]
fn means(text: &str, value: Value) {
    assert_eq!(Fault::parse(text), Fault::from_value(&value), "{text}");
    assert!(Fault::parse(text).is_ok(), "{text}");
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(Fault::parse(text).expect_err("refused").to_string(), message, "{text}");
}

#[test]
fn primary_field_stands_behind_the_name() {
    for (text, field, value) in [
        ("timeout:5000", "after_ms", json!(5000)),
        ("hang:1", "max_ms", json!(1)),
        ("wedged:1", "max_ms", json!(1)),
        ("slow:250", "delay_ms", json!(250)),
        ("http_error:529", "status_code", json!(529)),
        ("stream_truncate:3", "after_chunks", json!(3)),
        ("throttle:100", "bytes_per_second", json!(100)),
        ("slice:7", "bytes", json!(7)),
        ("recover_after:2", "failures", json!(2)),
        ("stream_stall:4", "after_chunks", json!(4)),
        ("stream_garble:5", "chunk", json!(5)),
        ("wrong_length:-9", "by", json!(-9)),
        ("tool_call_fault:unknown_tool", "mode", json!("unknown_tool")),
        ("tool_result_fault:wrong_content", "mode", json!("wrong_content")),
    ] {
        let name = text.split(':').next().unwrap();
        means(text, json!({ "type": name, field: value }));
    }
}

#[test]
fn fields_follow_semicolons() {
    means("http_error;status_code=429", json!({ "type": "http_error", "status_code": 429 }));
    means(
        " stream_truncate : 3 ; raise = clean_eof ; ",
        json!({ "type": "stream_truncate", "after_chunks": 3, "raise": "clean_eof" }),
    );
    means(
        "http_error:429;retry_after=0.5;x_should_retry=false;message=slow down: 5 = 5;code=true",
        json!({
            "type": "http_error", "status_code": 429, "retry_after": 0.5,
            "x_should_retry": false, "message": "slow down: 5 = 5", "code": "true",
        }),
    );
}

#[test]
fn json_stands_where_a_value_begins_so() {
    means(
        r#"http_error;body={"a":";=}"};headers={"x-a": 1} ;message="a;b\n" "#,
        json!({
            "type": "http_error", "body": { "a": ";=}" }, "headers": { "x-a": 1 },
            "message": "a;b\n",
        }),
    );
    means("http_error;body=Bad Gateway", json!({ "type": "http_error", "body": "Bad Gateway" }));
    means(
        r#"malformed_response;raw={"cut": "#,
        json!({ "type": "malformed_response", "raw": "{\"cut\":" }),
    );
    means(r#" {"type":"hang","max_ms":5}"#, json!({ "type": "hang", "max_ms": 5 }));
}

#[test]
fn inner_fault_takes_all_that_follows() {
    means(
        "recover_after:2;fault=http_error:503;retry_after=1",
        json!({
            "type": "recover_after", "failures": 2,
            "fault": { "type": "http_error", "status_code": 503, "retry_after": 1 },
        }),
    );
}

#[test]
fn refusal_says_what_was_expected() {
    refused(
        "timeout:",
        "/after_ms: expected whole milliseconds, from 0 to 86400000 (a day), not \"\"",
    );
    refused("drop:1", "nothing can follow `drop:`; it has no field");
    refused(
        "malformed_response:x",
        "nothing can follow `malformed_response:`; its fields follow a `;`: raw",
    );
    refused("hang;max_ms", "expected field=value after `;`, not \"max_ms\"");
    refused("hang;5;max_ms=5", "expected field=value after `;`, not \"5\"");
    refused("hang:1;max_ms=5", "/max_ms: it is given twice");
    refused(
        "hang;max=5",
        "/max: unknown field of hang, \"max\", did you mean \"max_ms\"?; there are: max_ms",
    );
    refused("http_error;body={\"a\":1}x", "/body: expected `;` or the end after JSON, not \"x\"");
    for text in [
        "",
        ";",
        ":",
        "  ",
        "hangg",
        "Hang",
        "{",
        "{}",
        "http_error;body={\"a\"",
        "http_error;message=\"a",
    ] {
        assert!(Fault::parse(text).is_err(), "{text}");
    }
    let told = Fault::parse("hangg").unwrap_err().to_string();
    assert!(
        told.starts_with("unknown fault \"hangg\", did you mean \"hang\"?; there are: "),
        "{told}"
    );
}

#[test]
fn status_alone_is_an_http_error() {
    means("429", json!({ "type": "http_error", "status_code": 429 }));
    means(
        " 503 ; retry_after=1",
        json!({
            "type": "http_error", "status_code": 503, "retry_after": 1,
        }),
    );
    for text in ["42", "4290", "0x1", "429:5"] {
        assert!(Fault::parse(text).is_err(), "{text}");
    }
}

fn for_step(text: &str) -> Result<(Option<&str>, Fault), FieldError> {
    let (step, fault) = split_step(text)?;
    Ok((step, Fault::parse(fault)?))
}

#[test]
fn step_stands_before_the_fault() {
    let hang = || Fault::parse("hang:5").unwrap();
    for (text, step) in [
        ("hang:5", None),
        ("*=hang:5", None),
        ("answer=hang:5", Some("answer")),
        (" answer = hang:5", Some("answer")),
        ("answer={\"type\":\"hang\",\"max_ms\":5}", Some("answer")),
        ("{\"type\":\"hang\",\"max_ms\":5}", None),
        ("agent:plan=hang:5", Some("agent:plan")),
        ("a=b=hang:5", Some("a=b")),
        ("hang;max_ms=5", None),
        ("step=hang;max_ms=5", Some("step")),
        ("429=hang:5", Some("429")),
    ] {
        assert_eq!(for_step(text), Ok((step, hang())), "{text}");
    }
    let error = Fault::HttpError(HttpError {
        status_code: 500,
        message: Some("x=hang".into()),
        ..HttpError::default()
    });
    assert_eq!(for_step("http_error;message=x=hang"), Ok((None, error)));
}

#[test]
fn step_without_a_fault_is_refused() {
    let told = |text| for_step(text).unwrap_err().to_string();
    assert_eq!(told("=hang"), "no step is named before `=`; give `*=` or nothing for every call");
    assert!(told("answer=hagn").starts_with("unknown fault \"hagn\", did you mean \"hang\"?"));
    assert!(told("answer=").starts_with("unknown fault \"\""), "{}", told("answer="));
    assert!(told("http_eror;body={\"type\":\"hang\"}").starts_with("unknown fault \"http_eror\""));
}

proptest! {
    #[test]
    fn parsing_never_panics(
        text in "[a-z_]{0,3}(timeout|hang|http_error|slice|fault)?[:;={}\"\\[a-z0-9 é.-]{0,30}",
    ) {
        if let Ok(fault) = Fault::parse(&text) {
            prop_assert_eq!(Fault::from_value(&fault.to_json()), Ok(fault));
        }
        let _ = crate::FaultRule::from_flag(String::new(), &text);
    }
}
