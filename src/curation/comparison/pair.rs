//! Pairing the calls of two recordings.
//!
//! Calls are paired by step id first, then by the hash of their requests, with the takes of one key
//! in order. Of the rest, the most similar requests that begin a conversation are paired, then the
//! calls of conversations that begin with paired calls, then the most similar of all others, and
//! finally calls at the same place between paired calls. This is only for people who compare recordings. It never chooses an
//! answer.

use std::collections::{BTreeMap, VecDeque};

use crate::history::{ContinuedCall, PartHash, RequestHistory, continued_calls};
use crate::hunk::find_hunks;
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::similarity::RequestSketch;
use loomrec_recording::{Entry, EntryName};

/// A digest of a call, which is known without holding the call.
#[derive(Clone, Debug)]
pub struct CallDigest {
    /// The name of the call's entry.
    pub name: EntryName,
    /// The take number under that name, counted from 1.
    pub take: usize,
    hash: Option<RequestKey>,
    upstream: Option<String>,
    session: Option<String>,
    sketch: Option<RequestSketch>,
    history: Option<RequestHistory>,
}

/// Why two calls are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairedBy {
    /// They have the same step id.
    StepId,
    /// Their requests have the same hash.
    RequestHash,
    /// They are at the same place of conversations that begin with paired calls.
    Conversation,
    /// No other request is more similar.
    Nearest,
    /// They are between the same paired calls.
    Place,
}

/// A call of the first recording and one of the second, by their indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallPair {
    /// The call of the first.
    pub old: usize,
    /// The call of the second.
    pub new: usize,
    /// Why they are paired.
    pub by: PairedBy,
}

/// The approximate maximum number of exact distances. Each of them reads entries again.
const MEASURED: usize = 20_000;
/// The approximate maximum size of the requests that are read again for distances, in bytes. One
/// request is measured for each call, whatever its size.
const MEASURED_BYTES: u64 = 96 << 20;
/// The number of calls around its own place with which each call is compared by sketch.
const LOOKED_AT: usize = 4000;

impl CallDigest {
    /// Returns the digest of the call that `entry` keeps under `name`. Its hash is computed under
    /// `rules`.
    pub fn from_entry(name: EntryName, take: usize, entry: &Entry, rules: &IdentityRules) -> Self {
        let (mut hash, mut sketch, mut history) = (None, None, None);
        if let Some(request) = entry.read_request() {
            hash = Some(request.compute_key(rules));
            sketch = Some(request.to_sketch());
            let body = request.body.as_ref();
            history = body.and_then(|body| RequestHistory::of_parsed(entry, &request.call, body));
        }
        let said = || match &name {
            EntryName::Hash(hash) => Some(hash.clone()),
            EntryName::Step(_) => entry.request_hash.clone(),
        };
        let hash = hash.or_else(said);
        let (upstream, session) = (entry.upstream.clone(), entry.session.clone());
        Self { name, take, hash, upstream, session, sketch, history }
    }

    /// Returns the length of its request's body in bytes.
    fn body_length(&self) -> u64 {
        self.sketch.as_ref().map_or(0, |sketch| sketch.body_length() as u64)
    }

    /// Whether both call the same operation at the same upstream.
    fn is_like(&self, other: &Self) -> bool {
        let operation = |known: &Self| known.sketch.as_ref().map(|sketch| sketch.operation);
        operation(self) == operation(other) && self.upstream == other.upstream
    }
}

/// Returns the pairs of calls in two recordings, in the order of the first. `distance` returns how
/// much the requests of two calls differ, approximately in bytes.
pub fn pair_calls(
    old: &[CallDigest],
    new: &[CallDigest],
    mut distance: impl FnMut(usize, usize) -> Option<u64>,
) -> Vec<CallPair> {
    let mut work = PairingState::from_digests(old, new);
    let step = |known: &CallDigest| known.name.step_id().map(str::to_owned);
    let hash = |known: &CallDigest| known.hash.clone();
    work.pair_equal(PairedBy::StepId, |known| {
        Some((step(known)?, known.session.clone(), hash(known)?))
    });
    work.pair_equal(PairedBy::StepId, |known| Some((step(known)?, hash(known)?)));
    work.pair_equal(PairedBy::StepId, step);
    work.pair_equal(PairedBy::RequestHash, |known| {
        Some((hash(known)?, known.upstream.clone(), known.session.clone()))
    });
    work.pair_equal(PairedBy::RequestHash, |known| Some((hash(known)?, known.upstream.clone())));
    work.pair_equal(PairedBy::RequestHash, hash);
    // The rest of a conversation follows from its first call.
    work.pair_similar(&mut distance, |continued| continued.is_none());
    work.pair_conversations();
    if work.has_conversations() {
        work.pair_similar(&mut distance, |_| true);
        work.pair_conversations();
    }
    work.pair_by_place();
    work.pair_conversations();
    let found = work.of_old.into_iter().enumerate();
    found.filter_map(|(old, to)| to.map(|(new, by)| CallPair { old, new, by })).collect()
}

/// The state of the pairing.
struct PairingState<'k> {
    old: &'k [CallDigest],
    new: &'k [CallDigest],
    of_old: Vec<Option<(usize, PairedBy)>>,
    of_new: Vec<Option<usize>>,
    old_continued: Vec<Option<ContinuedCall>>,
    new_continued: Vec<Option<ContinuedCall>>,
}

impl<'k> PairingState<'k> {
    fn from_digests(old: &'k [CallDigest], new: &'k [CallDigest]) -> Self {
        let continued = |known: &[CallDigest]| {
            let histories = known.iter().map(|known| known.history.as_ref());
            continued_calls(&histories.collect::<Vec<_>>())
        };
        let (old_continued, new_continued) = (continued(old), continued(new));
        let (of_old, of_new) = (vec![None; old.len()], vec![None; new.len()]);
        Self { old, new, of_old, of_new, old_continued, new_continued }
    }

    fn add_pair(&mut self, old: usize, new: usize, by: PairedBy) {
        self.of_old[old] = Some((new, by));
        self.of_new[new] = Some(old);
    }

    fn free_old(&self) -> Vec<usize> {
        (0..self.old.len()).filter(|&at| self.of_old[at].is_none()).collect()
    }

    fn free_new(&self) -> Vec<usize> {
        (0..self.new.len()).filter(|&at| self.of_new[at].is_none()).collect()
    }

    /// Whether a call of either recording continues another one.
    fn has_conversations(&self) -> bool {
        self.old_continued.iter().chain(&self.new_continued).any(Option::is_some)
    }

    /// Pairs calls with equal values of `of`, in order.
    fn pair_equal<K: Ord>(&mut self, by: PairedBy, of: impl Fn(&CallDigest) -> Option<K>) {
        let mut waiting: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
        for at in self.free_new() {
            if let Some(key) = of(&self.new[at]) {
                waiting.entry(key).or_default().push_back(at);
            }
        }
        for at in self.free_old() {
            let same = of(&self.old[at]).and_then(|key| waiting.get_mut(&key)?.pop_front());
            if let Some(same) = same {
                self.add_pair(at, same, by);
            }
        }
    }

    /// Pairs requests that share at least half of their content, the most similar ones first, of
    /// calls whose place in their conversation passes a check.
    fn pair_similar(
        &mut self,
        distance: &mut impl FnMut(usize, usize) -> Option<u64>,
        which: impl Fn(&Option<ContinuedCall>) -> bool,
    ) {
        let (mut free_old, mut free_new) = (self.free_old(), self.free_new());
        free_old.retain(|&at| which(&self.old_continued[at]));
        free_new.retain(|&at| which(&self.new_continued[at]));
        let bytes: u64 = free_old.iter().map(|&at| self.old[at].body_length()).sum();
        let within = usize::try_from(MEASURED_BYTES / (2 * bytes).max(1)).unwrap_or(usize::MAX);
        let each = (MEASURED / free_old.len().max(1)).min(within).clamp(1, 64);
        let mut found = Vec::new();
        for (rank, &at) in free_old.iter().enumerate() {
            for (place, other) in self.similar_calls(at, rank, &free_new, each) {
                let (old, new) = (&self.old[at], &self.new[other]);
                let Some(apart) = distance(at, other) else { continue };
                if apart.saturating_mul(2) <= old.body_length().max(new.body_length()) {
                    let elsewhere = old.upstream != new.upstream;
                    found.push((elsewhere, apart, rank.abs_diff(place), at, other));
                }
            }
        }
        found.sort_unstable();
        for (_, _, _, at, other) in found {
            if self.of_old[at].is_none() && self.of_new[other].is_none() {
                self.add_pair(at, other, PairedBy::Nearest);
            }
        }
    }

    /// Returns the calls of the second recording whose sketches are most similar to a call, each
    /// with its place among the unpaired ones.
    fn similar_calls(
        &self,
        at: usize,
        rank: usize,
        free: &[usize],
        most: usize,
    ) -> Vec<(usize, usize)> {
        let known = &self.old[at];
        let Some(sketch) = &known.sketch else { return Vec::new() };
        let from = rank.saturating_sub(LOOKED_AT / 2).min(free.len().saturating_sub(LOOKED_AT));
        let around = free.iter().enumerate().skip(from).take(LOOKED_AT);
        let like = |(place, &other): (usize, &usize)| {
            let found = self.new[other].sketch.as_ref()?;
            let elsewhere = self.new[other].upstream != known.upstream;
            let of_one_kind = found.operation == sketch.operation;
            of_one_kind.then(|| {
                ((elsewhere, sketch.distance(found), rank.abs_diff(place)), (place, other))
            })
        };
        let mut all: Vec<_> = around.filter_map(like).collect();
        if all.len() > most {
            all.select_nth_unstable(most);
            all.truncate(most);
        }
        all.into_iter().map(|(_, found)| found).collect()
    }

    /// Pairs the calls of two conversations that begin with paired calls: those with the same newest
    /// message, and those between them in order.
    fn pair_conversations(&mut self) {
        let (of_old, of_new) =
            (conversation_members(&self.old_continued), conversation_members(&self.new_continued));
        for (first, old) in &of_old {
            let Some((paired, _)) = self.of_old[*first] else { continue };
            let Some(new) = of_new.get(&paired) else { continue };
            let newest = |known: &[CallDigest], calls: &[usize]| -> Vec<Option<PartHash>> {
                let history = |at: &usize| known[*at].history.as_ref();
                calls.iter().map(|at| history(at).and_then(RequestHistory::newest_hash)).collect()
            };
            for hunk in find_hunks(&newest(self.old, old), &newest(self.new, new)) {
                let mut old = old[hunk.old].to_vec();
                let mut new = new[hunk.new].to_vec();
                old.retain(|&at| self.of_old[at].is_none());
                new.retain(|&at| self.of_new[at].is_none());
                for (old, new) in old.into_iter().zip(new) {
                    if self.old[old].is_like(&self.new[new]) {
                        self.add_pair(old, new, PairedBy::Conversation);
                    }
                }
            }
        }
    }

    /// Pairs the remaining calls in order if both sides have the same number of calls of the same
    /// kind between two paired neighbours.
    fn pair_by_place(&mut self) {
        let mut found = Vec::new();
        let mut start = 0;
        let mut behind = 0;
        for end in 0..=self.old.len() {
            let next = match self.of_old.get(end) {
                Some(None) => continue,
                Some(Some((new, _))) => *new,
                None => self.new.len(),
            };
            let gap = behind..next;
            if !gap.is_empty() && gap.clone().all(|at| self.of_new[at].is_none()) {
                let (old, new) = (start..end, gap);
                let mut pairs = old.clone().zip(new.clone());
                if old.len() == new.len() && pairs.all(|(a, b)| self.old[a].is_like(&self.new[b])) {
                    found.extend(old.zip(new));
                }
            }
            (start, behind) = (end + 1, next.saturating_add(1));
        }
        for (old, new) in found {
            self.add_pair(old, new, PairedBy::Place);
        }
    }
}

/// Returns the calls of each conversation in order, by its first call.
fn conversation_members(continued: &[Option<ContinuedCall>]) -> BTreeMap<usize, Vec<usize>> {
    let turn = |at: &usize| continued[*at].map_or(1, |continued| continued.turn);
    let mut order: Vec<usize> = (0..continued.len()).collect();
    order.sort_by_key(turn);
    let (mut first, mut members) = (vec![0; continued.len()], BTreeMap::<_, Vec<usize>>::new());
    for at in order {
        // A call comes after the one that it continues.
        first[at] = continued[at].map_or(at, |continued| first[continued.earlier]);
        members.entry(first[at]).or_default().push(at);
    }
    members
}

impl PairedBy {
    /// Returns the word for JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StepId => "step_id",
            Self::RequestHash => "request_hash",
            Self::Conversation => "conversation",
            Self::Nearest => "nearest",
            Self::Place => "place",
        }
    }
}

#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
