//! A recorded request and the request of another run that corresponds to it.

use std::collections::HashMap;
use std::sync::Arc;

use super::aligned_text::TwoRuns;
use super::carried_ids::CarriedIds;
use loomrec_identity::{
    BoundValues, ClientPreset, IdentityRules, NormalizeRule, RequestDelta, RunValues, TextRole,
    request_deltas,
};
use loomrec_recording::Entry;
use loomrec_recording::normalized_request::{NormalizedRequest, bound_rules};

/// The most differences of a pair that are looked at.
const MOST: usize = 4096;

/// One request of a pair.
#[derive(Clone, Debug)]
pub struct PairedRequest {
    observed: NormalizedRequest,
    upstream: Option<String>,
    values: RunValues,
    preset: Option<&'static ClientPreset>,
}

/// A recorded request and that of another run.
#[derive(Clone, Debug)]
pub struct RequestPair {
    old: PairedRequest,
    new: PairedRequest,
}

impl PairedRequest {
    /// Returns the request of an entry, if it has one, with the recorded ids in the place of these.
    pub fn from_entry(mut entry: Entry, carried: &CarriedIds) -> Option<Self> {
        entry.change_request_body(|body| Some(carried.put_into(body.clone())));
        let observed = NormalizedRequest::with_unknown_key(&entry, entry.recognise_call()?)?;
        let preset = entry.preset.as_deref().and_then(ClientPreset::of_entry);
        Some(Self { observed, upstream: entry.upstream, values: entry.run_values, preset })
    }
}

impl RequestPair {
    /// Pairs two requests.
    pub fn new(old: PairedRequest, new: PairedRequest) -> Self {
        Self { old, new }
    }

    /// Returns the size of both bodies in bytes.
    pub fn byte_size(&self) -> usize {
        self.old.observed.body().len() + self.new.observed.body().len()
    }

    /// Returns what is bound if the recorded request answers the other one: nothing if it is
    /// exactly the same. `None` if it does not answer it.
    pub fn bind(&self, rules: &IdentityRules) -> Option<BoundValues> {
        self.bind_with(rules, &[])
    }

    /// As [`Self::bind`], with further values of the two runs: the name, the recorded text, and
    /// the other text.
    pub(super) fn bind_with(
        &self,
        rules: &IdentityRules,
        values: &[(String, String, String)],
    ) -> Option<BoundValues> {
        if self.is_elsewhere() {
            return None;
        }
        if self.old.observed.key_under(rules) == self.new.observed.key_under(rules) {
            return Some(BoundValues::default());
        }
        let runs = self.runs_with_values(values);
        let binding = runs.binding();
        let bound_rules = bound_rules(rules, self.old.preset, Arc::default());
        let old = self.old.observed.bound_recorded(&bound_rules, binding, rules)?;
        let new = self.new.observed.bound_here(&bound_rules, binding.current_values(), rules)?;
        bound_rules.bind_requests(&old, &new)
    }

    /// Returns the rules of the client that made the recorded request.
    pub(super) fn client_rules(&self) -> &'static [NormalizeRule] {
        self.old.preset.map_or(&[], |preset| preset.rules.as_slice())
    }

    /// Returns the paths of the two runs, with further values.
    pub(super) fn runs_with_values(&self, values: &[(String, String, String)]) -> TwoRuns {
        let (mut old, mut new) = (self.old.values.clone(), self.new.values.clone());
        for (name, recorded, now) in values {
            old.set(name.clone(), recorded.clone());
            new.set(name.clone(), now.clone());
        }
        TwoRuns::new(&old, &new)
    }

    /// Returns whose the texts of the recorded request are, by their places.
    pub(super) fn text_roles(&self) -> HashMap<String, TextRole> {
        let roles = self.old.observed.text_roles().into_iter();
        roles.map(|(role, place)| (place.to_string(), role)).collect()
    }

    /// Returns where the requests differ.
    pub(super) fn deltas(&self, rules: &IdentityRules) -> Vec<RequestDelta> {
        let Self { old, new } = self;
        let mut found = Vec::new();
        if self.is_elsewhere() {
            found.push(RequestDelta {
                pointer: "upstream".to_owned(),
                recorded: self.old.upstream.clone(),
                now: self.new.upstream.clone(),
            });
        }
        found.extend(request_deltas(
            &old.observed.key_parts(),
            &new.observed.key_parts(),
            rules,
            MOST,
        ));
        found
    }

    /// Whether the requests go to different upstreams.
    fn is_elsewhere(&self) -> bool {
        let (old, new) = (&self.old.upstream, &self.new.upstream);
        old.is_some() && new.is_some() && old != new
    }
}
