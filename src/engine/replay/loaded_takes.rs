//! The takes of all sources, as they were loaded, and how far the run has come in them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::adapter_entries::AdapterEntries;
use super::bound_requests::BoundRequests;
use super::connection_opening::ConnectionOpenings;
use super::entry_texts::EntryTexts;
use super::exact_requests::ExactRequests;
use super::group::{KeyedGroups, TakeGroup};
use super::name_ids::NameIds;
use super::pool::Repeat;
use super::recorded_addresses::RecordedAddresses;
use super::recorded_ends::{RecordedEnds, TakeSpan};
use super::recorded_keys::RecordedKeys;
use super::recorded_servers::RecordedServers;
use super::step_index::StepIndex;
use super::take::ReplayTake;
use super::take_scope::TakeScope;
use loomrec_identity::IdentityRules;
use loomrec_recording::interned::InternedBytes;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_store::Recording;

/// One recording to answer from.
#[derive(Debug)]
pub struct ReplaySource {
    /// Its path, as the user gave it.
    pub label: String,
    /// The open recording. What is not kept of it in memory is read again when it is needed.
    pub recording: Recording,
}

/// All takes of all sources.
#[derive(Debug, Default)]
pub struct LoadedTakes {
    pub(super) sources: Vec<ReplaySource>,
    /// The labels of the sources.
    pub(super) labels: Vec<String>,
    pub(super) rules: Vec<IdentityRules>,
    /// The headers that are not compared with entries of a source, because the version that
    /// recorded these did not store their values. At most a few sets.
    pub(super) not_stored: Vec<(usize, Vec<String>)>,
    /// Of each source, the index of those that are in force for its takes.
    pub(super) rules_by_source: Vec<usize>,
    /// The index of those that misses are explained by.
    pub(super) explaining_rules: usize,
    pub(super) takes: Vec<ReplayTake>,
    /// The texts of small entries of large recordings.
    pub(super) texts: EntryTexts,
    pub(super) groups_by_key: KeyedGroups,
    /// Takes by the step's id, and the groups of entries without a hash, which are served
    /// unchecked.
    pub(super) steps: StepIndex,
    pub(super) groups: Vec<TakeGroup>,
    /// The group of each take.
    pub(super) homes: Vec<u32>,
    /// What repeats, for each source.
    pub(super) repeat: Vec<Repeat>,
    /// The hashes that entries state for their requests, unless a key under the default rules is
    /// the same.
    pub(super) hashes: InternedBytes,
    /// The ids of steps, sessions, upstreams and mounts of paths.
    pub(super) names: NameIds,
    pub(super) upstreams: BTreeSet<String>,
    /// The addresses of upstreams that entries name.
    pub(super) origins: RecordedAddresses,
    /// The servers of tools that were called.
    pub(super) servers: RecordedServers,
    /// The key variables of the recorded programs.
    pub(super) recorded_keys: RecordedKeys,
    /// The requests that hold values of their run.
    pub(super) bound: BoundRequests,
    /// The entries that the hashes of adapters can find.
    pub(super) adapter: AdapterEntries,
    /// Whether any entry declares a fault.
    pub(super) has_declared_fault: bool,
    /// Whether there is a take of whose answer no client got anything.
    pub(super) has_undelivered: bool,
    /// Whether takes of one key have paths with and without a leading `/v1`.
    pub(super) has_both_versions: bool,
    /// The number of takes whose answers were edited by hand.
    pub(super) edited: usize,
    /// Whether a fault of an entry that does not end its call with an error uses up the take.
    pub(super) faults_use_takes: bool,
    /// Whether the spans of takes are collected, to know the order in which their answers ended.
    pub(super) keeps_end_order: bool,
    /// The spans of the takes that were read so far.
    pub(super) spans: Vec<TakeSpan>,
    /// The takes whose calls overlapped.
    pub(super) ends: Arc<RecordedEnds>,
    /// Whether it answers a session.
    pub(super) is_of_session: bool,
    /// Whether a take answers only calls of exactly its own step, session and form.
    pub(super) exact_scope: bool,
    /// How the recorded connections begin.
    pub(super) openings: ConnectionOpenings,
    /// The recorded requests, if all keys are made under one set of rules.
    pub(super) recalled: ExactRequests,
}

impl LoadedTakes {
    /// Returns the index of these rules, which are added if they are new.
    pub(super) fn rule_index(&mut self, rules: &IdentityRules) -> usize {
        self.rules.iter().position(|known| known == rules).unwrap_or_else(|| {
            self.rules.push(rules.clone());
            self.rules.len() - 1
        })
    }

    /// Returns the scope of a call among the takes of these groups: if any of them has exactly the
    /// path of the call, only such takes answer it.
    pub(super) fn scope_among(
        &self,
        groups: &[u32],
        call: &NormalizedRequest,
        scope: TakeScope,
    ) -> TakeScope {
        if !self.has_both_versions {
            return scope;
        }
        let exact = scope.with_exact_path(call);
        let mut takes = groups.iter().flat_map(|&group| self.groups[group as usize].takes());
        let is_exact = |&take: &u32| {
            let take = &self.takes[take as usize];
            take.has_version.is_some() && exact.contains_take(take)
        };
        if takes.any(is_exact) { exact } else { scope }
    }

    /// Returns the addresses of upstreams that entries name.
    pub fn recorded_addresses(&self) -> &RecordedAddresses {
        &self.origins
    }

    /// Returns the servers of tools that were called.
    pub fn recorded_servers(&self) -> &RecordedServers {
        &self.servers
    }
}
