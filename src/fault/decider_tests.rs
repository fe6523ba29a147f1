use std::collections::BTreeMap;
use std::sync::Mutex;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::*;
use crate::{
    CallFacts, CallTurn, ChaosRates, EntryFault, EntryFaultRule, Fault, FaultDeclarations, LazyBody,
};
use loomrec_identity::RequestKey;

/// The session and key of a call. Other calls may be made at the same time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Who {
    session: Option<String>,
    key: String,
}

/// The step of a call: that of one key, and that of all keys that begin with an x.
fn step_of(who: &Who) -> Option<&'static str> {
    match who.key.as_str() {
        "a" | "aa" => Some("answer"),
        key if key.starts_with('x') => Some("shared"),
        _ => None,
    }
}

fn facts<'a>(who: &'a Who, turn: &mut CallTurn<'_>) -> CallFacts<'a> {
    let step = step_of(who);
    CallFacts {
        key: &who.key,
        step,
        upstream: "openai",
        provider: "openai",
        operation: "chat",
        rpc: None,
        model: Some("gpt"),
        path: "/v1/chat/completions",
        session: who.session.as_deref(),
        body: LazyBody::from(&br#"{"stream":true,"n":3}"#[..]),
        of_key: turn.of_key,
        of_step: step.map(|step| turn.enter_step(step)),
        connection: 1,
    }
}

fn call_key(who: &Who) -> CallKey {
    let digits: String = who.key.bytes().map(|byte| format!("{byte:02x}")).collect();
    CallKey::Request {
        session: who.session.clone(),
        request: RequestKey::parse(&format!("{digits:0<64}")).unwrap(),
        upstream: "openai".to_owned(),
        step: None,
    }
}

/// What a call got: the rule, its fault, and the numbers of call and attempt.
type Got = Option<(Arc<str>, Fault, u64, u64)>;

/// Makes one call. It is answered well unless its fault prevents that.
fn call(decider: &FaultDecider, who: &Who, declared: FaultDeclarations<'_>) -> Got {
    let key = call_key(who);
    let mut turn = decider.begin_turn(&key);
    let facts = facts(who, &mut turn);
    let decided = turn.decide_fault(&facts, declared);
    if decided.as_ref().is_none_or(|decided| decided.fault.only_delays()) {
        turn.conclude_call(&mut turn.attempt(), CallConclusion::Answered { is_good: true });
    }
    decided.map(|got| (got.rule, got.fault, got.call, got.attempt))
}

/// What each call of each key got if the calls are made in this order.
fn trace(decider: &FaultDecider, order: &[Who]) -> BTreeMap<Who, Vec<Got>> {
    let mut trace: BTreeMap<Who, Vec<Got>> = BTreeMap::new();
    for who in order {
        trace.entry(who.clone()).or_default().push(call(
            decider,
            who,
            FaultDeclarations::default(),
        ));
    }
    trace
}

fn faults() -> impl Strategy<Value = Value> {
    select(vec![
        json!({ "type": "timeout", "after_ms": 5 }),
        json!({ "type": "http_error", "status_code": 500 }),
        json!({ "type": "connection_reset" }),
        json!({ "type": "slow", "delay_ms": 1 }),
        json!({ "type": "recover_after", "failures": 2, "fault": { "type": "drop" } }),
        json!({ "type": "stream_truncate", "after_chunks": 1 }),
    ])
}

fn matches() -> impl Strategy<Value = Value> {
    select(vec![
        json!({}),
        json!({ "step_id": "answer" }),
        json!({ "call": 2 }),
        json!({ "attempt": 1 }),
        json!({ "attempt": 2, "upstream": "openai" }),
        json!({ "session": "one" }),
        json!({ "body": { "/n": 3 } }),
        json!({ "model": "another" }),
    ])
}

fn plans() -> impl Strategy<Value = Value> {
    let rule = (matches(), faults(), 0..4_u32, 0..4_u8);
    let rules = prop::collection::vec(rule, 0..5);
    let rate = || select(vec![0.0, 0.2, 0.5, 1.0]);
    (rules, rate(), rate(), any::<u32>()).prop_map(|(rules, drop, disconnect, seed)| {
        let rule = |(when, fault, times, chance): (Value, Value, u32, u8)| {
            let mut rule = json!({ "match": when, "fault": fault });
            if times > 0 {
                rule["times"] = times.into();
            }
            if chance > 0 {
                rule["probability"] = (f64::from(chance) / 4.0).into();
            }
            rule
        };
        let rules: Vec<Value> = rules.into_iter().map(rule).collect();
        json!({ "seed": seed, "rules": rules, "chaos": { "drop": drop, "disconnect": disconnect } })
    })
}

fn decider(plan: &Value) -> FaultDecider {
    let plan = FaultPlan::parse(plan).unwrap();
    let seed = plan.seed.unwrap_or(0);
    FaultDecider::new(plan, seed)
}

fn calls() -> impl Strategy<Value = Vec<Who>> {
    let key = select(vec!["aa", "ab", "bb", "bc"]);
    let session = select(vec![None, Some("one"), Some("two")]);
    let who = (session, key).prop_map(|(session, key)| Who {
        session: session.map(str::to_owned),
        key: key.to_owned(),
    });
    prop::collection::vec(who, 1..60)
}

proptest! {
    #[test]
    fn the_same_plan_and_seed_give_the_same_faults_in_any_order(
        plan in plans(),
        order in calls(),
        swaps in prop::collection::vec(any::<(Index, Index)>(), 0..100),
    ) {
        let first = trace(&decider(&plan), &order);
        let mut other = order.clone();
        for (one, two) in swaps {
            let (one, two) = (one.index(other.len()), two.index(other.len()));
            other.swap(one, two);
        }
        prop_assert_eq!(&first, &trace(&decider(&plan), &other));
    }

    #[test]
    fn the_same_plan_and_seed_give_the_same_faults_to_any_number_of_threads(
        plan in plans(),
        order in calls(),
        threads in select(vec![1_usize, 8, 64]),
    ) {
        let first = trace(&decider(&plan), &order);
        let decider = decider(&plan);
        let got = Mutex::new(BTreeMap::<Who, Vec<Got>>::new());
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let part: Vec<&Who> = order.iter().skip(thread).step_by(threads).collect();
                let (decider, got) = (&decider, &got);
                scope.spawn(move || {
                    for who in part {
                        let one = call(decider, who, FaultDeclarations::default());
                        got.lock().unwrap().entry(who.clone()).or_default().push(one);
                    }
                });
            }
        });
        // Which thread made which call of a key is not fixed.
        let sorted = |mut trace: BTreeMap<Who, Vec<Got>>| {
            for got in trace.values_mut() {
                got.sort_by_key(|got| format!("{got:?}"));
            }
            trace
        };
        prop_assert_eq!(sorted(first), sorted(got.into_inner().unwrap()));
    }
}

fn who(key: &str) -> Who {
    Who { session: None, key: key.to_owned() }
}

/// The types of the faults that calls of one key get; `-` for no fault.
fn types(decider: &FaultDecider, key: &str, calls: usize) -> Vec<&'static str> {
    let one = |_| call(decider, &who(key), FaultDeclarations::default());
    (0..calls).map(one).map(|got| got.map_or("-", |(_, fault, ..)| fault.name())).collect()
}

#[test]
fn first_attempt_fails_and_the_second_is_answered() {
    let decider = decider(&json!({ "rules": [
        { "match": { "attempt": 1 }, "fault": { "type": "http_error" } },
    ] }));
    assert_eq!(types(&decider, "k", 4), ["http_error", "-", "http_error", "-"]);
}

#[test]
fn attempts_are_counted_from_the_last_good_answer_and_calls_from_the_first() {
    let attempts = decider(&json!({ "rules": [
        { "match": { "attempt": [1, 2] }, "fault": { "type": "drop" } },
    ] }));
    assert_eq!(types(&attempts, "k", 6), ["drop", "drop", "-", "drop", "drop", "-"]);
    let calls = decider(&json!({ "rules": [
        { "match": { "call": [1, 2] }, "fault": { "type": "drop" } },
    ] }));
    assert_eq!(types(&calls, "k", 6), ["drop", "drop", "-", "-", "-", "-"]);
}

#[test]
fn rule_comes_as_often_as_it_may_for_each_key() {
    let decider = decider(&json!({ "rules": [
        { "name": "twice", "fault": { "type": "drop" }, "times": 2 },
        { "name": "then", "match": { "step_id": "answer" }, "fault": { "type": "hang" } },
    ] }));
    assert_eq!(types(&decider, "b", 3), ["drop", "drop", "-"]);
    assert_eq!(types(&decider, "a", 3), ["drop", "drop", "hang"]);
    let counts = decider.rule_counts();
    let counts: Vec<_> = counts.into_iter().map(|((_, name), count)| (name, count)).collect();
    let count = |matched| RuleCount { matched, fired: 0 };
    assert_eq!(counts, [("then".into(), count(1)), ("twice".into(), count(6))]);
    let untested = decider.counters().untested_faults().into_iter().map(|it| it.rule);
    assert!(untested.eq(["then".into(), "twice".into()] as [Arc<str>; 2]));
}

#[test]
fn a_fault_that_is_given_back_comes_to_the_next_call() {
    let decider = decider(&json!({ "rules": [{ "fault": { "type": "drop" }, "times": 1 }] }));
    let key = call_key(&who("b"));
    let decide = || {
        let mut turn = decider.begin_turn(&key);
        let who = who("b");
        let facts = facts(&who, &mut turn);
        turn.decide_fault(&facts, FaultDeclarations::default())
    };
    decider.give_back(&key, &decide().unwrap(), &FaultObstacle::NoBody);
    assert!(decide().unwrap().is_last);
    assert_eq!(decide(), None);
}

#[test]
fn rules_of_a_step_count_its_calls_whatever_their_key() {
    let decider = decider(&json!({ "rules": [
        { "match": { "step_id": "shared", "call": 2 }, "fault": { "type": "drop" } },
        { "match": { "step_id": "shared", "attempt": 2 }, "fault": { "type": "hang" } },
        { "match": { "step_id": "shared", "call": [5, 6] }, "times": 1,
          "fault": { "type": "http_error" } },
    ] }));
    let types: Vec<&str> =
        (1..7).flat_map(|call| types(&decider, &format!("x{call}"), 1)).collect();
    assert_eq!(types, ["-", "drop", "hang", "-", "http_error", "hang"]);
}

#[test]
fn attempts_of_a_step_are_restored_when_its_answer_was_not_received() {
    let decider = decider(&json!({ "rules": [
        { "match": { "step_id": "shared", "attempt": 2 }, "fault": { "type": "drop" } },
    ] }));
    let (who, key, mut attempt) = (who("x1"), call_key(&who("x1")), CallAttempt::new(1));
    facts(&who, &mut decider.begin_turn(&key));
    decider.conclude_call(&key, &mut attempt, CallConclusion::Answered { is_good: true });
    decider.conclude_call(&key, &mut attempt, CallConclusion::NotReceived);
    assert_eq!(types(&decider, "x2", 1), ["drop"]);
}

#[test]
fn calls_recover_after_so_many_failures() {
    let decider = decider(&json!({ "rules": [
        { "fault": { "type": "recover_after", "failures": 2 } },
    ] }));
    assert_eq!(types(&decider, "k", 4), ["hang", "hang", "-", "-"]);
    assert_eq!(types(&decider, "other", 1), ["hang"]);
    decider.forget_calls(None);
    assert_eq!(types(&decider, "k", 1), ["hang"]);
}

#[test]
fn header_comes_before_entry_before_plan_before_chaos() {
    let plan = json!({
        "rules": [{ "fault": { "type": "drop" } }],
        "chaos": { "disconnect": 1.0 },
    });
    let (hang, slow) = (Fault::Hang { max_ms: 1 }, Fault::Slow { delay_ms: 1 });
    let slow = EntryFaultRule { fault: slow, times: None, attempt: vec![], repeats: false };
    let entry = Some(EntryFault { name: "answer", rule: &slow, alone: true });
    let all = FaultDeclarations { header: Some(&hang), entry, ..FaultDeclarations::default() };
    let got = |plan: &Value, declared| {
        call(&decider(plan), &who("k"), declared).map(|(_, fault, ..)| fault.name())
    };
    assert_eq!(got(&plan, all), Some("hang"));
    assert_eq!(got(&plan, FaultDeclarations { header: None, ..all }), Some("slow"));
    assert_eq!(got(&plan, FaultDeclarations::default()), Some("drop"));
    let chaos = json!({ "chaos": { "disconnect": 1.0 } });
    assert_eq!(got(&chaos, FaultDeclarations::default()), Some("disconnect"));
    let none = ChaosRates::from_value(&json!({ "disconnect": 0.0 })).unwrap();
    let over = FaultDeclarations { entry_rates: Some(&none), ..FaultDeclarations::default() };
    assert_eq!(got(&chaos, over), None);
    let all = ChaosRates::from_value(&json!({ "disconnect": 1.0 })).unwrap();
    assert_eq!(
        got(&chaos, FaultDeclarations { header_rates: Some(&all), ..over }),
        Some("disconnect")
    );
}

/// Whether each of five calls of one key gets the fault that an entry declares.
fn from_entry(fault: &Value, alone: bool) -> [bool; 5] {
    let decider = decider(&json!({ "chaos": { "drop": 0.0 } }));
    let rule = EntryFaultRule::from_value(fault).unwrap();
    let entry = Some(EntryFault { name: "answer", rule: &rule, alone });
    let declared = FaultDeclarations { entry, ..FaultDeclarations::default() };
    [0; 5].map(|_| call(&decider, &who("k"), declared).is_some())
}

#[test]
fn fault_beside_an_answer_comes_once_and_one_alone_at_every_call() {
    let fault = json!({ "type": "drop" });
    assert_eq!(from_entry(&fault, false), [true, false, false, false, false]);
    assert_eq!(from_entry(&fault, true), [true; 5]);
}

#[test]
fn an_entry_says_how_often_and_at_which_attempts_its_fault_comes() {
    for (fault, expected) in [
        (json!({ "type": "drop", "times": "always" }), [true; 5]),
        (json!({ "type": "drop", "times": 3 }), [true, true, true, false, false]),
        (json!({ "type": "drop", "attempt": 1 }), [true, false, true, false, true]),
        (json!({ "type": "drop", "attempt": [1, 2] }), [true, true, false, true, true]),
        (json!({ "type": "drop", "attempt": 1, "times": 2 }), [true, false, true, false, false]),
        // A call without a fault is answered well, so there never is a second attempt.
        (json!({ "type": "drop", "attempt": 2 }), [false; 5]),
    ] {
        assert_eq!(from_entry(&fault, false), expected, "{fault}");
    }
}

#[test]
fn rule_of_a_connection_comes_before_anything_is_asked() {
    let decider = decider(&json!({ "rules": [
        { "name": "second", "match": { "connection": 2 }, "fault": { "type": "connection_reset" } },
        { "match": { "connection": 3 }, "fault": { "type": "http_error" } },
    ] }));
    let at = |number| decider.at_accept(number).map(|decided| decided.fault.name());
    assert_eq!([at(1), at(2), at(3)], [None, Some("connection_reset"), None]);
}

#[test]
fn rule_of_a_connection_that_may_not_come_leaves_it_to_the_next() {
    let decider = decider(&json!({ "rules": [
        { "name": "never", "match": { "connection": [1, 2, 3] }, "fault": "hang", "probability": 0.0 },
        { "name": "once", "match": { "connection": [1, 2] }, "fault": "disconnect", "times": 1 },
        { "name": "then", "match": { "connection": [2] }, "fault": "connection_drop" },
    ] }));
    let at = |number| decider.at_accept(number).map(|decided| decided.fault.name());
    assert_eq!([at(1), at(2), at(3)], [Some("disconnect"), Some("connection_drop"), None]);
    // The fault does not apply to the calls of that connection, whose number is 1.
    assert_eq!(call(&decider, &who("k"), FaultDeclarations::default()), None);
}

#[test]
fn first_calls_of_an_upstream_fail_whatever_they_ask() {
    let decider = |per: &str| {
        let fault = json!({ "type": "recover_after", "failures": 2, "per": per });
        decider(&json!({ "rules": [{ "fault": fault }] }))
    };
    let fails = |decider: &FaultDecider, session: Option<&str>, key: &str, upstream: &str| {
        let who = Who { session: session.map(str::to_owned), key: key.to_owned() };
        let mut key = call_key(&who);
        if let CallKey::Request { upstream: name, .. } = &mut key {
            *name = upstream.to_owned();
        }
        let mut turn = decider.begin_turn(&key);
        let facts = facts(&who, &mut turn);
        turn.decide_fault(&facts, FaultDeclarations::default()).is_some()
    };
    let keys = ["b", "c", "d", "b"];
    let upstream = decider("upstream");
    let seen = keys.map(|key| fails(&upstream, None, key, "openai"));
    assert_eq!(seen, [true, true, false, false]);
    // Other upstreams and other sessions begin anew.
    assert!(fails(&upstream, None, "b", "other") && fails(&upstream, Some("s"), "b", "openai"));
    upstream.forget_calls(None);
    assert!(fails(&upstream, None, "d", "openai"));
    let seen = keys.map(|key| fails(&decider("key"), None, key, "openai"));
    assert_eq!(seen, [true; 4]);
}
