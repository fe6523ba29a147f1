//! The file of new answers (FILE.new) and its contents that already wait for review.

use std::collections::{BTreeSet, HashMap};

use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::serve_setup;
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::pending::ReplacedTake;
use loomrec_recording::{EntryName, PendingChange, PendingKind, RecordingMeta};
use loomrec_store::{
    Recording, RecordingChanges, RecordingLocation, StoreError, TakeChange, TakeRef,
};

/// The file of new answers.
pub(super) struct NewAnswersFile {
    pub(super) path: RecordingLocation,
    recording: Option<Recording>,
    waiting: Vec<One>,
    /// The answers that replace a take, by that take.
    replacing: HashMap<(EntryName, usize), Vec<usize>>,
    /// The other answers, by their own name.
    adding: HashMap<EntryName, Vec<usize>>,
}

/// A new answer.
struct One {
    name: EntryName,
    key: Option<RequestKey>,
    replaces: Option<ReplacedTake>,
    place: TakeRef,
}

impl NewAnswersFile {
    /// Reads the file, if it exists.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds something else.
    pub(super) fn open(path: &RecordingLocation, output: &Output) -> Result<Self, CommandFailure> {
        let path = path.to_owned();
        let missing = matches!(Recording::open(&path), Err(StoreError::Missing { .. }));
        if missing {
            let (waiting, replacing, adding) = Default::default();
            return Ok(Self { path, recording: None, waiting, replacing, adding });
        }
        let recording = serve_setup::open_to_change(&path, output)?;
        if recording.meta().waits_for() != Some(PendingKind::Review) {
            return Err(CommandFailure::usage(format!(
                "{} holds no new answers: it is another recording; name a file of their own with -o",
                path.display()
            )));
        }
        let mut new = Self {
            path,
            recording: None,
            waiting: Vec::new(),
            replacing: HashMap::new(),
            adding: HashMap::new(),
        };
        for stored in recording.entries() {
            let stored = stored?;
            let replaces = PendingChange::of(&stored.entry).and_then(|pending| pending.replaces);
            let at = new.waiting.len();
            match &replaces {
                Some(replaces) => new.replacing.entry(place_of(replaces)).or_default().push(at),
                None => new.adding.entry(stored.name.clone()).or_default().push(at),
            }
            let key = stored.entry.request_hash;
            new.waiting.push(One { name: stored.name, key, replaces, place: stored.place });
        }
        new.recording = Some(recording);
        Ok(new)
    }

    /// Returns what waits in the place of a call, as indexes: the answers to this very request, and
    /// those to another.
    pub(super) fn waiting(
        &self,
        pending: &PendingChange,
        name: &EntryName,
        key: &RequestKey,
    ) -> (Vec<usize>, Vec<usize>) {
        let found = match &pending.replaces {
            Some(replaces) => self.replacing.get(&place_of(replaces)),
            None => self.adding.get(name),
        };
        let (same, other): (Vec<usize>, Vec<usize>) =
            found.into_iter().flatten().copied().partition(|at| {
                let one = &self.waiting[*at];
                one.name == *name
                    && one.key.as_ref() == Some(key)
                    && one.replaces == pending.replaces
            });
        // A new call does not take the place of an existing take.
        let other = if pending.replaces.is_some() { other } else { Vec::new() };
        (same, other)
    }

    /// Prepares the file for new answers: creates it, or removes what is in the way. Returns
    /// whether it is new.
    ///
    /// # Errors
    /// A failure of storage; another process that records into the file.
    pub(super) fn prepare(
        &self,
        rules: &IdentityRules,
        in_the_way: &BTreeSet<usize>,
    ) -> Result<bool, StoreError> {
        let Some(recording) = &self.recording else {
            let meta = RecordingMeta::waiting(rules, PendingKind::Review);
            let none = std::iter::empty::<Result<_, StoreError>>();
            loomrec_store::create(&self.path, &meta, none, false)?;
            return Ok(true);
        };
        if in_the_way.is_empty() {
            return Ok(false);
        }
        let mut changes = RecordingChanges::new()?;
        let names: BTreeSet<&EntryName> =
            in_the_way.iter().filter_map(|at| self.waiting.get(*at)).map(|one| &one.name).collect();
        let mut kept: HashMap<&EntryName, Vec<TakeChange>> = HashMap::new();
        for (at, one) in self.waiting.iter().enumerate() {
            if names.contains(&one.name) && !in_the_way.contains(&at) {
                kept.entry(&one.name).or_default().push(TakeChange::Place(one.place));
            }
        }
        for name in names {
            changes.set(name.clone(), kept.remove(name).unwrap_or_default())?;
        }
        recording.rewrite(&changes)?;
        Ok(false)
    }
}

fn place_of(replaced: &ReplacedTake) -> (EntryName, usize) {
    (replaced.name.clone(), replaced.take)
}
