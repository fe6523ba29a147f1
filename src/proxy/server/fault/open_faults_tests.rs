use loomrec_fault::recovery::WorkFacts;
use loomrec_fault::{CountedIn, DecidedFault, Fault, FaultSource};
use loomrec_identity::RequestKey;
use loomrec_provider::{RequestHead, recognise_request};
use serde_json::json;

use super::FaultProgress::{Noticed, Recovered};
use super::RecoveryMeans::{CleanError, Fallback, NextCall, SameCall};
use super::*;

/// A call of the step `plan` that asks `model` this question.
fn asks(model: &str, question: &str, arrived_at: i64) -> TrackedCall {
    let messages = json!([{ "role": "user", "content": question }]);
    let body = json!({ "model": model, "messages": messages }).to_string();
    let call = recognise_request(&RequestHead {
        method: "POST",
        path: "/v1/chat/completions",
        query: "",
        headers: &[],
        body_model: Some(model),
        body_stream: None,
        has_messages: false,
        rpc: None,
    });
    let work = WorkIdentity::from_call(&WorkFacts {
        session: None,
        step: Some("plan"),
        upstream: "openai",
        provider: call.provider,
        model: Some(model),
        operation: call.operation,
        body: body.as_bytes(),
    });
    let digits = format!("{model}{question}").bytes().map(u64::from).sum::<u64>();
    let key = CallKey::Request {
        session: None,
        request: RequestKey::parse(&format!("{digits:064x}")).unwrap(),
        upstream: "openai".to_owned(),
        step: Some("plan".to_owned()),
    };
    TrackedCall { key, arrived_at, work: work.map(Arc::new), requests: None }
}

fn fault(id: u64, key: &CallKey) -> CallFault {
    let decided = DecidedFault {
        fault: Fault::ConnectionReset,
        rule: "rule".into(),
        source: FaultSource::Plan,
        call: 1,
        attempt: 1,
        delay_ms: 0,
        is_last: false,
        roll: 0.0,
        counted_in: CountedIn::Key,
    };
    CallFault::new(id, &decided, key.clone())
}

/// A set with fault 1, which struck a call of model `a` at 100.
fn struck() -> OpenFaultSet {
    let mut open = OpenFaultSet::default();
    let call = asks("a", "Hi", 90);
    open.add(&fault(1, &call.key), 7, &call, 100);
    open
}

fn assert_empty(open: &OpenFaultSet) {
    assert!(open.faults.is_empty() && open.by_key.is_empty() && open.works.is_empty(), "{open:?}");
}

#[test]
fn next_try_of_the_call_ends_its_faults() {
    let mut open = struck();
    open.note_over(1, false, 200);
    let again = asks("a", "Hi", 300);
    assert_eq!(open.note_arrival(&again), [Noticed(1, "again")]);
    open.add(&fault(2, &again.key), 8, &again, 310);
    open.note_over(2, false, 320);
    let third = asks("a", "Hi", 400);
    assert_eq!(open.note_arrival(&third), [Noticed(2, "again")]);
    assert_eq!(open.note_answer(&third), [Recovered(1, SameCall), Recovered(2, SameCall)]);
    assert_empty(&open);
}

#[test]
fn call_that_was_under_way_ends_nothing() {
    let mut open = struck();
    assert_eq!(open.note_answer(&asks("a", "Hi", 99)), []);
    open.note_over(1, false, 200);
    // Another model was asked before the fault was over: it would have been asked anyway.
    assert_eq!(open.note_answer(&asks("b", "Hi", 150)), []);
    assert_eq!(open.len(), 1);
}

#[test]
fn equal_call_beside_the_faulted_one_is_no_retry() {
    // Its client leaves long after the equal call came, or only the end of the run ends it.
    for (left, at) in [(true, 300 + LEAVING + 1), (false, 400)] {
        let mut open = struck();
        let beside = asks("a", "Hi", 300);
        assert_eq!(open.note_arrival(&beside), []);
        assert_eq!(open.note_answer(&beside), []);
        assert_eq!(open.note_over(1, left, at), [], "{at}");
        assert_eq!(open.len(), 1);
    }
    // It leaves about when the retry comes.
    let mut open = struck();
    let again = asks("a", "Hi", 300);
    assert_eq!((open.note_arrival(&again), open.note_answer(&again)), (vec![], vec![]));
    assert_eq!(open.note_over(1, true, 310), [Noticed(1, "left"), Recovered(1, SameCall)]);
    assert_empty(&open);
    // It has noticed, and keeps its connection.
    let mut open = struck();
    assert_eq!(open.note_noticed(1, "cancelled"), [Noticed(1, "cancelled")]);
    assert_eq!(open.note_answer(&asks("a", "Hi", 300)), [Recovered(1, SameCall)]);
}

#[test]
fn same_work_elsewhere_is_a_fallback_once_the_call_is_over() {
    let mut open = struck();
    let elsewhere = asks("b", "Hi", 300);
    assert_eq!(open.note_arrival(&elsewhere), []);
    open.note_over(1, false, 200);
    assert_eq!(open.note_arrival(&elsewhere), [Noticed(1, "elsewhere")]);
    assert_eq!(open.note_answer(&asks("b", "Bye", 300)), []);
    assert_eq!(open.note_answer(&elsewhere), [Recovered(1, Fallback)]);
    assert_empty(&open);
}

#[test]
fn fallback_that_fails_as_well_is_recovered_from_by_the_next() {
    let mut open = struck();
    open.note_over(1, false, 200);
    let second = asks("b", "Hi", 300);
    open.note_arrival(&second);
    open.add(&fault(2, &second.key), 8, &second, 310);
    open.note_over(2, false, 320);
    let third = asks("c", "Hi", 400);
    assert_eq!(open.note_arrival(&third), [Noticed(2, "elsewhere")]);
    assert_eq!(open.note_answer(&third), [Recovered(1, Fallback), Recovered(2, Fallback)]);
    assert_empty(&open);
}

#[test]
fn client_that_leaves_may_be_seen_to_leave_after_its_fallback_was_answered() {
    for (arrived, left_at, ends) in
        [(1_000_000, 1_000_500, true), (1_000_000, 1_000_001 + LEAVING, false), (99, 200, false)]
    {
        // The answer comes before the client is seen to leave, or after that.
        let mut open = struck();
        assert_eq!(open.note_answer(&asks("b", "Hi", arrived)), [], "{arrived}");
        let ended = open.note_over(1, true, left_at);
        let expected = [Noticed(1, "left"), Recovered(1, Fallback)];
        assert_eq!(ended, if ends { &expected[..] } else { &[] }, "{arrived}");
        let mut open = struck();
        assert_eq!(open.note_over(1, true, left_at), [], "{arrived}");
        let ended = open.note_answer(&asks("b", "Hi", arrived));
        assert_eq!(ended, if ends { &expected[..] } else { &[] }, "{arrived}");
    }
    // A call that loomrec ended was over before its client could know.
    let mut open = struck();
    open.note_answer(&asks("b", "Hi", 1_000_000));
    assert_eq!(open.note_over(1, false, 1_000_500), []);
}

#[test]
fn report_ends_what_was_noticed_and_waits_for_the_rest() {
    let mut open = struck();
    let other = asks("b", "Bye", 100);
    open.add(&fault(2, &other.key), 8, &other, 110);
    open.note_over(2, false, 120);
    assert_eq!(open.note_report(Some("other"), None), (vec![], vec![]));
    assert_eq!(open.note_report(None, Some("answer")), (vec![], vec![]));
    let expected = vec![Noticed(2, "report"), Recovered(2, CleanError)];
    assert_eq!(open.note_report(None, Some("plan")), (expected, vec![1]));
    assert_eq!(open.note_over(1, true, 500), [Noticed(1, "left"), Recovered(1, CleanError)]);
    assert_empty(&open);
}

#[test]
fn fault_of_a_connection_ends_with_the_next_answer() {
    let mut open = OpenFaultSet::default();
    let connection =
        TrackedCall { key: CallKey::Connection, arrived_at: 90, work: None, requests: None };
    open.add(&fault(1, &connection.key), 7, &connection, 100);
    assert_eq!(open.note_left(7), [Noticed(1, "left")]);
    assert_eq!(open.note_answer(&asks("a", "Hi", 80)), []);
    assert_eq!(open.note_answer(&asks("a", "Hi", 150)), [Recovered(1, NextCall)]);
    assert_empty(&open);
}

#[test]
fn fault_is_noticed_once() {
    let mut open = struck();
    assert_eq!(open.note_noticed(1, "error"), [Noticed(1, "error")]);
    assert_eq!(open.note_left(7), []);
    assert_eq!(open.note_arrival(&asks("a", "Hi", 300)), []);
    open.remove(1);
    open.remove(1);
    assert_empty(&open);
}

#[test]
fn works_that_are_compared_are_bounded() {
    let mut open = OpenFaultSet::default();
    for id in 0..2 * MOST_WORKS as u64 {
        let call = asks("a", &format!("question {id}"), 0);
        open.add(&fault(id, &call.key), 1, &call, 1);
    }
    assert_eq!((open.works.len(), open.len()), (MOST_WORKS, 2 * MOST_WORKS));
}

#[test]
fn client_of_a_tool_that_cancels_its_request_has_noticed() {
    let (mut open, mut call) = (OpenFaultSet::default(), asks("a", "Hi", 90));
    call.requests = Some(Arc::new(ToolRequests::with_id("5")));
    open.add(&fault(1, &call.key), 7, &call, 100);
    assert_eq!(open.note_cancelled(&ToolRequests::with_id("\"5\"")), []);
    assert_eq!(open.note_cancelled(&ToolRequests::with_id("5")), [Noticed(1, "left")]);
    assert_eq!(open.note_cancelled(&ToolRequests::with_id("5")), []);
}
