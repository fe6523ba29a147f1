//! Recorded requests by their keys under a binding: with this run's values, such as the working
//! directory, in the place of the recorded run's.
//!
//! They are made for recordings that hold values of a run, have rules, or refer to calls of tools
//! by ids that clients made. A request is looked up here only if no recorded request is exactly the
//! same.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::RandomState;
use http::HeaderValue;

use super::call_references::{has_other_ids, refers_to_calls};
use loomrec_identity::run_values::CWD;
use loomrec_identity::{
    BoundPair, BoundRequest, BoundRules, BoundValues, ClientPreset, IdentityRules, NormalizeRule,
    RepositoryStates, RunBinding, RunValues,
};
use loomrec_provider::{Operation, RecognisedCall};
use loomrec_recording::body::Chunk;
use loomrec_recording::entry::Entry;
use loomrec_recording::normalized_request::{NormalizedRequest, bound_rules};
use loomrec_recording::redact;

/// The most sets of rules that requests are compared under. A call without an exact match is
/// searched once for each set.
const MOST_SCOPES: usize = 32;

/// The most sets of recorded values.
const MOST_BINDINGS: usize = 4096;

/// The requests of all recordings that may be bound.
#[derive(Debug, Default)]
pub(super) struct BoundRequests {
    /// This run's values.
    here: RunValues,
    /// The states of the repository after the start of the run.
    states: Arc<RepositoryStates>,
    scopes: Vec<BindingScope>,
    bindings: HashMap<RunValues, Arc<RunBinding>>,
    conflicts: Vec<BindingConflict>,
    /// The ids of calls that recorded answers gave.
    given: Arc<HashSet<String>>,
    /// Whether requests of known clients are compared as any others.
    ignores_presets: bool,
    /// Whether the paths of every request were bound when it was recorded.
    binds_all: bool,
    /// Entries that are compared once all are known.
    waiting: Vec<WaitingEntry>,
    hashing: RandomState,
}

/// The requests under one set of rules.
#[derive(Debug)]
struct BindingScope {
    identity: IdentityRules,
    preset: Option<&'static str>,
    rules: BoundRules,
    requests: HashMap<[u8; 32], Vec<BoundGroup>>,
}

/// A recorded request, and the takes that answer it.
#[derive(Debug)]
struct BoundGroup {
    group: u32,
    take: u32,
    bound: BoundRequest,
    binding: Arc<RunBinding>,
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

/// What is kept of an entry until all answers are known.
#[derive(Debug)]
pub(super) struct BindableEntry {
    observed: NormalizedRequest,
    run_values: RunValues,
    preset: Option<&'static ClientPreset>,
    /// The status and the content of its answer, and whether it has a fault.
    answer: (Option<(u16, Bytes)>, Option<String>, bool),
}

/// An entry whose take has a group.
#[derive(Debug)]
struct WaitingEntry {
    entry: BindableEntry,
    identity: IdentityRules,
    group: u32,
    take: u32,
}

/// How a request was bound.
#[derive(Clone, Debug)]
pub struct RequestBinding {
    /// The values that were bound.
    pub(super) values: Arc<BoundValues>,
    /// The same as a header's value.
    pub(super) header: HeaderValue,
    /// What puts this run's paths into the answer; `None` if no path differs.
    pub(super) binding: Option<Arc<RunBinding>>,
}

impl RequestBinding {
    fn new(binding: &Arc<RunBinding>, mut values: BoundValues) -> Self {
        values.pairs = Arc::clone(binding.differing_values());
        let header = HeaderValue::from_str(&values.to_string());
        Self {
            header: header.unwrap_or(HeaderValue::from_static("1")),
            binding: binding.changes_paths().then(|| Arc::clone(binding)),
            values: Arc::new(values),
        }
    }
}

impl BoundRequests {
    /// Returns an empty collection for a run with these values.
    pub(super) fn new(here: RunValues) -> Self {
        Self { here, ..Self::default() }
    }

    /// Returns a collection that also knows the states that the repository had later in the run.
    pub(super) fn with_states(self, states: Option<&Arc<RepositoryStates>>) -> Self {
        Self { states: states.cloned().unwrap_or_default(), ..self }
    }

    /// Adds the state of the repository in these values.
    pub(super) fn add_state(&self, values: &RunValues) {
        self.states.add(values);
    }

    /// Returns a collection that compares requests of known clients as any others.
    pub(super) fn without_presets(self, ignores_presets: bool) -> Self {
        Self { ignores_presets, ..self }
    }

    /// Whether the paths of every request were bound when it was recorded.
    pub(super) fn binds_all(&self) -> bool {
        self.binds_all
    }

    /// Whether nothing can be bound.
    pub(super) fn is_empty(&self) -> bool {
        self.scopes.iter().all(|scope| scope.requests.is_empty())
    }

    /// Returns takes of recorded requests that are not bound because they would be one: in pairs.
    pub(super) fn conflicting_takes(&self) -> impl Iterator<Item = [u32; 2]> {
        self.conflicts.iter().map(|pair| [pair.one, pair.other])
    }

    /// Returns the values that are not the recorded ones.
    pub(super) fn bound_pairs(&self) -> impl Iterator<Item = &BoundPair> {
        self.bindings.values().flat_map(|binding| binding.differing_values().iter())
    }

    /// Returns the rules that are neither of a recording nor of a flag.
    pub(super) fn client_rules(&self) -> impl Iterator<Item = &NormalizeRule> {
        self.scopes.iter().flat_map(|scope| {
            let stated = scope.identity.normalize_rules();
            scope.rules.rules().iter().filter(move |rule| !stated.contains(rule))
        })
    }

    /// Reads what is needed to bind an entry's request; `None` if it is only found as it is.
    pub(super) fn read_entry(
        &mut self,
        entry: &Entry,
        call: Option<&RecognisedCall>,
        identity: &IdentityRules,
    ) -> Option<BindableEntry> {
        if !entry.tool_calls.is_empty() {
            let ids = entry.tool_calls.iter().map(|call| call.id.clone());
            let ids = ids.filter(|id| !id.is_empty());
            Arc::make_mut(&mut self.given).extend(ids);
        }
        let body = entry.request_body()?;
        let mut run_values = entry.run_values.clone();
        self.binds_all |= entry.preset.is_none() && run_values.get(CWD).is_some();
        let preset = self.preset_of(entry);
        if self.ignores_presets && entry.preset.is_some() {
            run_values = RunValues::default();
        }
        let has_rules = !identity.normalize_rules().is_empty() || preset.is_some();
        if run_values.is_empty() && !has_rules && !refers_to_calls(body) {
            return None;
        }
        let answer = entry.answer_status().zip(entry.answer_bytes());
        Some(BindableEntry {
            observed: NormalizedRequest::with_unknown_key(entry, call?.clone())?,
            run_values,
            preset,
            answer: (answer, entry.content.clone(), entry.fault.is_some()),
        })
    }

    /// Adds the request of a take in this group. It is found after [`Self::bind_added_entries`].
    pub(super) fn add_entry(
        &mut self,
        entry: BindableEntry,
        identity: &IdentityRules,
        group: u32,
        take: u32,
    ) {
        self.waiting.push(WaitingEntry { entry, identity: identity.clone(), group, take });
    }

    /// Writes the requests that were added as they are looked up.
    pub(super) fn bind_added_entries(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            let WaitingEntry { entry, identity, group, take } = waiting;
            let is_plain = entry.run_values.is_empty()
                && entry.preset.is_none()
                && identity.normalize_rules().is_empty();
            if is_plain && !has_other_ids(entry.observed.body(), &self.given) {
                continue;
            }
            let Some(scope) = self.scope_number(&identity, entry.preset) else { continue };
            let Some(binding) = self.binding_of_values(&entry.run_values) else { continue };
            let rules = &self.scopes[scope].rules;
            let bound = entry.observed.bound_recorded(rules, &binding, &identity);
            let Some(bound) = bound else { continue };
            let bytes = entry.answer.0.as_ref().map(|(_, bytes)| bytes);
            // The same answer is another one where other paths are replaced in it.
            let holds_path =
                binding.changes_paths() && bytes.is_some_and(|it| binding.may_hold(it));
            let paths = holds_path.then_some(&entry.run_values);
            let answer = self.hashing.hash_one((&entry.answer, paths));
            let made = BoundGroup { group, take, bound, binding, answer, is_off: false };
            self.insert_group(scope, made);
        }
    }

    fn insert_group(&mut self, scope: usize, mut group: BoundGroup) {
        let key = group.bound.key.to_bytes();
        let known = self.scopes[scope].requests.entry(key).or_default();
        if known.iter().any(|known| known.group == group.group) {
            return;
        }
        for other in known.iter_mut().filter(|known| known.answer != group.answer) {
            if !group.is_off {
                // One pair names the take. All pairs could be as many as the square of the takes.
                self.conflicts.push(BindingConflict { one: other.take, other: group.take });
            }
            (group.is_off, other.is_off) = (true, true);
        }
        known.push(group);
    }

    /// Returns the preset whose rules hold for an entry.
    pub(super) fn preset_of(&self, entry: &Entry) -> Option<&'static ClientPreset> {
        entry.preset.as_deref().filter(|_| !self.ignores_presets).and_then(ClientPreset::of_entry)
    }

    /// Returns what explains how a request of this run differs from that of an entry: the rules of
    /// its recording and its preset, and the values of both runs.
    pub(super) fn rules_and_binding(
        &self,
        entry: &Entry,
        rules: &IdentityRules,
    ) -> (IdentityRules, RunBinding) {
        (self.rules_of(entry, rules), RunBinding::new(&entry.run_values, &self.here))
    }

    /// Returns the rules of an entry's recording, with those of its preset.
    pub(super) fn rules_of(&self, entry: &Entry, rules: &IdentityRules) -> IdentityRules {
        let of_preset = self.preset_of(entry).into_iter().flat_map(|preset| &preset.rules).cloned();
        rules.with_normalize(of_preset)
    }

    /// Returns an entry with this run's paths in its request, so that a difference to a request of
    /// this run is not one of paths.
    pub(super) fn in_this_run(&self, mut entry: Entry) -> Entry {
        let binding = RunBinding::new(&entry.run_values, &self.here);
        if binding.changes_paths() {
            entry.change_request_body(|body| {
                let mut body = [Chunk { at_ms: 0.0, data: body.clone() }];
                let json = "application/json";
                redact::replace_paths(Operation::OTHER, json, &mut body, &binding).ok()?;
                let [Chunk { data, .. }] = body;
                Some(data)
            });
        }
        entry
    }

    /// Returns the number of the scope of these rules; `None` if there are too many.
    fn scope_number(
        &mut self,
        identity: &IdentityRules,
        preset: Option<&'static ClientPreset>,
    ) -> Option<usize> {
        let name = preset.map(|preset| preset.name);
        let is_it = |scope: &BindingScope| scope.preset == name && scope.identity == *identity;
        if let Some(known) = self.scopes.iter().position(is_it) {
            return Some(known);
        }
        if self.scopes.len() >= MOST_SCOPES {
            return None;
        }
        self.scopes.push(BindingScope {
            identity: identity.clone(),
            preset: name,
            rules: bound_rules(identity, preset, Arc::clone(&self.given)),
            requests: HashMap::new(),
        });
        Some(self.scopes.len() - 1)
    }

    /// Returns the binding of these recorded values; `None` if there are too many sets of them.
    fn binding_of_values(&mut self, recorded: &RunValues) -> Option<Arc<RunBinding>> {
        if let Some(known) = self.bindings.get(recorded) {
            return Some(Arc::clone(known));
        }
        if self.bindings.len() >= MOST_BINDINGS {
            return None;
        }
        let binding = Arc::new(RunBinding::new(recorded, &self.here));
        self.bindings.insert(recorded.clone(), Arc::clone(&binding));
        Some(binding)
    }

    /// Returns the request as it is looked up in each scope.
    pub(super) fn look_ups(&self, observed: &NormalizedRequest) -> Vec<Option<BoundRequest>> {
        let look_up = |scope: &BindingScope| {
            if scope.requests.is_empty() {
                return None;
            }
            let BindingScope { identity, rules, .. } = scope;
            let with = |values: &RunValues| observed.bound_here(rules, values, identity);
            let at_start = with(&self.here);
            let is_known = |it: &BoundRequest| scope.requests.contains_key(&it.key.to_bytes());
            if !rules.finds_repository() || at_start.as_ref().is_none_or(is_known) {
                return at_start;
            }
            // Of several values of the repository, some may be those of the start, and others
            // later.
            self.states.of_run(&self.here).iter().filter_map(with).find(is_known).or(at_start)
        };
        self.scopes.iter().map(look_up).collect()
    }

    /// Returns all groups whose requests these look-ups are, also those that answer no call.
    pub(super) fn groups_of(&self, look_ups: &[Option<BoundRequest>]) -> Vec<u32> {
        let mut groups = Vec::new();
        for (scope, here) in self.scopes.iter().zip(look_ups) {
            let Some(here) = here else { continue };
            let known = scope.requests.get(&here.key.to_bytes()).into_iter().flatten();
            let known =
                known.filter(|known| scope.rules.bind_requests(&known.bound, here).is_some());
            groups.extend(known.map(|known| known.group));
        }
        groups
    }

    /// Returns the groups whose requests answer these look-ups, and how they are bound. Returns
    /// none if the groups have different answers.
    pub(super) fn find_groups(
        &self,
        look_ups: &[Option<BoundRequest>],
    ) -> Option<(Vec<u32>, RequestBinding)> {
        let mut found: Option<(Vec<u32>, RequestBinding, u64)> = None;
        for (scope, here) in self.scopes.iter().zip(look_ups) {
            let Some(here) = here else { continue };
            let known = scope.requests.get(&here.key.to_bytes()).into_iter().flatten();
            for known in known.filter(|known| !known.is_off) {
                let Some(values) = scope.rules.bind_requests(&known.bound, here) else {
                    continue;
                };
                match &mut found {
                    None => {
                        let bound = RequestBinding::new(&known.binding, values);
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
