//! Requests of two runs, compared under rules, with the values of one run in the place of the
//! other's.
//!
//! To look a request up, a recorded one is written with this run's values, and what the rules find
//! in either is written as its kind. Two requests are the same if these texts are the same: there is
//! no other comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::bound_pieces::{BoundPieces, FoundText, RequestRun};
use super::bound_rules::{BoundRules, RequestTexts};
use super::bound_text::write_bound;
use super::digest::sha256_hex;
use super::json::Json;
use super::key::{RequestKey, canonical_text};
use super::request_parts::RequestParts;
use super::rules::IdentityRules;
use super::run_binding::{BoundPair, RunBinding};
use super::run_values::RunValues;

/// A request as it is looked up under a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundRequest {
    /// The key of the request as it is written.
    pub key: RequestKey,
    /// The values that were found in it, and how often, by name.
    pub values: BTreeMap<String, usize>,
    /// The paths that were replaced, and how often, by name.
    replaced: BTreeMap<String, usize>,
    /// What the rules found.
    found: Box<[FoundText]>,
}

/// What was bound in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundValues {
    /// How often each value was bound, by name.
    pub values: BTreeMap<String, usize>,
    /// How often a rule of each kind was needed, and how many results of tools were not compared.
    pub ids: BTreeMap<String, usize>,
    /// The rules that were needed.
    pub rules: BTreeSet<String>,
    /// The values that are not the recorded ones, whether or not the request has them.
    pub pairs: Arc<[BoundPair]>,
}

impl fmt::Display for BoundValues {
    /// Writes the names of the values and the kinds of rules, and how often each was bound, as
    /// `cwd=2, day=1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |(name, count): (&String, &usize)| format!("{name}={count}");
        f.write_str(&self.values.iter().chain(&self.ids).map(count).collect::<Vec<_>>().join(", "))
    }
}

impl BoundRules {
    /// Returns a recorded request as it is looked up; `None` if it is only found as it is, or holds
    /// a path that cannot be bound.
    pub fn recorded_request(
        &self,
        binding: &RunBinding,
        parts: &RequestParts<'_>,
        body: &Json<'_>,
        identity: &IdentityRules,
        texts: &RequestTexts,
    ) -> Option<BoundRequest> {
        let (request, is_unclear) =
            self.write_request(RequestRun::Recorded(binding), parts, body, identity, texts);
        let is_other = !request.replaced.is_empty() || !request.found.is_empty();
        (is_other && !is_unclear).then_some(request)
    }

    /// Returns a request of this run as it is looked up.
    pub fn current_request(
        &self,
        values: &RunValues,
        parts: &RequestParts<'_>,
        body: &Json<'_>,
        identity: &IdentityRules,
        texts: &RequestTexts,
    ) -> BoundRequest {
        self.write_request(RequestRun::Here(values), parts, body, identity, texts).0
    }

    /// Returns how often each value of a run is in a request, by name.
    pub(super) fn values_of(
        &self,
        binding: &RunBinding,
        parts: &RequestParts<'_>,
        body: &Json<'_>,
        identity: &IdentityRules,
        texts: &RequestTexts,
    ) -> BTreeMap<String, usize> {
        self.write_request(RequestRun::Recorded(binding), parts, body, identity, texts).0.values
    }

    fn write_request(
        &self,
        run: RequestRun<'_>,
        parts: &RequestParts<'_>,
        body: &Json<'_>,
        identity: &IdentityRules,
        texts: &RequestTexts,
    ) -> (BoundRequest, bool) {
        let without_body = RequestParts { body: b"", ..*parts };
        let mut out = canonical_text(&without_body, identity);
        out.push(b'\n');
        let pieces = write_bound(self, run, parts, body, identity, texts, &mut out);
        let BoundPieces { values, replaced, found, is_unclear } = pieces;
        let (key, found) = (RequestKey::from_hex(sha256_hex(&out)), found.into_boxed_slice());
        (BoundRequest { key, values, replaced, found }, is_unclear)
    }

    /// Returns what is bound if a recorded request answers one of this run. `None` if they are not
    /// the same.
    pub fn bind_requests(
        &self,
        recorded: &BoundRequest,
        here: &BoundRequest,
    ) -> Option<BoundValues> {
        if recorded.key != here.key || recorded.found.len() != here.found.len() {
            return None;
        }
        let mut bound = BoundValues { values: recorded.replaced.clone(), ..BoundValues::default() };
        for (recorded, here) in recorded.found.iter().zip(&here.found) {
            if recorded.hash == here.hash {
                continue;
            }
            let rule = self.rules.get(usize::from(here.rule))?;
            match (&recorded.value, &here.value) {
                (Some(was), Some(is)) if was.forms & is.forms != 0 => {
                    *bound.values.entry(is.name.to_string()).or_default() += 1;
                }
                // The value in another form.
                (Some(_), _) | (_, Some(_)) => return None,
                (None, None) => *bound.ids.entry(rule.counted_as()).or_default() += 1,
            }
            bound.rules.insert(rule.to_string());
        }
        Some(bound)
    }
}
