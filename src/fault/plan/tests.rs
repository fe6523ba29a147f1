use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::read::tests::faults;
use crate::{CallNumbers, HttpError};
use loomrec_provider::Provider;
use loomrec_provider::directory::UPSTREAMS;

const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn call<'a>(body: &'a str) -> CallFacts<'a> {
    CallFacts {
        key: KEY,
        step: Some("answer"),
        upstream: "openai",
        provider: "openai",
        operation: "chat",
        rpc: None,
        model: Some("gpt-4o"),
        path: "/v1/chat/completions",
        session: None,
        body: body.as_bytes().into(),
        of_key: CallNumbers { call: 2, attempt: 1 },
        of_step: None,
        connection: 7,
    }
}

#[track_caller]
fn refused(plan: Value, message: &str) {
    assert_eq!(FaultPlan::parse(&plan).expect_err("refused").to_string(), message, "{plan}");
}

#[test]
fn plan_is_read_as_it_is_written() {
    let plan = FaultPlan::parse(&json!({
        "seed": 7,
        "rules": [
            { "name": "first answer fails", "match": { "step_id": "answer", "attempt": 1 },
              "fault": { "type": "http_error", "status_code": 500 } },
            { "match": { "upstream": "openai", "body": { "/stream": true } },
              "fault": { "type": "stream_truncate", "after_chunks": 3, "raise": "ConnectionError" },
              "times": 2, "probability": 0.5 },
            { "fault": "slow:5" },
        ],
        "chaos": { "drop": 0.25 },
    }))
    .unwrap();
    assert_eq!((plan.seed, plan.chaos.drop), (Some(7), Some(0.25)));
    let names: Vec<&str> = plan.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["first answer fails", "rule 2 (stream_truncate)", "rule 3 (slow)"]);
    let [first, second, third] = plan.rules.as_slice() else { panic!("three rules") };
    let error = HttpError { status_code: 500, ..HttpError::default() };
    assert_eq!(first.fault, Fault::HttpError(error));
    assert_eq!((&first.when.step_id, &first.when.attempt), (&vec!["answer".to_owned()], &vec![1]));
    assert_eq!((second.times, second.probability), (Some(2), Some(0.5)));
    assert!(third.when.is_empty() && third.times.is_none() && third.probability.is_none());
    assert_eq!(third.fault, Fault::Slow { delay_ms: 5 });
}

#[test]
fn seed_is_exact_when_it_is_large() {
    let seed = u64::MAX;
    let plan = FaultPlan::parse(&json!({ "seed": seed, "rules": [{ "fault": "hang" }] })).unwrap();
    assert_eq!(plan.seed, Some(seed));
}

#[test]
fn refusal_names_the_rule_and_the_place() {
    let rule = |rule: Value| json!({ "rules": [{ "name": "one", "fault": "hang" }, rule] });
    refused(
        rule(json!({ "name": "two", "fault": { "type": "slow" } })),
        "rule 2 (\"two\"): /fault/delay_ms: slow needs it: milliseconds, such as 5000",
    );
    refused(
        rule(json!({ "fault": "hangg" })).clone(),
        &format!(
            "rule 2: /fault: unknown fault \"hangg\", did you mean \"hang\"?; there are: {}",
            crate::form::FaultForm::all_names().join(", ")
        ),
    );
    refused(rule(json!({})), "rule 2: /fault: a rule needs it: the fault that its calls get");
    refused(rule(json!([])), "rule 2: expected a rule: an object with a fault, not a list");
    refused(
        rule(json!({ "fault": "hang", "time": 1 })),
        "rule 2: /time: unknown field of a rule, \"time\", did you mean \"times\"?; there are: \
         name, match, fault, times, per, probability",
    );
    refused(
        rule(json!({ "fault": "hang", "times": 0 })),
        "rule 2: /times: expected a whole number from 1 to 4294967295, not 0",
    );
    refused(
        rule(json!({ "fault": "hang", "probability": 1.5 })),
        "rule 2: /probability: expected a rate, from 0 to 1, not 1.5",
    );
    refused(
        rule(json!({ "fault": "hang", "name": "a\nb" })),
        "rule 2 (\"a\\nb\"): /name: expected some characters on one line, not \"a\\nb\"",
    );
    refused(
        rule(json!({ "fault": "hang", "name": "one" })),
        "rules 1 and 2 are both named \"one\": rename one",
    );
}

#[test]
fn refusal_names_what_no_call_can_be() {
    let told = |when: Value| {
        let plan = json!({ "rules": [{ "match": when, "fault": "hang" }] });
        FaultPlan::parse(&plan).expect_err("refused").to_string()
    };
    let number = "expected a whole number from 1, or a list of them";
    assert_eq!(told(json!({ "attempt": 0 })), format!("rule 1: /match/attempt: {number}, not 0"));
    assert_eq!(told(json!({ "call": [1, -2] })), format!("rule 1: /match/call: {number}, not -2"));
    assert_eq!(
        told(json!({ "connection": [] })),
        format!("rule 1: /match/connection: an empty list matches no call: {number}")
    );
    assert_eq!(
        told(json!({ "step": "a" })),
        "rule 1: /match/step: unknown field of match, \"step\", did you mean \"step_id\"?; \
         there are: step_id, request_hash, upstream, provider, operation, method, tool, model, \
         path, session, call, attempt, connection, body"
    );
    assert!(told(json!({ "operation": "chats" })).starts_with(
        "rule 1: /match/operation: unknown operation \"chats\", did you mean \"chat\"?; \
         there are: chat, "
    ));
    assert!(told(json!({ "provider": "open-ai" })).contains("did you mean \"openai\"?"));
    for hash in ["abc", "xyz123", &"a".repeat(65)] {
        let told = told(json!({ "request_hash": hash }));
        let expected = "expected the first 4 to 64 hexadecimal digits of a request's hash";
        assert!(told.starts_with(&format!("rule 1: /match/request_hash: {expected}")), "{told}");
    }
    for place in ["", "stream", "/a~2"] {
        let told = told(json!({ "body": { place: true } }));
        assert!(
            told.starts_with(&format!("rule 1: /match/body: {place:?} is not a JSON pointer")),
            "{told}"
        );
    }
    assert_eq!(
        told(json!({ "model": "" })),
        "rule 1: /match/model: expected a word, or a list of words, not \"\""
    );
}

#[test]
fn plan_is_refused_when_it_is_for_no_call() {
    let empty = "it has neither rules nor chaos, so it applies to no call: add a rule to `rules`";
    refused(json!({}), empty);
    refused(json!({ "seed": 1, "rules": [], "chaos": {} }), empty);
    refused(json!([]), "expected a plan: an object with rules, not a list");
    refused(json!({ "rules": {} }), "/rules: expected a list of rules, not an object");
    refused(
        json!({ "rule": [] }),
        "/rule: unknown field of a plan, \"rule\", did you mean \"rules\"?; \
         there are: seed, rules, chaos, recovery",
    );
    refused(json!({ "seed": -1 }), "/seed: expected a whole number from 0 to 2^64 - 1, not -1");
    refused(json!({ "chaos": { "drop": 2 } }), "/chaos/drop: expected a rate, from 0 to 1, not 2");
}

#[test]
fn all_that_is_given_must_hold() {
    let holds = |when: Value| {
        RuleMatch::from_value(&when).unwrap().holds(&call(r#"{"stream":true,"n":1.0}"#))
    };
    for (field, is, other) in [
        ("step_id", json!("answer"), json!("question")),
        ("request_hash", json!("0123"), json!("0124")),
        ("request_hash", json!("0123456789ABCDEF"), json!("1234")),
        ("upstream", json!("openai"), json!("azure")),
        ("provider", json!("openai"), json!("anthropic")),
        ("operation", json!("chat"), json!("messages")),
        ("model", json!("gpt-4o"), json!("gpt-4")),
        ("path", json!("/v1/chat/completions"), json!("/v1/chat")),
        ("call", json!(2), json!(1)),
        ("call", json!([5, 2.0]), json!([1, 3])),
        ("attempt", json!(1), json!(2)),
        ("connection", json!(7), json!(8)),
        ("step_id", json!(["a", "answer"]), json!(["a", "b"])),
        ("body", json!({ "/stream": true, "/n": 1 }), json!({ "/stream": true, "/n": 2 })),
    ] {
        assert!(holds(json!({ field: is })), "{field}: {is}");
        assert!(!holds(json!({ field: other })), "{field}: {other}");
        assert!(!holds(json!({ field: is, "session": "s" })), "a call of no session");
    }
    assert!(holds(json!({})));
}

#[test]
fn only_connection_is_known_before_a_request_has_come() {
    let only = |when: Value| RuleMatch::from_value(&when).unwrap().only_connection();
    assert!(only(json!({ "connection": [1, 2] })));
    assert!(!only(json!({})));
    assert!(!only(json!({ "connection": 1, "attempt": 1 })));
    assert!(!only(json!({ "connection": 1, "body": { "/a": 1 } })));
}

#[test]
fn provider_of_every_upstream_can_be_asked_for() {
    let providers = UPSTREAMS.iter().map(|upstream| upstream.provider.name());
    for name in providers.chain([Provider::UNKNOWN.name()]) {
        assert!(RuleMatch::from_value(&json!({ "provider": name })).is_ok(), "{name}");
    }
}

fn conditions() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["answer", "openai", "a"]);
    let words = prop_oneof![
        word().prop_map(Value::from),
        prop::collection::vec(word(), 1..3).prop_map(Value::from)
    ];
    let numbers = prop_oneof![
        (1..4_u64).prop_map(Value::from),
        prop::collection::vec(1..4_u64, 1..3).prop_map(Value::from)
    ];
    let fields = [("step_id", 0), ("session", 0), ("model", 0), ("call", 1), ("attempt", 1)];
    let body = prop_oneof![
        Just(json!({ "/a/0~1": 1, "/b": { "contains": "x" } })),
        Just(json!({ "/b": { "contains": 1 } }))
    ];
    (prop::collection::vec((prop::sample::select(fields.to_vec()), words, numbers), 0..4), body)
        .prop_map(|(fields, body)| {
            let mut when = serde_json::Map::new();
            for ((name, kind), words, numbers) in fields {
                when.insert(name.to_owned(), if kind == 0 { words } else { numbers });
            }
            when.insert("body".to_owned(), body);
            Value::Object(when)
        })
}

proptest! {
    #[test]
    fn match_reads_back_when_it_is_written(when in conditions()) {
        let read = RuleMatch::from_value(&when).unwrap();
        prop_assert_eq!(RuleMatch::from_value(&read.to_json()), Ok(read));
    }

    #[test]
    fn every_rule_of_a_plan_is_kept_in_its_order(faults in prop::collection::vec(faults(), 1..6)) {
        let rule = |fault: &Fault| json!({ "fault": fault.to_json() });
        let rules: Vec<Value> = faults.iter().map(rule).collect();
        let plan = FaultPlan::parse(&json!({ "rules": rules })).unwrap();
        let read: Vec<Fault> = plan.rules.into_iter().map(|rule| rule.fault).collect();
        prop_assert_eq!(read, faults);
    }
}
