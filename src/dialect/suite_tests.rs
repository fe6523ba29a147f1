use serde_json::json;

use super::*;
use loomrec_fault::kind::HANG_MS;

fn plan(value: Value) -> FaultPlan {
    read_plan(&value).unwrap_or_else(|error| panic!("{error}: {value}"))
}

#[track_caller]
fn refused(value: &Value, message: &str) {
    assert_eq!(read_plan(value).expect_err("refused").to_string(), message);
}

#[test]
fn suite_is_read_as_rules() {
    let plan = plan(json!({
        "servers": { "search": { "command": ["x"] } },
        "faults": [
            { "name": "dead", "target": "search", "kind": "hang" },
            { "name": "flaky", "target": "server:openai", "kind": "recover-after:2" },
            { "target": "tool: plan", "kind": "slow", "delay_ms": 50 },
            { "name": "healthy", "kind": "none" },
        ],
        "recovery": { "max_detection_ms": 3000 },
    }));
    let [dead, flaky, slow] = plan.rules.as_slice() else { panic!("{:?}", plan.rules) };
    assert_eq!((dead.name.as_str(), &dead.fault), ("dead", &Fault::Hang { max_ms: HANG_MS }));
    assert_eq!(dead.target, Some(FaultTarget::Named("search".to_owned())));
    let hang = Box::new(Fault::Hang { max_ms: HANG_MS });
    let expected = Fault::RecoverAfter { failures: 2, per: CountPer::Upstream, fault: hang };
    assert_eq!(flaky.fault, expected);
    assert_eq!(flaky.target, Some(FaultTarget::Upstream("openai".to_owned())));
    assert_eq!(slow.name, "fault 3 (slow)");
    assert_eq!(slow.fault, Fault::Slow { delay_ms: 50 });
    assert_eq!(slow.target, Some(FaultTarget::Step("plan".to_owned())));
    // Discovery gets no fault.
    assert!(slow.when.operation.iter().any(|word| word == "chat"));
    assert!(!slow.when.operation.iter().any(|word| word == Operation::OTHER.as_str()));
    let budget = plan.recovery.unwrap();
    assert_eq!(budget.to_json()["max_detection_ms"], 3000);
}

#[test]
fn target_becomes_an_upstream_or_a_step() {
    let read = |target: Value| {
        let fault = json!({ "target": target });
        read_target(fields_of(&fault, "a fault").unwrap())
    };
    let restricted = |target: Value| {
        let mut when = RuleMatch::default();
        read(target).unwrap().unwrap().restrict(&mut when, |name| name == "openai");
        (when.upstream.join(","), when.step_id.join(","))
    };
    let pair = |upstream: &str, step: &str| (upstream.to_owned(), step.to_owned());
    assert_eq!(restricted(json!("openai")), pair("openai", ""));
    assert_eq!(restricted(json!("search")), pair("", "search"));
    assert_eq!(restricted(json!("tool:openai")), pair("", "openai"));
    assert_eq!(restricted(json!("server:search")), pair("search", ""));
    assert_eq!(restricted(json!({ "tool": "search" })), pair("", "search"));
    assert_eq!(restricted(json!({ "server": "search" })), pair("search", ""));
    let both = json!({ "server": "search", "tool": "query" });
    assert_eq!(restricted(both), pair("search", "query"));
    assert_eq!(read(Value::Null), Ok(None));
    for (target, place) in [
        (json!("tool: "), "/target: expected the name"),
        (json!({}), "/target: expected the name"),
        (json!(["search"]), "/target: expected the name"),
        (json!({ "tool": " " }), "/target/tool: expected a name"),
        (json!({ "tools": "x" }), "/target/tools: unknown field"),
        (json!({ "server": 1 }), "/target/server: expected"),
    ] {
        let error = read(target.clone()).unwrap_err().to_string();
        assert!(error.starts_with(place), "{target}: {error}");
    }
}

#[test]
fn agents_say_which_faults_are_injected() {
    let suite = |inject: Value| {
        json!({
            "faults": [{ "name": "a", "kind": "hang" }, { "name": "b", "kind": "wedged" }],
            "agents": [{ "name": "x" }, { "name": "y", "inject": inject }],
        })
    };
    let names = |inject: Value| {
        let rules = plan(suite(inject)).rules;
        rules.into_iter().map(|rule| rule.name).collect::<Vec<_>>()
    };
    assert_eq!(names(json!("b")), ["b"]);
    assert_eq!(names(json!(["b", "a"])), ["a", "b"]);
    assert_eq!(names(Value::Null), ["a", "b"]);
    refused(&suite(json!(["c"])), "/agents/1/inject: unknown fault \"c\"; there are: a, b");
    refused(&suite(json!(5)), "/agents/1/inject: expected the name of a fault, not 5");
}

#[test]
fn budget_may_stand_within_an_agent() {
    let suite = |one: u64, other: u64| {
        let agent = |most: u64| json!({ "expect": [{ "recovery": { "max_detection_ms": most } }] });
        json!({ "faults": [{ "kind": "hang" }], "agents": [agent(one), agent(other)] })
    };
    let budget = plan(suite(5, 5)).recovery.unwrap();
    assert_eq!(budget.to_json()["max_detection_ms"], 5);
    refused(
        &suite(5, 6),
        "/agents/1/expect/0/recovery: it differs from the budget at /agents/0/expect/0/recovery; a \
         run is judged by one: give one of them",
    );
}

#[test]
fn plan_of_rules_may_have_a_budget() {
    let budget = json!({ "max_detection_ms": 5 });
    assert!(plan(json!({ "rules": [{ "fault": "hang" }], "recovery": budget })).recovery.is_some());
    assert!(plan(json!({ "recovery": budget })).rules.is_empty());
    assert!(plan(json!({ "faults": [{ "kind": "none" }] })).rules.is_empty());
}

#[test]
fn refusal_names_the_place() {
    let fault = |fault: Value| json!({ "faults": [{ "kind": "hang" }, fault] });
    refused(
        &fault(json!({ "name": "x" })),
        "/faults/1/kind: a fault of a suite needs it: the fault, such as hang",
    );
    let error = read_plan(&fault(json!({ "kind": "wedgd" }))).unwrap_err().to_string();
    assert!(error.starts_with("/faults/1/kind: unknown fault \"wedgd\", did you mean \"wedged\"?"));
    refused(
        &fault(json!({ "kind": "slow", "delay": 5 })),
        "/faults/1/delay: unknown field of slow, \"delay\", did you mean \"delay_ms\"?; there are: \
         delay_ms, type",
    );
    refused(
        &fault(json!({ "kind": "hang", "target": "" })),
        "/faults/1/target: expected the name of a server (an upstream) or of a tool (of MCP, or a step), or an object with server, tool or both, not \
         \"\"",
    );
    refused(
        &json!({ "faults": [{ "kind": "hang" }], "recovery": { "max_detection": 5 } }),
        "/recovery: max_detection: unknown field of a budget, \"max_detection\", did you mean \
         \"max_detection_ms\"?; there are: max_detection_ms, max_recovery_ms, \
         require_clean_timeout",
    );
}

#[test]
fn the_names_of_all_blocks_are_given_for_an_unknown_one() {
    refused(
        &json!({ "rule": [] }),
        "/rule: unknown field of a plan, \"rule\", did you mean \"rules\"?; there are: seed, rules, \
         chaos, faults, agents, recovery",
    );
}
