//! A recording, the changes that wait beside it, and the state of each change in relation to the
//! recording.
//!
//! Of each entry, only what identifies it is held in memory. Entries are read again one at a time.

use super::super::show::contents::RecordingContents;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::serve_setup;
use loomrec_cli::waiting_recordings::is_there;
use loomrec_curation::review::{ChangeStanding, ReviewChange, change_standings};
use loomrec_recording::pending::{PendingChange, PendingKind, ReplacedTake};
use loomrec_recording::{Entry, RecordingMeta};
use loomrec_store::{Recording, RecordingLocation, StoreError, TakeRef};

/// The reason that is shown for a change without one.
const NO_REASON: &str = "unsaid";

/// A recording and the changes that wait for review.
#[derive(Debug)]
pub(crate) struct ReviewDesk {
    /// The recording, as the user named it.
    pub(crate) file: RecordingLocation,
    /// The file in which the changes wait.
    pub(crate) new: RecordingLocation,
    /// Whether that is not the default file.
    pub(crate) is_elsewhere: bool,
    pub(super) recording: Recording,
    pub(super) waiting: Recording,
    /// The takes of the recording.
    pub(crate) held: Vec<ReplacedTake>,
    pub(super) held_at: Vec<TakeRef>,
    /// The changes.
    pub(crate) changes: Vec<ReviewChange>,
    /// The reason for each change.
    pub(crate) reasons: Vec<String>,
    pub(super) changes_at: Vec<TakeRef>,
    /// The state of each change in relation to the recording.
    pub(crate) standings: Vec<ChangeStanding>,
    failed: FailedCalls,
}

/// Which takes and changes are of failed calls.
#[derive(Debug, Default)]
struct FailedCalls {
    held: Vec<bool>,
    changes: Vec<bool>,
}

impl ReviewDesk {
    /// Opens a recording and its changes for viewing. Returns `None` if there are no changes.
    ///
    /// # Errors
    /// A file that is missing, damaged or too new (4); one that is of the wrong kind, or whose keys
    /// were made under other rules (2).
    pub(crate) fn open_to_view(
        file: &RecordingLocation,
        new: Option<&RecordingLocation>,
        output: &Output,
    ) -> Result<Option<Self>, CommandFailure> {
        Self::open_with(file, new, |path| serve_setup::open(path, output))
    }

    /// Opens a recording and its changes for decisions: a log beside either is merged into it
    /// first.
    ///
    /// # Errors
    /// The errors of [`Self::open_to_view`].
    pub(crate) fn open(
        file: &RecordingLocation,
        new: Option<&RecordingLocation>,
        output: &Output,
    ) -> Result<Option<Self>, CommandFailure> {
        Self::open_with(file, new, |path| serve_setup::open_to_change(path, output))
    }

    fn open_with(
        file: &RecordingLocation,
        new: Option<&RecordingLocation>,
        open: impl Fn(&RecordingLocation) -> Result<Recording, CommandFailure>,
    ) -> Result<Option<Self>, CommandFailure> {
        let recording = open(file)?;
        refuse_waiting(file, recording.meta())?;
        let place = new.map_or_else(|| file.with_suffix(".new"), RecordingLocation::clone);
        if new.is_none() && !is_there(&place) {
            return Ok(None);
        }
        let waiting = open(&place)?;
        check_changes(file, &place, &recording, &waiting)?;
        let (mut held, mut held_at, mut failed_calls) =
            (Vec::new(), Vec::new(), FailedCalls::default());
        for stored in recording.entries() {
            let stored = stored?;
            held.push(ReplacedTake::from_entry(&stored.name, stored.take, &stored.entry));
            held_at.push(stored.place);
            failed_calls.held.push(stored.entry.is_failure());
        }
        let (mut changes, mut reasons, mut changes_at) = (Vec::new(), Vec::new(), Vec::new());
        for stored in waiting.entries() {
            let stored = stored?;
            let entry = ReplacedTake::from_entry(&stored.name, stored.take, &stored.entry);
            let pending = PendingChange::from_entry(&stored.entry);
            reasons.push(pending.as_ref().map_or(NO_REASON, |pending| &pending.reason).to_owned());
            changes.push(ReviewChange {
                entry,
                replaces: pending.and_then(|pending| pending.replaces),
            });
            changes_at.push(stored.place);
            failed_calls.changes.push(stored.entry.is_failure());
        }
        let mut failed = None;
        let standings = change_standings(&held, &changes, |take, change| {
            let same = (|| {
                let entry = without_marker(waiting.read_entry(&changes_at[change])?);
                Ok(recording.read_entry(&held_at[take])?.to_json() == entry.to_json())
            })();
            same.unwrap_or_else(|error: StoreError| {
                failed = Some(error);
                false
            })
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        let (file, new, is_elsewhere) = (file.to_owned(), place, new.is_some());
        Ok(Some(Self {
            file,
            new,
            is_elsewhere,
            recording,
            waiting,
            held,
            held_at,
            changes,
            reasons,
            changes_at,
            standings,
            failed: failed_calls,
        }))
    }

    /// Returns the changes that can still be decided.
    pub(crate) fn open_changes(&self) -> Vec<usize> {
        let is_open = |at: &usize| self.standings[*at] != ChangeStanding::Made;
        (0..self.changes.len()).filter(is_open).collect()
    }

    /// Whether a change's call failed, but the call of the take that it would replace succeeded.
    pub(crate) fn replaces_success_by_failure(&self, change: usize) -> bool {
        let replaced = self.standings[change].replaced_index();
        self.failed.changes[change] && replaced.is_some_and(|at| !self.failed.held[at])
    }

    /// Whether a change is the answer to a pending request.
    pub(crate) fn is_answer(&self, change: usize, asked: &ReplacedTake) -> bool {
        let answer = &self.changes[change].entry;
        let hash = &answer.request_hash;
        answer.name == asked.name && (hash.is_none() || *hash == asked.request_hash)
    }

    /// Returns the entry of a change, as it will be in the recording.
    pub(crate) fn read_entry(&self, change: usize) -> Result<Entry, StoreError> {
        self.waiting.read_entry(&self.changes_at[change]).map(without_marker)
    }

    /// Returns the take that a change would replace, and its entry.
    pub(crate) fn replaced_take(
        &self,
        change: usize,
    ) -> Result<Option<(&ReplacedTake, Entry)>, StoreError> {
        let read = |at: usize| Ok((&self.held[at], self.recording.read_entry(&self.held_at[at])?));
        self.standings[change].replaced_index().map(read).transpose()
    }

    /// Returns the names of the changes, to look up a key.
    pub(crate) fn waiting_contents(&self) -> RecordingContents {
        let entries = self.changes.iter().map(|change| &change.entry);
        contents_of_takes(entries.zip(&self.changes_at))
    }

    /// Returns the names of the recording, to look up a key.
    pub(crate) fn recorded_contents(&self) -> RecordingContents {
        contents_of_takes(self.held.iter().zip(&self.held_at))
    }

    /// Returns the metadata of the recording.
    pub(crate) fn meta(&self) -> &RecordingMeta {
        self.recording.meta()
    }
}

fn contents_of_takes<'a>(
    takes: impl Iterator<Item = (&'a ReplacedTake, &'a TakeRef)>,
) -> RecordingContents {
    let mut contents = RecordingContents::default();
    for (take, place) in takes {
        contents.add_take(&take.name, *place, take.request_hash.clone());
    }
    contents
}

/// Returns the entry without its pending marker.
fn without_marker(mut entry: Entry) -> Entry {
    PendingChange::remove_from(&mut entry);
    entry
}

/// Refuses a file of pending items if a recording is expected.
pub(crate) fn refuse_waiting(
    file: &RecordingLocation,
    meta: &RecordingMeta,
) -> Result<(), CommandFailure> {
    if meta.waits_for().is_none() {
        return Ok(());
    }
    let shown = file.display().to_string();
    let of = [".new", ".pending"].iter().find_map(|suffix| file.recording_of(suffix));
    let hint = of.map_or_else(String::new, |of| format!(": {}", of.display()));
    Err(CommandFailure::usage(format!(
        "{shown} holds pending items; name the recording itself{hint}"
    )))
}

/// Refuses a file without changes, and changes that belong to another recording.
fn check_changes(
    file: &RecordingLocation,
    place: &RecordingLocation,
    recording: &Recording,
    waiting: &Recording,
) -> Result<(), CommandFailure> {
    let (shown, of) = (place.display(), file.display());
    match waiting.meta().waits_for() {
        Some(PendingKind::Review) => {}
        Some(PendingKind::Answers) => {
            return Err(CommandFailure::usage(format!(
                "{shown} holds requests that wait for their answers: \
                 loomrec rerecord --pending {shown} {of} fetches them"
            )));
        }
        None => {
            return Err(CommandFailure::usage(format!(
                "{shown} is a recording, and holds no pending changes; loomrec diff {of} {shown} \
                 compares the two"
            )));
        }
    }
    if waiting.meta().rules() != recording.meta().rules() {
        return Err(CommandFailure::usage(format!(
            "the keys in {shown} were not made under the `--ignore` rules of {of}: fetch the \
             changes again"
        )));
    }
    Ok(())
}
