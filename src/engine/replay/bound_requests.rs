//! Recorded requests by their keys under a binding: with this run's values, such as the working
//! directory, in the place of the recorded run's.
//!
//! They are made for recordings that hold values which differ from this run's. A request is looked
//! up here only if no recorded request is exactly the same.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::fast::RandomState;
use http::HeaderValue;

use loomrec_identity::{
    BoundRequest, BoundValues, IdentityRules, RunBinding, RunValues, ValueReplacer,
};
use loomrec_provider::{Operation, RecognisedCall};
use loomrec_recording::body::Chunk;
use loomrec_recording::entry::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact;

/// The most sets of recorded values that requests are bound under. A call without an exact match is
/// searched once for each set.
const MOST_SCOPES: usize = 32;

/// The requests of all recordings that may be bound.
#[derive(Debug, Default)]
pub(super) struct BoundRequests {
    /// This run's values.
    here: RunValues,
    scopes: Vec<BindingScope>,
    conflicts: Vec<BindingConflict>,
    hashing: RandomState,
}

/// The requests with one set of recorded values, under one set of rules.
#[derive(Debug)]
struct BindingScope {
    recorded: RunValues,
    rules: IdentityRules,
    /// `None` if all values are those of this run.
    binding: Option<Arc<RunBinding>>,
    requests: HashMap<[u8; 32], Vec<BoundGroup>>,
}

/// A recorded request, and the takes that answer it.
#[derive(Debug)]
struct BoundGroup {
    group: u32,
    take: u32,
    request: BoundRequest,
    /// The hash of its answer.
    answer: u64,
    /// Whether another request with another answer has the same key, so that neither is bound.
    is_off: bool,
}

/// Two recorded requests with different answers that are one request under a binding: a take of
/// each.
#[derive(Clone, Copy, Debug)]
struct BindingConflict {
    one: u32,
    other: u32,
}

/// What is kept of an entry until its take has a group.
pub(super) struct BindableEntry {
    scope: usize,
    request: BoundRequest,
    answer: u64,
}

/// How a request was bound.
#[derive(Clone, Debug)]
pub struct RequestBinding {
    /// The values that were bound.
    pub(super) values: Arc<BoundValues>,
    /// The same as a header's value.
    pub(super) header: HeaderValue,
    /// What puts this run's values into the answer; `None` if there is nothing to put.
    pub(super) replacer: Option<Arc<ValueReplacer>>,
}

impl RequestBinding {
    fn new(binding: &RunBinding, values: BoundValues) -> Self {
        let header = HeaderValue::from_str(&values.to_string());
        Self {
            header: header.unwrap_or(HeaderValue::from_static("1")),
            replacer: binding.replacer(&values),
            values: Arc::new(values),
        }
    }
}

impl BoundRequests {
    /// Returns an empty collection for a run with these values.
    pub(super) fn new(here: RunValues) -> Self {
        Self { here, ..Self::default() }
    }

    /// Returns this run's values.
    pub(super) fn here(&self) -> &RunValues {
        &self.here
    }

    /// Whether nothing can be bound.
    pub(super) fn is_empty(&self) -> bool {
        self.scopes.iter().all(|scope| scope.binding.is_none())
    }

    /// Returns takes of recorded requests that are not bound because they would be one: in pairs.
    pub(super) fn conflicts(&self) -> impl Iterator<Item = [u32; 2]> {
        self.conflicts.iter().map(|pair| [pair.one, pair.other])
    }

    /// Reads what is needed to bind an entry's request; `None` if it holds no value that differs
    /// from this run's.
    pub(super) fn read(
        &mut self,
        entry: &Entry,
        call: Option<&RecognisedCall>,
        rules: &IdentityRules,
    ) -> Option<BindableEntry> {
        let has_values = !entry.run_values.is_empty() && !self.here.is_empty();
        if !has_values && rules.normalize().is_empty() {
            return None;
        }
        let scope = self.scope(&entry.run_values, rules)?;
        let binding = self.scopes[scope].binding.as_ref()?;
        let request = entry.request.as_ref()?.bound(call?, binding, rules)?;
        let answer = entry.response.as_ref();
        let answer = answer.map(|response| (response.status, response.payload.bytes()));
        let answer = self.hashing.hash_one((answer, &entry.content, entry.fault.is_some()));
        Some(BindableEntry { scope, request, answer })
    }

    /// Adds the request of a take in this group.
    pub(super) fn add(&mut self, entry: BindableEntry, group: u32, take: u32) {
        let BindableEntry { scope, request, answer } = entry;
        let known = self.scopes[scope].requests.entry(request.key.to_bytes()).or_default();
        if known.iter().any(|known| known.group == group) {
            return;
        }
        let mut is_off = false;
        for other in known.iter_mut().filter(|known| known.answer != answer) {
            if !is_off {
                // One pair names the take. All pairs could be as many as the square of the takes.
                self.conflicts.push(BindingConflict { one: other.take, other: take });
            }
            (is_off, other.is_off) = (true, true);
        }
        known.push(BoundGroup { group, take, request, answer, is_off });
    }

    /// Returns an entry with this run's values in its request, so that a difference to a request of
    /// this run is not one of values.
    pub(super) fn in_this_run(&self, mut entry: Entry) -> Entry {
        let binding = RunBinding::new(&entry.run_values, &self.here, &[]);
        let replacer = binding.and_then(|binding| binding.plain_replacer());
        if let (Some(replacer), Some(request)) = (replacer, &mut entry.request) {
            let mut body = [Chunk { at_ms: 0.0, data: request.body.clone() }];
            redact::replace_values(Operation::OTHER, "application/json", &mut body, &replacer);
            let [Chunk { data, .. }] = body;
            request.body = data;
        }
        entry
    }

    /// Returns the number of the scope of these values and rules; `None` if there are too many.
    fn scope(&mut self, recorded: &RunValues, rules: &IdentityRules) -> Option<usize> {
        let is_it = |scope: &BindingScope| scope.recorded == *recorded && scope.rules == *rules;
        if let Some(known) = self.scopes.iter().position(is_it) {
            return Some(known);
        }
        if self.scopes.len() >= MOST_SCOPES {
            return None;
        }
        self.scopes.push(BindingScope {
            recorded: recorded.clone(),
            rules: rules.clone(),
            binding: RunBinding::new(recorded, &self.here, rules.normalize()).map(Arc::new),
            requests: HashMap::new(),
        });
        Some(self.scopes.len() - 1)
    }

    /// Returns the request as it is looked up in each scope.
    pub(super) fn look_ups(&self, observed: &NormalizedRequest) -> Vec<Option<BoundRequest>> {
        let look_up = |scope: &BindingScope| {
            observed.request.bound(&observed.call, scope.binding.as_ref()?, &scope.rules)
        };
        self.scopes.iter().map(look_up).collect()
    }

    /// Returns all groups whose requests these look-ups are, also those that answer no call.
    pub(super) fn groups_of(&self, look_ups: &[Option<BoundRequest>]) -> Vec<u32> {
        let mut groups = Vec::new();
        for (scope, here) in self.scopes.iter().zip(look_ups) {
            let (Some(binding), Some(here)) = (&scope.binding, here) else { continue };
            let known = scope.requests.get(&here.key.to_bytes()).into_iter().flatten();
            let known = known.filter(|known| binding.bind(&known.request, here).is_some());
            groups.extend(known.map(|known| known.group));
        }
        groups
    }

    /// Returns the groups whose requests answer these look-ups, and how they are bound. Returns
    /// none if the groups have different answers.
    pub(super) fn find(
        &self,
        look_ups: &[Option<BoundRequest>],
    ) -> Option<(Vec<u32>, RequestBinding)> {
        let mut found: Option<(Vec<u32>, RequestBinding, u64)> = None;
        for (scope, here) in self.scopes.iter().zip(look_ups) {
            let (Some(binding), Some(here)) = (&scope.binding, here) else { continue };
            let known = scope.requests.get(&here.key.to_bytes()).into_iter().flatten();
            for known in known.filter(|known| !known.is_off) {
                let Some(values) = binding.bind(&known.request, here) else { continue };
                match &mut found {
                    None => {
                        let bound = RequestBinding::new(binding, values);
                        found = Some((vec![known.group], bound, known.answer));
                    }
                    Some((groups, _, answer)) if *answer == known.answer => {
                        groups.push(known.group);
                    }
                    // Nothing says which of them is meant.
                    Some(_) => return None,
                }
            }
        }
        found.map(|(groups, bound, _)| (groups, bound))
    }
}
