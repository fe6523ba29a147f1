//! The earlier call that each call of a recording continues.

use std::collections::HashMap;

use super::part_hash::PartHash;
use super::request_history::{RequestHistory, StoredHistory};

/// How many blocks from the end of a history are looked up.
const LAST_BLOCKS: usize = 8;

/// What a call continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContinuedCall {
    /// The index of the earlier call.
    pub earlier: usize,
    /// The number of this call in its conversation; the first one is 1.
    pub turn: usize,
    /// Whether the provider holds the history, and the request only names it.
    pub is_stored: bool,
}

/// Returns for each call of a recording the earlier call that it continues; `None` for a call that
/// begins a conversation or is part of none.
///
/// That is the call with the longest history with which this call's history begins. If clients
/// change their history (a message is edited, old ones are left out), it is a call of which this one
/// repeats more than half, with the fewest blocks that differ.
pub fn continued_calls(histories: &[Option<&RequestHistory>]) -> Vec<Option<ContinuedCall>> {
    find_continued(histories).0
}

/// Returns the continued calls, and how many blocks were looked at.
fn find_continued(histories: &[Option<&RequestHistory>]) -> (Vec<Option<ContinuedCall>>, usize) {
    let mut index = HistoryIndex { histories, ..HistoryIndex::default() };
    let mut earlier = index.by_stored_history();
    let is_stored: Vec<bool> = earlier.iter().map(Option::is_some).collect();
    // A history that begins another one is shorter, in whatever order the calls are stored.
    let mut order: Vec<usize> = (0..histories.len()).collect();
    order.sort_by_key(|&at| histories[at].map_or(0, |history| history.blocks.len()));
    for at in order {
        if let Some(history) = histories[at] {
            if earlier[at].is_none() {
                earlier[at] = index.find_earlier_call(history);
            }
            index.add_call(at, history);
        }
    }
    let turns = turn_numbers(&mut earlier);
    let found = earlier.into_iter().zip(turns).zip(is_stored);
    let found = found.map(|((earlier, turn), is_stored)| {
        earlier.map(|earlier| ContinuedCall { earlier, turn, is_stored })
    });
    (found.collect(), index.looked_at)
}

/// The histories that a call may continue.
#[derive(Default)]
struct HistoryIndex<'h> {
    histories: &'h [Option<&'h RequestHistory>],
    /// The first call with this history.
    whole: HashMap<PartHash, usize>,
    /// The first call with this system prompt and this history.
    whole_with_system: HashMap<(PartHash, PartHash), usize>,
    /// The first call whose history begins like this.
    beginning: HashMap<PartHash, usize>,
    /// The last call of a group that has this block.
    holding: HashMap<(PartHash, PartHash), usize>,
    looked_at: usize,
}

impl HistoryIndex<'_> {
    /// Returns the calls that are continued by an id.
    fn by_stored_history(&self) -> Vec<Option<usize>> {
        let mut answers: HashMap<&str, usize> = HashMap::new();
        for (at, history) in self.histories.iter().enumerate() {
            if let Some(id) = history.and_then(|history| history.answer_id.as_deref()) {
                answers.entry(id).or_insert(at);
            }
        }
        let mut conversations: HashMap<&str, usize> = HashMap::new();
        let mut found = Vec::with_capacity(self.histories.len());
        for (at, history) in self.histories.iter().enumerate() {
            found.push(match history.and_then(|history| history.stored.as_ref()) {
                None => None,
                Some(StoredHistory::Answer(id)) => {
                    answers.get(id.as_str()).copied().filter(|&earlier| earlier != at)
                }
                Some(StoredHistory::Conversation(id)) => conversations.insert(id, at),
            });
        }
        found
    }

    fn add_call(&mut self, at: usize, history: &RequestHistory) {
        let begins = &history.begins[1..];
        self.looked_at += begins.len();
        for begin in begins {
            self.beginning.entry(*begin).or_insert(at);
        }
        for block in &history.blocks {
            self.holding.insert((history.group, *block), at);
        }
        if let Some(whole) = begins.last() {
            self.whole.entry(*whole).or_insert(at);
            self.whole_with_system.entry((history.system, *whole)).or_insert(at);
        }
    }

    /// Returns the call that this history continues.
    fn find_earlier_call(&mut self, history: &RequestHistory) -> Option<usize> {
        let candidates = self.candidate_calls(history);
        let changes = candidates.into_iter().map(|at| (self.count_changes(history, at), at));
        let changes: Vec<(Option<usize>, usize)> = changes.collect();
        let found = changes.into_iter().filter_map(|(changes, at)| Some((changes?, at)));
        found.min_by_key(|(changes, _)| *changes).map(|(_, at)| at)
    }

    /// Returns the few calls that a history may continue, the most likely one first.
    fn candidate_calls(&mut self, history: &RequestHistory) -> Vec<usize> {
        let begins = &history.begins[1..];
        let shorter = &begins[..begins.len().saturating_sub(1)];
        self.looked_at += begins.len();
        let longest = |find: &dyn Fn(&PartHash) -> Option<usize>, begins: &[PartHash]| {
            begins.iter().rev().find_map(find)
        };
        let with_system =
            |begin: &PartHash| self.whole_with_system.get(&(history.system, *begin)).copied();
        let mut found = Vec::new();
        found.extend(longest(&with_system, shorter));
        found.extend(longest(&|begin| self.whole.get(begin).copied(), shorter));
        found.extend(longest(&|begin| self.beginning.get(begin).copied(), begins));
        let last = history.blocks.iter().rev().take(LAST_BLOCKS);
        found.extend(last.filter_map(|block| self.holding.get(&(history.group, *block)).copied()));
        let mut candidates = Vec::new();
        for at in found {
            if !candidates.contains(&at) {
                candidates.push(at);
            }
        }
        candidates
    }

    /// Returns how many blocks differ between a history and that of an earlier call; `None` if it
    /// does not continue that call.
    fn count_changes(&mut self, history: &RequestHistory, at: usize) -> Option<usize> {
        let earlier = self.histories[at]?;
        let (length, before) = (history.blocks.len(), earlier.blocks.len());
        // A further take of the same request continues what the first one continues.
        if history.begins.last() == earlier.begins.last() || before >= length.saturating_mul(2) {
            return None;
        }
        self.looked_at += length + before;
        let mut counts: HashMap<PartHash, usize> = HashMap::new();
        for block in &earlier.blocks {
            *counts.entry(*block).or_default() += 1;
        }
        let take = |block: &&PartHash| match counts.get_mut(*block) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        };
        let common = history.blocks.iter().filter(take).count();
        // Calls of several agents may repeat one conversation under different prompts.
        let other_system = if history.system == earlier.system { 0 } else { length / 2 };
        (before < 2 * common).then(|| length + before - 2 * common + other_system)
    }
}

/// The number of a call whose conversation is being followed.
const FOLLOWED: usize = usize::MAX;

/// Returns the number of each call in its conversation. If ids form a circle, one of its calls
/// begins the conversation.
fn turn_numbers(earlier: &mut [Option<usize>]) -> Vec<usize> {
    let mut turns = vec![0; earlier.len()];
    for start in 0..earlier.len() {
        let (mut path, mut at) = (Vec::new(), start);
        let mut turn = loop {
            match turns[at] {
                0 => {
                    turns[at] = FOLLOWED;
                    path.push(at);
                }
                FOLLOWED => {
                    if let Some(&last) = path.last() {
                        earlier[last] = None;
                    }
                    break 0;
                }
                known => break known,
            }
            match earlier[at] {
                Some(next) => at = next,
                None => break 0,
            }
        };
        for at in path.into_iter().rev() {
            turn += 1;
            turns[at] = turn;
        }
    }
    turns
}

#[cfg(test)]
#[path = "continued_call_tests.rs"]
mod tests;
