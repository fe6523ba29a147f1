use std::os::unix::fs::{MetadataExt as _, symlink};

use super::*;
use crate::disk::Disk;
use crate::log::{self, fingerprint};
use crate::paths::RecordingPaths;
use crate::{
    ErrorClass, Recording, RecordingAppender, RecordingChanges, RunChoice, StoredEntry, TakeChange,
    compaction, create, load, misnamed,
};
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::{Entry, EntryName, log_codec};

/// A recording's folder, and the files beside it.
struct Folder {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r/");
        Self { dir, path }
    }

    /// Writes a folder with these files.
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        fs::create_dir(&folder.path).unwrap();
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path.join(name), text).unwrap();
    }

    /// Records entries with one recorder, and closes it.
    fn record(&self, entries: Vec<(EntryName, Entry)>) {
        let mut recorder = self.recorder();
        recorder.append(entries, true).unwrap();
        recorder.close().unwrap();
    }

    fn recorder(&self) -> RecordingAppender {
        RecordingAppender::open(&self.path, &RunChoice::New, &IdentityRules::default()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        names(&self.path)
    }

    fn error(&self) -> StoreError {
        match Recording::open(&self.path) {
            Ok(recording) => recording.entries().find_map(Result::err).expect("an error"),
            Err(error) => error,
        }
    }

    /// Returns its contents, by name and take, in order.
    fn told(&self) -> Vec<String> {
        let cassette = load(&self.path).unwrap();
        let told = cassette.entries().map(|(name, take, entry)| {
            let key = name.take_key(take);
            let key = key
                .split_at_checked(64)
                .map_or(key.clone(), |(hash, n)| format!("{}{n}", &hash[..1]));
            format!("{key} {}", entry.content.clone().unwrap_or_default())
        });
        told.collect()
    }
}

fn names(path: &Path) -> Vec<String> {
    crate::state_folder::all_names(path)
}

fn step(id: &str) -> EntryName {
    EntryName::step(id).unwrap()
}

fn hash(digit: &str) -> EntryName {
    EntryName::Hash(RequestKey::parse(&digit.repeat(64)).unwrap())
}

fn said(text: &str, time: &str) -> Entry {
    let recorded_at = (!time.is_empty()).then(|| time.to_owned());
    Entry { content: Some(text.to_owned()), recorded_at, ..Entry::default() }
}

fn file(key: &str, text: &str, time: &str) -> String {
    format!(r#"{{"{key}": {{"content": "{text}", "recorded_at": "{time}"}}}}"#)
}

#[test]
fn every_key_has_a_file_that_is_a_recording_by_itself() {
    let folder = Folder::new();
    let (a, two) = (hash("a"), "a".repeat(64));
    let entries =
        [(step("plan"), "p", "3"), (a.clone(), "1", "1"), (a, "2", "2"), (step("plan"), "q", "4")];
    folder.record(entries.into_iter().map(|(name, text, time)| (name, said(text, time))).collect());
    assert_eq!(
        folder.names(),
        [format!("{two}#2.json"), format!("{two}.json"), "plan.json".into()]
    );
    assert_eq!(names(folder.dir.path()), ["r"], "nothing stands beside it");
    let text = fs::read_to_string(folder.path.join("plan.json")).unwrap();
    assert_eq!(
        text,
        r#"{
  "_version": 2,
  "_loomrec": {
    "format": "1.0",
    "identity": {
      "version": 1,
      "ignore": []
    }
  },
  "plan": [
    {
      "content": "p",
      "recorded_at": "3"
    },
    {
      "content": "q",
      "recorded_at": "4"
    }
  ]
}
"#
    );
    let second = load(folder.path.join(format!("{two}#2.json"))).unwrap();
    assert_eq!(second.entries().count(), 1);
    assert_eq!(folder.told(), ["a 1", "a#2 2", "plan p", "plan#2 q"], "by time");
    assert_eq!(Recording::open(&folder.path).unwrap().rename_files().unwrap(), []);
}

#[test]
fn fold_writes_only_the_files_that_change() {
    let folder = Folder::new();
    let takes =
        |times: &[&str]| times.iter().map(|time| (hash("a"), said(time, time))).collect::<Vec<_>>();
    folder
        .record(takes(&["1", "2", "3"]).into_iter().chain([(step("s"), said("s", "0"))]).collect());
    let inode = || fs::metadata(folder.path.join("s.json")).unwrap().ino();
    let before = inode();
    assert_eq!(folder.names().len(), 4);
    folder.record(takes(&["4"]));
    assert_eq!(folder.told(), ["s s", "a 4", "a#2 2", "a#3 3"]);
    assert_eq!(inode(), before, "it was not written again");
}

#[test]
fn fold_that_died_between_two_files_is_healed_by_the_next() {
    let key = |take: &str| format!("{}{take}", "a".repeat(64));
    // [1, 3] was to become [1, 2, 3]. Any number of the new files may be there.
    let states: [&[(&str, &str)]; 3] = [
        &[("", "1"), ("#2", "3")],
        &[("", "1"), ("#2", "3"), ("#3", "3")],
        &[("", "1"), ("#2", "2"), ("#3", "3")],
    ];
    for state in states {
        let folder = Folder::with(&[]);
        for (take, text) in state {
            folder.write(&format!("{}.json", key(take)), &file(&key(take), text, text));
        }
        folder.write(".0.fold.loomrec-tmp", "half a fi");
        let mut frames = Vec::new();
        log::begin(&IdentityRules::default(), &Default::default(), &mut frames).unwrap();
        let payload = log_codec::pack(&hash("a"), false, &said("2", "2"));
        log::frame(fingerprint(&hash("a")), &payload, &mut frames).unwrap();
        let paths = RecordingPaths::of(&folder.path).unwrap().with_state_folder();
        fs::write(&paths.folding, &frames).unwrap();
        let seen = || {
            let recording = Recording::open_to_inspect(&folder.path).unwrap();
            let read = |stored: Result<StoredEntry, _>| stored.unwrap().entry.content.unwrap();
            recording.entries().map(read).collect::<Vec<_>>()
        };
        assert_eq!(seen(), ["1", "2", "3"], "before it is compacted: {state:?}");
        compaction::run(&paths, &Disk::real(), &IdentityRules::default(), true, None).unwrap();
        assert_eq!(seen(), ["1", "2", "3"], "{state:?}");
        assert_eq!(folder.names().len(), 3, "{:?}", folder.names());
    }
}

#[test]
fn entry_whose_file_was_changed_since_is_an_error_with_its_path() {
    let folder =
        Folder::with(&[("a.json", &file("a", "1", "1")), ("b.json", &file("b", "2", "2"))]);
    let recording = Recording::open(&folder.path).unwrap();
    let places: Vec<_> = recording.entries().map(|stored| stored.unwrap().place).collect();
    folder.write("b.json", &file("b", "another", "2"));
    assert!(recording.entry(&places[0]).is_ok());
    let error = recording.entry(&places[1]).unwrap_err();
    assert!(matches!(error, StoreError::Moved { .. }), "{error}");
    assert!(error.to_string().contains("b.json"), "{error}");
    fs::remove_file(folder.path.join("a.json")).unwrap();
    assert!(matches!(recording.entry(&places[0]), Err(StoreError::Moved { .. })));
}

#[test]
fn what_is_no_entry_is_passed_over_or_refused_with_its_path() {
    let fine = file("a", "1", "1");
    let folder = Folder::with(&[
        ("a.json", &fine),
        ("README.md", "x"),
        (".gitignore", "x"),
        ("._a.json", "\0"),
    ]);
    fs::create_dir(folder.path.join("more")).unwrap();
    assert_eq!(folder.told(), ["a 1"]);
    let bad = "{\n  \"b\": {\"response\": 7}\n}";
    for (name, text, words) in [
        ("b.json", "", "empty"),
        ("b.json", "{", "b.json"),
        ("b.json", "[]", "b.json"),
        ("b.json", "{\"_version\": 2}", "holds one entry, and this one holds 0"),
        ("b.json", "{\"b\": {}, \"c\": {}}", "holds one entry, and this one holds 2"),
        ("b.json", "{\"b\": {}, \"b\": {}}", "occurs twice"),
        ("b.json", "{\"b\": 7}", "line 1"),
        ("b.json", bad, "line 2"),
        ("b.json", &fine, "a.json"),
        (
            "b.json",
            "{\"_loomrec\": {\"identity\": {\"version\": 1, \"ignore\": [\"/x\"]}}, \"b\": {}}",
            "does not agree",
        ),
    ] {
        folder.write(name, text);
        let error = folder.error();
        let told = error.chain();
        assert!(told.contains("b.json") && told.contains(words), "{text}: {told}");
        assert_eq!(error.class(), ErrorClass::Unusable, "{text}");
    }
    fs::remove_file(folder.path.join("b.json")).unwrap();
    assert_eq!(folder.told(), ["a 1"]);
}

#[test]
fn what_is_called_as_an_entry_and_is_no_file_is_refused() {
    let make: [fn(&Path); 4] = [
        |path| fs::create_dir(path).unwrap(),
        |path| symlink("x.json", path).unwrap(),
        |path| symlink("nowhere", path).unwrap(),
        |path| {
            let pipe = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, pipe, 0o600.into(), 0).unwrap();
        },
    ];
    for make in make {
        let folder = Folder::with(&[("a.json", &file("a", "1", "1"))]);
        make(&folder.path.join("x.json"));
        let error = folder.error();
        assert!(error.to_string().contains("x.json"), "{error}");
        assert_eq!(error.class(), ErrorClass::Unusable);
    }
}

#[test]
fn file_whose_name_does_not_fit_is_read_told_and_written_where_it_is() {
    let folder = Folder::with(&[("b.json", &file("a", "1", "1"))]);
    let odd: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff.json");
    fs::write(folder.path.join(odd), file("c", "3", "3")).unwrap();
    for (name, key, fitting) in [("b.json".as_ref(), "a", "a.json"), (odd, "c", "c.json")] {
        assert_eq!(misnamed(Path::new(name), key).as_deref(), Some(fitting));
    }
    folder.record(vec![(step("a"), said("2", "2")), (step("b"), said("4", "4"))]);
    assert_eq!(folder.told(), ["a 2", "c 3", "b 4"]);
    // The name of b was taken.
    assert!(folder.path.join("b~2.json").exists() && folder.path.join("b.json").exists());
    assert!(
        load(folder.path.join("b.json")).unwrap().entries().all(|(name, ..)| *name == step("a"))
    );
}

#[test]
fn files_are_renamed_after_their_keys_and_none_over_another() {
    let folder = Folder::with(&[
        ("b.json", &file("a", "1", "1")),
        ("a.json", &file("b", "2", "2")),
        ("x y.json", &file("Plan", "3", "3")),
        ("fits.json", &file("fits", "4", "4")),
    ]);
    let before = folder.told();
    let renamed = Recording::open(&folder.path).unwrap().rename_files().unwrap();
    assert_eq!(renamed.len(), 3);
    assert_eq!(folder.told(), before);
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, [&name::of_key("Plan")[..], "a~2.json", "b.json", "fits.json"]);
    assert_eq!(Recording::open(&folder.path).unwrap().rename_files().unwrap(), []);
    assert_eq!(folder.names().len(), 4, "nothing is left beside them");
}

#[test]
fn no_step_id_leads_out_of_the_folder() {
    let folder = Folder::new();
    let ids = ["../../x", "/etc/x", "..", ".", "a/b", "nul\0", "\u{202e}x", "-rf", "~"];
    folder.record(ids.iter().map(|id| (step(id), said(id, "1"))).collect());
    assert_eq!(names(folder.dir.path()), ["r"]);
    assert_eq!(folder.names().len(), ids.len());
    let mut told = folder.told();
    told.sort();
    let mut expected: Vec<_> = ids.iter().map(|id| format!("{id} {id}")).collect();
    expected.sort();
    assert_eq!(told, expected);
}

#[test]
fn rewriting_changes_the_files_of_what_changes() {
    let a = |text: &str| (hash("a"), said(text, text));
    let folder = Folder::new();
    folder.record(vec![
        a("1"),
        a("2"),
        a("3"),
        (step("s"), said("s", "4")),
        (step("t"), said("t", "5")),
    ]);
    let recording = Recording::open(&folder.path).unwrap();
    let places: Vec<_> = recording.entries().map(|stored| stored.unwrap().place).collect();
    let mut changes = RecordingChanges::new().unwrap();
    changes.set(hash("a"), places[1..3].iter().copied().map(TakeChange::Place).collect()).unwrap();
    changes.rename(step("s"), step("../u"), vec![TakeChange::Place(places[3])]).unwrap();
    assert!(recording.rewrite(&changes).unwrap());
    assert_eq!(folder.told(), ["a 2", "a#2 3", "../u s", "t t"]);
    assert_eq!(folder.names().len(), 4);
    let refused = recording.rewrite(&changes).unwrap_err();
    assert!(matches!(refused, StoreError::Changed { .. } | StoreError::Moved { .. }), "{refused}");
    assert_eq!(names(folder.dir.path()), ["r"]);
}

#[test]
fn new_recording_takes_the_place_of_a_folder_only_when_told_and_of_nothing_else() {
    let folder =
        Folder::with(&[("a.json", &file("a", "1", "1")), ("b.json", &file("b", "2", "2"))]);
    folder.write("README.md", "read me");
    let made = |over| {
        let entries = [(step("b"), said("new", "7")), (step("c"), said("c", "8"))];
        let entries = entries.into_iter().map(Ok::<_, StoreError>);
        create(&folder.path, &RecordingMeta::default(), entries, over)
    };
    assert!(matches!(made(false), Err(StoreError::Exists { .. })));
    assert_eq!(folder.told(), ["a 1", "b 2"]);
    assert_eq!(made(true).unwrap(), 2);
    assert_eq!(folder.told(), ["b new", "c c"]);
    assert_eq!(folder.names(), ["README.md", "b.json", "c.json"]);
    folder.write("package.json", "{\"name\": \"x\", \"version\": \"1\"}");
    assert_eq!(made(true).unwrap_err().class(), ErrorClass::Unusable);
    assert_eq!(folder.names().len(), 4, "what is no recording is not removed");
}

#[test]
fn files_that_are_removed_while_recording_are_told_as_gone() {
    let folder = Folder::new();
    let mut recorder = folder.recorder();
    recorder.append(vec![(step("a"), said("1", "1")), (step("b"), said("2", "2"))], true).unwrap();
    let job = recorder.start_compaction();
    recorder.compaction_done(job.run()).unwrap();
    fs::remove_file(folder.path.join("a.json")).unwrap();
    recorder.append(vec![(step("c"), said("3", "3"))], true).unwrap();
    let error = recorder.close().unwrap_err();
    assert!(matches!(error, StoreError::Gone { names: 1, .. }), "{error}");
    assert_eq!(folder.told(), ["b 2", "c 3"]);
}

#[test]
fn folder_that_was_removed_while_recording_is_made_again() {
    let folder = Folder::new();
    let mut recorder = folder.recorder();
    recorder.append(vec![(step("a"), said("1", "1"))], true).unwrap();
    fs::remove_dir(&folder.path).unwrap();
    fs::create_dir(folder.dir.path().join("takes its inode")).unwrap();
    recorder.close().unwrap();
    assert_eq!(folder.told(), ["a 1"]);
}

#[test]
fn folder_is_one_recording_by_whatever_path() {
    let folder = Folder::new();
    let mut recorder = folder.recorder();
    recorder.append(vec![(step("a"), said("1", "1"))], true).unwrap();
    let link = folder.dir.path().join("link");
    symlink("r", &link).unwrap();
    for path in [folder.dir.path().join("r"), link.clone(), link.join(""), folder.path.join(".")] {
        let count = load(&path).unwrap().entries().count();
        assert_eq!(count, 1, "{}: what is in the log", path.display());
    }
    recorder.close().unwrap();
    let error = Recording::open(folder.path.join("a.json/")).unwrap_err();
    assert!(matches!(error, StoreError::NotAFolder { .. }), "{error}");
}
