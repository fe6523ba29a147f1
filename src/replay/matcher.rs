//! The matcher: which take a request is owed.
//!
//! Takes are grouped by request key; within a group they are handed out in
//! recorded order, per session, each once. Nothing is ever matched by likeness.
//! Each group has a lock of its own, so unrelated calls never wait for each other.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use super::form::Wanted;
use super::pool::{Kind, Members, Next, PoolKey, Progress, Repeat};
use super::reason::Reason;
use super::recalled::Recalled;
use super::take::{Mount, Spot, Take};
use crate::identity::{IdentityRules, RequestKey};
use crate::provider::{self, Call};
use crate::recording::observed::Observed;
use crate::recording::{Entry, RecordedRequest};
use crate::store::Recording;
use foldhash::HashMap;

/// By what a take was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedBy {
    /// The step id the call carries.
    StepId,
    /// The request's hash.
    RequestHash,
}

impl MatchedBy {
    /// The word in `x-loomrec-matched-by`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StepId => "step_id",
            Self::RequestHash => "request_hash",
        }
    }
}

/// One recording to answer from.
#[derive(Debug)]
pub struct Source {
    /// Its path, as the user gave it.
    pub label: String,
    /// The recording, open: what is not kept of it is read again where it is needed.
    pub recording: Recording,
}

/// A take found for a call.
#[derive(Debug)]
pub struct Hit<'a> {
    /// The take.
    pub take: &'a Take,
    /// By what it was found.
    pub by: MatchedBy,
    /// Which take it is.
    pub(super) index: usize,
}

impl Hit<'_> {
    /// Which take it is, to give it back by.
    pub fn index(&self) -> usize {
        self.index
    }
}

/// Takes that answer the same request.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) takes: Vec<u32>,
    /// By session, the positions of those that were recorded in one.
    pub(super) own: BTreeMap<u32, Vec<u32>>,
    progress: Mutex<Sessions>,
}

/// How far each session has come in the takes of one key.
#[derive(Debug, Default)]
struct Sessions {
    unnamed: Progress,
    named: BTreeMap<String, Progress>,
}

/// All takes of all sources, and how far each session has come in them.
#[derive(Debug, Default)]
pub struct Matcher {
    pub(super) sources: Vec<Source>,
    /// The labels of the sources.
    pub(super) labels: Vec<String>,
    pub(super) rules: Vec<IdentityRules>,
    pub(super) takes: Vec<Take>,
    pub(super) groups_by_key: HashMap<(usize, RequestKey), u32>,
    /// Groups of entries under a step id that hold no hash: served unchecked.
    pub(super) unchecked: HashMap<u32, u32>,
    /// By the step's id.
    pub(super) steps: HashMap<u32, Vec<u32>>,
    pub(super) groups: Vec<Group>,
    /// Per take, its group and its position there.
    pub(super) homes: Vec<(u32, u32)>,
    /// Per source.
    pub(super) repeat: Vec<Repeat>,
    /// The hashes that entries say their requests have, but for keys under the plain rules.
    pub(super) hashes: HashSet<RequestKey>,
    /// Steps, sessions, upstreams and mounts of paths, by their text.
    pub(super) names: HashMap<String, u32>,
    pub(super) upstreams: BTreeSet<String>,
    /// Whether any entry declares a fault.
    pub(super) has_trouble: bool,
    /// The recorded requests, where all keys are made under one set of rules.
    pub(super) recalled: Recalled,
}

/// A call in the terms that takes are kept in.
struct Asked<'a> {
    observed: &'a Observed,
    session: Option<u32>,
    step: Option<u32>,
    spot: Spot,
    wanted: Wanted,
}

/// What came of looking through one pool of takes.
enum Choice {
    Take(usize),
    Incomplete,
    Exhausted,
    Empty,
}

impl Matcher {
    /// The rules that keys are made under.
    pub fn rules(&self) -> &[IdentityRules] {
        &self.rules
    }

    /// What `request` asks for, and its key, where it is just what some recorded
    /// request is: it is not read for that. `None` where it is not, or where keys under
    /// several rules are needed.
    pub fn recall(&self, request: &RecordedRequest) -> Option<(Call, (IdentityRules, RequestKey))> {
        let [rules] = self.rules.as_slice() else { return None };
        let (call, key) = self.recalled.find(request)?;
        Some((call.clone(), (rules.clone(), key.clone())))
    }

    /// The take that `observed` is owed; it is used up by this call.
    ///
    /// # Errors
    /// Why no take is owed to it.
    pub fn find(&self, observed: &Observed) -> Result<Hit<'_>, Reason> {
        let group = |(index, rules): (usize, &IdentityRules)| {
            let key = observed.key(rules);
            self.groups_by_key.get(&(index, key)).copied()
        };
        let mut groups = self.rules.iter().enumerate().filter_map(group);
        // One set of rules is the rule: no list has to be made for it.
        let (first, rest): (Option<u32>, Vec<u32>) = (groups.next(), groups.collect());
        let all;
        let groups = match (first.as_slice(), rest.is_empty()) {
            (only, true) => only,
            (first, false) => {
                all = [first, &rest].concat();
                &all
            }
        };
        let asked = self.asked(observed);
        if let Some(step) = asked.step.filter(|step| self.steps.contains_key(step)) {
            return self.find_in_step(step, groups, &asked);
        }
        // A call without a step id prefers takes that were recorded without one.
        let kinds = [Some(Kind::Plain), observed.step.is_none().then_some(Kind::Stepped)];
        let mut reason = None;
        for group in groups {
            for kind in kinds.into_iter().flatten() {
                match self.choose(*group, &asked, kind) {
                    Choice::Take(take) => return Ok(self.hit(take, MatchedBy::RequestHash)),
                    Choice::Incomplete => reason = Some(Reason::Incomplete),
                    Choice::Exhausted => reason = reason.or(Some(Reason::Exhausted)),
                    Choice::Empty => {}
                }
            }
        }
        Err(reason.unwrap_or_else(|| self.why_none(groups, &asked)))
    }

    fn asked<'a>(&self, observed: &'a Observed) -> Asked<'a> {
        let id = |name: &str| self.names.get(name).copied();
        let mount = match &observed.call.target {
            Some(_) => Mount::Any,
            None => {
                id(provider::place(&observed.request.path)).map_or(Mount::Unknown, Mount::Known)
            }
        };
        Asked {
            observed,
            session: observed.session.as_deref().and_then(id),
            step: observed.step.as_deref().and_then(id),
            spot: Spot { upstream: id(&observed.upstream), mount },
            wanted: Wanted::of(observed),
        }
    }

    /// Among a step id's turns the request hash picks; turns without a hash come
    /// in their order.
    fn find_in_step(
        &self,
        step: u32,
        groups: &[u32],
        asked: &Asked<'_>,
    ) -> Result<Hit<'_>, Reason> {
        let mut exhausted = false;
        for group in groups.iter().chain(self.unchecked.get(&step)) {
            match self.choose(*group, asked, Kind::Step(step)) {
                Choice::Take(take) => return Ok(self.hit(take, MatchedBy::StepId)),
                Choice::Incomplete => {
                    return Err(Reason::Incomplete);
                }
                Choice::Exhausted => exhausted = true,
                Choice::Empty => {}
            }
        }
        let turn_left = self.steps[&step].iter().any(|&take| !self.takes[take as usize].is_used());
        let reason = if exhausted && !turn_left { Reason::Exhausted } else { Reason::Drifted };
        Err(reason)
    }

    /// Uses up the first take of `group` that is of this kind and owed to this call.
    fn choose(&self, group: u32, asked: &Asked<'_>, kind: Kind) -> Choice {
        let home = &self.groups[group as usize];
        let take = |position: usize| &self.takes[home.takes[position] as usize];
        let repeat = |take: &Take| match take.is_fault_alone() {
            true => Repeat::Last,
            false => self.repeat[take.source],
        };
        let members = || self.members(group, asked, kind);
        let key = (PoolKey { kind, spot: asked.spot }, home.takes.len());
        let mut sessions = home.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = sessions.of(asked.observed.session.as_deref());
        let position = match progress.next(key, asked.wanted, repeat, members, take) {
            Next::Take(position) => position,
            Next::Exhausted => return Choice::Exhausted,
            Next::Empty => return Choice::Empty,
        };
        drop(sessions);
        let take = home.takes[position] as usize;
        if self.takes[take].servable { Choice::Take(take) } else { Choice::Incomplete }
    }

    /// The takes of `group` that are of this kind and may be given to this call:
    /// those of its own session, or else those of none.
    fn members(&self, group: u32, asked: &Asked<'_>, kind: Kind) -> Members {
        let home = &self.groups[group as usize];
        let all = home.takes.len();
        let take = |position: usize| &self.takes[home.takes[position] as usize];
        let answers =
            |position: usize| kind.holds(take(position)) && asked.spot.holds(take(position));
        if let Some(own) = asked.session.and_then(|id| home.own.get(&id)) {
            let own = Members::of(own.iter().copied(), all, answers);
            if !own.is_empty() {
                return own;
            }
        }
        let answers = |at: usize| take(at).under.session.is_none() && answers(at);
        if let (Kind::Step(step), true) = (kind, home.takes.len() > 1)
            && let turns = &self.steps[&step]
            && turns.len() < home.takes.len()
        {
            let homes = turns.iter().map(|&turn| self.homes[turn as usize]);
            let here = homes.filter(|(home, _)| *home == group).map(|(_, position)| position);
            return Members::of(here, all, answers);
        }
        Members::of(0..all as u32, all, answers)
    }

    fn hit(&self, index: usize, by: MatchedBy) -> Hit<'_> {
        let take = &self.takes[index];
        take.serve();
        Hit { take, by, index }
    }

    /// Undoes [`Matcher::find`]: the take could not be given to this call, and is
    /// still owed to one that can take it.
    pub fn give_back(&self, take: usize, session: Option<&str>) {
        let Some((home, position)) = self.home(take) else { return };
        let mut sessions = home.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.of(session).give_back(position) {
            self.takes[take].take_back();
        }
    }

    /// Uses up a take that was given back, unless another call has it by now.
    pub fn use_up(&self, take: usize, session: Option<&str>) {
        let Some((home, position)) = self.home(take) else { return };
        let mut sessions = home.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.of(session).use_up(position) {
            self.takes[take].serve();
        }
    }

    /// The group of a take, and its position there.
    fn home(&self, take: usize) -> Option<(&Group, usize)> {
        let (group, position) = self.homes.get(take)?;
        Some((self.groups.get(*group as usize)?, *position as usize))
    }

    /// Why a request that no pool held is not answered.
    fn why_none(&self, groups: &[u32], asked: &Asked<'_>) -> Reason {
        let takes = groups.iter().flat_map(|&group| &self.groups[group as usize].takes);
        let members = || takes.clone().map(|&take| &self.takes[take as usize]);
        if members().any(|take| asked.spot.holds(take)) {
            return Reason::OtherSession;
        }
        let upstream = asked.spot.upstream;
        if members().any(|take| take.under.upstream.is_some() && take.under.upstream != upstream) {
            return Reason::OtherUpstream;
        }
        let observed = asked.observed;
        let plain = IdentityRules::default();
        let strict = observed.key(&plain);
        let index = self.rules.iter().position(|rules| *rules == plain);
        let known = self.hashes.contains(&strict)
            || index.is_some_and(|index| self.groups_by_key.contains_key(&(index, strict)));
        if known { Reason::OtherRules } else { Reason::Unknown }
    }

    /// Reads the entry of a take again; `None` where that cannot be done any more.
    pub(super) fn entry(&self, take: &Take) -> Option<Entry> {
        self.sources[take.source].recording.entry(&take.place).ok()
    }

    /// The entry of a take, read again by the take's [`Hit::index`]; `None` where that
    /// cannot be done any more.
    pub fn entry_of(&self, index: usize) -> Option<Entry> {
        self.entry(self.takes.get(index)?)
    }

    /// The entry of a take, read again by its name and number; of the first recording that
    /// has it, or of that of this label.
    pub fn entry_named(&self, label: Option<&str>, name: &str, number: usize) -> Option<Entry> {
        let is_it = |take: &&Take| {
            let of = label.is_none_or(|label| self.labels[take.source] == label);
            of && take.number == number && take.name.is(name)
        };
        self.entry(self.takes.iter().find(is_it)?)
    }

    /// The takes that no call was answered by, in file order.
    pub fn unused(&self) -> impl Iterator<Item = &Take> {
        self.takes.iter().filter(|take| !take.is_used())
    }

    /// The upstreams that takes were recorded at.
    pub fn upstreams(&self) -> impl Iterator<Item = &str> {
        self.upstreams.iter().map(String::as_str)
    }

    /// Whether any entry declares a fault.
    pub fn has_trouble(&self) -> bool {
        self.has_trouble
    }

    /// The step ids that takes stand under, in order.
    pub fn steps(&self) -> BTreeSet<&str> {
        let stands = |(_, id): &(&String, &u32)| self.steps.contains_key(*id);
        self.names.iter().filter(stands).map(|(name, _)| name.as_str()).collect()
    }

    /// Whether any recorded request has a hash that begins so.
    pub fn knows_hash(&self, prefix: &str) -> bool {
        let begins = |key: &RequestKey| key.as_str().starts_with(prefix);
        self.groups_by_key.keys().any(|(_, key)| begins(key)) || self.hashes.iter().any(begins)
    }

    /// How many takes there are.
    pub fn len(&self) -> usize {
        self.takes.len()
    }

    /// Whether there is no take at all.
    pub fn is_empty(&self) -> bool {
        self.takes.is_empty()
    }

    /// Starts over: every take is unused again, for one session or for all.
    pub fn reset(&self, session: Option<&str>) {
        for group in &self.groups {
            let mut sessions = group.progress.lock().unwrap_or_else(PoisonError::into_inner);
            match session {
                None => *sessions = Sessions::default(),
                Some(name) => drop(sessions.named.remove(name)),
            }
        }
    }
}

impl Sessions {
    fn of(&mut self, session: Option<&str>) -> &mut Progress {
        let Some(name) = session else { return &mut self.unnamed };
        self.named.entry(name.to_owned()).or_default()
    }
}
