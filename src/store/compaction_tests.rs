use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::disk::failing::{DiskFailure, Plan};
use crate::log::{self, name_fingerprint};
use crate::reader::{Recording, load_recording};
use loomrec_identity::{JsonPointer, RequestKey};
use loomrec_recording::{Entry, EntryName, RecordingDocument, format, log_codec};
use proptest::prelude::*;

#[path = "commit_tests.rs"]
mod commit;
#[path = "model_tests.rs"]
mod model;

pub(super) struct Folder {
    dir: tempfile::TempDir,
    path: PathBuf,
    paths: RecordingPaths,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        let paths = RecordingPaths::from_path(&path).unwrap().with_state_folder();
        Self { dir, path, paths }
    }

    fn with(text: &str) -> Self {
        let folder = Self::new();
        fs::write(&folder.path, text).unwrap();
        folder
    }

    fn log(&self, at: &Path, frames: &[(EntryName, bool, Entry)]) {
        let mut bytes = Vec::new();
        log::write_first_frame(&IdentityRules::default(), &Default::default(), &mut bytes).unwrap();
        for (name, first, entry) in frames {
            let payload = log_codec::pack_entry(name, *first, entry);
            log::write_frame(name_fingerprint(name), &payload, &mut bytes).unwrap();
        }
        let mut file = fs::File::options().create(true).append(true).open(at).unwrap();
        file.write_all(&bytes).unwrap();
    }

    fn compact(&self) -> Result<CompactionResult, StoreError> {
        compact_with_rules(&self.paths, &Disk::real(), &IdentityRules::default(), true, None)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    fn names(&self) -> Vec<String> {
        crate::state_folder::all_names(self.dir.path())
    }
}

/// The contents of a recording: by name, the contents and times of its takes.
pub(super) type View = BTreeMap<String, Vec<(String, String)>>;

pub(super) fn view(path: &Path) -> View {
    let mut view = View::new();
    let recording = match Recording::open_to_inspect(path) {
        Ok(recording) => recording,
        Err(StoreError::Missing { .. }) => return view,
        Err(error) => panic!("{}", error.error_chain()),
    };
    for stored in recording.entries() {
        let stored = stored.unwrap();
        let takes = view.entry(stored.name.to_string()).or_default();
        takes.push((
            stored.entry.recorded_at.clone().unwrap_or_default(),
            stored.entry.content.clone().unwrap_or_default(),
        ));
        assert_eq!(takes.len(), stored.take);
        assert_eq!(recording.read_entry(&stored.place).unwrap(), stored.entry);
    }
    view
}

fn step(id: &str) -> EntryName {
    EntryName::from_step_id(id).unwrap()
}

fn hash(digit: &str) -> EntryName {
    EntryName::Hash(RequestKey::parse(&digit.repeat(64)).unwrap())
}

fn entry(content: &str, time: &str) -> Entry {
    let recorded_at = (!time.is_empty()).then(|| time.to_owned());
    Entry { content: Some(content.to_owned()), recorded_at, ..Entry::default() }
}

const META: &str = "{\n  \"_version\": 2,\n  \"_loomrec\": {\n    \"format\": \"1.0\",\n    \"identity\": {\n      \"version\": 1,\n      \"ignore\": []\n    }\n  }";

#[test]
fn untouched_entries_keep_their_very_text() {
    let folder = Folder::with("{\"_x\":[ 1 ],\"a\":{\"content\" :\"\\u00e9\"}, \"b\": {}}");
    folder.log(
        &folder.paths.log,
        &[(step("b"), true, entry("new", "")), (step("c"), true, entry("more", ""))],
    );
    let done = folder.compact().unwrap();
    assert_eq!((done.compacted_entries, done.left), (2, false));
    let meta = META.replacen("{\n", "{\n  \"_x\": [ 1 ],\n", 1);
    let rest = "  \"a\": {\"content\" :\"\\u00e9\"},\n  \"b\": {\n    \"content\": \"new\"\n  },\n  \"c\": {\n    \"content\": \"more\"\n  }\n}\n";
    assert_eq!(folder.text(), format!("{meta},\n{rest}"));
    assert_eq!(folder.names(), ["r.json", "r.json.lock"]);
    assert!(load_recording(&folder.path).unwrap().is_loomrec());
}

#[test]
fn takes_of_a_hash_come_together_where_the_first_stood() {
    let key = "ab".repeat(32);
    let name = EntryName::of_key(&key).0;
    let folder = Folder::with(&format!(
        "{{\"{key}\": {{}}, \"a\": {{}}, \"{key}#3\": {{\"model\":\"m\"}}}}"
    ));
    folder.log(&folder.paths.log, &[(name, false, entry("x", "t"))]);
    folder.compact().unwrap();
    let expected = format!(
        "{META},\n  \"{key}\": {{}},\n  \"{key}#2\": {{\"model\":\"m\"}},\n  \"{key}#3\": {{\n    \"content\": \"x\",\n    \"recorded_at\": \"t\"\n  }},\n  \"a\": {{}}\n}}\n"
    );
    assert_eq!(folder.text(), expected);
}

#[test]
fn list_under_a_step_grows_and_its_entries_keep_their_text() {
    let folder = Folder::with("{\"a\": [{\"content\":\"1\"} ,{ }], \"b\": {\"content\":\"2\"}}");
    let new = |name| (step(name), false, entry("3", "t"));
    folder.log(&folder.paths.log, &[new("a"), new("b")]);
    folder.compact().unwrap();
    let take = "{\n      \"content\": \"3\",\n      \"recorded_at\": \"t\"\n    }";
    let expected = format!(
        "{META},\n  \"a\": [\n    {{\"content\":\"1\"}},\n    {{ }},\n    {take}\n  ],\n  \"b\": [\n    {{\n      \"content\": \"2\"\n    }},\n    {take}\n  ]\n}}\n"
    );
    assert_eq!(folder.text(), expected);
}

#[test]
fn unreadable_earlier_take_is_an_error_and_everything_stays() {
    let text = "{\"a\": [{\"cost_usd\": {}}]}";
    let folder = Folder::with(text);
    folder.log(&folder.paths.log, &[(step("a"), false, entry("x", "t"))]);
    let error = folder.compact().unwrap_err();
    assert!(error.to_string().contains("line 1: in \"a\", take 1, /cost_usd must be"), "{error}");
    assert_eq!(folder.text(), text);
    assert!(folder.paths.folding.exists());
    fs::write(&folder.path, "{}").unwrap();
    assert_eq!(folder.compact().unwrap().compacted_entries, 1);
    assert_eq!(load_recording(&folder.path).unwrap().len(), 1);
}

#[test]
fn other_rules_are_refused_unless_the_file_has_no_entry() {
    let folder = Folder::with("{\"a\": {}}");
    folder.log(&folder.paths.log, &[(step("b"), false, entry("x", "t"))]);
    let rules = IdentityRules::new(vec![JsonPointer::parse("/seed").unwrap()]);
    let error = compact_with_rules(&folder.paths, &Disk::real(), &rules, true, None).unwrap_err();
    assert!(matches!(error, StoreError::OtherRules { .. }), "{error}");
    fs::write(&folder.path, "{}").unwrap();
    compact_with_rules(&folder.paths, &Disk::real(), &rules, true, None).unwrap();
    assert_eq!(load_recording(&folder.path).unwrap().meta().rules(), &rules);
}

#[test]
fn log_whose_fold_was_cut_short_is_folded_before_the_next() {
    let folder = Folder::new();
    folder.log(&folder.paths.folding, &[(step("a"), true, entry("1", "t1"))]);
    folder.log(&folder.paths.log, &[(step("a"), false, entry("2", "t2"))]);
    assert_eq!(view(&folder.path)["a"].len(), 2);
    let done = folder.compact().unwrap();
    assert_eq!((done.compacted_entries, done.left), (2, false));
    assert_eq!(view(&folder.path)["a"].len(), 2);
    assert_eq!(folder.compact().unwrap().compacted_entries, 0);
}

#[test]
fn fold_of_someone_alive_is_left_to_him() {
    let folder = Folder::new();
    folder.log(&folder.paths.folding, &[(step("a"), true, entry("1", "t1"))]);
    let held = fs::File::open(&folder.paths.folding).unwrap();
    assert!(crate::lock::try_lock(&held).unwrap());
    let done =
        compact_with_rules(&folder.paths, &Disk::real(), &IdentityRules::default(), false, None)
            .unwrap();
    assert_eq!((done.compacted_entries, done.left), (0, true));
    let waiter = {
        let paths = folder.paths.clone();
        thread::spawn(move || {
            compact_with_rules(&paths, &Disk::real(), &IdentityRules::default(), true, None)
        })
    };
    drop(held);
    assert_eq!(waiter.join().unwrap().unwrap().compacted_entries, 1);
}

#[test]
fn mode_of_the_file_is_kept_and_a_new_one_is_private() {
    let mode = |path: &Path| loomrec_os::FileStatus::at_path(path).unwrap().unwrap().mode;
    let folder = Folder::new();
    let add = |content| folder.log(&folder.paths.log, &[(step("a"), true, entry(content, "t"))]);
    add("1");
    folder.compact().unwrap();
    assert_eq!(mode(&folder.path), 0o600);
    loomrec_os::set_mode(&File::open(&folder.path).unwrap(), 0o644).unwrap();
    add("2");
    folder.compact().unwrap();
    assert_eq!(mode(&folder.path), 0o644);
}

#[test]
fn what_a_dead_recorder_left_is_told_by_readers_and_merged_by_who_changes_it() {
    let folder = Folder::new();
    folder.log(&folder.paths.log, &[(step("a"), true, entry("1", "t1"))]);
    let recording = Recording::open(&folder.path).unwrap();
    assert!(matches!(recording.opening_events(), [StoreEvent::Unmerged { entries: 1, .. }]));
    assert_eq!(recording.names().collect::<Vec<_>>(), [step("a")]);
    assert_eq!(folder.names(), ["r.json.log"]);
    assert!(matches!(Recording::open_reviewed(&folder.path), Err(StoreError::Unmerged { .. })));
    let merged = Recording::open_merged(&folder.path).unwrap();
    let compacted = StoreEvent::Compacted { path: folder.path.clone(), entries: 1 };
    assert_eq!(merged.opening_events(), [compacted]);
    assert_eq!(merged.names().collect::<Vec<_>>(), [step("a")]);
    assert_eq!(folder.names(), ["r.json"]);
    assert!(Recording::open(&folder.path).unwrap().opening_events().is_empty());
    // A live recorder compacts its log itself.
    folder.log(&folder.paths.log, &[(step("b"), true, entry("2", "t2"))]);
    fs::write(&folder.paths.lock, "").unwrap();
    let alive = Disk::real().open(&folder.paths.run).unwrap();
    fs2::FileExt::lock_shared(&alive).unwrap();
    for open in [Recording::open_merged, Recording::open, Recording::open_reviewed] {
        let recording = open(&folder.path).unwrap();
        assert!(recording.opening_events().is_empty() && folder.paths.log.exists());
        assert_eq!(recording.entries().count(), 2);
    }
}

#[test]
fn open_recording_stays_as_it_was_when_it_is_replaced() {
    let folder = Folder::with("{\"a\": {\"content\": \"1\"}}");
    let recording = Recording::open(&folder.path).unwrap();
    folder.log(&folder.paths.log, &[(step("a"), true, entry("2", "t2"))]);
    folder.compact().unwrap();
    let stored = recording.entries().next().unwrap().unwrap();
    assert_eq!(stored.entry.content.as_deref(), Some("1"));
    assert_eq!(recording.read_entry(&stored.place).unwrap(), stored.entry);
    fs::write(&folder.path, "{").unwrap();
    assert_eq!(recording.entries().count(), 1);
}

#[test]
fn errors_of_a_file_are_those_of_its_text() {
    let deep = format!("{{\"a\": {{\"x\": {}1{}}}}}", "[".repeat(200), "]".repeat(200));
    let hash = "a".repeat(64);
    for text in [
        "",
        " \n",
        "\u{feff}{}",
        "[]",
        "42",
        "not json",
        "{\"a\": {\n\"content\": \"x",
        "{\"a\": {},\n\"b\": {\"c\": tru}}",
        "{\"a\": }",
        "{\"a\": {}} x",
        "{\"a\": {},}",
        "{\"a\": {\"c\": \"\\ud800\"}}",
        &deep,
        "{\"_version\": 1}",
        "{\"_x\": tru}",
        "{\"a\": {},\n\"\\u0061\": {}}",
        "{\n\"a\": 1}",
        "{\"a\": [{}, 1]}",
        "{\"a\": [{},]}",
        "{\n\"a\": [{}, {\"cost_usd\": []}]}",
        &format!("{{\"{hash}#2\": [{{}}]}}"),
        "{\"a\": [{}, {\"c\": tru}]}",
        "{\"a\": {}, \"b\": {]}",
        "\"x\"",
        "{\"a\" {}}",
    ] {
        let folder = Folder::with(text);
        let expected = format::parse(text.as_bytes()).unwrap_err();
        match load_recording(&folder.path).unwrap_err() {
            StoreError::Format { problem, .. } => assert_eq!(*problem, expected, "{text}"),
            other => panic!("{text}: {other}"),
        }
    }
    let folder = Folder::new();
    fs::write(&folder.path, b"{\"a\":\n \"\xff\"}").unwrap();
    let error = load_recording(&folder.path).unwrap_err().to_string();
    assert!(error.contains("line 2, column 3: the bytes are not UTF-8"), "{error}");
}

fn any_frame() -> impl Strategy<Value = (EntryName, bool, Entry)> {
    let name = prop_oneof!["[ab]".prop_map(|id| step(&id)), "[cd]".prop_map(|digit| hash(&digit)),];
    (name, "[xyz]", "t[1-5]")
        .prop_map(|(name, content, time)| (name, false, entry(&content, &time)))
}

fn written(cassette: &RecordingDocument) -> String {
    String::from_utf8(format::write_document(cassette)).unwrap()
}

fn cassette_of(frames: &[(EntryName, bool, Entry)]) -> RecordingDocument {
    let mut cassette = RecordingDocument::default();
    for (name, first, entry) in frames {
        cassette.record_take(name.clone(), entry.clone(), *first);
    }
    cassette
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn fold_writes_what_recording_one_by_one_would(filed in prop::collection::vec(any_frame(), 0..8), logged in prop::collection::vec(any_frame(), 1..8)) {
        let folder = Folder::with(&written(&cassette_of(&filed)));
        folder.log(&folder.paths.log, &logged);
        let read = view(&folder.path);
        folder.compact().unwrap();
        let once = folder.text();
        let all: Vec<_> = filed.iter().chain(&logged).cloned().collect();
        prop_assert_eq!(&once, &written(&cassette_of(&all)));
        prop_assert_eq!(&view(&folder.path), &read);
        // A crash before the log was removed.
        folder.log(&folder.paths.folding, &logged);
        prop_assert_eq!(&view(&folder.path), &read);
        folder.compact().unwrap();
        prop_assert_eq!(folder.text(), once);
    }

    #[test]
    fn order_of_two_logs_is_of_no_matter_where_their_takes_have_times_of_their_own(filed in prop::collection::vec(any_frame(), 0..5), one in prop::collection::vec(any_frame(), 0..5), two in prop::collection::vec(any_frame(), 0..5)) {
        let own = |frames: &[(EntryName, bool, Entry)], at: &str| -> Vec<_> {
            let time = |entry: &Entry| Some(format!("{}{at}", entry.recorded_at.as_deref().unwrap()));
            frames.iter().map(|(name, _, entry)| (name.clone(), false, Entry { recorded_at: time(entry), ..entry.clone() })).collect()
        };
        let (one, two) = (own(&one, "-1"), own(&two, "-2"));
        let read = |older: &[_], newer: &[_]| {
            let folder = Folder::with(&written(&cassette_of(&filed)));
            folder.log(&folder.paths.folding, older);
            folder.log(&folder.paths.log, newer);
            view(&folder.path)
        };
        // Equal times of one log keep the order in which they came.
        prop_assert_eq!(read(&one, &two), read(&two, &one));
    }

    #[test]
    fn fold_that_fails_at_any_point_loses_and_doubles_nothing(filed in prop::collection::vec(any_frame(), 0..4), logged in prop::collection::vec(any_frame(), 1..4), how in prop::sample::select(&[DiskFailure::Error, DiskFailure::Short, DiskFailure::Full, DiskFailure::Crash][..])) {
        for at in 0.. {
            let folder = Folder::with(&written(&cassette_of(&filed)));
            folder.log(&folder.paths.log, &logged);
            let before = view(&folder.path);
            let plan = Plan::new(at, how);
            let _ = compact_with_rules(&folder.paths, &Disk::failing(&plan), &IdentityRules::default(), true, None);
            prop_assert_eq!(&view(&folder.path), &before);
            let failed = plan.has_failed();
            folder.compact().unwrap();
            prop_assert_eq!(&view(&folder.path), &before);
            prop_assert_eq!(folder.names(), ["r.json", "r.json.lock"]);
            if !failed {
                break;
            }
        }
    }
}

#[test]
fn entry_that_cannot_be_read_is_set_aside_and_the_rest_is_folded() {
    let whole = log_codec::pack_entry(&step("c"), true, &entry("3", ""));
    let longer = [&whole[..], b"?"].concat();
    for (unreadable, readers_pass_it) in [(&b"no entry"[..], true), (&longer[..], false)] {
        let folder = Folder::new();
        let log = &folder.paths.log;
        folder.log(log, &[(step("a"), true, entry("1", ""))]);
        let mut frame = Vec::new();
        log::write_frame(name_fingerprint(&step("c")), unreadable, &mut frame).unwrap();
        fs::File::options().append(true).open(log).unwrap().write_all(&frame).unwrap();
        folder.log(log, &[(step("b"), true, entry("2", ""))]);
        if readers_pass_it {
            assert_eq!(view(&folder.path).into_keys().collect::<Vec<_>>(), ["a", "b"]);
        }
        let done = folder.compact().unwrap();
        let aside = folder.paths.torn_tail(1);
        assert_eq!((done.compacted_entries, done.left), (2, false));
        let [StoreEvent::Damaged { aside: at, .. }] = &done.notes[..] else { panic!() };
        assert_eq!(*at, aside);
        assert_eq!(view(&folder.path).into_keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(fs::read(aside).unwrap(), frame);
        assert_eq!(folder.names(), ["r.json", "r.json.lock", "r.json.log.torn-1"]);
    }
}
