use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

fn afters() -> impl Strategy<Value = FaultPoint> {
    prop_oneof![
        Just(FaultPoint::Default),
        (0..1_000_usize).prop_map(FaultPoint::Chunks),
        (0..1_000_usize).prop_map(FaultPoint::Events),
        (0..1_000_usize).prop_map(FaultPoint::TextEvents),
        (0..=MOST_BYTES).prop_map(FaultPoint::Bytes),
    ]
}

fn waits() -> impl Strategy<Value = u64> {
    prop_oneof![0..5_000_u64, Just(HANG_MS), Just(86_400_000)]
}

fn bodies() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (any::<String>(), any::<i32>()).prop_map(|(key, value)| json!({ "a": [{ key: value }] })),
    ]
}

fn http_errors() -> impl Strategy<Value = HttpError> {
    let headers = prop::collection::btree_map("[a-z]{1,8}", "[ -~]{0,12}", 0..3);
    let words = (of(any::<String>()), of(any::<String>()));
    let waits = (of(0.0..86_400.0), of(waits()), of(any::<bool>()));
    (400..600_u16, headers, of(bodies()), words, waits).prop_map(
        |(status_code, headers, body, (message, code), waits)| HttpError {
            status_code,
            headers: headers.into_iter().collect(),
            body,
            message,
            code,
            retry_after: waits.0,
            retry_after_ms: waits.1,
            x_should_retry: waits.2,
        },
    )
}

fn truncates() -> impl Strategy<Value = Truncation> {
    let raise = prop::sample::select(RAISES.iter().enumerate().collect::<Vec<_>>());
    let code = prop::sample::select(vec![1000_u16, 1003, 1007, 1011, 3000, 4000, 4999]);
    let close = of((code, "[ -~]{0,9}").prop_map(|(code, reason)| SocketClose { code, reason }));
    (afters(), raise, of(400..600_u16), of(any::<String>()), close).prop_map(
        |(after, (place, (word, raise)), status_code, message, close)| Truncation {
            after,
            raise: *raise,
            exception: (place >= OWN_RAISES).then_some(*word),
            status_code,
            message,
            close: close.filter(|_| *raise == TruncationEnd::Close),
        },
    )
}

fn replacements() -> impl Strategy<Value = Fault> {
    let name = of("[a-z_]{1,9}");
    (name, of(bodies())).prop_filter_map("it replaces nothing", |(name, value)| {
        let arguments = value.map(|value| Map::from_iter([("a".to_owned(), value)]));
        let is_empty = name.is_none() && arguments.is_none();
        let change = ToolCallChange::Replaced(ToolReplacement { name, arguments });
        (!is_empty).then_some(Fault::ToolCallFault { change })
    })
}

fn results() -> impl Strategy<Value = Fault> {
    let mode = prop::sample::select(RESULT_MODES.map(|(_, mode)| mode).to_vec());
    (mode, of(any::<String>())).prop_map(|(mode, message)| {
        let message = message.filter(|_| mode == ToolResultMode::ToolError);
        Fault::ToolResultFault { mode, message }
    })
}

/// Any fault that does not contain another one.
fn simple() -> impl Strategy<Value = Fault> {
    let text = || of(any::<String>());
    let mode = prop::sample::select(MODES.map(|(_, mode)| mode).to_vec());
    let how = prop::sample::select(GARBLES.map(|(_, how)| how).to_vec());
    let bare = [
        Fault::ConnectionReset,
        Fault::ConnectionDrop,
        Fault::BadEncoding,
        Fault::Drop,
        Fault::RateLimit,
        Fault::Malformed { whole: true },
        Fault::Malformed { whole: false },
        Fault::Disconnect,
    ];
    let by = prop_oneof![1..9_999_i64, -9_999..0_i64];
    prop_oneof![
        waits().prop_map(|after_ms| Fault::Timeout { after_ms }),
        waits().prop_map(|max_ms| Fault::Hang { max_ms }),
        waits().prop_map(|max_ms| Fault::Wedged { max_ms }),
        waits().prop_map(|delay_ms| Fault::Slow { delay_ms }),
        http_errors().prop_map(Fault::HttpError),
        text().prop_map(|raw| Fault::MalformedResponse { raw }),
        truncates().prop_map(Fault::StreamTruncate),
        text().prop_map(|content| Fault::PartialResponse { content }),
        mode.prop_map(|mode| Fault::ToolCallFault { change: ToolCallChange::Broken(mode) }),
        replacements(),
        results(),
        (afters(), of(waits())).prop_map(|(after, for_ms)| Fault::StreamStall { after, for_ms }),
        (1..=MOST_BYTES).prop_map(|bytes_per_second| Fault::Throttle { bytes_per_second }),
        (1..9_999_usize, waits()).prop_map(|(bytes, delay_ms)| Fault::Slice { bytes, delay_ms }),
        (0..9_999_usize, how).prop_map(|(chunk, how)| Fault::StreamGarble { chunk, how }),
        by.prop_map(|by| Fault::WrongLength { by }),
        prop::sample::select(bare.to_vec()),
    ]
}

/// Any fault.
pub(crate) fn faults() -> impl Strategy<Value = Fault> {
    prop_oneof![
        9 => simple(),
        1 => (any::<u32>(), any::<bool>(), simple()).prop_map(|(failures, each, fault)| Fault::RecoverAfter {
            per: if each { CountPer::Key } else { CountPer::Upstream },
            failures,
            fault: Box::new(fault)
        }),
    ]
}

/// Any JSON made of parts of declared faults.
fn anything() -> impl Strategy<Value = Value> {
    let words = FaultForm::all_names()
        .into_iter()
        .chain(["type", "fault", "after_ms", "reset", "{", "a;b=c"]);
    let word = prop::sample::select(words.collect::<Vec<_>>());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..4).prop_map(|members| {
                Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn fault_reads_back_when_it_is_written(fault in faults()) {
        prop_assert_eq!(Fault::from_value(&fault.to_json()), Ok(fault.clone()));
        // It also reads back as text, because the text form accepts JSON.
        prop_assert_eq!(Fault::parse(&fault.to_json().to_string()), Ok(fault));
    }

    #[test]
    fn reading_never_panics(value in anything()) {
        if let Ok(fault) = Fault::from_value(&value) {
            prop_assert_eq!(Fault::from_value(&fault.to_json()), Ok(fault));
        }
    }
}

#[track_caller]
fn read_as(value: Value, fault: Fault) {
    assert_eq!(Fault::from_value(&value), Ok(fault), "{value}");
}

#[track_caller]
fn refused(value: Value, message: &str) {
    let error = Fault::from_value(&value).expect_err("refused").to_string();
    assert_eq!(error, message, "{value}");
}

#[test]
fn every_type_has_a_form_of_its_own_name() {
    for (at, name) in FaultForm::all_names().into_iter().enumerate() {
        assert!(!FaultForm::all_names()[..at].contains(&name), "{name}");
        let given = json!({
            "type": name, "after_ms": 1, "delay_ms": 1, "failures": 1, "bytes_per_second": 1,
            "bytes": 1, "by": 1,
        });
        let mut given = given.as_object().unwrap().clone();
        let known = FaultForm::find(name).unwrap().field_names();
        given.retain(|field, _| field == "type" || known.contains(&field.as_str()));
        assert_eq!(Fault::from_value(&Value::Object(given)).map(|fault| fault.name()), Ok(name));
    }
}

#[test]
fn fields_that_are_not_given_have_their_usual_values() {
    read_as(json!({ "type": "hang" }), Fault::Hang { max_ms: HANG_MS });
    read_as(
        json!({ "type": "http_error" }),
        Fault::HttpError(HttpError { status_code: 500, ..HttpError::default() }),
    );
    read_as(
        json!({ "type": "recover_after", "failures": 2 }),
        Fault::RecoverAfter {
            failures: 2,
            per: CountPer::Key,
            fault: Box::new(Fault::Hang { max_ms: HANG_MS }),
        },
    );
    let truncate = Truncation {
        after: FaultPoint::Default,
        raise: TruncationEnd::Reset,
        exception: None,
        status_code: None,
        message: None,
        close: None,
    };
    read_as(
        json!({ "type": "stream_truncate", "after_chunks": null }),
        Fault::StreamTruncate(truncate),
    );
    read_as(
        json!({ "type": "stream_garble" }),
        Fault::StreamGarble { chunk: 0, how: GarbleKind::BrokenData },
    );
}

#[test]
fn faults_that_agentloom_declares_are_read() {
    read_as(json!({ "type": "timeout", "after_ms": 30000.0 }), Fault::Timeout { after_ms: 30_000 });
    let error = HttpError {
        status_code: 429,
        headers: vec![("Retry-After".into(), "1".into()), ("x-a".into(), "b".into())],
        body: Some(json!({ "error": "slow down" })),
        ..HttpError::default()
    };
    read_as(
        json!({
            "type": "http_error", "status_code": 429,
            "headers": { "Retry-After": 1, "x-a": "b" }, "body": { "error": "slow down" },
        }),
        Fault::HttpError(error),
    );
    let truncate = |exception| Truncation {
        after: FaultPoint::Chunks(3),
        raise: TruncationEnd::Reset,
        exception,
        status_code: None,
        message: None,
        close: None,
    };
    for raise in ["ConnectionError", "ConnectionResetError", "ConnectError", "ReadError", "reset"] {
        read_as(
            json!({ "type": "stream_truncate", "after_chunks": 3, "raise": raise }),
            Fault::StreamTruncate(truncate(Some(raise).filter(|raise| *raise != "reset"))),
        );
    }
    read_as(
        json!({
            "type": "partial_response", "content": "The art",
            "completion_tokens": 0, "finish_reason": "length",
        }),
        Fault::PartialResponse { content: Some("The art".into()) },
    );
    read_as(
        json!({ "type": "malformed_response", "raw": "{" }),
        Fault::MalformedResponse { raw: Some("{".into()) },
    );
}

#[test]
fn header_given_as_a_list_stands_so_often() {
    let value =
        json!({ "type": "http_error", "status_code": 500, "headers": { "a": ["1", 2], "b": "3" } });
    let Ok(Fault::HttpError(error)) = Fault::from_value(&value) else { panic!("read") };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(error.headers, [pair("a", "1"), pair("a", "2"), pair("b", "3")]);
    assert_eq!(
        Fault::from_value(&Fault::HttpError(error.clone()).to_json()),
        Ok(Fault::HttpError(error))
    );
}

#[test]
fn text_stands_for_a_fault_within_another() {
    let fault = Fault::HttpError(HttpError { status_code: 503, ..HttpError::default() });
    read_as(
        json!({ "type": "recover_after", "failures": 1, "fault": "http_error:503" }),
        Fault::RecoverAfter { failures: 1, per: CountPer::Key, fault: Box::new(fault) },
    );
}

#[test]
fn refusal_names_the_field_what_was_found_and_what_was_expected() {
    refused(json!(3), "expected a fault: an object with a type, or its form of text, not 3");
    refused(
        json!({ "type": "slow", "delay_ms": -1 }),
        "/delay_ms: expected whole milliseconds, from 0 to 86400000 (a day), not -1",
    );
    refused(
        json!({ "type": "slow", "delay_ms": 86_400_001 }),
        "/delay_ms: expected whole milliseconds, from 0 to 86400000 (a day), not 86400001",
    );
    refused(
        json!({ "type": "slow", "delay_ms": "5" }),
        "/delay_ms: expected whole milliseconds, from 0 to 86400000 (a day), not \"5\"",
    );
    refused(
        json!({ "type": "slow", "delay_ms": 0.5 }),
        "/delay_ms: expected whole milliseconds, from 0 to 86400000 (a day), not 0.5",
    );
    refused(json!({ "type": "slow" }), "/delay_ms: slow needs it: milliseconds, such as 5000");
    refused(
        json!({ "type": "http_error", "status_code": 200 }),
        "/status_code: expected an error's status, 400 to 599, not 200",
    );
    refused(
        json!({ "type": "http_error", "headers": { "a": "b\nc" } }),
        "/headers/a: expected a header's value: a string on one line, or a number, not \"b\\nc\"",
    );
    refused(
        json!({ "type": "http_error", "headers": { "a b/~": "c" } }),
        "/headers/a b~1~0: \"a b/~\" cannot be the name of a header",
    );
    refused(
        json!({ "type": "partial_response", "completion_tokens": 3 }),
        "/completion_tokens: expected 0 (no other value is possible), not 3",
    );
    for by in [json!(0), json!(-0.0), json!(1.5), json!("-3"), json!([])] {
        let found = shown_value(&by);
        refused(
            json!({ "type": "wrong_length", "by": by }),
            &format!(
                "/by: expected a whole number of bytes, less or more than 0, \
                 such as 10 or -5, not {found}"
            ),
        );
    }
}

#[test]
fn refusal_names_the_nearest_word() {
    let error = |value: Value| Fault::from_value(&value).unwrap_err().to_string();
    let told = error(json!({ "type": "time-out" }));
    assert!(
        told.starts_with(
            "/type: unknown fault \"time-out\", did you mean \"timeout\"?; there are: timeout, hang"
        ),
        "{told}"
    );
    assert_eq!(
        error(json!({ "type": "http_error", "status": 500 })),
        "/status: unknown field of http_error, \"status\", did you mean \"status_code\"?; \
         there are: status_code, headers, body, message, code, retry_after, retry_after_ms, \
         x_should_retry, type"
    );
    assert_eq!(
        error(json!({ "type": "stream_truncate", "raise": "connectionerror" })),
        "/raise: unknown word \"connectionerror\", did you mean \"ConnectionError\"?; there are: \
         reset, close, clean_eof, error_event, stall, ConnectionError, ConnectionResetError, \
         ConnectError, ReadError, RemoteProtocolError, ReadTimeout, TimeoutError, ProviderError, \
         RuntimeError"
    );
    assert!(error(json!({})).starts_with("/type: a fault needs a type: timeout, "));
}

#[test]
fn fields_that_contradict_each_other_are_refused() {
    refused(
        json!({ "type": "stream_stall", "after_events": 1, "after_bytes": 2 }),
        "/after_bytes: it cannot be combined with after_events: give only one of them",
    );
}

#[test]
fn recover_after_is_refused_when_it_stands_in_another() {
    let message = "/fault: a recover_after cannot contain another";
    for inner in [
        json!({ "type": "recover_after", "failures": 1 }),
        json!("recover_after:1"),
        json!(" recover_after "),
        json!("{\"type\": \"recover_after\", \"failures\": 1}"),
    ] {
        refused(json!({ "type": "recover_after", "failures": 1, "fault": inner }), message);
    }
    let deep = "recover_after:1;fault=".repeat(100_000);
    let found = Fault::parse(&deep).unwrap_err().to_string();
    assert_eq!(found, message);
    refused(
        json!({ "type": "recover_after", "failures": 1, "fault": { "type": "slow" } }),
        "/fault/delay_ms: slow needs it: milliseconds, such as 5000",
    );
}
