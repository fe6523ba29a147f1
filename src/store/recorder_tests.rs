use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use super::*;
use crate::{ErrorClass, load_recording};
use loomrec_identity::{JsonPointer, RequestKey};
use loomrec_recording::RecordingDocument;

pub(super) fn step(id: &str) -> EntryName {
    EntryName::from_step_id(id).unwrap()
}

pub(super) fn entry(content: &str) -> Entry {
    Entry { content: Some(content.to_owned()), ..Entry::default() }
}

pub(super) fn open(path: &Path) -> RecordingAppender {
    RecordingAppender::open(path, &RunChoice::New, &IdentityRules::default()).unwrap()
}

pub(super) fn compact(recorder: &mut RecordingAppender) -> Result<bool, StoreError> {
    let job = recorder.start_compaction();
    recorder.compaction_done(job.run())
}

pub(super) fn contents(cassette: &RecordingDocument) -> Vec<String> {
    cassette
        .entries()
        .map(|(name, take, entry)| {
            format!("{}={}", name.take_key(take), entry.content.as_deref().unwrap())
        })
        .collect()
}

pub(super) fn folder(dir: &tempfile::TempDir) -> Vec<String> {
    crate::state_folder::all_names(dir.path())
}

#[test]
fn takes_of_one_run_are_kept_and_those_of_an_earlier_one_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/r.json");
    let mut one = open(&path);
    let mut two = open(&path);
    one.append_entries(vec![(step("a"), entry("1")), (step("a"), entry("2"))], true).unwrap();
    two.append_entries(vec![(step("a"), entry("3")), (step("b"), entry("4"))], true).unwrap();
    one.append_entries(vec![(step("b"), entry("5"))], true).unwrap();
    one.close().unwrap();
    // The run lives on in the other recorder.
    let mut three = open(&path);
    drop(two);
    three.append_entries(vec![(step("a"), entry("6"))], true).unwrap();
    drop(three);
    assert_eq!(
        contents(&load_recording(&path).unwrap()),
        ["a=1", "a#2=2", "a#3=3", "a#4=6", "b=4", "b#2=5"]
    );

    let mut next = open(&path);
    next.append_entries(vec![(step("a"), entry("7"))], true).unwrap();
    next.append_entries(vec![(step("b"), entry("8"))], false).unwrap();
    next.append_entries(vec![(step("b"), entry("9"))], true).unwrap();
    drop(next);
    // Those of the earlier run stay that the run has not reached.
    let takes = ["a=7", "a#2=2", "a#3=3", "a#4=6", "b=4", "b#2=5", "b#3=8", "b#4=9"];
    assert_eq!(contents(&load_recording(&path).unwrap()), takes);
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert_eq!(crate::state_folder::all_names(&dir.path().join("new")), ["r.json"]);
}

#[test]
fn named_run_is_joined_after_its_recorders_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let named = |name: &str| {
        let choice = RunChoice::Named(name.to_owned());
        RecordingAppender::open(&path, &choice, &IdentityRules::default()).unwrap()
    };
    for (run, content) in [("ci", "1"), ("ci", "2"), ("other", "3")] {
        named(run).append_entries(vec![(step("a"), entry(content))], true).unwrap();
        if content == "2" {
            assert_eq!(contents(&load_recording(&path).unwrap()), ["a=1", "a#2=2"]);
        }
    }
    assert_eq!(contents(&load_recording(&path).unwrap()), ["a=3", "a#2=2"]);
    assert_eq!(folder(&dir), ["r.json", "r.json.run"]);
    open(&path).append_entries(vec![(step("a"), entry("4"))], true).unwrap();
    assert_eq!(contents(&load_recording(&path).unwrap()), ["a=4", "a#2=2"]);
    assert_eq!(folder(&dir), ["r.json"]);
}

#[test]
fn eight_recorders_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    // Keeps the run alive, whenever the others come and go.
    let watcher = open(&path);
    let threads: Vec<_> = (0..8)
        .map(|worker| {
            let path = path.clone();
            thread::spawn(move || {
                let mut recorder = open(&path);
                for call in 0..20 {
                    let own = step(&format!("w{worker}-{call}"));
                    let shared = step("shared");
                    let content = format!("{worker}-{call}");
                    recorder
                        .append_entries(
                            vec![(own, entry(&content)), (shared, entry(&content))],
                            true,
                        )
                        .unwrap();
                    if call == 10 {
                        drop(recorder);
                        recorder = open(&path);
                    }
                }
            })
        })
        .collect();
    // A reader that comes while they work reads a whole file.
    for _ in 0..20 {
        if path.exists() {
            load_recording(&path).unwrap();
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    drop(watcher);
    let cassette = load_recording(&path).unwrap();
    assert_eq!(cassette.takes(&step("shared")).len(), 160);
    assert_eq!(cassette.len(), 320);
    assert_eq!(folder(&dir), ["r.json"]);
}

#[test]
fn change_by_another_hand_is_told_and_read_before_folding() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let mut recorder = open(&path);
    recorder.append_entries(vec![(step("a"), entry("1"))], true).unwrap();
    compact(&mut recorder).unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("\"1\"", "\"one\"");
    fs::write(&path, text).unwrap();
    recorder.append_entries(vec![(step("b"), entry("2"))], true).unwrap();
    // The stored takes of `a` are gone.
    let error = compact(&mut recorder).unwrap_err();
    assert!(matches!(error, StoreError::Gone { names: 0, .. }), "{error}");
    assert_eq!(contents(&load_recording(&path).unwrap()), ["a=one", "b=2"]);
    recorder.close().unwrap();
}

#[test]
fn damage_by_another_hand_is_left_alone_and_nothing_is_lost_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let mut recorder = open(&path);
    recorder.append_entries(vec![(step("a"), entry("1"))], true).unwrap();
    compact(&mut recorder).unwrap();
    fs::write(&path, "{\"a\": {").unwrap();
    recorder.append_entries(vec![(step("b"), entry("3"))], true).unwrap();
    assert_eq!(compact(&mut recorder).unwrap_err().class(), ErrorClass::Unusable);
    recorder.append_entries(vec![(step("c"), entry("4"))], true).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": {");
    fs::write(&path, "{\"a\": {\"content\": \"mended\"}}").unwrap();
    let error = recorder.close().unwrap_err();
    assert!(matches!(error, StoreError::Gone { names: 0, .. }), "{error}");
    assert_eq!(contents(&load_recording(&path).unwrap()), ["a=mended", "b=3", "c=4"]);
    assert_eq!(folder(&dir), ["r.json"]);
}

#[test]
fn recording_that_someone_deleted_is_said_to_be_gone_once_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let mut recorder = open(&path);
    recorder.append_entries(vec![(step("a"), entry("1")), (step("b"), entry("2"))], true).unwrap();
    compact(&mut recorder).unwrap();
    fs::remove_file(&path).unwrap();
    recorder.append_entries(vec![(step("b"), entry("3"))], true).unwrap();
    let error = compact(&mut recorder).unwrap_err();
    assert!(matches!(error, StoreError::Gone { names: 1, .. }), "{error}");
    assert_eq!(contents(&load_recording(&path).unwrap()), ["b=3"]);
    recorder.append_entries(vec![(step("c"), entry("4"))], true).unwrap();
    compact(&mut recorder).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(matches!(recorder.close().unwrap_err(), StoreError::Gone { names: 2, .. }));
    assert_eq!(folder(&dir), [""; 0]);
}

#[test]
fn damaged_recording_is_refused_at_open_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    for text in ["", "{\"a\": ", "{\"a\": {\"usage\": 1}}", "{\"_version\": 1}"] {
        fs::write(&path, text).unwrap();
        let error =
            RecordingAppender::open(&path, &RunChoice::New, &IdentityRules::default()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Unusable, "{text}");
        assert!(error.to_string().contains("r.json"), "{error}");
        assert_eq!(load_recording(&path).unwrap_err().class(), ErrorClass::Unusable);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn missing_file_and_folder_have_their_own_errors() {
    let dir = tempfile::tempdir().unwrap();
    let error = load_recording(dir.path().join("none.json")).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }));
    for path in [dir.path().to_owned(), dir.path().join("none/")] {
        let error = load_recording(&path).unwrap_err();
        assert!(matches!(error, StoreError::IsFolder { .. }), "{error}");
        assert_eq!(error.class(), ErrorClass::Unusable);
        let rules = IdentityRules::default();
        let error = RecordingAppender::open(&path, &RunChoice::New, &rules).unwrap_err();
        assert!(matches!(error, StoreError::IntoFolder { .. }), "{error}");
        assert_eq!(error.class(), ErrorClass::Usage);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn other_rules_are_refused_unless_the_recording_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let rules = IdentityRules::new(vec![JsonPointer::parse("/seed").unwrap()]);
    let open_with = |rules: &IdentityRules| RecordingAppender::open(&path, &RunChoice::New, rules);
    fs::write(&path, "{\"_version\": 2}").unwrap();
    open_with(&rules).unwrap().append_entries(vec![(step("a"), entry("1"))], true).unwrap();
    assert_eq!(load_recording(&path).unwrap().meta().rules(), &rules);
    let error = open_with(&IdentityRules::default()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Usage);
    let text = error.to_string();
    assert!(text.contains("no rules") && text.contains("/seed"), "{text}");
    open_with(&rules).unwrap();
}

#[test]
fn entry_with_a_credential_of_the_run_is_left_out_and_the_others_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let mut recorder = open(&path);
    recorder.watch_for(&CallCredentials::for_known_provider(
        &[("x-api-key".to_owned(), "canary-key-42".to_owned())],
        "",
    ));
    let batch = vec![(step("a"), entry("the canary-key-42")), (step("b"), entry("2"))];
    let error = recorder.append_entries(batch, true).unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotKept);
    assert!(!error.to_string().contains("canary"), "{error}");
    assert_eq!(contents(&load_recording(&path).unwrap()), ["b=2"]);
}

#[test]
fn linked_recording_is_written_through_the_link() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
    std::os::unix::fs::symlink("real.json", &link).unwrap();
    std::fs::write(&real, r#"{"z": {"content": "0"}}"#).unwrap();
    open(&link).append_entries(vec![(step("a"), entry("1"))], true).unwrap();
    assert!(link.is_symlink());
    assert_eq!(load_recording(&real).unwrap().len(), 2);
}

/// Returns a call with a request of its own in a session.
pub(super) fn call(content: &str, session: Option<&str>, request: Option<&str>) -> Entry {
    let request_hash = request.and_then(|digit| RequestKey::parse(&digit.repeat(64)));
    Entry { session: session.map(str::to_owned), request_hash, ..entry(content) }
}

#[test]
fn take_of_a_step_replaces_the_one_with_its_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let record = |calls: &[(&str, &str)]| {
        let mut recorder = open(&path);
        for (content, request) in calls {
            recorder
                .append_entries(vec![(step("s"), call(content, None, Some(request)))], true)
                .unwrap();
        }
        recorder.close().unwrap();
        contents(&load_recording(&path).unwrap())
    };
    record(&[("a", "a"), ("b", "b"), ("c", "c")]);
    assert_eq!(record(&[("B", "b")]), ["s=B", "s#2=a", "s#3=c"]);
    // A request that is new replaces the first.
    assert_eq!(record(&[("D", "d"), ("C", "c")]), ["s=D", "s#2=C", "s#3=a"]);
}

#[test]
fn recorders_state_their_key_variables_once_in_each_log_that_lacks_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let with = |names: &[&str]| {
        let mut recorder = open(&path);
        recorder.state_key_variables(&KeyVariables::known_among(names.iter().copied())).unwrap();
        recorder
    };
    let frames = || {
        let log = fs::read(dir.path().join(".loomrec/r.json.log")).unwrap();
        String::from_utf8_lossy(&log).matches("\"format\"").count()
    };
    let mut one = with(&["XAI_API_KEY"]);
    let mut same = with(&["XAI_API_KEY"]);
    let mut other = with(&["GROQ_API_KEY", "XAI_API_KEY"]);
    let mut none = with(&[]);
    one.append_entries(vec![(step("a"), entry("1"))], true).unwrap();
    same.append_entries(vec![(step("b"), entry("2"))], true).unwrap();
    none.append_entries(vec![(step("c"), entry("3"))], true).unwrap();
    assert_eq!(frames(), 1);
    for number in ["4", "5"] {
        other.append_entries(vec![(step("d"), entry(number))], true).unwrap();
        one.append_entries(vec![(step("e"), entry(number))], true).unwrap();
        assert_eq!(frames(), 2);
    }
    compact(&mut one).unwrap();
    let stated = |expected: &[&str]| {
        let loaded = load_recording(&path).unwrap();
        let names: Vec<_> = loaded.meta().key_variables().iter().collect();
        assert_eq!(names, expected);
        assert_eq!(loaded.meta().rules(), &IdentityRules::default());
    };
    stated(&["GROQ_API_KEY", "XAI_API_KEY"]);
    // The next log states them again: it may become a recording of its own.
    same.append_entries(vec![(step("f"), entry("6"))], true).unwrap();
    assert_eq!(frames(), 1);
    drop((one, same, other, none));
    stated(&["GROQ_API_KEY", "XAI_API_KEY"]);
    assert_eq!(load_recording(&path).unwrap().len(), 8);
}
