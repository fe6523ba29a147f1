//! The merge of a recording's log into its file: for each name, where its takes are.
//!
//! A plan is made from the file's outline and the heads of the log's entries. Of the file's own
//! entries, only those are read that a new one must be ordered after. Readers follow the plan and a
//! compaction writes it, so a reader sees what a compaction would write. Merging the same entries
//! again changes nothing.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use loomrec_recording::log_codec::{PackedHead, TakePrecedence};
use loomrec_recording::outline::RecordingOutline;
use loomrec_recording::{Entry, EntryName};

/// The file that holds an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryOrigin {
    /// The recording itself.
    File,
    /// A log, by its number; the older one is first.
    Log(usize),
}

/// The place of an entry in the [`Recording`](super::Recording) it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeRef {
    pub(super) origin: EntryOrigin,
    pub(super) at: u64,
    pub(super) length: u64,
}

impl TakeRef {
    /// Returns the number of bytes of the entry there.
    pub fn bytes(&self) -> u64 {
        self.length
    }
}

/// An entry in a log.
#[derive(Clone, Debug)]
pub(super) struct LogFrame {
    pub(super) head: PackedHead,
    pub(super) place: TakeRef,
}

/// The differences from the file alone.
#[derive(Clone, Debug, Default)]
pub(super) struct LogMerge {
    /// The takes of a name in the file, by its place in [`RecordingOutline::names`]. Other names
    /// are as they are in the file.
    pub(super) changed: HashMap<usize, Vec<TakeRef>>,
    /// The names of the file that are renamed. Their takes are among the changed ones.
    pub(super) renamed: HashMap<usize, EntryName>,
    /// The names that are not in the file, in order.
    pub(super) new: Vec<(EntryName, Vec<TakeRef>)>,
    /// The number of takes that are left out: their calls failed, and a take of the same name
    /// exists whose call succeeded.
    pub(super) failures: usize,
}

impl LogMerge {
    /// Whether the file holds everything already.
    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.new.is_empty()
    }
}

/// Makes the plan. `frames` are in the order in which they were appended. `read` reads an entry.
/// `takes_of` returns the takes of a name of the file, by its number in the outline, and whether
/// they differ from those in the file.
///
/// A frame that is the first of its run replaces the takes of earlier runs, but a failed call never
/// replaces a take whose call succeeded: see [`TakePrecedence`]. Any other frame goes after the
/// last take that was not recorded later, or to the end if it has no time. It is left out if the
/// same entry is there already.
///
/// # Errors
/// The error of `read`, or that of `takes_of` for a name of the file that holds no entries.
pub(super) fn plan<E>(
    outline: &RecordingOutline,
    frames: Vec<LogFrame>,
    takes_of: impl Fn(usize) -> Result<(Vec<TakeRef>, bool), E>,
    read: impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<LogMerge, E> {
    let mut plan = LogMerge::default();
    if frames.is_empty() {
        return Ok(plan);
    }
    for (name, frames) in by_name(frames) {
        let known = outline.find_name(&name);
        // A first take whose call succeeded replaces all before it, which are not read.
        let first = frames.iter().rposition(|frame| frame.precedence == TakePrecedence::First);
        let (base, differs) = match known {
            Some(place) if first.is_none() => takes_of(place)?,
            _ => (Vec::new(), false),
        };
        let mut takes = Takes::of(base);
        let mut changed = first.is_some() || differs;
        for frame in &frames[first.unwrap_or(0)..] {
            changed |= takes.put(frame, &read)?;
        }
        plan.failures += takes.waiting.len();
        let takes = takes.places();
        match known {
            Some(place) if changed => {
                plan.changed.insert(place, takes);
            }
            Some(_) => {}
            None => plan.new.push((name, takes)),
        }
    }
    Ok(plan)
}

/// Returns the takes of a name without duplicates, which are recorded at the same time and equal in
/// everything else; and whether there were any. If there were, each run of takes with times is
/// sorted by time.
///
/// # Errors
/// The error of `read`.
pub(super) fn remove_duplicates<E>(
    places: Vec<TakeRef>,
    read: impl Fn(&TakeRef) -> Result<Entry, E>,
) -> Result<(Vec<TakeRef>, bool), E> {
    let mut takes: Vec<(Option<String>, TakeRef)> = Vec::with_capacity(places.len());
    let mut known: HashMap<Digest, Vec<TakeRef>> = HashMap::new();
    let before = places.len();
    for place in places {
        let entry = read(&place)?;
        let same = known.entry(digest(&entry)).or_default();
        let mut twice = false;
        for other in same.iter().filter(|_| entry.recorded_at.is_some()) {
            twice |= read(other)? == entry;
        }
        if !twice {
            same.push(place);
            takes.push((entry.recorded_at, place));
        }
    }
    let doubled = takes.len() < before;
    if doubled {
        let timed = |one: &(Option<String>, _), next: &(Option<String>, _)| {
            one.0.is_some() == next.0.is_some()
        };
        takes.chunk_by_mut(timed).for_each(|run| run.sort_by(|one, other| one.0.cmp(&other.0)));
    }
    Ok((takes.into_iter().map(|(_, place)| place).collect(), doubled))
}

/// A hash of an entry. Different entries almost always have different ones, so that each entry is
/// read once, however many others it is compared with.
type Digest = u64;

fn digest(entry: &Entry) -> Digest {
    let mut hasher = DefaultHasher::new();
    hasher.write(&entry.to_text());
    hasher.finish()
}

/// A frame among those of its name.
#[derive(Clone)]
struct NamedFrame {
    precedence: TakePrecedence,
    time: Option<String>,
    place: TakeRef,
}

/// Returns the frames of each name, with the names in the order of their first frames.
fn by_name(frames: Vec<LogFrame>) -> Vec<(EntryName, Vec<NamedFrame>)> {
    let mut groups: Vec<(EntryName, Vec<NamedFrame>)> = Vec::new();
    let mut places: HashMap<EntryName, usize> = HashMap::new();
    for LogFrame { head, place } in frames {
        let named = NamedFrame { precedence: head.precedence, time: head.recorded_at, place };
        let next = groups.len();
        let group = *places.entry(head.name.clone()).or_insert(next);
        if group == next {
            groups.push((head.name, Vec::new()));
        }
        groups[group].1.push(named);
    }
    groups
}

/// The takes of a name while frames are merged into them.
struct Takes {
    takes: Vec<Take>,
    /// The number of them that were in the file.
    base: usize,
    /// Failed takes of the present run. They are added only if a later call of the run succeeds.
    waiting: Vec<NamedFrame>,
    /// Whether the call of one of the takes succeeded; `None` if that is not known.
    success: Option<bool>,
}

struct Take {
    place: TakeRef,
    /// When it was recorded; the outer `None` if that has not been read yet.
    time: Option<Option<String>>,
    /// Whether a frame without a time was found to be the same entry.
    is_matched: bool,
    // The digest of its entry, and whether its call failed, if that has been read.
    digest: Option<Digest>,
    failed: Option<bool>,
}

impl Take {
    fn new(place: TakeRef, time: Option<Option<String>>) -> Self {
        Self { place, time, is_matched: false, digest: None, failed: None }
    }

    /// Returns the digest of its entry.
    fn digest<E>(&mut self, read: &impl Fn(&TakeRef) -> Result<Entry, E>) -> Result<Digest, E> {
        match self.digest {
            Some(known) => Ok(known),
            None => Ok(*self.digest.insert(digest(&read(&self.place)?))),
        }
    }

    /// Whether its call failed.
    fn is_failure<E>(&mut self, read: &impl Fn(&TakeRef) -> Result<Entry, E>) -> Result<bool, E> {
        match self.failed {
            Some(known) => Ok(known),
            None => Ok(*self.failed.insert(read(&self.place)?.is_failure())),
        }
    }
}

impl Takes {
    fn of(base: Vec<TakeRef>) -> Self {
        let take = |place| Take::new(place, None);
        let (waiting, success) = (Vec::new(), base.is_empty().then_some(false));
        Self { base: base.len(), takes: base.into_iter().map(take).collect(), waiting, success }
    }

    /// Applies a frame. Returns whether that changed anything.
    fn put<E>(
        &mut self,
        frame: &NamedFrame,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<bool, E> {
        match frame.precedence {
            TakePrecedence::First => {
                self.success = Some(true);
                self.add(frame, read)
            }
            TakePrecedence::Further => {
                // Its call may have failed or not.
                self.success = self.success.filter(|success| *success);
                self.add(frame, read)
            }
            TakePrecedence::FirstFailed | TakePrecedence::Failed => {
                let first = frame.precedence == TakePrecedence::FirstFailed;
                if first {
                    self.waiting.clear();
                }
                if self.has_success(read)? {
                    self.waiting.push(frame.clone());
                    return Ok(false);
                }
                if first {
                    self.clear();
                }
                Ok(self.add(frame, read)? | first)
            }
            TakePrecedence::Recovered => {
                if frame.time.is_some() && self.seat(frame, read)?.is_none() {
                    // It was merged before, together with its run's failures.
                    self.waiting.clear();
                    return Ok(false);
                }
                if self.has_success(read)? {
                    self.clear();
                }
                for failed in std::mem::take(&mut self.waiting) {
                    self.add(&failed, read)?;
                }
                self.add(frame, read)?;
                self.success = Some(true);
                Ok(true)
            }
        }
    }

    fn clear(&mut self) {
        self.takes.clear();
        self.base = 0;
        self.success = Some(false);
    }

    /// Whether the call of one of the takes succeeded.
    fn has_success<E>(&mut self, read: &impl Fn(&TakeRef) -> Result<Entry, E>) -> Result<bool, E> {
        if let Some(known) = self.success {
            return Ok(known);
        }
        let mut found = false;
        for take in &mut self.takes {
            if !take.is_failure(read)? {
                found = true;
                break;
            }
        }
        self.success = Some(found);
        Ok(found)
    }

    fn places(self) -> Vec<TakeRef> {
        self.takes.into_iter().map(|take| take.place).collect()
    }

    /// Inserts a frame at its place. Returns whether that changed anything.
    fn add<E>(
        &mut self,
        frame: &NamedFrame,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<bool, E> {
        let new = Take::new(frame.place, Some(frame.time.clone()));
        if frame.time.is_none() {
            let known = self.match_untimed(frame, read)?;
            if !known {
                self.takes.push(new);
            }
            return Ok(!known);
        }
        let Some(at) = self.seat(frame, read)? else { return Ok(false) };
        self.takes.insert(at, new);
        Ok(true)
    }

    /// Returns the position for a frame with a time; `None` if the same entry is there already.
    fn seat<E>(
        &mut self,
        frame: &NamedFrame,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<Option<usize>, E> {
        let mut at = self.takes.len();
        while at > 0 && *self.time(at - 1, read)? > frame.time {
            at -= 1;
        }
        let mut same = at;
        while same > 0 && *self.time(same - 1, read)? == frame.time {
            same -= 1;
        }
        if same < at {
            let entry = read(&frame.place)?;
            let said = digest(&entry);
            for take in &mut self.takes[same..at] {
                if take.digest(read)? == said && read(&take.place)? == entry {
                    return Ok(None);
                }
            }
        }
        Ok(Some(at))
    }

    /// Whether a frame without a time equals an entry of the file. Each of those entries is matched
    /// once, so that equal entries are counted.
    fn match_untimed<E>(
        &mut self,
        frame: &NamedFrame,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<bool, E> {
        if self.base == 0 {
            return Ok(false);
        }
        let entry = read(&frame.place)?;
        let said = digest(&entry);
        for take in self.takes.iter_mut().filter(|take| take.place.origin == EntryOrigin::File) {
            if take.is_matched || take.digest(read)? != said {
                continue;
            }
            if read(&take.place)? == entry {
                take.is_matched = true;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn time<E>(
        &mut self,
        at: usize,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<&Option<String>, E> {
        let take = &mut self.takes[at];
        let time = match take.time.take() {
            Some(time) => time,
            None => read(&take.place)?.recorded_at,
        };
        Ok(take.time.insert(time))
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
