//! The binding of requests: which values and rules take part in it, and what it leaves out.

use std::collections::BTreeSet;

use super::matcher::Matcher;
use loomrec_identity::{BoundPair, IdentityRules};
use loomrec_recording::normalized_request::NormalizedRequest;

impl Matcher {
    /// Prepares the look-up of a request with this run's values in the place of recorded ones,
    /// unless a recorded request is exactly the same.
    pub(crate) fn bind_request(&self, observed: &mut NormalizedRequest) {
        let is_known = |(index, rules): (usize, &IdentityRules)| {
            self.groups_by_key.find(index, &observed.key_under(rules)).is_some()
        };
        if !self.bound.is_empty() && !self.rules.iter().enumerate().any(is_known) {
            observed.bound = self.bound.look_ups(observed);
        }
    }

    /// Returns pairs of entries whose requests are not bound, because a call could then be answered
    /// by either.
    pub fn unbound_pairs(&self) -> impl Iterator<Item = [String; 2]> {
        let name = |take: u32| self.name_of(&self.takes[take as usize]).to_string();
        self.bound.conflicting_takes().map(move |pair| pair.map(name))
    }

    /// Returns the rules for what clients make anew, of all recordings and flags.
    pub fn normalize_rules(&self) -> impl Iterator<Item = String> {
        let all = self.source_terms().flat_map(|terms| terms.rules.normalize_rules().to_vec());
        let of_keys = self.rules.iter().flat_map(|rules| rules.normalize_rules().to_vec());
        all.chain(of_keys).map(|rule| rule.to_string())
    }

    /// Returns the values of this run that are not the recorded ones.
    pub fn bound_pairs(&self) -> BTreeSet<BoundPair> {
        self.bound.bound_pairs().cloned().collect()
    }

    /// Returns the rules that recorded requests have beside those: of the presets of their clients,
    /// and for references to calls.
    pub fn client_rules(&self) -> BTreeSet<String> {
        self.bound.client_rules().map(ToString::to_string).collect()
    }

    /// Whether requests of agents that have rules were recorded.
    pub(super) fn has_known_agents(&self) -> bool {
        self.bound.client_rules().any(|rule| !rule.is_reference())
    }

    /// Returns why rules of recordings hold for nothing, for each that does.
    pub fn refused_rules(&self) -> impl Iterator<Item = String> {
        let all = self.source_terms().flat_map(|terms| terms.rules.normalize_rules().to_vec());
        let of_keys = self.rules.iter().flat_map(|rules| rules.normalize_rules().to_vec());
        all.chain(of_keys).filter_map(|rule| rule.refusal_reason())
    }

    /// Whether the paths of every request were bound when it was recorded.
    pub fn binds_all(&self) -> bool {
        self.bound.binds_all()
    }
}
