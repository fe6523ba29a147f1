//! The matcher: decides which take a request gets.
//!
//! Takes are grouped by request key. Within a group they are used in recorded order, each once in
//! each session. Requests are never matched by similarity. Each group has its own lock, so
//! unrelated calls never wait for each other.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use super::bound_requests::RequestBinding;
use super::end_turn::EndTurn;
use super::loaded_takes::LoadedTakes;
use super::matched_by::MatchedBy;
use super::mode::RequestedMode;
use super::name_ids::NameId;
use super::pool::{PoolChoice, PoolKey, PoolKind, Repeat, TakeSet};
use super::reason::MissReason;
use super::session_usage::SessionUsage;
use super::take::ReplayTake;
use super::take_scope::TakeScope;
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_provider::RecognisedCall;
use loomrec_recording::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::request_print::RequestPrint;

/// A take that was found for a call.
#[derive(Debug)]
pub struct TakeMatch<'a> {
    /// The take.
    pub take: &'a ReplayTake,
    /// How it was found.
    pub by: MatchedBy,
    /// The index of the take.
    pub(super) index: usize,
    /// Which call of the take this is, from 1.
    pub(super) nth: u32,
    /// How the request was bound, if it was.
    pub(super) bound: Option<Box<RequestBinding>>,
    /// The turn of the call among answers that overlapped in the recorded run.
    pub(super) turn: Option<Box<EndTurn>>,
}

impl TakeMatch<'_> {
    /// Returns the index of the take, which [`Matcher::release_take`] needs.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Takes the call out of the order in which answers end: it waits for no other, and no other
    /// waits for it.
    pub(crate) fn leave_order(&mut self) {
        self.turn = None;
    }
}

/// The takes of all sources, and how far calls have come in them.
#[derive(Debug, Default)]
pub struct Matcher {
    /// The takes. All matchers of a server share them.
    pub(super) recorded: Arc<LoadedTakes>,
    /// How far an open session has come. `None` for the matcher of the run, whose progress is kept
    /// with the takes.
    pub(super) usage: Option<SessionUsage>,
}

impl Deref for Matcher {
    type Target = LoadedTakes;

    fn deref(&self) -> &LoadedTakes {
        &self.recorded
    }
}

/// A call, with its names as the ids that takes are kept under.
pub(super) struct CallQuery<'a> {
    pub(super) observed: &'a NormalizedRequest,
    session: Option<NameId>,
    step: Option<NameId>,
    pub(super) spot: TakeScope,
    wanted: RequestedMode,
    /// Whether it asks for takes of whose answers no client got anything.
    undelivered: bool,
}

/// The result of looking through one pool of takes.
enum GroupChoice {
    Take(usize),
    Incomplete,
    Exhausted,
    Empty,
}

impl Matcher {
    /// Returns the matcher of a run with these takes.
    pub(super) fn of_run(recorded: LoadedTakes) -> Self {
        Self { recorded: Arc::new(recorded), usage: None }
    }

    /// Returns the rules that keys are made under.
    pub fn identity_rules(&self) -> &[IdentityRules] {
        &self.rules
    }

    /// Returns what the request with this print asks for, and its key, without parsing it. `None` if
    /// no recorded request is exactly the same, or if keys under several rules are needed.
    pub fn recall_exact(
        &self,
        print: impl FnOnce() -> Option<RequestPrint>,
    ) -> Option<(RecognisedCall, (IdentityRules, RequestKey))> {
        let [rules] = self.rules.as_slice() else { return None };
        let (call, key) = self.recalled.find(print)?;
        Some((call.clone(), (rules.clone(), key.clone())))
    }

    /// Returns the key of the recorded request that `observed` is, under the rules that find it. It
    /// is the same for all calls that find it, whatever the rules ignore in them. `None` if there
    /// is no such request.
    pub fn recorded_key(&self, observed: &NormalizedRequest) -> Option<RequestKey> {
        let mut rules = self.rules.iter().enumerate();
        let key = |rules| observed.key_under(rules);
        let exact = rules.find_map(|(index, rules)| self.groups_by_key.find(index, &key(rules)));
        let bound = || self.bound.find_groups(&observed.bound)?.0.first().copied();
        let group = exact.or_else(bound)?;
        self.groups_by_key.key_of(group)
    }

    /// Returns the rules under which calls that nothing recorded answers are the same.
    pub fn rules_of_misses(&self) -> Option<&IdentityRules> {
        self.rules.get(self.explaining_rules)
    }

    /// Finds the take for `observed`, and uses it up.
    ///
    /// # Errors
    /// The reason why there is no take for it.
    pub fn find_take(&self, observed: &NormalizedRequest) -> Result<TakeMatch<'_>, MissReason> {
        let group = |(index, rules): (usize, &IdentityRules)| {
            let key = observed.key_under(rules);
            self.groups_by_key.find(index, &key)
        };
        let mut groups = self.rules.iter().enumerate().filter_map(group);
        // Usually there is one set of rules. Then no list has to be made.
        let (first, rest): (Option<u32>, Vec<u32>) = (groups.next(), groups.collect());
        let all;
        let groups = match (first.as_slice(), rest.is_empty()) {
            (only, true) => only,
            (first, false) => {
                all = [first, &rest].concat();
                &all
            }
        };
        let query = self.call_query(observed);
        if groups.is_empty()
            && let Some((groups, bound)) = self.bound.find_groups(&observed.bound)
        {
            let found = self.find_in(&groups, &query, MatchedBy::Bound)?;
            return Ok(TakeMatch { bound: Some(Box::new(bound)), ..found });
        }
        if groups.is_empty() && !self.adapter.is_empty() {
            return self.find_by_adapter(&query);
        }
        self.find_in(groups, &query, MatchedBy::RequestHash)
    }

    /// Finds a take in these groups, which were found by `by`, and uses it up.
    ///
    /// # Errors
    /// The reason why there is no take.
    pub(super) fn find_in(
        &self,
        groups: &[u32],
        query: &CallQuery<'_>,
        by: MatchedBy,
    ) -> Result<TakeMatch<'_>, MissReason> {
        let found = self.find_among(groups, query, by);
        match found {
            // What no client got comes after all that clients got.
            Err(reason) if self.has_undelivered && !query.undelivered => {
                let query = CallQuery { undelivered: true, ..*query };
                self.find_among(groups, &query, by).map_err(|last| match last {
                    MissReason::Exhausted => last,
                    _ => reason,
                })
            }
            found => found,
        }
    }

    /// Finds a take that a client got for a call that has been given one of which no client got
    /// anything, and uses it up: another call may have given it back meanwhile.
    pub(super) fn find_delivered(
        &self,
        of: &TakeMatch<'_>,
        observed: &NormalizedRequest,
    ) -> Option<TakeMatch<'_>> {
        let home = *self.homes.get(of.index)?;
        let found = self.find_among(&[home], &self.call_query(observed), of.by).ok()?;
        Some(TakeMatch { bound: of.bound.clone(), ..found })
    }

    fn find_among(
        &self,
        groups: &[u32],
        query: &CallQuery<'_>,
        by: MatchedBy,
    ) -> Result<TakeMatch<'_>, MissReason> {
        let spot = self.scope_among(groups, query.observed, query.spot);
        let query = &CallQuery { spot, ..*query };
        if let Some(step) = query.step.filter(|step| self.steps.contains(*step)) {
            return self.find_in_step(step, groups, query);
        }
        // A call without a step id prefers takes that were recorded without one.
        let has_step = query.observed.step.is_some();
        let plain = (!has_step || !self.exact_scope).then_some(PoolKind::Plain);
        let stepped = (!has_step && !self.exact_scope).then_some(PoolKind::Stepped);
        let kinds = [plain, stepped];
        let mut reason = None;
        for group in groups {
            for kind in kinds.into_iter().flatten() {
                match self.choose_take(*group, query, kind) {
                    GroupChoice::Take(take) => return Ok(self.match_take(take, by)),
                    GroupChoice::Incomplete => reason = Some(MissReason::Incomplete),
                    GroupChoice::Exhausted => reason = reason.or(Some(MissReason::Exhausted)),
                    GroupChoice::Empty => {}
                }
            }
        }
        Err(reason.unwrap_or_else(|| self.why_none(groups, query)))
    }

    fn call_query<'a>(&self, observed: &'a NormalizedRequest) -> CallQuery<'a> {
        let id = |name: &str| self.names.find(name);
        let own = self.usage.as_ref().and_then(|usage| usage.name);
        CallQuery {
            observed,
            session: observed.session.as_deref().and_then(id).or(own),
            step: observed.step.as_deref().and_then(id),
            spot: TakeScope::from_request(observed, &self.names),
            wanted: RequestedMode::from_request(observed),
            undelivered: false,
        }
    }

    /// Finds a take of a step. The request hash selects among the step's takes; takes without a
    /// hash are used in their order.
    fn find_in_step(
        &self,
        step: NameId,
        groups: &[u32],
        query: &CallQuery<'_>,
    ) -> Result<TakeMatch<'_>, MissReason> {
        let mut exhausted = false;
        for group in groups.iter().copied().chain(self.steps.unchecked_group(step)) {
            match self.choose_take(group, query, PoolKind::Step(step)) {
                GroupChoice::Take(take) => return Ok(self.match_take(take, MatchedBy::StepId)),
                GroupChoice::Incomplete => return Err(MissReason::Incomplete),
                GroupChoice::Exhausted => exhausted = true,
                GroupChoice::Empty => {}
            }
        }
        let turn_left = self.steps.takes(step).any(|take| !self.is_used(take as usize));
        let is_exhausted = exhausted && !turn_left;
        Err(if is_exhausted { MissReason::Exhausted } else { MissReason::Drifted })
    }

    /// Uses up the first take of `group` that is of this kind and may be given to this call.
    fn choose_take(&self, group: u32, query: &CallQuery<'_>, kind: PoolKind) -> GroupChoice {
        let home = &self.groups[group as usize];
        let take = |position: usize| &self.takes[home.takes()[position] as usize];
        let repeat = |take: &ReplayTake| match take.declared_fault() {
            Some(declared) if declared.is_alone() && declared.is_unlimited() => Repeat::Last,
            Some(declared) if declared.is_alone() => Repeat::Error,
            _ => self.repeat[take.source_index()],
        };
        let members = || self.eligible_takes(group, query, kind);
        let form = self.exact_scope.then_some(query.wanted);
        let key = PoolKey { kind, spot: query.spot, form, undelivered: query.undelivered };
        let key = (key, home.takes().len());
        let next = self.with_cursor(group, query.observed.session.as_deref(), |progress| {
            progress.next(key, query.wanted, repeat, members, take)
        });
        let position = match next {
            PoolChoice::Take(position) => position,
            PoolChoice::Exhausted => return GroupChoice::Exhausted,
            PoolChoice::Empty => return GroupChoice::Empty,
        };
        let take = home.takes()[position] as usize;
        if self.takes[take].servable { GroupChoice::Take(take) } else { GroupChoice::Incomplete }
    }

    /// Returns the takes of `group` that are of this kind and may answer this call: those of its
    /// session. If it has no takes, those without a session, unless the scope must be exact.
    fn eligible_takes(&self, group: u32, query: &CallQuery<'_>, kind: PoolKind) -> TakeSet {
        let home = &self.groups[group as usize];
        let all = home.takes().len();
        let take = |position: usize| &self.takes[home.takes()[position] as usize];
        let answers = |position: usize| {
            kind.contains_take(take(position))
                && query.spot.contains_take(take(position))
                && (!self.exact_scope || take(position).form.fits(query.wanted))
        };
        let is_wanted = |position: usize| {
            !self.has_undelivered || take(position).is_undelivered() == query.undelivered
        };
        if let Some(session) = query.session {
            let own = home.session_positions(session, |take| self.session_of(take)).iter().copied();
            if own.clone().any(|position| answers(position as usize)) {
                let wanted = |position: usize| answers(position) && is_wanted(position);
                return TakeSet::from_positions(own, all, wanted);
            }
        }
        let may_lack_session = !self.exact_scope || query.observed.session.is_none();
        let is_shared = |at: usize| may_lack_session && take(at).under.session.is_none();
        let answers = |at: usize| is_shared(at) && answers(at) && is_wanted(at);
        if let (PoolKind::Step(step), true) = (kind, home.takes().len() > 1)
            && self.steps.take_count(step) < home.takes().len()
        {
            let here = self.steps.takes(step).filter(|turn| self.homes[*turn as usize] == group);
            let here = here.filter_map(|turn| home.position_of(turn));
            return TakeSet::from_positions(here, all, answers);
        }
        TakeSet::from_positions(0..all as u32, all, answers)
    }

    fn match_take(&self, index: usize, by: MatchedBy) -> TakeMatch<'_> {
        let take = &self.takes[index];
        let nth = self.count_answered_call(index);
        TakeMatch { take, by, index, nth, bound: None, turn: None }
    }

    /// Reads the entry of a take again. Returns `None` if that is no longer possible.
    pub(super) fn read_entry(&self, take: &ReplayTake) -> Option<Entry> {
        take.read_entry(&self.sources.get(take.source_index())?.recording, &self.texts)
    }

    /// Reads the entry of a take again by the take's [`TakeMatch::index`]. Returns `None` if that
    /// is no longer possible.
    pub fn entry_of(&self, index: usize) -> Option<Entry> {
        self.read_entry(self.takes.get(index)?)
    }

    /// Reads the entry of a take again by its name and number, from the recording with this label,
    /// or from the first one that has the take.
    pub fn entry_named(&self, label: Option<&str>, name: &str, number: usize) -> Option<Entry> {
        let is_it = |take: &&ReplayTake| {
            let of = label.is_none_or(|label| self.labels[take.source_index()] == label);
            of && take.number() == number && self.name_of(take).equals_text(name)
        };
        self.read_entry(self.takes.iter().find(is_it)?)
    }

    /// Returns the upstreams that takes were recorded at.
    pub fn recorded_upstreams(&self) -> impl Iterator<Item = &str> {
        self.upstreams.iter().map(String::as_str)
    }

    /// Returns the step ids that takes were recorded under, in order.
    pub fn step_ids(&self) -> BTreeSet<&str> {
        self.steps.ids().map(|id| self.names.name(id)).collect()
    }

    /// Whether any recorded request has a hash that begins with `prefix`.
    pub fn knows_hash(&self, prefix: &str) -> bool {
        let begins = |key: RequestKey| key.as_str().starts_with(prefix);
        let hashes = self.hashes.iter().filter_map(|hash| hash.try_into().ok());
        self.groups_by_key.keys().chain(hashes.map(RequestKey::from_bytes)).any(begins)
    }

    /// Returns the number of takes.
    pub fn len(&self) -> usize {
        self.takes.len()
    }

    /// Whether there are no takes.
    pub fn is_empty(&self) -> bool {
        self.takes.is_empty()
    }

    /// Returns the session that a take was recorded in.
    pub(super) fn session_of(&self, take: u32) -> Option<NameId> {
        self.takes.get(take as usize)?.under.session
    }
}
