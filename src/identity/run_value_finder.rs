//! The search for the values of a run in a request that is recorded.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bound_rules::{BoundRules, RequestTexts};
use super::frame::Frame;
use super::hole::HoleKind;
use super::json::Json;
use super::normalize::NormalizeRule;
use super::repository_forms::{GIT_BRANCH, GIT_OVERVIEW, GIT_STATUS};
use super::repository_states::RepositoryStates;
use super::request_parts::RequestParts;
use super::rules::IdentityRules;
use super::run_binding::RunBinding;
use super::run_values::{CWD, DAY, HOME, RunValues, SYSTEM_TIMEZONE, TIMEZONE, UTC_DAY};

/// Whether a value follows from another one.
fn is_derived_from(value: &str, from: &str) -> bool {
    const FOLLOWS: [(&str, &str); 8] = [
        ("weekday", DAY),
        ("weekday", UTC_DAY),
        ("folder", CWD),
        (GIT_OVERVIEW, GIT_BRANCH),
        (GIT_OVERVIEW, GIT_STATUS),
        (DAY, UTC_DAY),
        (HOME, CWD),
        (TIMEZONE, SYSTEM_TIMEZONE),
    ];
    FOLLOWS.contains(&(value, from))
}

/// Finds the values of a run in requests. It is made once for a run.
#[derive(Debug, Default)]
pub struct RunValueFinder {
    /// All values, bound to themselves: for known clients, or if that was asked for.
    all: Option<RunBinding>,
    /// Those that a flag sets.
    asked: Option<RunBinding>,
    /// Whether all values are looked for in every request.
    is_for_all: bool,
    /// The rules of the recording.
    rules: Vec<NormalizeRule>,
    /// The states of the repository after the start of the run.
    states: Arc<RepositoryStates>,
}

impl RunValueFinder {
    /// Returns a finder of these values. Those of `asked` are looked for in every request, and all
    /// others in the requests of known clients, unless `is_for_all`.
    pub fn new(values: &RunValues, asked: &RunValues, is_for_all: bool) -> Self {
        let to_itself =
            |values: &RunValues| (!values.is_empty()).then(|| RunBinding::new(values, values));
        let (all, asked) = (to_itself(values), to_itself(asked));
        Self { all, asked, is_for_all, rules: Vec::new(), states: Arc::default() }
    }

    /// Returns a finder of the values that an entry has, which stay with it if they are in its
    /// request.
    pub fn for_entry(values: &RunValues) -> Self {
        Self::new(values, &RunValues::default(), true)
    }

    /// Returns a finder that also looks into the holes of these rules. The values that the holes
    /// name are looked for in every request.
    pub fn with_rules(self, rules: &[NormalizeRule]) -> Self {
        let kinds = rules.iter().filter_map(NormalizeRule::frame).flat_map(Frame::hole_kinds);
        let names: BTreeSet<&str> = kinds.filter_map(HoleKind::value_name).collect();
        let mut asked =
            self.asked.as_ref().map(|it| it.current_values().clone()).unwrap_or_default();
        let all = self.all.as_ref().map(|it| it.current_values().clone()).unwrap_or_default();
        let is_named =
            |name: &str| names.iter().any(|hole| *hole == name || is_derived_from(hole, name));
        for (name, text) in all.iter().filter(|(name, _)| is_named(name)) {
            asked.set(name, text);
        }
        let asked = (!asked.is_empty()).then(|| RunBinding::new(&asked, &asked));
        Self { rules: rules.to_vec(), asked, ..self }
    }

    /// Returns a finder that also looks for the states that the repository had later in the run.
    pub fn with_states(self, states: &Arc<RepositoryStates>) -> Self {
        Self { states: Arc::clone(states), ..self }
    }

    /// Whether values are looked for in a request of a known client, or of another.
    pub fn is_for(&self, is_known_client: bool) -> bool {
        self.binding_for(is_known_client).is_some()
    }

    fn binding_for(&self, is_known_client: bool) -> Option<&RunBinding> {
        if self.is_for_all || is_known_client { self.all.as_ref() } else { self.asked.as_ref() }
    }

    /// The rules for a request with these rules of its client.
    pub fn rules_with(&self, of_client: &[NormalizeRule]) -> BoundRules {
        let rules = self.rules.iter().chain(of_client).cloned().collect();
        BoundRules::new(rules, Arc::default())
    }

    /// Returns the values that are in a request: paths in any string, all others in the holes of the
    /// rules.
    pub fn in_request(
        &self,
        is_known_client: bool,
        rules: &BoundRules,
        parts: &RequestParts<'_>,
        body: &Json<'_>,
        texts: &RequestTexts,
    ) -> RunValues {
        let Some(binding) = self.binding_for(is_known_client) else { return RunValues::default() };
        let at_start = values_in(binding, rules, parts, body, texts);
        if !rules.finds_repository() {
            return at_start;
        }
        // The state of which most is in the request; of several, the earlier one in this order.
        let more = |best: RunValues, state: &RunValues| {
            let of_state = values_in(&RunBinding::new(state, state), rules, parts, body, texts);
            let is_more = of_state.repository_count() > best.repository_count();
            if is_more { of_state } else { best }
        };
        self.states.of_run(binding.current_values()).iter().fold(at_start, more)
    }
}

/// Returns the values of a run that are in a request. `binding` binds them to themselves.
fn values_in(
    binding: &RunBinding,
    rules: &BoundRules,
    parts: &RequestParts<'_>,
    body: &Json<'_>,
    texts: &RequestTexts,
) -> RunValues {
    let found = rules.values_of(binding, parts, body, &IdentityRules::default(), texts);
    let is_found =
        |name: &str| found.contains_key(name) || found.keys().any(|of| is_derived_from(of, name));
    let mut values = binding.current_values().clone();
    values.retain(|name, _| is_found(name));
    values
}
