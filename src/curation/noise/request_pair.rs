//! A recorded request and the request of another run that corresponds to it.

use super::carried_ids::CarriedIds;
use loomrec_identity::{
    BoundValues, IdentityRules, NormalizeRule, RequestDelta, RequestKey, RunBinding, RunValues,
    request_deltas,
};
use loomrec_provider::RecognisedCall;
use loomrec_recording::{Entry, RecordedRequest};

/// The most differences of a pair that are looked at.
const MOST: usize = 4096;

/// One request of a pair.
#[derive(Clone, Debug)]
pub struct PairedRequest {
    request: RecordedRequest,
    call: RecognisedCall,
    upstream: Option<String>,
    values: RunValues,
}

/// A recorded request and that of another run.
#[derive(Clone, Debug)]
pub struct RequestPair {
    old: PairedRequest,
    new: PairedRequest,
}

impl PairedRequest {
    /// Returns the request of an entry, if it has one, with the recorded ids in the place of these.
    pub fn from_entry(entry: Entry, carried: &CarriedIds) -> Option<Self> {
        let mut request = entry.request?;
        request.body = carried.put_into(request.body);
        let call = request.recognise();
        Some(Self { request, call, upstream: entry.upstream, values: entry.run_values })
    }

    fn key(&self, rules: &IdentityRules) -> RequestKey {
        self.request.key(&self.call, rules)
    }
}

impl RequestPair {
    /// Pairs two requests.
    pub fn new(old: PairedRequest, new: PairedRequest) -> Self {
        Self { old, new }
    }

    /// Returns the size of both bodies in bytes.
    pub fn size(&self) -> usize {
        self.old.request.body.len() + self.new.request.body.len()
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
        if self.old.key(rules) == self.new.key(rules) {
            return Some(BoundValues::default());
        }
        let binding = self.binding(rules.normalize(), values)?;
        let request = |side: &PairedRequest| side.request.bound(&side.call, &binding, rules);
        binding.bind(&request(&self.old)?, &request(&self.new)?)
    }

    /// Returns the binding of the values of the two runs.
    pub(super) fn binding(
        &self,
        rules: &[NormalizeRule],
        values: &[(String, String, String)],
    ) -> Option<RunBinding> {
        let (mut old, mut new) = (self.old.values.clone(), self.new.values.clone());
        for (name, recorded, now) in values {
            old.set(name.clone(), recorded.clone());
            new.set(name.clone(), now.clone());
        }
        RunBinding::new(&old, &new, rules)
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
            &old.request.parts(&old.call),
            &new.request.parts(&new.call),
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
