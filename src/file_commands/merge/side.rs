//! The recordings that are merged. Only digests of their takes are held. The takes themselves are
//! read again on demand.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::args::OnConflict;
use crate::ls::{QUESTION, question_of};
use loomrec_cli::exit::{CommandFailure, RECORDING};
use loomrec_cli::output::Output;
use loomrec_cli::output_target::is_same_file;
use loomrec_cli::serve_setup;
use loomrec_curation::comparison::{self, DiffScope};
use loomrec_curation::merge::{ConflictChoice, MergeTake, TakePosition};
use loomrec_identity::IdentityRules;
use loomrec_recording::rekey::NoRequest;
use loomrec_recording::{Entry, EntryName, RecordingMeta};
use loomrec_store::{Recording, RecordingLocation, StoreError, TakeRef};
use loomrec_store::{RecordingChanges, TakeChange, create_recording};

/// Names with their takes, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct SideNames {
    list: Vec<(EntryName, Vec<MergeTake>)>,
    known: HashMap<EntryName, usize>,
}

impl SideNames {
    /// Returns the takes of a name.
    pub(super) fn takes_of(&self, name: &EntryName) -> &[MergeTake] {
        self.known.get(name).map_or(&[], |at| &self.list[*at].1)
    }

    /// Sets the takes of a name. A new name goes to the end.
    pub(super) fn set_takes(&mut self, name: &EntryName, takes: Vec<MergeTake>) {
        match self.known.get(name) {
            Some(&at) => self.list[at].1 = takes,
            None => {
                self.known.insert(name.clone(), self.list.len());
                self.list.push((name.clone(), takes));
            }
        }
    }

    fn push(&mut self, name: EntryName, take: MergeTake) {
        match self.known.get(&name) {
            Some(&at) => self.list[at].1.push(take),
            None => self.set_takes(&name, vec![take]),
        }
    }

    /// Returns all names with their takes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&EntryName, &[MergeTake])> {
        self.list.iter().map(|(name, takes)| (name, takes.as_slice()))
    }
}

/// A recording that is merged.
pub(super) struct MergeSide {
    path: RecordingLocation,
    /// `None` for an empty file, which git passes if there is no base.
    recording: Option<Recording>,
    /// The name for messages.
    label: String,
    places: Vec<(EntryName, TakeRef)>,
    names: SideNames,
}

impl MergeSide {
    /// Opens a recording.
    pub(super) fn open(path: &RecordingLocation, output: &Output) -> Result<Self, CommandFailure> {
        let recording = Some(serve_setup::open(path, output)?);
        Ok(Self::from_recording(path, recording))
    }

    /// Opens a recording that the merged one will replace.
    pub(super) fn open_to_change(
        path: &RecordingLocation,
        output: &Output,
    ) -> Result<Self, CommandFailure> {
        let recording = Some(serve_setup::open_to_change(path, output)?);
        Ok(Self::from_recording(path, recording))
    }

    /// Opens a base, which may be an empty file: that counts as a recording without entries. git
    /// passes one if both sides added the file.
    pub(super) fn open_base(
        path: &RecordingLocation,
        output: &Output,
    ) -> Result<Self, CommandFailure> {
        let is_empty =
            std::fs::metadata(path.as_path()).is_ok_and(|file| file.is_file() && file.len() == 0);
        if is_empty { Ok(Self::from_recording(path, None)) } else { Self::open(path, output) }
    }

    fn from_recording(path: &RecordingLocation, recording: Option<Recording>) -> Self {
        let label = path.display().to_string();
        let (places, names) = Default::default();
        Self { path: path.to_owned(), recording, label, places, names }
    }

    /// Returns the same side with another name for messages.
    pub(super) fn with_label(self, label: String) -> Self {
        Self { label, ..self }
    }

    /// Returns its name for messages.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// Returns its metadata, or `None` for an empty file.
    pub(super) fn meta(&self) -> Option<&RecordingMeta> {
        self.recording.as_ref().map(Recording::meta)
    }

    /// Formats its rules.
    pub(super) fn rule_words(&self) -> String {
        let words = self.meta().map(|meta| meta.rules().rule_descriptions()).unwrap_or_default();
        if words.is_empty() { "none".to_owned() } else { words.join(" ") }
    }
}

/// All recordings that are merged.
pub(super) struct MergeSides {
    files: Vec<MergeSide>,
    rules: IdentityRules,
    scope: DiffScope,
}

impl MergeSides {
    /// Reads the recordings. Their keys are computed under `rules`.
    ///
    /// # Errors
    /// An entry that cannot be read; a key that has to be recomputed and cannot be.
    pub(super) fn new(
        mut files: Vec<MergeSide>,
        rules: IdentityRules,
    ) -> Result<Self, CommandFailure> {
        for (file, side) in files.iter_mut().enumerate() {
            let Some(recording) = &side.recording else { continue };
            for (place, stored) in recording.entries().enumerate() {
                let stored = stored?;
                let (was, mut entry) = (stored.name, stored.entry);
                let name = match recording.meta().rules() == &rules {
                    true => was.clone(),
                    false => entry.rekey(&was, &rules).map_err(|e| no_request(&side.label, &e))?,
                };
                let take = MergeTake::from_entry(TakePosition { file, place }, &name, &entry);
                side.names.push(name, take);
                side.places.push((was, stored.place));
            }
        }
        let mut scope = DiffScope::default();
        scope.rules = rules.clone();
        Ok(Self { files, rules, scope })
    }

    /// Returns the names of a recording.
    pub(super) fn names_in(&self, file: usize) -> &SideNames {
        &self.files[file].names
    }

    /// Returns the names of the recordings for messages, each with its number of takes.
    pub(super) fn label_counts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.files.iter().map(|side| (side.label.as_str(), side.places.len()))
    }

    /// Returns the metadata of a recording.
    pub(super) fn meta(&self, file: usize) -> RecordingMeta {
        self.files[file].meta().cloned().unwrap_or_else(|| RecordingMeta::new(&self.rules))
    }

    /// Whether a recording is an empty file.
    pub(super) fn is_empty(&self, file: usize) -> bool {
        self.files[file].recording.is_none()
    }

    /// Reads a take again, under its current key.
    pub(super) fn read_entry(&self, at: TakePosition) -> Result<Entry, CommandFailure> {
        let side = &self.files[at.file];
        let (Some(recording), (was, place)) = (&side.recording, &side.places[at.place]) else {
            return Ok(Entry::default());
        };
        let mut entry = recording.read_entry(place)?;
        if recording.meta().rules() != &self.rules {
            entry.rekey(was, &self.rules).map_err(|error| no_request(&side.label, &error))?;
        }
        Ok(entry)
    }

    /// Returns the beginning of what a take asks. `None` if that is not recorded.
    pub(super) fn question_start(&self, take: &MergeTake) -> Option<String> {
        question_of(&self.read_entry(take.at).ok()?, QUESTION)
    }

    /// Whether two takes have no difference that counts.
    pub(super) fn is_same_take(
        &self,
        name: &EntryName,
        one: &MergeTake,
        other: &MergeTake,
    ) -> Result<bool, CommandFailure> {
        let (one, other) = (self.read_entry(one.at)?, self.read_entry(other.at)?);
        let sides = (
            comparison::ComparedSide::from_entry(name, &one),
            comparison::ComparedSide::from_entry(name, &other),
        );
        let found = comparison::call_differences(&sides.0, &sides.1, &self.scope);
        Ok(found.iter().all(|difference| !difference.counts))
    }

    /// Writes a recording of these takes. If the target is the first of the merged recordings, its
    /// unchanged takes keep their exact text.
    pub(super) fn write(
        &self,
        path: &RecordingLocation,
        names: &SideNames,
        keys: Map<String, Value>,
        over: bool,
    ) -> Result<(), CommandFailure> {
        let first = &self.files[0];
        if let Some(recording) = &first.recording
            && is_same_file(first.path.as_path(), path.as_path())
            && recording.meta().rules() == &self.rules
            && *recording.meta().top_level_keys() == keys
            && (recording.meta().is_loomrec() || !self.has_ours(names))
        {
            return self.rewrite_first(recording, names);
        }
        let mut meta = RecordingMeta::parse(keys).map_err(|error| {
            CommandFailure::new(
                RECORDING,
                format!("failed to read the recordings' metadata: {error}"),
            )
        })?;
        meta.adopt(&self.rules);
        let entries = names.iter().flat_map(|(name, takes)| {
            takes.iter().map(move |take| Ok((name.clone(), self.read_entry(take.at)?)))
        });
        match self.files.iter().find(|side| is_same_file(side.path.as_path(), path.as_path())) {
            Some(MergeSide { recording: Some(recording), .. }) => {
                recording.replace_entries(&meta, entries)
            }
            _ => create_recording(path, &meta, entries, over),
        }
        .map(drop)
    }

    /// Whether one of these takes comes from a loomrec recording: in a recording that another tool
    /// wrote, it would not be replayed as strictly.
    fn has_ours(&self, names: &SideNames) -> bool {
        let ours = |take: &MergeTake| {
            self.files[take.at.file].meta().is_some_and(RecordingMeta::is_loomrec)
        };
        names.iter().any(|(_, takes)| takes.iter().any(ours))
    }

    /// Changes the first recording so that it holds these takes.
    fn rewrite_first(
        &self,
        recording: &Recording,
        names: &SideNames,
    ) -> Result<(), CommandFailure> {
        let mut changes = RecordingChanges::new()?;
        let was = &self.files[0].names;
        for (name, takes) in names.iter().filter(|(name, takes)| was.takes_of(name) != *takes) {
            changes.set_takes(name.clone(), Vec::new())?;
            for take in takes {
                let kept = match take.at.file {
                    0 => TakeChange::Place(self.files[0].places[take.at.place].1),
                    _ => TakeChange::Entry(Box::new(self.read_entry(take.at)?)),
                };
                changes.push(name, kept)?;
            }
        }
        recording.rewrite(&changes).map(drop).map_err(|error: StoreError| error.into())
    }
}

/// Returns the failure for a key that cannot be recomputed.
fn no_request(label: &str, error: &NoRequest) -> CommandFailure {
    CommandFailure::new(RECORDING, format!("failed to read {label}: failed to {error}"))
}

/// Returns how conflicts are decided. A merge that is to fail on conflicts continues, so
/// that all conflicts are reported.
pub(super) fn conflict_choice(on_conflict: OnConflict) -> ConflictChoice {
    match on_conflict {
        OnConflict::Fail | OnConflict::First => ConflictChoice::First,
        OnConflict::Last => ConflictChoice::Last,
        OnConflict::Both => ConflictChoice::Both,
    }
}

/// Refuses to merge recordings with pending changes.
pub(super) fn same_purpose(sides: &[MergeSide]) -> Result<(), CommandFailure> {
    let waits = |side: &MergeSide| side.meta().and_then(|meta| meta.waits_for());
    let odd = sides.iter().find(|side| waits(side) != waits(&sides[0]));
    odd.map_or(Ok(()), |odd| {
        Err(CommandFailure::usage(format!(
            "{} and {} cannot be merged: one of them holds changes that wait for their review",
            sides[0].label(),
            odd.label()
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_store::{RecordingAppender, RunChoice};

    #[test]
    fn calls_that_are_recorded_while_recordings_are_merged_are_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["a.json", "b.json"].map(|name| RecordingLocation::from(dir.path().join(name)));
        for (path, note) in paths.iter().zip(["one", "two"]) {
            let text =
                format!(r#"{{"_version": 2, "_note": "{note}", "{note}": {{"content": "x"}}}}"#);
            std::fs::write(path.as_path(), text).unwrap();
        }
        for output in &paths {
            let opened = paths
                .iter()
                .map(|path| MergeSide::from_recording(path, Some(Recording::open(path).unwrap())));
            let sides = MergeSides::new(opened.collect(), IdentityRules::default()).unwrap();
            let mut recorder =
                RecordingAppender::open(output, &RunChoice::New, &IdentityRules::default())
                    .unwrap();
            let entry = Entry { content: Some("new".to_owned()), ..Entry::default() };
            recorder
                .append_entries(vec![(EntryName::from_step_id("c").unwrap(), entry)], true)
                .unwrap();
            recorder.close().unwrap();
            let mut keys = sides.meta(0).top_level_keys().clone();
            keys.insert("_more".to_owned(), "x".into());
            let written = sides.write(output, sides.names_in(0), keys, true);
            assert_eq!(written.unwrap_err().code, 5, "{}", output.display());
            assert_eq!(Recording::open(output).unwrap().names().count(), 2);
        }
    }
}
