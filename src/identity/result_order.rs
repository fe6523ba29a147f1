//! The order of results of tools that follow each other in a request.
//!
//! A client that runs several tools at the same time may send their results in the order in which
//! they ended, which is another one in each run. Each result names its call, so that the order does
//! not matter to a provider.

use std::collections::{BTreeSet, HashMap};

use super::bound_rules::{BoundRules, RequestTexts};
use super::json::Json;
use super::json_text::JsonStr;
use super::normalize::NormalizeRule;

/// The member of a result that belongs to its position, and not to the result: clients mark the last
/// block up to which a provider caches a request.
const OF_POSITION: &str = "cache_control";

/// The results of tools in a body whose order is not compared.
pub(super) struct ResultOrder {
    /// The rule.
    pub(super) rule: usize,
    /// The numbers of the calls, by the addresses of the elements.
    calls: HashMap<usize, usize>,
}

/// Results of different calls that follow each other in a list.
pub(super) struct ResultRun {
    /// The index of the first.
    pub(super) start: usize,
    /// The numbers of their calls, as they come.
    calls: Vec<usize>,
}

impl ResultOrder {
    /// Returns the results in a body; `None` if their order is compared.
    pub(super) fn new(rules: &BoundRules, body: &Json<'_>, texts: &RequestTexts) -> Option<Self> {
        let rule = rules.rules.iter().position(NormalizeRule::is_of_result_order)?;
        let results = texts.tool_results.iter();
        let calls = results.filter_map(|result| {
            Some((body.value_at(&result.element)?.memory_address(), result.call))
        });
        Some(Self { rule, calls: calls.collect() })
    }

    /// Whether an element is a result.
    pub(super) fn is_result(&self, item: &Json<'_>) -> bool {
        self.calls.contains_key(&item.memory_address())
    }

    /// Returns the results that follow each other in a list: at least two, each of another call.
    pub(super) fn find_runs(&self, items: &[Json<'_>]) -> Vec<ResultRun> {
        let mut runs: Vec<ResultRun> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let Some(call) = self.calls.get(&item.memory_address()) else { continue };
            match runs.last_mut().filter(|run| run.start + run.calls.len() == at) {
                Some(run) => run.calls.push(*call),
                None => runs.push(ResultRun { start: at, calls: vec![*call] }),
            }
        }
        runs.retain(|run| run.calls.len() > 1 && run.has_different_calls());
        runs
    }
}

impl ResultRun {
    fn has_different_calls(&self) -> bool {
        self.calls.iter().collect::<BTreeSet<_>>().len() == self.calls.len()
    }

    /// Returns the indices of the results in the order of their calls.
    pub(super) fn sorted_indices(&self) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..self.calls.len()).collect();
        sorted.sort_by_key(|at| self.calls[*at]);
        sorted.into_iter().map(|at| self.start + at).collect()
    }

    /// Returns the order in which the results come, as bytes.
    pub(super) fn order_bytes(&self) -> Vec<u8> {
        self.calls.iter().flat_map(|call| call.to_le_bytes()).collect()
    }
}

/// Whether a member of a result belongs to its position.
pub(super) fn is_of_position(name: JsonStr<'_>) -> bool {
    name == OF_POSITION
}
