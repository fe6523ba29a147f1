//! Tests of faults in place of an answer: silence and how it ends, errors, bodies that do not
//! parse.

use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{Stage, complete, sample, samples, silent, streams};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Client, End};

/// A wait that a test can measure, and that is short enough.
const WAIT: Duration = Duration::from_millis(60);
/// Far longer than any wait in a test.
const LONG: Duration = Duration::from_secs(10);

const DROPPED: &str =
    r#"{"error":{"message":"Chaos: request dropped","type":"server_error","code":"chaos_drop"}}"#;

#[test]
fn no_byte_comes_before_the_end_when_the_connection_is_reset_or_dropped() {
    let stage = Stage::replay(&[]);
    for (fault, end) in [
        ("connection_reset", End::Reset),
        ("disconnect", End::Reset),
        ("connection_drop", End::Closed),
    ] {
        for sample in samples() {
            let silence = stage.silent(&sample.with(fault));
            assert_eq!(silence.end, end, "{fault} {}", sample.name);
            assert!(silence.after < LONG, "{fault} {}", sample.name);
        }
    }
    // None of them has used up an answer.
    for sample in samples() {
        assert_eq!(stage.call(&sample.call).expect(200).chunks.concat(), sample.body());
    }
    stage.end(0);
}

#[test]
fn a_connection_that_has_answered_well_ends_just_so() {
    let stage = Stage::replay(&["--repeat", "last"]);
    let sample = sample("chat");
    for (fault, end) in [
        ("connection_reset", End::Reset),
        ("connection_drop", End::Closed),
        ("timeout:20", End::Closed),
    ] {
        let mut client = stage.server.connect();
        assert_eq!(client.exchange(&sample.call).expect(200).body(), sample.body());
        assert_eq!(silent(&mut client, &sample.with(fault)).end, end, "{fault}");
    }
    stage.end(0);
}

#[test]
fn a_timeout_is_silent_for_its_time_and_then_closes() {
    let stage = Stage::replay(&[]);
    std::thread::scope(|scope| {
        for sample in samples() {
            let stage = &stage;
            scope.spawn(move || {
                let silence = stage.silent(&sample.with("timeout:60"));
                assert_eq!(silence.end, End::Closed, "{}", sample.name);
                assert!(silence.after >= WAIT && silence.after < LONG, "{silence:?}");
            });
        }
    });
    let journal = stage.journal();
    let times: Vec<_> = journal.iter().filter(|line| line["outcome"] == "fired").collect();
    assert_eq!(times.len(), samples().len(), "{journal:#?}");
    stage.end(0);
}

#[test]
fn a_hang_holds_the_connection_open_until_its_client_leaves() {
    let stage = Stage::replay(&[]);
    for (fault, sample) in [("hang", "chat"), ("wedged", "chat stream")] {
        let mut client = stage.server.connect();
        client.send(&sample_of(sample, fault));
        assert!(client.is_quiet_for(WAIT), "{fault} said something");
        drop(client);
        let noticed = |line: &Value| line["outcome"] == "noticed" && line["by"] == "left";
        stage.journal_with(noticed);
        let again = sample_of(sample, fault);
        let mut client = stage.server.connect();
        client.send(&again);
        assert!(client.is_quiet_for(WAIT / 4));
    }
    stage.end(0);
}

fn sample_of(name: &str, fault: &str) -> crate::support::Call {
    sample(name).with(fault)
}

#[test]
fn a_hang_ends_in_a_close_when_its_time_is_over() {
    let stage = Stage::replay(&[]);
    for fault in ["hang:60", "wedged;max_ms=60"] {
        for name in ["chat", "message stream"] {
            let silence = stage.silent(&sample(name).with(fault));
            assert_eq!(silence.end, End::Closed, "{fault}");
            assert!(silence.after >= WAIT && silence.after < LONG, "{fault}: {silence:?}");
        }
    }
    stage.end(0);
}

#[test]
fn a_hang_does_not_outlive_the_run() {
    let stage = Stage::replay(&[]);
    let mut client = stage.server.connect();
    client.send(&sample_of("chat", "hang"));
    stage.journal_with(|line| line["outcome"] == "fired");
    let began = std::time::Instant::now();
    stage.end(0);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(client.silence(), End::Closed);
}

#[test]
fn a_drop_is_aimocks_error_whatever_was_asked() {
    let stage = Stage::replay(&[]);
    for sample in samples() {
        let answer = stage.call(&sample.with("drop")).expect(500);
        assert_eq!(answer.text(), DROPPED, "{}", sample.name);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("x-loomrec-fault"), Some("drop"));
    }
    stage.end(0);
}

/// The words in each provider's error that its SDK uses.
fn error_words(sample: &str, body: &Value) -> Value {
    let place = match sample.split(' ').next().unwrap_or_default() {
        "chat" | "message" => "/error/type",
        "gemini" if body.is_array() => "/0/error/status",
        "gemini" => "/error/status",
        "ollama" => "/error",
        _ => "/message",
    };
    body.pointer(place).cloned().unwrap_or_else(|| panic!("{sample}: nothing at {place}: {body}"))
}

/// For each status, the words of openai, anthropic, gemini and bedrock. Bedrock's is in a header.
const STATUSES: [(u16, [&str; 4]); 13] = [
    (
        400,
        [
            "invalid_request_error",
            "invalid_request_error",
            "INVALID_ARGUMENT",
            "ValidationException",
        ],
    ),
    (401, ["invalid_request_error", "authentication_error", "UNAUTHENTICATED", ""]),
    (
        403,
        ["invalid_request_error", "permission_error", "PERMISSION_DENIED", "AccessDeniedException"],
    ),
    (404, ["invalid_request_error", "not_found_error", "NOT_FOUND", "ResourceNotFoundException"]),
    (408, ["server_error", "", "", "ModelTimeoutException"]),
    (409, ["invalid_request_error", "", "", ""]),
    (413, ["", "request_too_large", "", ""]),
    (422, ["invalid_request_error", "", "", ""]),
    (429, ["requests", "rate_limit_error", "RESOURCE_EXHAUSTED", "ThrottlingException"]),
    (500, ["server_error", "api_error", "INTERNAL", "InternalServerException"]),
    (503, ["server_error", "", "UNAVAILABLE", "ServiceUnavailableException"]),
    (504, ["server_error", "", "DEADLINE_EXCEEDED", ""]),
    (529, ["server_error", "overloaded_error", "", ""]),
];

#[test]
fn an_error_is_the_providers_own_for_each_status() {
    let stage = Stage::replay(&[]);
    let mut client = stage.server.connect();
    for (status, words) in STATUSES {
        for sample in samples() {
            // The connection stays open: an error is an answer like any other.
            let answer =
                client.exchange(&sample.with(&format!("http_error:{status}"))).expect(status);
            let about = format!("{status} {}: {}", sample.name, answer.text());
            let media = answer.header("content-type").unwrap_or_default();
            assert!(media.starts_with("application/json"), "{media}: {about}");
            assert_eq!(answer.header("x-loomrec-fault"), Some("http_error"), "{about}");
            let body = answer.json();
            let word = match sample.name.split(' ').next().unwrap_or_default() {
                "chat" => words[0],
                "message" => words[1],
                "gemini" => words[2],
                "converse" => {
                    let kind = answer.header("x-amzn-errortype").unwrap_or_default();
                    assert!(words[3].is_empty() || kind == words[3], "{kind}: {about}");
                    ""
                }
                _ => "",
            };
            let words = error_words(sample.name, &body);
            assert!(words.as_str().is_some_and(|text| !text.is_empty()), "{about}");
            assert!(word.is_empty() || words == word, "{words} is not {word}: {about}");
        }
    }
    assert_eq!(client.exchange(&chat("complete")).expect(200).text(), chat_answer("All good."));
    stage.end(0);
}

#[test]
fn an_error_is_a_page_when_the_gateway_is_bad() {
    let stage = Stage::replay(&[]);
    for sample in samples() {
        let answer = stage.call(&sample.with("http_error:502")).expect(502);
        let (text, name) = (answer.text(), sample.name);
        assert!(text.contains("<title>") && text.contains("502"), "{name}: {text}");
        let media = answer.header("content-type").unwrap_or_default();
        assert!(media.starts_with("text/html"), "{name}: {media}");
        assert_eq!(answer.head.length(), Some(answer.body().len()), "{name}");
    }
    stage.end(0);
}

#[test]
fn a_429_says_when_to_come_again_as_its_provider_does() {
    let stage = Stage::replay(&[]);
    let limited = |name: &str, more: &str| {
        stage.call(&sample(name).with(&format!("http_error:429{more}"))).expect(429)
    };
    for name in ["chat", "chat stream"] {
        let answer = limited(name, ";retry_after=2");
        assert_eq!(answer.header("retry-after"), Some("2"));
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some("0"));
        assert_eq!(answer.header("x-ratelimit-reset-requests"), Some("2s"));
        assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
        let answer = limited(name, ";retry_after_ms=250;x_should_retry=false");
        let headers =
            ["retry-after", "retry-after-ms", "x-should-retry"].map(|it| answer.header(it));
        assert_eq!(headers, [Some("1"), Some("250"), Some("false")]);
        assert_eq!(limited(name, "").header("retry-after"), Some("1"));
        let spent = limited(name, ";code=insufficient_quota");
        assert_eq!(spent.json()["error"]["code"], "insufficient_quota");
        assert_eq!(spent.header("x-ratelimit-remaining-requests"), None);
    }
    let message = limited("message stream", ";retry_after=3");
    assert_eq!(message.header("retry-after"), Some("3"));
    assert_eq!(message.header("anthropic-ratelimit-requests-remaining"), Some("0"));
    for (name, place) in [("gemini", "/error"), ("gemini array", "/0/error")] {
        let answer = limited(name, ";retry_after=34");
        let body = answer.json();
        let details = body.pointer(&format!("{place}/details")).and_then(Value::as_array).unwrap();
        let info = details.iter().find(|one| one["retryDelay"].is_string());
        assert_eq!(
            info,
            Some(
                &json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s" })
            ),
            "{body}"
        );
        assert_eq!(answer.header("retry-after"), None);
    }
    stage.end(0);
}

#[test]
fn an_error_is_word_for_word_what_the_fault_says() {
    let stage = Stage::replay(&[]);
    let fault = r#"{"type":"http_error","status_code":418,
        "headers":{"X-Trace":["a","b"],"content-type":"text/teapot","content-length":"9"},
        "body":"no \"coffee\""}"#
        .replace('\n', " ");
    for name in ["chat", "message stream", "converse"] {
        let answer = stage.call(&sample(name).with(&fault)).expect(418);
        assert_eq!(answer.text(), "no \"coffee\"");
        assert_eq!(answer.head.all("x-trace"), ["a", "b"]);
        assert_eq!(answer.head.all("content-type"), ["text/teapot"]);
        assert_eq!(answer.head.all("content-length"), ["11"]);
    }
    let body = stage.call(&sample("chat").with(r#"http_error:503;body={"error":[1.50,null]}"#));
    let body = body.expect(503);
    assert_eq!(body.text(), r#"{"error":[1.50,null]}"#);
    assert_eq!(body.header("content-type"), Some("application/json"));
    let said =
        stage.call(&sample("message").with("http_error:529;message=too much; x_should_retry=true"));
    let said = said.expect(529);
    assert_eq!(said.json()["error"], json!({"type": "overloaded_error", "message": "too much"}));
    assert_eq!(said.header("x-should-retry"), Some("true"));
    stage.end(0);
}

#[test]
fn a_malformed_response_is_a_200_that_no_parser_takes() {
    let stage = Stage::replay(&[]);
    for sample in complete() {
        let answer = stage.call(&sample.with("malformed_response")).expect(200);
        assert_eq!(answer.text(), "{\"malformed\": ", "{}", sample.name);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let raw = stage.call(&sample.with("malformed_response;raw=<html>not; json"));
        // A value ends at the next `;`. To contain one, it must be JSON.
        assert_eq!(raw.status, 400, "{}", raw.text());
        let raw =
            stage.call(&sample.with(r#"malformed_response;raw="<html>not; json""#)).expect(200);
        assert_eq!(raw.text(), "<html>not; json");
    }
    for sample in streams() {
        let answer = stage.call(&sample.with("malformed_response")).expect(200);
        let body = answer.body();
        let expected: &[u8] = match sample.name {
            "chat stream" | "gemini stream" => b"data: {\"malformed\": \n\n",
            "message stream" => b"event: message_start\ndata: {\"malformed\": \n\n",
            "ollama lines" => b"{\"malformed\": \n",
            "gemini array" => b"[{\"malformed\": ",
            _ => &body,
        };
        assert_eq!(body, expected, "{}", sample.name);
        assert_eq!(answer.header("content-type"), Some(sample.media), "{}", sample.name);
    }
    let whole =
        stage.call(&sample("converse stream").with("malformed_response")).expect(200).body();
    let events: Vec<_> =
        loomrec_provider::framing::events(loomrec_provider::Framing::EventStream, &whole).collect();
    assert_eq!(events.len(), 1);
    assert_eq!(
        events[0].data.as_deref(),
        Some(br#"{"malformed": "#.as_slice()),
        "the frame must be sound"
    );
    let refused = stage.end(1).receipt["refused"].clone();
    assert_eq!(refused, complete().count());
}

#[test]
fn the_next_call_is_answered_when_a_fault_was_an_answer() {
    let stage = Stage::replay(&[]);
    let mut client: Client = stage.server.connect();
    for sample in samples() {
        for fault in ["http_error:500", "drop", "malformed_response"] {
            let answer = client.exchange(&sample.with(fault));
            assert_eq!(answer.end, End::Complete, "{fault} {}", sample.name);
        }
        let answer = client.exchange(&sample.call).expect(200);
        assert_eq!(answer.body(), sample.body(), "{}", sample.name);
        assert_eq!(answer.header("x-loomrec-fault"), None);
    }
    stage.end(0);
}
