//! Fuzz target for JSON-RPC: each request of a line gets an error under its own id, and an answer that
//! gets the ids of another client stays JSON. The first line of the input is a request, the rest an
//! answer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec_identity::parse;
use loomrec_provider::{RpcFacts, RpcIds, rpc_closed_error};

const OTHER: &[u8] = br#"{"jsonrpc":"2.0","id":"other-1","method":"tools/call","params":{"name":"a","_meta":{"progressToken":"other-2"}}}"#;

fuzz_target!(|data: &[u8]| {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (request, answer) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    check_errors(request);
    check_errors(answer);
    check_ids(request, answer);
});

fn check_errors(line: &[u8]) {
    let Some(facts) = RpcFacts::from_line(line) else { return };
    let errors = rpc_closed_error(line, "gone");
    assert_eq!(errors.is_some(), !facts.requests.is_empty(), "an error for requests alone");
    let Some(errors) = errors else { return };
    let read = RpcFacts::from_line(&errors).expect("an error is a message");
    assert_eq!(read.responses, facts.requests, "each request has its error");
}

fn check_ids(request: &[u8], answer: &[u8]) {
    let Some(recorded) = RpcIds::from_body(request) else { return };
    let here = RpcIds::from_body(OTHER).expect("ids");
    assert!(recorded.answer_edits(&recorded, "application/json", answer).is_empty());
    for media in ["application/json", "text/event-stream"] {
        let edits = recorded.answer_edits(&here, media, answer);
        let mut edited = Vec::new();
        let mut copied = 0;
        for edit in edits {
            let before = answer.get(copied..edit.place.start).expect("edits are in order");
            edited.extend_from_slice(before);
            edited.extend_from_slice(edit.text.as_bytes());
            copied = edit.place.end;
        }
        edited.extend_from_slice(answer.get(copied..).expect("edits are within the answer"));
        let addressed = recorded.address_answer(media, answer);
        if media == "application/json" && parse(answer).is_ok() {
            assert!(parse(&edited).is_ok(), "with other ids it is JSON");
            assert!(parse(&addressed).is_ok(), "with its client's ids it is JSON");
        }
    }
}
