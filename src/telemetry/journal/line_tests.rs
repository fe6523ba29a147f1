use proptest::prelude::*;
use serde_json::json;

use super::super::tests::{mismatch, seen};
use super::*;
use loomrec_engine::RequestSummary;
use std::sync::Arc;

fn written(seen: &CallRecord) -> Value {
    let mut text = Vec::new();
    write_call(seen, Some(7), &mut text);
    assert!(!text.contains(&b'\n'), "a line is one line");
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn times_have_one_digit_behind_the_point() {
    let shown = |nanos: u64| {
        let mut out = Vec::new();
        milliseconds(&mut out, Duration::from_nanos(nanos));
        String::from_utf8(out).unwrap()
    };
    let of = [0, 49_999, 50_000, 949_999, 950_000, 12_340_000].map(shown);
    assert_eq!(of, ["0.0", "0.0", "0.1", "0.9", "1.0", "12.3"]);
    assert_eq!(shown(u64::MAX), "18446744073709.6");
}

#[test]
fn what_is_not_known_is_null_and_what_is_more_stands_last() {
    let mut one = seen(1_700_000_000_000_042);
    one.outcome = CallOutcome::Unreachable { message: "a \"b\"\n".to_owned() };
    let line = written(&one);
    assert_eq!((&line["v"], &line["seq"]), (&json!(VERSION), &json!(7)));
    assert_eq!(line["at"], "2023-11-14T22:13:20.000042Z");
    assert_eq!(line["more"]["message"], "a \"b\"\n");
    assert!(line["first_byte_ms"].is_null() && line["mismatch"].is_null());
    assert_eq!(line.as_object().unwrap().len(), 40);
    assert_eq!(from_call(&one).as_object().unwrap().len(), 39);
    one.outcome = CallOutcome::Served { entry: Some("plan".parse().unwrap()) };
    assert_eq!(written(&one)["more"], json!({ "entry": "plan" }));
    assert_eq!(written(&one)["entry"], "plan");
    let mismatch = mismatch("all takes are used");
    one.outcome = CallOutcome::Missed(Arc::new(mismatch.clone()));
    assert_eq!(written(&one)["mismatch"], mismatch.to_json());
    assert!(written(&one)["more"].is_null());
    let refused = |kind| CallOutcome::Refused { kind, message: "no".to_owned() };
    for (outcome, more) in [
        (
            CallOutcome::Scripted { turn: Some(ScriptTurn::Call(2)) },
            json!({ "script": { "call": 2 } }),
        ),
        (CallOutcome::Unscripted { message: "no".to_owned() }, json!({ "error": "no" })),
        (refused(None), json!({ "message": "no" })),
        (refused(Some("BadTarget")), json!({ "error": "BadTarget", "message": "no" })),
    ] {
        one.outcome = outcome;
        assert_eq!(written(&one)["more"], more);
    }
}

proptest! {
    #[test]
    fn texts_are_read_as_they_were_whatever_is_in_them(
        path in any::<String>(), model in proptest::option::of(any::<String>()),
        step in proptest::option::of("[\\x00-\\x7f]{0,20}"), cost in any::<Option<f64>>(),
    ) {
        let mut one = seen(1);
        let facts = RequestSummary { path, model, step, ..(*one.facts).clone() };
        (one.facts, one.cost_usd) = (Arc::new(facts), cost.filter(|cost| cost.is_finite()));
        let line = written(&one);
        prop_assert_eq!(&line["path"], &*one.facts.path);
        prop_assert_eq!(line["model"].as_str(), one.facts.model.as_deref());
        prop_assert_eq!(line["step_id"].as_str(), one.facts.step.as_deref());
        prop_assert_eq!(line["cost_usd"].as_f64(), one.cost_usd);
    }
}
