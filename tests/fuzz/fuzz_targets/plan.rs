//! Fuzz target for plans of faults, in JSON and YAML: what a plan declares can be written and read
//! again, it decides the same for the same calls, and each fault is applied to a body.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_dialect::suite::read_plan;
use loomrec_fault::{
    CallFacts, CallKey, ChaosRates, Fault, FaultDecider, FaultDeclarations, FaultPlan, LazyBody,
    RuleMatch,
};
use loomrec_fuzz::trouble;
use loomrec_identity::RequestKey;
use loomrec_script::ScriptNotation;
use loomrec_script::parse_value;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, text)) = data.split_first() else { return Corpus::Reject };
    if kind % 3 == 2 {
        if let Some(fault) = std::str::from_utf8(text).ok().and_then(|text| Fault::parse(text).ok())
        {
            check_fault(&fault);
        }
        return Corpus::Keep;
    }
    let notation = if kind % 3 == 0 { ScriptNotation::Json } else { ScriptNotation::Yaml };
    let Ok(value) = parse_value(text, notation) else { return Corpus::Keep };
    let Ok(plan) = read_plan(&value) else { return Corpus::Keep };
    assert_eq!(read_plan(&value).ok().as_ref(), Some(&plan), "a plan is read the same");
    for rule in &plan.rules {
        check_fault(&rule.fault);
        let written = rule.when.to_json();
        assert_eq!(RuleMatch::from_value(&written).ok().as_ref(), Some(&rule.when), "{written}");
    }
    let written = plan.chaos.to_json();
    assert_eq!(ChaosRates::from_value(&written).ok().as_ref(), Some(&plan.chaos), "{written}");
    check_decisions(&plan);
    Corpus::Keep
});

fn check_fault(fault: &Fault) {
    let written = fault.to_json();
    assert_eq!(Fault::from_value(&written).ok().as_ref(), Some(fault), "{written}");
    trouble::put_to_work(fault);
}

/// Checks that a plan with a seed decides the same for a key, whatever other calls arrive.
fn check_decisions(plan: &FaultPlan) {
    let decide = |keys: &[&str]| -> Vec<String> {
        let decider = FaultDecider::new(plan.clone(), plan.seed.unwrap_or(1));
        let mut told = Vec::new();
        for key in keys {
            let call_key = CallKey::Request {
                session: None,
                request: RequestKey::parse(&key.repeat(64)[..64]).expect("digits"),
                upstream: "openai".to_owned(),
                step: None,
            };
            let mut turn = decider.begin_turn(&call_key);
            let facts = CallFacts {
                key,
                step: Some("plan"),
                upstream: "openai",
                provider: "openai",
                operation: "chat",
                rpc: None,
                model: Some("gpt-4o"),
                path: "/v1/chat/completions",
                session: None,
                body: LazyBody::from(b"{\"model\":\"gpt-4o\"}" as &[u8]),
                of_key: turn.of_key,
                of_step: Some(turn.enter_step("plan")),
                connection: 1,
            };
            let decided = turn.decide_fault(&facts, FaultDeclarations::default());
            if *key == "a" {
                told.push(format!("{decided:?}"));
            }
        }
        told
    };
    assert_eq!(decide(&["a", "a", "a"]), decide(&["b", "a", "b", "a", "b", "b", "a"]));
}
