//! Tests of what clients add to what is in force.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

fn with_rules(rules: &[(&str, &str)]) -> InForce {
    let owned = |(rule, from): &(&str, &str)| ((*rule).to_owned(), (*from).to_owned());
    InForce { strict: true, rules: rules.iter().map(owned).collect(), ..InForce::default() }
}

#[test]
fn rule_of_a_control_call_is_not_said_to_be_typed() {
    let rules = with_rules(&[("/a", "--ignore"), ("/b", "--ignore"), ("/a", "run.json")]);
    let from: Vec<String> =
        rules.by_control(&["/a".to_owned()]).rules.into_iter().map(|(_, from)| from).collect();
    assert_eq!(from, [BY_CONTROL, "--ignore", "run.json"]);
}

#[test]
fn run_names_the_rules_of_its_sessions_once_and_counts_recordings_that_come_again() {
    let mut run = with_rules(&[]);
    let session = InForce { unchecked: 2, ..with_rules(&[("/a", "a.json")]) };
    run.add_session("a.json", &session);
    run.add_session("a.json", &session);
    run.add_session("b.json", &with_rules(&[("/a", "b.json")]));
    assert_eq!((run.rules.len(), run.unchecked, run.clients.recordings_again), (2, 2, 1));
    let text = run.summary_line().unwrap();
    assert!(text.contains("sessions that replayed a recording again: 1"), "{text}");
}

#[test]
fn what_clients_changed_is_named() {
    let control = BTreeMap::from([("POST /x".to_owned(), 1), ("header y".to_owned(), 2)]);
    let run = with_rules(&[]).with_clients(control, (1, 2));
    let text = run.summary_line().unwrap();
    assert!(text.contains("changed by clients (--allow-control): POST /x, header y (2 times)"));
    assert!(text.contains("each take: 1 (further calls: 2)"), "{text}");
    assert_eq!(run.clients.control_json()[1], json!({ "asked": "header y", "times": 2 }));
}
