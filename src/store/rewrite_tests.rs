use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::*;
use crate::{RecordingAppender, RunChoice, load_recording};
use loomrec_recording::{RecordingMeta, format};

const FILE: &str = r#"{
  "_version": 2,
  "_note": "by hand",
  "a":   {"content": "one",   "odd": 1},
  "b": [{"content": "x"}, {"content":  "y"}],
  "c": {"content": "three"}
}
"#;

struct Folder {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl Folder {
    fn with(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        fs::write(&path, text).unwrap();
        Self { dir, path }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    fn names(&self) -> Vec<String> {
        crate::state_folder::all_names(self.dir.path())
    }
}

fn step(id: &str) -> EntryName {
    EntryName::from_step_id(id).unwrap()
}

fn entry(text: &str) -> TakeChange {
    TakeChange::Entry(Box::new(said(text)))
}

fn said(text: &str) -> Entry {
    Entry { content: Some(text.to_owned()), ..Entry::default() }
}

/// Returns the contents of a recording, by name and take.
fn contents(path: &Path) -> Vec<String> {
    let cassette = load_recording(path).unwrap();
    let told = cassette.entries().map(|(name, take, entry)| {
        format!("{} {}", name.take_key(take), entry.content.clone().unwrap_or_default())
    });
    told.collect()
}

#[test]
fn what_is_not_changed_keeps_its_very_text() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let kept = recording.entries().nth(2).unwrap().unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_takes(step("b"), vec![entry("new"), TakeChange::Place(kept.place)]).unwrap();
    assert!(recording.rewrite(&changes).unwrap());
    let text = folder.text();
    assert!(text.contains("\"a\": {\"content\": \"one\",   \"odd\": 1}"), "{text}");
    assert!(text.contains("{\"content\":  \"y\"}"), "{text}");
    assert!(text.contains("\"_note\": \"by hand\""), "{text}");
    assert_eq!(contents(&folder.path), ["a one", "b new", "b#2 y", "c three"]);
    assert_eq!(folder.names(), ["r.json"]);
}

#[test]
fn names_go_come_and_are_called_otherwise_where_they_stand() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.rename_takes(step("b"), step("bee"), vec![entry("z")]).unwrap();
    changes.set_takes(step("c"), Vec::new()).unwrap();
    changes.set_takes(step("nowhere"), Vec::new()).unwrap();
    changes.set_takes(step("new"), vec![entry("n")]).unwrap();
    changes.push(&step("new"), entry("m")).unwrap();
    assert!(recording.rewrite(&changes).unwrap());
    assert_eq!(contents(&folder.path), ["a one", "bee z", "new n", "new#2 m"]);
}

#[test]
fn first_of_two_that_replace_one_has_its_place_and_the_other_goes_to_the_end() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.rename_takes(step("a"), step("first"), vec![entry("1")]).unwrap();
    changes.rename_takes(step("a"), step("second"), vec![entry("2")]).unwrap();
    changes.rename_takes(step("b"), step("c"), vec![entry("joined")]).unwrap();
    recording.rewrite(&changes).unwrap();
    assert_eq!(contents(&folder.path), ["first 1", "c joined", "second 2"]);
}

#[test]
fn nothing_is_written_when_nothing_changes() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    assert!(!recording.rewrite(&RecordingChanges::new().unwrap()).unwrap());
    assert_eq!(folder.text(), FILE);
}

#[test]
fn rewriting_is_refused_while_a_recorder_lives() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_takes(step("a"), Vec::new()).unwrap();
    let rules = IdentityRules::default();
    let mut recorder = RecordingAppender::open(&folder.path, &RunChoice::New, &rules).unwrap();
    let refused = recording.rewrite(&changes);
    assert!(matches!(refused, Err(StoreError::Busy { .. })), "{refused:?}");
    recorder.append_entries(vec![(step("d"), said("kept"))], true).unwrap();
    let seen = Recording::open(&folder.path).unwrap();
    let refused = seen.rewrite(&changes);
    assert!(matches!(refused, Err(StoreError::Busy { .. })), "{refused:?}");
    recorder.close().unwrap();
    assert!(contents(&folder.path).contains(&"d kept".to_owned()));
    assert_eq!(folder.names(), ["r.json"]);
}

#[test]
fn rewriting_is_refused_when_the_file_was_changed_since() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let other = FILE.replace("three", "3");
    fs::write(folder.dir.path().join("other"), &other).unwrap();
    fs::rename(folder.dir.path().join("other"), &folder.path).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_takes(step("a"), Vec::new()).unwrap();
    let refused = recording.rewrite(&changes);
    assert!(matches!(refused, Err(StoreError::Changed { .. })), "{refused:?}");
    assert_eq!(folder.text(), other);
    assert_eq!(folder.names(), ["r.json"]);
}

#[test]
fn rewriting_is_refused_when_the_file_was_changed_in_place_since() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let other = FILE.replace("three", "3");
    fs::write(&folder.path, &other).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_takes(step("a"), Vec::new()).unwrap();
    let refused = recording.rewrite(&changes);
    assert!(matches!(refused, Err(StoreError::Changed { .. })), "{refused:?}");
    let refused = recording.remove();
    assert!(matches!(refused, Err(StoreError::Changed { .. })), "{refused:?}");
    assert_eq!(folder.text(), other);
}

#[test]
fn file_that_agentloom_wrote_stays_its_own_when_it_is_rewritten() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_takes(step("c"), vec![entry("3")]).unwrap();
    recording.rewrite(&changes).unwrap();
    assert!(!Recording::open(&folder.path).unwrap().meta().is_loomrec());
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_rules(IdentityRules::default());
    Recording::open(&folder.path).unwrap().rewrite(&changes).unwrap();
    assert!(Recording::open(&folder.path).unwrap().meta().is_loomrec());
}

#[test]
fn mode_of_the_file_is_kept_and_a_new_one_is_private() {
    let folder = Folder::with(FILE);
    fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o640)).unwrap();
    let recording = Recording::open(&folder.path).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_takes(step("a"), Vec::new()).unwrap();
    recording.rewrite(&changes).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path), 0o640);
    let new = folder.dir.path().join("new.json");
    let entries = [Ok::<_, StoreError>((step("a"), said("one")))];
    assert_eq!(
        create_recording(&new, &RecordingMeta::default(), entries.into_iter(), false).unwrap(),
        1
    );
    assert_eq!(mode(&new), 0o600);
}

#[test]
fn new_recording_is_what_its_entries_make_and_gives_way_only_when_told() {
    let folder = Folder::with(FILE);
    let entries =
        || [("x", "1"), ("y", "2"), ("x", "3")].map(|(name, text)| (step(name), said(text)));
    let given = || entries().into_iter().map(Ok::<_, StoreError>);
    let refused = create_recording(&folder.path, &RecordingMeta::default(), given(), false);
    assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
    assert_eq!(folder.text(), FILE);
    assert_eq!(
        create_recording(&folder.path, &RecordingMeta::default(), given(), true).unwrap(),
        3
    );
    let cassette = load_recording(&folder.path).unwrap();
    assert_eq!(folder.text().as_bytes(), format::write_document(&cassette));
    assert_eq!(contents(&folder.path), ["x 1", "x#2 3", "y 2"]);
    assert_eq!(folder.names(), ["r.json"]);
}

#[test]
fn new_recording_is_not_written_where_a_folder_is() {
    let folder = Folder::with(FILE);
    fs::create_dir(folder.dir.path().join("sub")).unwrap();
    for path in ["sub", "sub/", "new/"] {
        let none = std::iter::empty::<Result<_, StoreError>>();
        let path = folder.dir.path().join(path);
        let refused = create_recording(&path, &RecordingMeta::default(), none, true);
        assert!(matches!(refused, Err(StoreError::IntoFolder { .. })), "{refused:?}");
    }
    assert_eq!(folder.names(), ["r.json", "sub"]);
}

#[test]
fn nothing_is_left_behind_when_the_entries_end_in_an_error() {
    let folder = Folder::with(FILE);
    let new = folder.dir.path().join("new.json");
    let missing = StoreError::Missing { path: new.clone() };
    let entries = [Ok((step("a"), said("one"))), Err(missing)];
    assert!(create_recording(&new, &RecordingMeta::default(), entries.into_iter(), false).is_err());
    assert_eq!(folder.names(), ["r.json"]);
}

#[test]
fn log_of_a_killed_recorder_is_named() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_takes(step("a"), Vec::new()).unwrap();
    let log = folder.dir.path().join(".loomrec/r.json.log");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    fs::write(&log, "left").unwrap();
    let refused = recording.rewrite(&changes).unwrap_err();
    assert!(matches!(refused, StoreError::LeftLog { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("r.json.log") && text.contains("loomrec verify --fix"), "{text}");
    assert_eq!(folder.text(), FILE);
}

#[test]
fn recording_is_removed_with_what_belongs_to_it_unless_someone_needs_it() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let rules = IdentityRules::default();
    let mut recorder = RecordingAppender::open(&folder.path, &RunChoice::New, &rules).unwrap();
    assert!(matches!(recording.remove(), Err(StoreError::Busy { .. })));
    recorder.close().unwrap();
    fs::write(folder.dir.path().join(".loomrec/r.json.lock"), "").unwrap();
    Recording::open(&folder.path).unwrap().remove().unwrap();
    assert_eq!(folder.names(), [""; 0]);
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    fs::write(folder.dir.path().join("other"), "{}").unwrap();
    fs::rename(folder.dir.path().join("other"), &folder.path).unwrap();
    assert!(matches!(recording.remove(), Err(StoreError::Changed { .. })));
    assert_eq!(folder.text(), "{}");
}

#[test]
fn recording_that_was_recorded_into_since_it_was_read_is_not_replaced() {
    let folder = Folder::with(FILE);
    let recording = Recording::open(&folder.path).unwrap();
    let read = |recording: &Recording| -> Vec<(EntryName, Entry)> {
        recording.entries().map(|stored| stored.unwrap()).map(|s| (s.name, s.entry)).collect()
    };
    let (meta, entries) = (recording.meta().clone(), read(&recording));
    let mut recorder =
        RecordingAppender::open(&folder.path, &RunChoice::New, &IdentityRules::default()).unwrap();
    recorder.append_entries(vec![(step("d"), said("recorded meanwhile"))], true).unwrap();
    recorder.close().unwrap();
    let replaced = recording.replace_entries::<StoreError>(&meta, entries.into_iter().map(Ok));
    assert!(matches!(replaced, Err(StoreError::Changed { .. })), "{replaced:?}");
    assert!(contents(&folder.path).contains(&"d recorded meanwhile".to_owned()));
    let recording = Recording::open(&folder.path).unwrap();
    let entries = read(&recording);
    assert_eq!(
        recording.replace_entries::<StoreError>(&meta, entries.into_iter().map(Ok)).unwrap(),
        5
    );
}

#[test]
fn what_a_link_leads_to_is_not_changed_where_it_is_no_recording() {
    let folder = Folder::with("{}");
    let link = folder.dir.path().join("link.json");
    std::os::unix::fs::symlink("r.json", &link).unwrap();
    let recording = Recording::open(&link).unwrap();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set_takes(step("a"), vec![entry("new")]).unwrap();
    assert!(matches!(recording.rewrite(&changes), Err(StoreError::Unsafe(_))));
    let one = std::iter::once(Ok((step("a"), said("new"))));
    let replaced = recording.replace_entries::<StoreError>(&recording.meta().clone(), one);
    assert!(matches!(replaced, Err(StoreError::Unsafe(_))), "{replaced:?}");
    assert_eq!(folder.text(), "{}");
}
