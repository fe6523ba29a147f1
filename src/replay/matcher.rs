//! The matcher: which take a request is owed.
//!
//! Takes are grouped by request key; within a group they are handed out in
//! recorded order, per session, each once. Nothing is ever matched by likeness.
//! Each group has a lock of its own, so unrelated calls never wait for each other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::prepared::Take;
use super::reason::Reason;
use crate::identity::{IdentityRules, Pointer, RequestKey};
use crate::provider;
use crate::recording::observed::Observed;
use crate::recording::{Cassette, EntryName};

/// What a further identical call gets once its takes are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// A mismatch, reason `exhausted`.
    Error,
    /// The last take again.
    Last,
    /// All takes again, from the first.
    Cycle,
}

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

/// One loaded recording.
#[derive(Debug)]
pub struct Source {
    /// Its path, as the user gave it.
    pub label: String,
    /// What is in it.
    pub cassette: Cassette,
}

/// A take found for a call.
#[derive(Debug)]
pub struct Hit<'a> {
    /// The take.
    pub take: &'a Take,
    /// By what it was found.
    pub by: MatchedBy,
    /// Which take it is.
    index: usize,
}

/// Takes that answer the same request.
#[derive(Debug, Default)]
struct Group {
    takes: Vec<usize>,
    /// Per session, which positions of `takes` are used up.
    used: Mutex<HashMap<Option<String>, Vec<bool>>>,
}

/// All takes of all sources, and how far each session has come in them.
#[derive(Debug)]
pub struct Matcher {
    pub(super) sources: Vec<String>,
    pub(super) rules: Vec<IdentityRules>,
    pub(super) takes: Vec<Take>,
    pub(super) groups_by_key: HashMap<(usize, RequestKey), usize>,
    /// Groups of entries under a step id that hold no hash: served unchecked.
    unchecked: HashMap<String, usize>,
    pub(super) steps: HashMap<String, Vec<usize>>,
    groups: Vec<Group>,
    /// Per take, its group and its position there.
    homes: Vec<(usize, usize)>,
    served: Vec<AtomicU64>,
    /// Per source.
    repeat: Vec<Repeat>,
}

/// What came of looking through one pool of takes.
enum Choice {
    Take(usize),
    Incomplete,
    Exhausted,
    Empty,
}

impl Matcher {
    /// Loads `sources`; `ignore` adds to the rules of each. `repeat` is `None`
    /// for the default: an error, and `Last` for files that AgentLoom wrote.
    pub fn new(sources: Vec<Source>, ignore: &[Pointer], repeat: Option<Repeat>) -> Self {
        let mut matcher = Self {
            sources: Vec::new(),
            rules: Vec::new(),
            takes: Vec::new(),
            groups_by_key: HashMap::new(),
            unchecked: HashMap::new(),
            steps: HashMap::new(),
            groups: Vec::new(),
            homes: Vec::new(),
            served: Vec::new(),
            repeat: Vec::new(),
        };
        for source in sources {
            let agentloom = !source.cassette.is_loomrec();
            let default = if agentloom { Repeat::Last } else { Repeat::Error };
            matcher.repeat.push(repeat.unwrap_or(default));
            matcher.sources.push(source.label);
            matcher.add(source.cassette, ignore);
        }
        matcher
    }

    /// Adds every take of one recording.
    fn add(&mut self, cassette: Cassette, ignore: &[Pointer]) {
        let source = self.sources.len() - 1;
        let stored = cassette.meta().rules().clone();
        let effective = stored.with(ignore.iter().cloned());
        let stored_index = self.rule_index(&stored);
        let index = if effective == stored { stored_index } else { self.rule_index(&effective) };
        for (name, number, entry) in cassette.entries() {
            let step = name.step_id().map(str::to_owned);
            let call = entry.request.as_ref().map(|request| request.recognise());
            let named = match name {
                EntryName::Hash(key) => Some(key.clone()),
                EntryName::Step(_) => None,
            };
            let recorded = || named.clone().or_else(|| entry.request_hash.clone());
            let key = match (&entry.request, &call) {
                (Some(request), Some(call)) if index != stored_index => {
                    Some((index, request.key(call, &effective)))
                }
                (Some(request), Some(call)) => {
                    Some((index, recorded().unwrap_or_else(|| request.key(call, &effective))))
                }
                _ => recorded().map(|key| (stored_index, key)),
            };
            let take = self.takes.len();
            let group = match (key, &step) {
                (Some(key), _) => self.group_of_key(key),
                (None, Some(step)) => self.group_of_step(step),
                (None, None) => continue,
            };
            self.homes.push((group, self.groups[group].takes.len()));
            self.groups[group].takes.push(take);
            if let Some(step) = &step {
                self.steps.entry(step.clone()).or_default().push(take);
            }
            let name = name.to_string();
            let entry = Arc::new(entry.clone());
            self.takes.push(Take { name, number, source, step, call, entry });
            self.served.push(AtomicU64::new(0));
        }
    }

    fn rule_index(&mut self, rules: &IdentityRules) -> usize {
        self.rules.iter().position(|known| known == rules).unwrap_or_else(|| {
            self.rules.push(rules.clone());
            self.rules.len() - 1
        })
    }

    fn group_of_key(&mut self, key: (usize, RequestKey)) -> usize {
        *self.groups_by_key.entry(key).or_insert_with(|| {
            self.groups.push(Group::default());
            self.groups.len() - 1
        })
    }

    fn group_of_step(&mut self, step: &str) -> usize {
        *self.unchecked.entry(step.to_owned()).or_insert_with(|| {
            self.groups.push(Group::default());
            self.groups.len() - 1
        })
    }

    /// The take that `observed` is owed; it is used up by this call.
    ///
    /// # Errors
    /// Why no take is owed to it.
    pub fn find(&self, observed: &Observed) -> Result<Hit<'_>, Reason> {
        let groups: Vec<usize> = self
            .rules
            .iter()
            .enumerate()
            .filter_map(|(index, rules)| {
                let key = observed.request.key(&observed.call, rules);
                self.groups_by_key.get(&(index, key)).copied()
            })
            .collect();
        let known_step = observed.step.as_deref().filter(|step| self.steps.contains_key(*step));
        if let Some(step) = known_step {
            return self.find_in_step(step, &groups, observed);
        }
        // A call without a step id prefers takes that were recorded without one.
        let plain = |take: &Take| take.step.is_none();
        let stepped = |take: &Take| take.step.is_some() && observed.step.is_none();
        let mut reason = None;
        for group in &groups {
            for pool in [&plain as &dyn Fn(&Take) -> bool, &stepped] {
                match self.choose(*group, observed, pool) {
                    Choice::Take(take) => return Ok(self.hit(take, MatchedBy::RequestHash)),
                    Choice::Incomplete => reason = Some(Reason::Incomplete),
                    Choice::Exhausted => reason = reason.or(Some(Reason::Exhausted)),
                    Choice::Empty => {}
                }
            }
        }
        Err(reason.unwrap_or_else(|| self.why_none(&groups, observed)))
    }

    /// Among a step id's turns the request hash picks; turns without a hash come
    /// in their order.
    fn find_in_step(
        &self,
        step: &str,
        groups: &[usize],
        observed: &Observed,
    ) -> Result<Hit<'_>, Reason> {
        let in_step = |take: &Take| take.step.as_deref() == Some(step);
        let mut exhausted = false;
        for group in groups.iter().chain(self.unchecked.get(step)) {
            match self.choose(*group, observed, &in_step) {
                Choice::Take(take) => return Ok(self.hit(take, MatchedBy::StepId)),
                Choice::Incomplete => {
                    return Err(Reason::Incomplete);
                }
                Choice::Exhausted => exhausted = true,
                Choice::Empty => {}
            }
        }
        let turn_left = self.steps[step].iter().any(|&take| !self.is_used(take));
        let reason = if exhausted && !turn_left { Reason::Exhausted } else { Reason::Drifted };
        Err(reason)
    }

    /// Uses up the first take of `group` that passes `wanted` and is owed to this call.
    fn choose(&self, group: usize, observed: &Observed, wanted: &dyn Fn(&Take) -> bool) -> Choice {
        let group = &self.groups[group];
        let answers = |position: &usize| {
            let take = &self.takes[group.takes[*position]];
            wanted(take) && is_same_place(take, observed)
        };
        let session_of = |position: usize| &self.takes[group.takes[position]].entry.session;
        let all: Vec<usize> = (0..group.takes.len()).filter(answers).collect();
        let own: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&p| observed.session.is_some() && *session_of(p) == observed.session)
            .collect();
        let pool = if own.is_empty() {
            all.into_iter().filter(|&p| session_of(p).is_none()).collect()
        } else {
            own
        };
        let Some(&last) = pool.last() else { return Choice::Empty };
        let mode = |p: &usize| self.takes[group.takes[*p]].is_in_form_of(observed);
        let mut sessions = group.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = sessions.entry(observed.session.clone()).or_default();
        used.resize(group.takes.len(), false);
        let next = |used: &[bool]| {
            let unused = || pool.iter().copied().filter(|&p| !used[p]);
            unused().find(|p| mode(p)).or_else(|| unused().next())
        };
        let position = match (next(used), self.repeat[self.takes[group.takes[last]].source]) {
            (Some(position), _) => position,
            (None, Repeat::Error) => return Choice::Exhausted,
            (None, Repeat::Last) => pool.iter().rev().copied().find(mode).unwrap_or(last),
            (None, Repeat::Cycle) => {
                pool.iter().for_each(|&p| used[p] = false);
                next(used).unwrap_or(last)
            }
        };
        used[position] = true;
        let take = group.takes[position];
        if self.takes[take].entry.is_servable() { Choice::Take(take) } else { Choice::Incomplete }
    }

    fn hit(&self, take: usize, by: MatchedBy) -> Hit<'_> {
        self.served[take].fetch_add(1, Ordering::Relaxed);
        Hit { take: &self.takes[take], by, index: take }
    }

    /// Undoes [`Matcher::find`]: the take could not be given to this call, and is
    /// still owed to one that can take it.
    pub fn give_back(&self, hit: &Hit<'_>, observed: &Observed) {
        let (group, position) = self.homes[hit.index];
        let mut sessions = self.groups[group].used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = sessions.get_mut(&observed.session) {
            used[position] = false;
        }
        self.served[hit.index].fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether any call was answered by `take`.
    pub(super) fn is_used(&self, take: usize) -> bool {
        self.served[take].load(Ordering::Relaxed) > 0
    }

    /// Why a request that no pool held is not answered.
    fn why_none(&self, groups: &[usize], observed: &Observed) -> Reason {
        let members = || groups.iter().flat_map(|&group| self.groups[group].takes.iter());
        if members().any(|&take| is_same_place(&self.takes[take], observed)) {
            return Reason::OtherSession;
        }
        let other_upstream = |&take: &usize| {
            let upstream = &self.takes[take].entry.upstream;
            upstream.as_ref().is_some_and(|name| *name != observed.upstream)
        };
        if members().any(other_upstream) {
            return Reason::OtherUpstream;
        }
        let strict = observed.request.key(&observed.call, &IdentityRules::default());
        let under_others =
            self.takes.iter().any(|take| take.entry.request_hash.as_ref() == Some(&strict));
        if under_others { Reason::OtherRules } else { Reason::Unknown }
    }

    /// The takes that no call was answered by, in file order.
    pub fn unused(&self) -> impl Iterator<Item = &Take> {
        self.takes.iter().enumerate().filter(|(take, _)| !self.is_used(*take)).map(|(_, t)| t)
    }

    /// The upstreams that takes were recorded at.
    pub fn upstreams(&self) -> impl Iterator<Item = &str> {
        self.takes.iter().filter_map(|take| take.entry.upstream.as_deref())
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
            let mut sessions = group.used.lock().unwrap_or_else(PoisonError::into_inner);
            match session {
                Some(name) => drop(sessions.remove(&Some(name.to_owned()))),
                None => sessions.clear(),
            }
        }
    }
}

/// Whether the take was recorded at the upstream that is asked now, and, for the
/// chat form whose hash has no room for it, under the same mount. What an entry
/// does not say is not compared.
fn is_same_place(take: &Take, observed: &Observed) -> bool {
    let entry = &take.entry;
    let upstream = entry.upstream.as_ref().is_none_or(|name| *name == observed.upstream);
    let path = entry.request.as_ref().is_none_or(|request| {
        observed.call.target.is_some()
            || provider::place(&request.path) == provider::place(&observed.request.path)
    });
    upstream && path
}
