//! Tests of clients that close the connection after the end mark of a stream, and before the end of
//! its body: they have their answer.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::given_up::leave;
use crate::support::shape::{chat_events, chat_streamed};
use crate::support::{Answer, Call, Gate, Upstream};

/// Records in front of an upstream that ends its streams when the gate opens. The first attempt of
/// each call fails.
fn recorded(events: &[String], gate: &Gate) -> (Stage, Upstream) {
    let all = events.iter().fold(Answer::stream(), |answer, event| answer.chunk(event));
    let upstream = Upstream::always(all.wait(gate).end());
    let budget = ["--recovery", "max_detection_ms=60000"];
    let args = [&["--fault", "http_error:503;attempt=1"][..], &budget].concat();
    (Stage::record(&upstream, &args), upstream)
}

/// Makes a call twice. The client of the second one leaves once it has read this. Returns the journal
/// and the recovery of the receipt.
#[track_caller]
fn leave_after(events: &[String], call: &Call, mark: &str, code: i32) -> (Vec<Value>, Value) {
    let gate = Gate::new();
    let (stage, _upstream) = recorded(events, &gate);
    stage.call(call).expect(503);
    let mut client = stage.server.connect();
    client.send(call);
    client.head();
    client.until(mark);
    leave(&stage.server, client);
    gate.open();
    let journal = stage.journal_with(|line| line["outcome"] == "recorded");
    let over = stage.end(code);
    (journal, over.receipt["recovery"]["faults"][0].clone())
}

fn end(journal: &[Value]) -> &Value {
    &journal.iter().find(|line| line["outcome"] == "recorded").unwrap()["end"]
}

#[test]
fn client_that_leaves_after_the_end_mark_has_recovered() {
    let (journal, fault) =
        leave_after(&chat_events(&["one"]), &chat_streamed("hi"), "[DONE]\n\n", 0);
    assert_eq!(end(&journal), "complete");
    assert_eq!(fault["recovered_by"], "same_call", "{fault}");
}

#[test]
fn client_of_tools_that_leaves_after_the_response_has_recovered() {
    let message = |data: Value| format!("event: message\ndata: {data}\n\n");
    let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 1 } });
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } });
    let events = [message(progress), message(response)];
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call" });
    let call = Call::post("/openai/v1/mcp", request.to_string());
    let (journal, fault) = leave_after(&events, &call, "\"result\":{\"tools\":[]}}\n\n", 0);
    assert_eq!(end(&journal), "complete");
    assert_eq!(fault["recovered_by"], "same_call", "{fault}");
}

#[test]
fn client_that_leaves_before_the_end_mark_has_not_recovered() {
    let events = &chat_events(&["one"])[..2];
    let (journal, fault) = leave_after(events, &chat_streamed("hi"), "one", 1);
    assert_eq!(end(&journal), "client_left");
    assert_eq!(fault["recovered"], false, "{fault}");
}
