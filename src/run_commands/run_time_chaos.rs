//! The receipt's part about rates of chaos that were set while the run went on.

use serde_json::{Value, json};

use loomrec_fault::{ChaosChange, ChaosChanges, ChaosScope};

/// How many changes are shown to people.
const SHOWN: usize = 20;

/// Returns the changes as JSON; `None` if there were none.
pub(super) fn to_json(changes: &ChaosChanges) -> Option<Value> {
    let change = |ChaosChange { at_ms, scope, rates }: &ChaosChange| {
        let (session, test) = scope_names(scope);
        let rates = rates.as_ref().map(|rates| rates.to_json());
        json!({ "at_ms": at_ms, "session": session, "test": test, "chaos": rates })
    };
    (changes.count > 0).then(|| {
        let latest: Vec<Value> = changes.latest.iter().map(change).collect();
        json!({ "changes": changes.count, "latest": latest })
    })
}

/// Returns a line for each of the latest changes, and one for those that are not shown.
pub(super) fn change_lines(changes: &ChaosChanges) -> Vec<String> {
    let hidden = changes.latest.len().saturating_sub(SHOWN);
    let shown = changes.latest.iter().skip(hidden);
    let line = |ChaosChange { at_ms, scope, rates }: &ChaosChange| {
        let whose = match scope {
            ChaosScope::Run => "all calls".to_owned(),
            ChaosScope::Session(name) => format!("session {name:?}"),
            ChaosScope::Test(name) => format!("test {name:?}"),
        };
        match rates {
            Some(rates) => {
                format!("chaos of {whose} was set after {at_ms} ms to {}", rates.to_json())
            }
            None => format!("chaos of {whose} was cleared after {at_ms} ms"),
        }
    };
    let mut lines: Vec<String> = shown.map(line).collect();
    let unshown = changes.count - lines.len() as u64;
    if unshown > 0 {
        lines.insert(0, format!("chaos was set or cleared {unshown} more times before"));
    }
    lines
}

fn scope_names(scope: &ChaosScope) -> (Option<&str>, Option<&str>) {
    match scope {
        ChaosScope::Run => (None, None),
        ChaosScope::Session(name) => (Some(name), None),
        ChaosScope::Test(name) => (None, Some(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_fault::{ChaosRates, RunTimeChaos};

    #[test]
    fn changes_are_told_in_order_and_the_rest_is_counted() {
        let chaos = RunTimeChaos::default();
        assert_eq!((to_json(&chaos.changes()), change_lines(&chaos.changes()).len()), (None, 0));
        let drop = ChaosRates { drop: Some(0.5), ..ChaosRates::default() };
        chaos.set_rates(ChaosScope::Session("a".to_owned()), drop.clone(), 1.5).unwrap();
        chaos.clear_rates(&ChaosScope::Session("a".to_owned()), 2.0);
        assert_eq!(
            change_lines(&chaos.changes()),
            [
                "chaos of session \"a\" was set after 1.5 ms to {\"drop\":0.5}",
                "chaos of session \"a\" was cleared after 2 ms",
            ]
        );
        let told = to_json(&chaos.changes()).unwrap();
        let expected = json!({ "at_ms": 2.0, "session": "a", "test": null, "chaos": null });
        assert_eq!((&told["changes"], &told["latest"][1]), (&json!(2), &expected));
        for _ in 0..30 {
            chaos.set_rates(ChaosScope::Run, drop.clone(), 3.0).unwrap();
        }
        let lines = change_lines(&chaos.changes());
        assert_eq!(lines.len(), SHOWN + 1);
        assert_eq!(lines[0], "chaos was set or cleared 12 more times before");
        assert!(lines[20].starts_with("chaos of all calls was set after 3 ms"));
    }
}
