use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::test_calls::format_of;
use crate::{HttpError, Truncation};
use loomrec_provider::Operation;
use loomrec_provider::framing::{Framing, events};

fn chat() -> ResponseFormat<'static> {
    format_of(Operation::CHAT_COMPLETIONS, "openai", Framing::Sse)
}

fn made(
    fault: &Fault,
    shape: Provider,
    format: &ResponseFormat<'_>,
    streamed: bool,
) -> SyntheticResponse {
    match substitute_for(fault, shape, format, streamed) {
        Some(AnswerSubstitute::Answer(made)) => made,
        other => panic!("{other:?}"),
    }
}

fn failed(told: HttpError) -> SyntheticResponse {
    made(&Fault::HttpError(told), Provider::OPEN_AI, &chat(), false)
}

fn of(shape: Provider, status_code: u16) -> SyntheticResponse {
    let told = HttpError { status_code, ..HttpError::default() };
    made(&Fault::HttpError(told), shape, &chat(), false)
}

fn header<'a>(made: &'a SyntheticResponse, name: &str) -> Option<&'a str> {
    made.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
}

/// The `retryDelay` in Gemini's error.
fn retry_delay(made: &SyntheticResponse) -> Value {
    let body = json_of(made);
    let details = body["error"]["details"].as_array().cloned().unwrap_or_default();
    let delay = |detail: &Value| detail.get("retryDelay").cloned();
    details.iter().find_map(delay).unwrap_or_default()
}

fn json_of(made: &SyntheticResponse) -> Value {
    serde_json::from_slice(&made.body).unwrap()
}

#[test]
fn silence_lasts_as_long_as_the_fault_says_and_ends_as_it_should() {
    let silence = |fault: Fault| match substitute_for(&fault, Provider::OPEN_AI, &chat(), true) {
        Some(AnswerSubstitute::Silence { for_ms, then }) => (for_ms, then),
        other => panic!("{other:?}"),
    };
    assert_eq!(silence(Fault::Timeout { after_ms: 70 }), (70, ConnectionCut::Close));
    assert_eq!(silence(Fault::Hang { max_ms: 9 }), (9, ConnectionCut::Close));
    assert_eq!(silence(Fault::Wedged { max_ms: 9 }), (9, ConnectionCut::Close));
    assert_eq!(silence(Fault::ConnectionDrop), (0, ConnectionCut::Close));
    assert_eq!(silence(Fault::ConnectionReset), (0, ConnectionCut::Reset));
    assert_eq!(silence(Fault::Disconnect), (0, ConnectionCut::Reset));
}

#[test]
fn faults_that_need_the_true_answer_put_nothing_in_its_place() {
    let truncate = |raise| {
        Fault::StreamTruncate(Truncation {
            after: crate::FaultPoint::Default,
            raise,
            exception: None,
            status_code: None,
            message: Some("gone".to_owned()),
            close: None,
        })
    };
    let none = |fault: &Fault, streamed| {
        substitute_for(fault, Provider::OPEN_AI, &chat(), streamed).is_none()
    };
    assert!(none(&Fault::Slow { delay_ms: 1 }, false));
    assert!(none(&Fault::Malformed { whole: false }, false));
    assert!(none(&truncate(TruncationEnd::Reset), false));
    assert!(none(&truncate(TruncationEnd::ErrorEvent), true));
    let error = made(&truncate(TruncationEnd::ErrorEvent), Provider::ANTHROPIC, &chat(), false);
    assert_eq!((error.status, &json_of(&error)["error"]["message"]), (500, &json!("gone")));
}

#[test]
fn a_dropped_request_gets_aimocks_body() {
    let dropped = made(&Fault::Drop, Provider::ANTHROPIC, &chat(), true);
    assert_eq!((dropped.status, header(&dropped, "content-type")), (500, Some("application/json")));
    assert_eq!(
        dropped.body,
        br#"{"error":{"message":"Chaos: request dropped","type":"server_error","code":"chaos_drop"}}"#
    );
}

#[test]
fn aimocks_limit_and_broken_body_are_the_same_for_every_provider_and_in_place_of_a_stream() {
    for (shape, streamed) in [(Provider::ANTHROPIC, true), (Provider::GEMINI, false)] {
        let limited = made(&Fault::RateLimit, shape, &chat(), streamed);
        assert_eq!((limited.status, header(&limited, "retry-after")), (429, Some("1")));
        assert_eq!(header(&limited, "x-ratelimit-reset-tokens"), Some("6m0s"));
        assert_eq!(json_of(&limited)["error"]["code"], "chaos_ratelimit");
        let broken = made(&Fault::Malformed { whole: true }, shape, &chat(), streamed);
        assert_eq!(
            (broken.status, header(&broken, "content-type")),
            (200, Some("application/json"))
        );
        assert_eq!(broken.body, b"{malformed json: <<<chaos>>>");
    }
}

#[test]
fn a_limited_call_is_told_when_to_come_again_as_its_provider_does() {
    let openai = of(Provider::OPEN_AI, 429);
    assert_eq!(header(&openai, "retry-after"), Some("1"));
    assert_eq!(header(&openai, "x-ratelimit-remaining-requests"), Some("0"));
    assert_eq!(header(&openai, "x-ratelimit-reset-requests"), Some("1s"));
    let anthropic = of(Provider::ANTHROPIC, 429);
    assert_eq!(header(&anthropic, "anthropic-ratelimit-requests-remaining"), Some("0"));
    assert_eq!(header(&of(Provider::ANTHROPIC, 529), "retry-after"), Some("1"));
    let gemini = of(Provider::GEMINI, 429);
    assert_eq!(retry_delay(&gemini), "1s");
    assert_eq!(header(&gemini, "retry-after"), None);
    let bedrock = of(Provider::BEDROCK, 429);
    assert_eq!(header(&bedrock, "x-amzn-errortype"), Some("ThrottlingException"));
    assert_eq!(header(&bedrock, "retry-after"), None);
    assert_eq!(header(&of(Provider::OPEN_AI, 500), "retry-after"), None);
}

#[test]
fn the_waits_that_are_given_are_told() {
    let told = HttpError { status_code: 500, retry_after: Some(0.25), ..HttpError::default() };
    assert_eq!(header(&failed(told.clone()), "retry-after"), Some("0.25"));
    let gemini = made(&Fault::HttpError(told), Provider::GEMINI, &chat(), false);
    assert_eq!(retry_delay(&gemini), "0.250s");
    let told = HttpError { status_code: 429, retry_after_ms: Some(250), ..HttpError::default() };
    let openai = failed(told);
    assert_eq!(header(&openai, "retry-after-ms"), Some("250"));
    assert_eq!(header(&openai, "retry-after"), Some("1"));
    assert_eq!(header(&openai, "x-ratelimit-reset-requests"), Some("250ms"));
    let told = HttpError { status_code: 400, x_should_retry: Some(true), ..HttpError::default() };
    assert_eq!(header(&failed(told), "x-should-retry"), Some("true"));
}

#[test]
fn the_word_and_the_message_that_are_given_stand_in_the_providers_places() {
    let told = |status_code, code: &str| HttpError {
        status_code,
        code: Some(code.to_owned()),
        message: Some("mine".to_owned()),
        ..HttpError::default()
    };
    let of = |shape, upstream, code: &str| {
        let format = format_of(Operation::CHAT_COMPLETIONS, upstream, Framing::Sse);
        made(&Fault::HttpError(told(400, code)), shape, &format, false)
    };
    let openai = json_of(&of(Provider::OPEN_AI, "openai", "context_length_exceeded"));
    assert_eq!(openai["error"]["code"], "context_length_exceeded");
    assert_eq!(openai["error"]["type"], "invalid_request_error");
    assert_eq!(openai["error"]["message"], "mine");
    assert_eq!(json_of(&of(Provider::OPEN_AI, "xai", "w"))["code"], "w");
    assert_eq!(json_of(&of(Provider::ANTHROPIC, "anthropic", "w"))["error"]["type"], "w");
    assert_eq!(json_of(&of(Provider::GEMINI, "gemini", "w"))["error"]["status"], "w");
    assert_eq!(header(&of(Provider::BEDROCK, "bedrock", "w"), "x-amzn-errortype"), Some("w"));
    let quota = failed(HttpError { message: None, ..told(429, "insufficient_quota") });
    let error = &json_of(&quota)["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!("insufficient_quota"), &error["type"]));
    assert!(error["message"].as_str().unwrap().starts_with("You exceeded your current quota"));
    assert_eq!(header(&quota, "retry-after"), None);
}

#[test]
fn a_gateways_error_is_html_unless_something_is_to_be_said() {
    for shape in [Provider::OPEN_AI, Provider::ANTHROPIC, Provider::GEMINI, Provider::BEDROCK] {
        let gateway = of(shape, 502);
        assert_eq!(header(&gateway, "content-type"), Some("text/html"));
        let page = String::from_utf8(gateway.body).unwrap();
        assert!(page.starts_with('<') && page.contains("502"), "{page}");
    }
    assert!(json_of(&of(Provider::OPEN_AI, 504)).is_object());
}

#[test]
fn geminis_error_stands_in_an_array_where_its_stream_would() {
    let told = Fault::HttpError(HttpError { status_code: 503, ..HttpError::default() });
    let body = |framing, streamed| {
        let format = format_of(Operation::GENERATE_CONTENT, "gemini", framing);
        json_of(&made(&told, Provider::GEMINI, &format, streamed))
    };
    assert_eq!(body(Framing::Array, true)[0]["error"]["status"], "UNAVAILABLE");
    assert_eq!(body(Framing::Array, false)["error"]["status"], "UNAVAILABLE");
    assert_eq!(body(Framing::Sse, true)["error"]["status"], "UNAVAILABLE");
}

#[test]
fn headers_and_body_that_are_given_win() {
    let given = |body: Value| {
        failed(HttpError { status_code: 418, body: Some(body), ..HttpError::default() })
    };
    let object = given(json!({"a": 1}));
    assert_eq!((object.body.as_slice(), object.status), (br#"{"a":1}"#.as_slice(), 418));
    assert_eq!(header(&object, "content-type"), Some("application/json"));
    assert!(header(&object, "x-request-id").is_some());
    let text = given(json!("no"));
    assert_eq!(text.body, b"no");
    assert_eq!(header(&text, "content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(header(&given(json!("[1]")), "content-type"), Some("application/json"));
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let own = failed(HttpError {
        status_code: 429,
        body: Some(json!("no")),
        headers: vec![
            pair("Content-Type", "text/html"),
            pair("Retry-After", "7"),
            pair("x-more", "1"),
            pair("x-more", "2"),
            pair("Content-Length", "1"),
        ],
        ..HttpError::default()
    });
    let of = |name: &str| -> Vec<&str> {
        let same = own.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!((of("content-type"), of("retry-after")), (vec!["text/html"], vec!["7"]));
    assert_eq!((of("x-more"), of("content-length")), (vec!["1", "2"], vec![]));
}

#[test]
fn a_malformed_response_does_not_parse_in_any_form() {
    let answer = |raw: Option<&str>, format: &ResponseFormat<'_>, streamed| {
        let fault = Fault::MalformedResponse { raw: raw.map(str::to_owned) };
        made(&fault, Provider::OPEN_AI, format, streamed)
    };
    let complete = answer(None, &chat(), false);
    assert_eq!(
        (complete.status, header(&complete, "content-type")),
        (200, Some("application/json"))
    );
    assert!(serde_json::from_slice::<Value>(&complete.body).is_err());
    assert_eq!(answer(Some("oops"), &chat(), false).body, b"oops");
    for (operation, framing) in [
        (Operation::CHAT_COMPLETIONS, Framing::Sse),
        (Operation::MESSAGES, Framing::Sse),
        (Operation::OLLAMA_CHAT, Framing::Lines),
        (Operation::GENERATE_CONTENT, Framing::Array),
        (Operation::CONVERSE, Framing::EventStream),
    ] {
        let format = format_of(operation, "", framing);
        for raw in [None, Some("{\"cut\":\n [1,")] {
            let made = answer(raw, &format, true);
            assert_eq!(header(&made, "content-type"), Some(framing.media_type()));
            let event = events(framing, &made.body).next().unwrap();
            assert!(
                !event.failed && event.data.is_some() && event.json_data().is_none(),
                "{event:?}"
            );
        }
    }
    let event = "data: {oops\n\n";
    assert_eq!(answer(Some(event), &chat(), true).body, event.as_bytes());
    let messages = answer(None, &format_of(Operation::MESSAGES, "", Framing::Sse), true);
    assert!(messages.body.starts_with(b"event: message_start\ndata: {\"malformed\": "));
}

fn told() -> impl Strategy<Value = HttpError> {
    let body = prop::option::of(prop_oneof![".{0,9}".prop_map(Value::from), Just(json!({"a": 1}))]);
    let waits = (prop::option::of(any::<f64>()), prop::option::of(any::<u64>()));
    let words = (prop::option::of(".{0,9}"), prop::option::of(".{0,9}"));
    (400_u16..600, body, waits, words, prop::option::of(any::<bool>())).prop_map(
        |(status_code, body, (retry_after, retry_after_ms), (message, code), x_should_retry)| {
            HttpError {
                status_code,
                headers: vec![],
                body,
                message,
                code,
                retry_after,
                retry_after_ms,
                x_should_retry,
            }
        },
    )
}

proptest! {
    #[test]
    fn any_error_can_be_made_for_any_provider(told in told(), streamed: bool) {
        for &shape in Provider::ALL {
            for upstream in ["openai", "azure", "xai", "mistral", "openrouter"] {
                let format = format_of(Operation::GENERATE_CONTENT, upstream, Framing::Array);
                let fault = Fault::HttpError(told.clone());
                let made = made(&fault, shape, &format, streamed);
                prop_assert_eq!(made.status, told.status_code);
                prop_assert_eq!(&made.headers[0].0, "content-type");
                let media = &made.headers[0].1;
                let parses = serde_json::from_slice::<Value>(&made.body).is_ok();
                prop_assert_eq!(media.starts_with("application/json"), parses);
            }
        }
    }
}
