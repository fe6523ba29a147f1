//! Tests of links, pipes and directories that someone has planted in place of a recording's own
//! files: no command reads, changes or copies their targets, and none blocks on them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command as System;

use crate::support::loomrec::run;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

/// The content that no command may change or copy.
const CANARY: &[u8] = b"-----BEGIN CANARY----- b3Blbn NzaC1r\n";

/// The sidecar files of a recording, with `FILE` for its name.
const SIDECARS: [&str; 8] = [
    ".loomrec/FILE.log",
    ".loomrec/FILE.folding",
    ".loomrec/FILE.lock",
    ".loomrec/FILE.run",
    ".loomrec/FILE.log.torn-1",
    ".loomrec/.FILE.fold.loomrec-tmp",
    "FILE.new",
    ".loomrec/FILE.pending",
];

/// What is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Symlink,
    Dangling,
    HardLink,
    Pipe,
    Directory,
}

use Plant::{Dangling, Directory, HardLink, Pipe, Symlink};

/// A command line, with `FILE` for the recording, and the sidecars that it opens and must therefore
/// refuse: indices in [`SIDECARS`].
type Command = (&'static str, &'static [usize]);

/// The sidecars that every command that reads a recording opens.
const READ: &[usize] = &[0, 1];

/// Every command that takes a recording.
const COMMANDS: [Command; 29] = [
    ("record -r FILE --upstream openai=http://127.0.0.1:9 -- true", &[0, 1, 2, 3]),
    (
        "record -r FILE --mode new_episodes --upstream openai=http://127.0.0.1:9 -- true",
        &[0, 1, 2, 3],
    ),
    ("record -r FILE --mode none --upstream openai=http://127.0.0.1:9 -- true", READ),
    ("replay -r FILE --strict --allow-empty -- true", READ),
    ("replay -r FILE --allow-empty -- true", READ),
    ("replay -r FILE --pending --allow-empty -- true", &[0, 1, 7]),
    ("ls FILE --json", READ),
    ("show FILE", READ),
    ("diff FILE other.json", READ),
    ("diff other.json FILE", READ),
    ("stats FILE", READ),
    ("verify FILE", &[0, 1, 4, 6, 7]),
    ("verify FILE --fix", &[0, 1, 4, 6, 7]),
    ("verify FILE --fix=rehash", &[0, 1, 4, 6, 7]),
    ("merge -o merged.json FILE other.json", READ),
    ("merge -o FILE FILE other.json", READ),
    ("merge --git other.json FILE other.json FILE", READ),
    ("prune FILE --upstream openai", READ),
    ("prune FILE --upstream openai --apply", &[0, 1, 2, 3]),
    ("redact FILE --redact Hello", &[0, 1, 4, 6, 7]),
    ("redact FILE --redact Hello --apply", &[0, 1, 2, 3, 4, 6, 7]),
    ("import exported.har -o FILE --force", &[0, 1, 2, 3]),
    ("export --to har FILE -o out.har", READ),
    ("rerecord FILE --yes --upstream openai=http://127.0.0.1:9", &[0, 1, 6]),
    ("review FILE --check", &[0, 1, 6, 7]),
    ("review FILE --list", &[0, 1, 6, 7]),
    ("review FILE --accept", &[0, 1, 6]),
    ("review FILE --reject", &[0, 1, 6]),
    ("doctor FILE", READ),
];

/// The name of the recording.
const NAME: &str = "run.json";

/// A recording, its files, and a file elsewhere that links lead to.
struct Ground {
    dir: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn canary(&self) -> PathBuf {
        self.dir.path().join("elsewhere/canary")
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("repository")
    }

    /// Creates everything again.
    fn reset(&self, sample: &Scene) {
        let _ = fs::remove_dir_all(self.folder());
        fs::create_dir_all(self.folder()).unwrap();
        fs::create_dir_all(self.dir.path().join("elsewhere")).unwrap();
        fs::write(self.canary(), CANARY).unwrap();
        let at = |name: &str| self.folder().join(name);
        fs::copy(sample.recording(), at("other.json")).unwrap();
        fs::copy(sample.path("exported.har"), at("exported.har")).unwrap();
        fs::copy(sample.recording(), at(NAME)).unwrap();
    }

    fn plant(&self, sidecar: &str, plant: Plant) -> PathBuf {
        let path = self.folder().join(sidecar.replace("FILE", NAME));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match plant {
            Symlink => symlink(self.canary(), &path).unwrap(),
            Dangling => symlink(self.dir.path().join("elsewhere/none"), &path).unwrap(),
            HardLink => fs::hard_link(self.canary(), &path).unwrap(),
            Directory => fs::create_dir(&path).unwrap(),
            Pipe => assert!(System::new("mkfifo").arg(&path).status().unwrap().success()),
        }
        path
    }

    fn run(&self, line: &str) -> crate::support::loomrec::Finished {
        let line = line.replace("FILE", NAME);
        run(&self.folder(), &line.split(' ').collect::<Vec<_>>())
    }

    /// Asserts that the targets of links were neither changed nor copied.
    #[track_caller]
    fn check(&self, what: &str) {
        assert_eq!(fs::read(self.canary()).unwrap(), CANARY, "{what}: changed");
        assert_eq!(fs::metadata(self.canary()).unwrap().mode() & 0o777, 0o644 & !umask(), "{what}");
        let elsewhere = fs::read_dir(self.dir.path().join("elsewhere")).unwrap().count();
        assert_eq!(elsewhere, 1, "{what}: made a file elsewhere");
        let own = fs::metadata(self.canary()).unwrap().ino();
        for path in files(&self.folder()) {
            let found = fs::symlink_metadata(&path).unwrap();
            if found.is_file() && found.ino() != own {
                let bytes = fs::read(&path).unwrap();
                let holds = bytes.windows(10).any(|part| part == &CANARY[..10]);
                assert!(!holds, "{what}: {} holds what is elsewhere", path.display());
            }
        }
    }
}

fn umask() -> u32 {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "").unwrap();
    0o666 & !fs::metadata(dir.path().join("a")).unwrap().mode()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// A recording of two calls, and the same in another format.
fn sample() -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::start(|_| Answer::json(200, chat_answer("Hello.")));
    scene.recorded(&upstream, &[chat("one"), chat("two")]);
    scene.run(&["export", "--to", "har", "run.json", "-o", "exported.har"]).expect(0);
    scene
}

/// Runs commands with something planted in place of each sidecar.
fn check_all(commands: &[Command], plants: &[Plant]) {
    let (sample, ground) = (sample(), Ground::new());
    let mut wrong = Vec::new();
    for (line, uses) in commands {
        ground.reset(&sample);
        let plain = ground.run(line).code;
        for (number, sidecar) in SIDECARS.iter().enumerate() {
            for plant in plants {
                ground.reset(&sample);
                let path = ground.plant(sidecar, *plant);
                let done = ground.run(line);
                let what = format!("{plant:?} at {sidecar}, {line}\n{}", done.stderr);
                ground.check(&what);
                if uses.contains(&number) {
                    let said = done.stderr + &done.stdout;
                    let file = path.file_name().unwrap().to_str().unwrap();
                    // A finding of `doctor` is a result.
                    let code = if line.starts_with("doctor") { 1 } else { 4 };
                    if done.code != code || !said.contains(file) {
                        wrong.push(format!("{} and not {code}: {what}", done.code));
                    }
                } else if !is_beside(*plant, number) {
                    // The command does not use this sidecar.
                    if done.code != plain {
                        wrong.push(format!("{} and not {plain}: {what}", done.code));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A directory in place of a temporary file is refused, and not removed.
fn is_beside(plant: Plant, sidecar: usize) -> bool {
    plant == Directory && sidecar == 5
}

#[test]
fn no_command_follows_a_symlink_in_the_place_of_a_file_beside_a_recording() {
    check_all(&COMMANDS, &[Symlink]);
}

#[test]
fn no_command_opens_a_hard_link_a_pipe_or_a_directory_beside_a_recording() {
    let of = |words: &[&str]| -> Vec<Command> {
        let is_one = |(line, _): &Command| words.iter().any(|word| line.starts_with(word));
        COMMANDS.into_iter().filter(is_one).collect()
    };
    let commands = of(&[
        "record -r FILE --up",
        "replay -r FILE --s",
        "ls",
        "verify FILE --fix --r",
        "prune FILE --upstream openai --a",
        "review FILE --accept",
    ]);
    check_all(&commands, &[HardLink, Pipe, Directory, Dangling]);
}

#[test]
fn no_command_follows_a_link_in_the_place_of_the_hidden_folder() {
    let (sample, ground) = (sample(), Ground::new());
    for (line, _) in COMMANDS.iter().filter(|(line, _)| !line.starts_with("doctor")) {
        ground.reset(&sample);
        let (elsewhere, link) = (ground.dir.path().join("elsewhere"), ground.folder());
        symlink(&elsewhere, link.join(".loomrec")).unwrap();
        let done = ground.run(line);
        let what = format!("{line}\n{}{}", done.stderr, done.stdout);
        assert_eq!(done.code, 4, "{what}");
        assert!(what.contains(".loomrec: it is a symbolic link"), "{what}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "{what}");
        assert_eq!(fs::read(ground.canary()).unwrap(), CANARY, "{what}");
    }
}

#[test]
fn outputs_are_not_written_through_a_link() {
    let (sample, ground) = (sample(), Ground::new());
    for plant in [Symlink, HardLink, Dangling] {
        for (line, code) in [
            ("replay -r FILE --allow-empty --receipt planted -- true", 4),
            ("replay -r FILE --allow-empty --journal planted -- true", 4),
            ("record -r FILE --receipt planted --upstream openai=http://127.0.0.1:9 -- true", 4),
            ("merge -o planted FILE other.json --force", 4),
            ("import exported.har -o planted --force", 4),
            // The link itself is replaced.
            ("export --to har FILE -o planted --force", 0),
        ] {
            ground.reset(&sample);
            ground.plant("planted", plant);
            let done = ground.run(line);
            let what = format!("{plant:?}, {line}: {}", done.stderr);
            ground.check(&what);
            // A file that is replaced as a whole may have other names.
            if plant != HardLink || line.starts_with("re") {
                assert_eq!(done.code, code, "{what}");
            }
        }
    }
}

#[test]
fn recording_that_a_link_names_is_read_and_changed_where_it_is() {
    let (sample, ground) = (sample(), Ground::new());
    ground.reset(&sample);
    let elsewhere = ground.dir.path().join("elsewhere/real.json");
    fs::rename(ground.folder().join("run.json"), &elsewhere).unwrap();
    symlink(&elsewhere, ground.folder().join("run.json")).unwrap();
    ground.run("ls FILE").expect(0);
    ground.run("prune FILE --upstream openai --apply").expect(0);
    assert!(ground.folder().join("run.json").is_symlink());
    assert!(fs::read_to_string(&elsewhere).unwrap().contains("_loomrec"));
    // A dangling link may have been planted to have a file created.
    fs::remove_file(&elsewhere).unwrap();
    let record = "record -r FILE --upstream openai=http://127.0.0.1:9 -- true";
    ground.run(record).expect(4).says(&["run.json", "symbolic link"]);
    assert!(!elsewhere.exists());
}

#[test]
fn recording_that_is_a_link_to_what_is_no_recording_is_not_written() {
    let (sample, ground) = (sample(), Ground::new());
    let elsewhere = ground.dir.path().join("elsewhere");
    let empty = "record -r FILE --upstream openai=http://127.0.0.1:9 -- true";
    for line in [empty, "import exported.har -o FILE", "import exported.har -o FILE --force"] {
        for text in [None, Some("{}"), Some("{\n  \"_version\": 2\n}\n")] {
            ground.reset(&sample);
            let target = elsewhere.join("own");
            match text {
                None => fs::create_dir(&target).unwrap(),
                Some(text) => fs::write(&target, text).unwrap(),
            }
            fs::remove_file(ground.folder().join("run.json")).unwrap();
            symlink(&target, ground.folder().join("run.json")).unwrap();
            let done = ground.run(line);
            let what = format!("{line}, {text:?}: {}", done.stderr);
            // A folder is refused, and without --force an existing file.
            let code = if text.is_none() || line.ends_with("FILE") { 2 } else { 4 };
            assert_eq!(done.code, code, "{what}");
            match text {
                None => assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "{what}"),
                Some(text) => assert_eq!(fs::read_to_string(&target).unwrap(), text, "{what}"),
            }
            assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 2, "{what}");
            let _ = fs::remove_dir(&target);
            let _ = fs::remove_file(&target);
        }
    }
}
