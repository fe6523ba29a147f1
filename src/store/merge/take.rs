//! A take while it is merged. What is known of it is read when it is needed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use loomrec_identity::RequestKey;
use loomrec_recording::log_codec::{RunPosition, TakePrecedence};
use loomrec_recording::{CallScope, Entry};

use super::named_frame::{NamedFrame, TakeRef};

/// A hash of an entry. Different entries almost always have different ones, so that each entry is
/// read once, however many others it is compared with.
type EntryDigest = u64;

/// A take of a name.
#[derive(Clone, Debug)]
pub(super) struct CompactionTake {
    pub(super) place: TakeRef,
    /// When it was recorded; the outer `None` if that has not been read yet.
    time: Option<Option<String>>,
    /// Whether a frame was found to be the same entry.
    pub(super) is_matched: bool,
    digest: Option<EntryDigest>,
    facts: Option<TakeFacts>,
}

/// What decides which take a frame replaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TakeFacts {
    pub(super) scope: CallScope,
    /// Whether its call failed, or no client got its answer.
    pub(super) failed: bool,
    /// Whether its entry declares a fault, or rates of chaos.
    pub(super) has_fault: bool,
    /// The key of its request.
    pub(super) request_key: Option<RequestKey>,
}

impl CompactionTake {
    /// A take of the file.
    pub(super) fn in_file(place: TakeRef) -> Self {
        Self { place, time: None, is_matched: false, digest: None, facts: None }
    }

    /// A take of the log.
    pub(super) fn in_log(frame: &NamedFrame) -> Self {
        Self { time: Some(frame.time.clone()), ..Self::in_file(frame.place) }
    }

    /// Returns a copy that no frame was found to be the same as.
    pub(super) fn unmatched_copy(&self) -> Self {
        Self { is_matched: false, ..self.clone() }
    }

    /// Returns when it was recorded.
    pub(super) fn recorded_time<E>(
        &mut self,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<&Option<String>, E> {
        let time = match self.time.take() {
            Some(time) => time,
            None => {
                let entry = read(&self.place)?;
                self.learn_facts(&entry);
                entry.recorded_at
            }
        };
        Ok(self.time.insert(time))
    }

    /// Returns what decides which take it replaces, or by which it is replaced.
    pub(super) fn facts<E>(
        &mut self,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<TakeFacts, E> {
        if self.facts.is_none() {
            let entry = read(&self.place)?;
            self.learn_facts(&entry);
            self.time = Some(entry.recorded_at);
        }
        // It was read just now.
        Ok(self.facts.clone().unwrap_or_default())
    }

    /// Whether it was read, and its entry declares a fault.
    pub(super) fn has_known_fault(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.has_fault)
    }

    fn learn_facts(&mut self, entry: &Entry) {
        self.facts = Some(TakeFacts {
            scope: CallScope::from_entry(entry),
            failed: entry.is_lesser_take(),
            has_fault: entry.declares_fault(),
            request_key: entry.request_hash.clone(),
        });
    }

    /// Whether two takes are the same entry.
    pub(super) fn equals<E>(
        &mut self,
        other: &mut Self,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<bool, E> {
        if self.recorded_time(read)? != other.recorded_time(read)?
            || self.entry_digest(read)? != other.entry_digest(read)?
        {
            return Ok(false);
        }
        Ok(self.place == other.place || read(&self.place)? == read(&other.place)?)
    }

    /// Returns the digest of its entry.
    fn entry_digest<E>(
        &mut self,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<EntryDigest, E> {
        match self.digest {
            Some(known) => Ok(known),
            None => Ok(*self.digest.insert(compute_digest(&read(&self.place)?))),
        }
    }
}

fn compute_digest(entry: &Entry) -> EntryDigest {
    let mut hasher = DefaultHasher::new();
    hasher.write(&entry.to_text());
    hasher.finish()
}

impl NamedFrame {
    /// Returns its place in its run; `None` if it replaces nothing.
    pub(super) fn run_position(&self) -> Option<RunPosition> {
        match self.precedence {
            TakePrecedence::Further => None,
            TakePrecedence::Replacing(position) => Some(position),
        }
    }
}

/// Returns where a take with this time goes: after the last one that was not recorded later.
///
/// # Errors
/// The error of `read`.
pub(super) fn insertion_index<E>(
    takes: &mut [CompactionTake],
    time: &Option<String>,
    read: &impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<usize, E> {
    let mut at = takes.len();
    while let Some(before) = at.checked_sub(1).and_then(|before| takes.get_mut(before))
        && before.recorded_time(read)? > time
    {
        at -= 1;
    }
    Ok(at)
}

/// Returns the takes without those that are the same entry as an earlier one with a time, each with
/// its number.
///
/// # Errors
/// The error of `read`.
pub(super) fn distinct_takes<E>(
    takes: Vec<CompactionTake>,
    read: &impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<Vec<(usize, CompactionTake)>, E> {
    let mut distinct: Vec<(usize, CompactionTake)> = Vec::with_capacity(takes.len());
    let mut by_time: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, mut take) in takes.into_iter().enumerate() {
        let mut is_double = false;
        if let Some(time) = take.recorded_time(read)?.clone() {
            let same = by_time.entry(time).or_default();
            for &other in same.iter() {
                if let Some((_, other)) = distinct.get_mut(other) {
                    is_double |= take.equals(other, read)?;
                }
            }
            if !is_double {
                same.push(distinct.len());
            }
        }
        if !is_double {
            distinct.push((number, take));
        }
    }
    Ok(distinct)
}

/// Finds the takes that are the same entries as others in `base`, and returns for each its number
/// there. A take without a time is found once for each that is the same.
///
/// # Errors
/// The error of `read`.
pub(super) fn find_each<E>(
    takes: &mut [CompactionTake],
    base: &mut [CompactionTake],
    read: &impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<Vec<Option<usize>>, E> {
    let mut by_time: HashMap<Option<String>, Vec<usize>> = HashMap::new();
    for (number, take) in base.iter_mut().enumerate() {
        by_time.entry(take.recorded_time(read)?.clone()).or_default().push(number);
    }
    let mut found = Vec::with_capacity(takes.len());
    for take in takes {
        let mut at = None;
        for &number in by_time.get(take.recorded_time(read)?).into_iter().flatten() {
            let Some(other) = base.get_mut(number).filter(|other| !other.is_matched) else {
                continue;
            };
            if take.equals(other, read)? {
                other.is_matched = true;
                at = Some(number);
                break;
            }
        }
        found.push(at);
    }
    Ok(found)
}
