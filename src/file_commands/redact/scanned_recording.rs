//! A scanned recording: the decision about each of its takes, and the rewriting of the recording.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use loomrec_cli::exit::{CommandFailure, RECORDING};
use loomrec_identity::IdentityRules;
use loomrec_recording::redact::{CallCredentials, EntryPart, Placeholders, Redactor, UnkeptReason};
use loomrec_recording::{Entry, EntryName, RecordingMeta};
use loomrec_store::{
    LeftoverFile, Recording, RecordingChanges, RecordingLocation, TakeChange, TakeRef,
};

/// A scanned take.
pub(super) struct ScannedTake {
    pub(super) was: EntryName,
    pub(super) number: usize,
    pub(super) name: EntryName,
    place: TakeRef,
    pub(super) changed: Vec<EntryPart>,
    pub(super) left: Option<UnkeptReason>,
}

/// A scanned recording.
pub(super) struct ScannedRecording {
    pub(super) path: RecordingLocation,
    recording: Recording,
    pub(super) takes: Vec<ScannedTake>,
    /// Its metadata, if text in it is redacted.
    pub(super) meta: Option<RecordingMeta>,
    /// Its rules with the patterns, if it lacks some.
    rules: Option<IdentityRules>,
    /// Files that belong to it, may contain the same values, and are not scanned.
    pub(super) beside: Vec<String>,
}

impl ScannedRecording {
    pub(super) fn from_recording(
        path: &RecordingLocation,
        recording: Recording,
        redactor: &Redactor,
        patterns: &[String],
    ) -> Result<Self, CommandFailure> {
        let rules = recording.meta().rules().clone();
        let mut takes = Vec::new();
        for stored in recording.entries() {
            let stored = stored?;
            let clean = redactor.redact_entry(&stored.name, &stored.entry, &rules);
            takes.push(ScannedTake {
                was: stored.name,
                number: stored.take,
                name: clean.name,
                place: stored.place,
                changed: clean.changed,
                left: clean.left,
            });
        }
        let meta = redacted_metadata(path, recording.meta(), redactor)?;
        let with_patterns = rules.with_redactions(patterns.iter().cloned());
        if with_patterns.redactions().len() > RecordingMeta::MOST_RULES {
            let most = RecordingMeta::MOST_RULES;
            let why = format!("{}: a recording can have {most} patterns", path.display());
            return Err(CommandFailure::usage(why));
        }
        let rules = (with_patterns != rules).then_some(with_patterns);
        let beside = unsearched_files(path)?;
        Ok(Self { path: path.to_owned(), takes, meta, rules, beside, recording })
    }

    pub(super) fn changes_something(&self) -> bool {
        self.meta.is_some()
            || self.rules.is_some()
            || self.takes.iter().any(|take| !take.changed.is_empty())
    }

    /// Returns the patterns that its rules get.
    pub(super) fn new_patterns(&self) -> Vec<String> {
        let known = self.recording.meta().rules().redactions();
        let all = self.rules.iter().flat_map(|rules| rules.redactions());
        all.filter(|pattern| !known.contains(pattern)).cloned().collect()
    }

    /// Returns the future names, in the order of their first takes.
    fn future_names(&self) -> Vec<(&EntryName, Vec<&ScannedTake>)> {
        let mut names: Vec<(&EntryName, Vec<&ScannedTake>)> = Vec::new();
        let mut known = HashMap::new();
        for take in &self.takes {
            let at = *known.entry(&take.name).or_insert(names.len());
            if at == names.len() {
                names.push((&take.name, Vec::new()));
            }
            names[at].1.push(take);
        }
        names
    }

    /// Returns the names that become one, by their future name.
    pub(super) fn merged_names(&self) -> BTreeMap<&EntryName, Vec<&EntryName>> {
        let mut merged = BTreeMap::new();
        for (name, takes) in self.future_names() {
            let mut old: Vec<&EntryName> = takes.iter().map(|take| &take.was).collect();
            old.dedup();
            if old.len() > 1 {
                merged.insert(name, old);
            }
        }
        merged
    }

    fn redacted_entry(
        &self,
        take: &ScannedTake,
        redactor: &Redactor,
    ) -> Result<Entry, CommandFailure> {
        let entry = self.recording.read_entry(&take.place)?;
        let rules = self.recording.meta().rules();
        Ok(redactor.redact_entry(&take.was, &entry, rules).entry)
    }

    /// Writes the redacted recording.
    pub(super) fn write_redacted(&self, redactor: &Redactor) -> Result<(), CommandFailure> {
        if let Some(mut meta) = self.meta.clone() {
            self.rules.iter().for_each(|rules| meta.adopt(rules));
            let entries = self.future_names().into_iter().flat_map(|(name, takes)| {
                takes
                    .into_iter()
                    .map(move |take| Ok((name.clone(), self.redacted_entry(take, redactor)?)))
            });
            return self.recording.replace_entries(&meta, entries).map(drop);
        }
        let mut changes = RecordingChanges::new()?;
        self.rules.iter().for_each(|rules| changes.set_rules(rules.clone()));
        let mut before: HashMap<&EntryName, usize> = HashMap::new();
        self.takes.iter().for_each(|take| *before.entry(&take.was).or_default() += 1);
        let after: HashSet<&EntryName> = self.takes.iter().map(|take| &take.name).collect();
        let gone = self.takes.iter().map(|take| &take.was).filter(|was| !after.contains(was));
        for name in gone {
            changes.set_takes(name.clone(), Vec::new())?;
        }
        for (name, takes) in self.future_names() {
            let is_whole = |take: &&ScannedTake| take.changed.is_empty() && take.was == *name;
            if takes.iter().all(is_whole) && before.get(name) == Some(&takes.len()) {
                continue;
            }
            let first = takes.first().filter(|take| !after.contains(&take.was));
            match first.filter(|_| !before.contains_key(name)) {
                Some(first) => changes.rename_takes(first.was.clone(), name.clone(), Vec::new())?,
                None => changes.set_takes(name.clone(), Vec::new())?,
            }
            for take in takes {
                let kept = match take.changed.is_empty() {
                    true => TakeChange::Place(take.place),
                    false => TakeChange::Entry(Box::new(self.redacted_entry(take, redactor)?)),
                };
                changes.push(name, kept)?;
            }
        }
        self.recording.rewrite(&changes)?;
        Ok(())
    }
}

/// Returns the metadata without credentials, or `None` if it contains none.
fn redacted_metadata(
    path: &RecordingLocation,
    meta: &RecordingMeta,
    redactor: &Redactor,
) -> Result<Option<RecordingMeta>, CommandFailure> {
    let mut keys = meta.top_level_keys().clone();
    let others =
        keys.iter_mut().filter(|(name, _)| !matches!(name.as_str(), "_version" | "_loomrec"));
    let none = &mut Placeholders::default();
    others.for_each(|(_, value)| redactor.redact_json(value, &CallCredentials::default(), none));
    if keys == *meta.top_level_keys() {
        return Ok(None);
    }
    RecordingMeta::parse(keys).map(Some).map_err(|error| {
        CommandFailure::new(RECORDING, format!("failed to read {}: {error}", path.display()))
    })
}

/// Returns the files that belong to a recording and may contain the same requests and answers, by
/// their paths from the recording's folder.
///
/// # Errors
/// A log or the hidden folder cannot be read.
fn unsearched_files(path: &RecordingLocation) -> Result<Vec<String>, CommandFailure> {
    let leftovers = loomrec_store::find_leftovers(path)?;
    let holds = leftovers.into_iter().filter_map(|leftover| match leftover {
        LeftoverFile::Torn { path, .. } | LeftoverFile::Waiting { path } => Some(path),
        LeftoverFile::Log { .. } => None,
    });
    let real = std::fs::canonicalize(path.as_path()).unwrap_or_default();
    let folder = real.parent().unwrap_or(Path::new(""));
    let shown = |path: PathBuf| path.strip_prefix(folder).unwrap_or(&path).display().to_string();
    let temporary = loomrec_store::find_temporary_files(path)?;
    Ok(holds.chain(temporary).map(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_store::{RecordingAppender, RunChoice};

    #[test]
    fn calls_that_are_recorded_while_metadata_are_redacted_are_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        let text = r#"{"_version": 2, "_note": "a secret", "a": {"content": "one"}}"#;
        std::fs::write(&path, text).unwrap();
        let redactor = Redactor::new(&["secret".to_owned()]).unwrap();
        let recording = Recording::open(&path).unwrap();
        let work =
            ScannedRecording::from_recording(&path.as_path().into(), recording, &redactor, &[])
                .unwrap();
        let mut recorder =
            RecordingAppender::open(&path, &RunChoice::New, &IdentityRules::default()).unwrap();
        let entry = Entry { content: Some("two".to_owned()), ..Entry::default() };
        recorder
            .append_entries(vec![(EntryName::from_step_id("b").unwrap(), entry)], true)
            .unwrap();
        recorder.close().unwrap();
        assert_eq!(work.write_redacted(&redactor).unwrap_err().code, 5);
        assert_eq!(Recording::open(&path).unwrap().names().count(), 2);
    }
}
