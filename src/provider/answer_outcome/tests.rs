//! Tests of outcomes: every operation in every form of failure, generated from the writers of good
//! answers and of errors; and the answers of servers that deviate.

mod dialects;

use proptest::prelude::*;

use super::*;
use crate::test_calls::{format_of, framing, judge, to_stream, write};
use crate::{
    Answer, Framing, Operation, Provider, StreamError, TokenUsage, natural_error, stream_error,
};

fn outcome(operation: Operation, media: &str, bytes: &[u8]) -> AnswerOutcome {
    judge(operation, media, bytes).outcome
}

fn of_events(operation: Operation, events: &[Vec<u8>]) -> AnswerOutcome {
    let media = framing(operation).media_type().split(';').next().unwrap();
    outcome(operation, media, &events.concat())
}

fn answer() -> Answer {
    let usage = TokenUsage {
        prompt_tokens: 9,
        completion_tokens: 3,
        total_tokens: 12,
        ..TokenUsage::default()
    };
    let content = "An \"error\": { is no error }, and event: error neither.".to_owned();
    Answer { content, usage: Some(usage), ..Answer::default() }
}

/// The operations whose answers can be written, each with a good one.
fn written() -> impl Iterator<Item = (Operation, Vec<u8>)> {
    Operation::all()
        .filter_map(|operation| Some((operation, write(operation, &answer(), "seed").ok()?)))
}

/// Those of them with streams, each with the events of a good one.
fn streamed() -> impl Iterator<Item = (Operation, Vec<Vec<u8>>)> {
    written()
        .filter_map(|(operation, body)| Some((operation, to_stream(operation, &body, true).ok()?)))
}

fn provider_of(operation: Operation) -> Provider {
    let has = |provider: &&Provider| provider.row().operations.contains(&operation);
    *Provider::ALL.iter().find(has).unwrap()
}

#[test]
fn good_answers_are_complete_in_every_form() {
    let mut forms = 0;
    for (operation, body) in written() {
        for media in ["application/json", "", "text/plain", "application/octet-stream"] {
            assert_eq!(
                outcome(operation, media, &body),
                AnswerOutcome::Complete,
                "{operation:?} {media}"
            );
        }
        let spaced = [b"\xef\xbb\xbf\r\n", &body[..], b"\n"].concat();
        assert_eq!(
            outcome(operation, "application/json", &spaced),
            AnswerOutcome::Complete,
            "{operation:?}"
        );
        forms += 1;
    }
    for (operation, events) in streamed() {
        assert_eq!(of_events(operation, &events), AnswerOutcome::Complete, "{operation:?}");
        for media in ["application/json", "text/plain", "", "text/html"] {
            let judged = judge(operation, media, &events.concat());
            let is_lost = operation == Operation::TRANSCRIPTION;
            assert!(
                is_lost || judged == JudgedAnswer::COMPLETE,
                "{operation:?} {media} {judged:?}"
            );
        }
        forms += 1;
    }
    assert!(forms > 25, "{forms}");
}

#[test]
fn stream_that_ends_at_any_event_before_its_end_is_unfinished() {
    for (operation, events) in streamed() {
        let marks = (0..events.len()).filter(|count| {
            let judged = of_events(operation, &events[..*count]);
            match count {
                0 => assert_ne!(judged, AnswerOutcome::Complete, "{operation:?}"),
                _ => assert!(
                    matches!(judged, AnswerOutcome::Complete | AnswerOutcome::Unfinished),
                    "{operation:?}"
                ),
            }
            judged == AnswerOutcome::Complete
        });
        // What follows the end: counts, the end marker after the finish reasons.
        let ended = marks.min().unwrap_or(events.len());
        assert!(events.len() - ended <= 3, "{operation:?}: {ended} of {}", events.len());
    }
}

#[test]
fn stream_that_is_cut_at_any_byte_before_its_end_is_no_success() {
    for (operation, events) in streamed() {
        let bytes = events.concat();
        let media = framing(operation).media_type().split(';').next().unwrap();
        let complete =
            |end: &usize| outcome(operation, media, &bytes[..*end]) == AnswerOutcome::Complete;
        let first = (0..bytes.len()).find(complete).unwrap_or(bytes.len());
        let last_events: usize = events.iter().rev().take(4).map(Vec::len).sum();
        assert!(bytes.len() - first <= last_events, "{operation:?}: {first} of {}", bytes.len());
    }
}

#[test]
fn stream_is_finished_once_its_end_mark_was_sent_and_not_before() {
    let mut unmarked = Vec::new();
    for (operation, events) in streamed() {
        let bytes = events.concat();
        let media = framing(operation).media_type().split(';').next().unwrap();
        let is_finished = |end: usize| is_stream_finished(operation, media, &bytes[..end]);
        if !is_finished(bytes.len()) {
            unmarked.push(operation.name());
        }
        assert!(!is_finished(events[0].len()), "{operation:?}");
        for end in (0..bytes.len()).filter(|end| is_finished(*end)) {
            let judged = outcome(operation, media, &bytes[..end]);
            assert_eq!(judged, AnswerOutcome::Complete, "{operation:?} {end}");
        }
        // A cut event is not one that a client has.
        let before: usize = events.iter().rev().skip(1).map(Vec::len).sum();
        if !is_finished(before) {
            assert!(!is_finished(bytes.len() - 1), "{operation:?}");
        }
    }
    // A finish reason ends these, and some servers send one with every event.
    assert_eq!(unmarked, ["Generate Content"]);
}

#[test]
fn response_ends_a_stream_of_json_rpc_and_a_notification_does_not() {
    let message = |data: &str| format!("event: message\ndata: {data}\n\n");
    let progress = message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#);
    let request = message(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#);
    let is_finished =
        |text: &str| is_stream_finished(Operation::OTHER, "text/event-stream", text.as_bytes());
    assert!(!is_finished(&progress) && !is_finished(&request) && !is_finished("data: x\n\n"));
    for end in [r#""result":{}"#, r#""error":{"code":-32601,"message":"no"}"#] {
        let response = message(&format!(r#"{{"jsonrpc":"2.0","id":2,{end}}}"#));
        assert!(is_finished(&format!("{progress}{request}{response}")), "{end}");
        assert!(!is_finished(response.trim_end()), "{end}");
    }
}

#[test]
fn error_at_any_place_of_a_stream_is_a_failure_of_the_provider() {
    for (operation, events) in streamed() {
        for upstream in ["", "openrouter", "mistral"] {
            let format = crate::ResponseFormat { upstream, ..format_of(operation, true) };
            let error = StreamError {
                format: &format,
                status: 529,
                kind: None,
                message: "Overloaded",
                place: 3,
            };
            let frame = framing(operation).write_events(&[stream_error(&error)]).concat();
            for place in 0..=events.len() {
                let mut events = events.clone();
                if framing(operation) != Framing::Array {
                    events.insert(place, frame.clone());
                }
                let judged = of_events(operation, &events);
                assert_eq!(judged, AnswerOutcome::FailedByProvider, "{operation:?} {place}");
            }
            // Nothing but the error.
            let media = framing(operation).media_type().split(';').next().unwrap();
            let judged = judge(operation, media, &frame);
            assert_eq!(judged.outcome, AnswerOutcome::FailedByProvider, "{operation:?}");
            assert!(
                judged.description().contains("Overloaded"),
                "{operation:?}: {}",
                judged.description()
            );
        }
    }
}

#[test]
fn error_body_under_a_good_status_is_a_failure_of_the_provider() {
    for (operation, _) in written() {
        let provider = provider_of(operation);
        for upstream in [
            "",
            "azure",
            "xai",
            "mistral",
            "groq",
            "openrouter",
            "together",
            "fireworks",
            "deepseek",
        ] {
            for status in [400, 401, 422, 429, 500, 503] {
                let error = natural_error(provider, upstream, status, Some("Try again."));
                for media in ["application/json", "text/event-stream", "text/plain"] {
                    let judged = judge(operation, media, &error.body);
                    let text = String::from_utf8_lossy(&error.body);
                    let is_free = operation == Operation::TRANSCRIPTION && media == "text/plain";
                    assert!(
                        is_free || judged.outcome == AnswerOutcome::FailedByProvider,
                        "{operation:?} {upstream} {status} {media} {text} {judged:?}"
                    );
                    assert!(
                        is_free || judged.description().contains("Try again."),
                        "{text} {}",
                        judged.reason
                    );
                }
            }
        }
    }
}

#[test]
fn other_things_in_the_place_of_an_answer_are_no_answer() {
    let page = "<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>";
    for (operation, body) in written() {
        for (media, bytes) in [
            ("text/html", page),
            ("application/json", page),
            ("text/event-stream", page),
            ("application/json", ""),
            ("application/json", " \n"),
            ("application/json", "upstream connect error"),
            ("application/json", "null"),
        ] {
            let judged = outcome(operation, media, bytes.as_bytes());
            assert_eq!(judged, AnswerOutcome::NotAnAnswer, "{operation:?} {media} {bytes}");
        }
        if operation != Operation::TRANSCRIPTION {
            for (media, bytes) in [
                ("text/plain", &b"upstream connect error"[..]),
                ("application/pdf", b"%PDF-1.7"),
                ("application/xml", b"<Error><Code>SlowDown</Code></Error>"),
                ("text/html", b"{\"ok\":true}"),
            ] {
                let judged = outcome(operation, media, bytes);
                assert_eq!(judged, AnswerOutcome::NotAnAnswer, "{operation:?} {media}");
            }
        }
        for end in 1..body.len() {
            let judged = outcome(operation, "application/json", &body[..end]);
            assert_ne!(judged, AnswerOutcome::Complete, "{operation:?} {end}");
        }
    }
}

#[test]
fn status_and_transport_are_judged_for_every_operation() {
    let succeeded = GrpcStatus::find(&[], &[("grpc-status".to_owned(), "0".to_owned())]);
    for operation in Operation::all() {
        let with = |status, method, bytes: &'static [u8], end| {
            let body = ReceivedBody::Plain(bytes);
            let media = "application/json";
            judge_answer(&ReceivedAnswer {
                operation,
                method,
                status,
                media,
                body,
                is_read: false,
                end,
                grpc_status: succeeded.as_ref(),
            })
        };
        let complete = TransportEnd::Complete;
        for status in [400, 401, 429, 500, 503, 529, 999] {
            let judged = with(status, "POST", br#"{"error":{"message":"No."}}"#, complete);
            assert_eq!(judged.outcome, AnswerOutcome::FailedByProvider);
            assert_eq!(judged.description(), format!("status {status}: No."));
        }
        for end in [
            TransportEnd::Closed,
            TransportEnd::Reset,
            TransportEnd::ClientLeft,
            TransportEnd::TooLarge,
        ] {
            assert_eq!(with(200, "POST", b"{}", end).outcome, AnswerOutcome::Unfinished);
        }
        for status in [204, 205, 304] {
            assert_eq!(with(status, "POST", b"", complete), JudgedAnswer::COMPLETE);
        }
        assert_eq!(with(200, "HEAD", b"", complete), JudgedAnswer::COMPLETE);
    }
}

#[test]
fn unknown_protocols_are_judged_by_http_alone() {
    for operation in
        [Operation::OTHER, Operation::FILES, Operation::BATCHES, Operation::MESSAGE_BATCHES]
    {
        for (media, bytes) in [
            ("text/html", "<html>"),
            ("application/json", "{\"error\":{\"message\":\"no\"}}"),
            ("text/event-stream", "event: error\ndata: {}\n\n"),
            ("application/json", ""),
        ] {
            assert_eq!(outcome(operation, media, bytes.as_bytes()), AnswerOutcome::Complete);
        }
    }
}

#[test]
fn compressed_bytes_that_end_early_or_do_not_decode_are_no_success() {
    let with = |body| {
        let operation = Operation::CHAT_COMPLETIONS;
        let (method, media, end) = ("POST", "application/json", TransportEnd::Complete);
        judge_answer(&ReceivedAnswer {
            operation,
            method,
            status: 200,
            media,
            body,
            is_read: false,
            end,
            grpc_status: None,
        })
        .outcome
    };
    assert_eq!(with(ReceivedBody::CutCoding), AnswerOutcome::Unfinished);
    assert_eq!(with(ReceivedBody::DamagedCoding), AnswerOutcome::NotAnAnswer);
    assert_eq!(with(ReceivedBody::Unread), AnswerOutcome::Complete);
}

proptest! {
    #[test]
    fn any_bytes_have_an_outcome(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..27) {
        if let Some(operation) = Operation::all().nth(at) {
            for media in ["", "application/json", "text/event-stream", "application/vnd.amazon.eventstream", "application/x-ndjson"] {
                let judged = judge(operation, media, &bytes);
                prop_assert_eq!(judged.is_failure(), !judged.reason.is_empty());
                prop_assert!(judged.reason.chars().count() < 300 && !judged.description().contains('\n'));
            }
        }
    }
}
