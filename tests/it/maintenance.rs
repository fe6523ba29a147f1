//! Tests of commands that change a recording, killed at any moment: each entry is present, in its
//! old or its new state, and the same command succeeds when run again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::chance::{Chance, rounds};
use crate::support::fleet::kill;
use crate::support::loomrec::{Process, command, run};
use crate::support::shape::{chat, chat_answer, message, message_answer};
use crate::support::{Answer, Scene, Upstream};

/// Calls of each provider in the recording.
const CALLS: usize = 25;

/// The commands, with `FILE` for the recording and `UPSTREAM` for the address of the upstream.
const COMMANDS: [&str; 6] = [
    "prune FILE --upstream anthropic --apply",
    "redact FILE --redact secret --apply",
    "merge -o FILE FILE other.json",
    "verify --fix FILE",
    "review FILE --accept",
    "rerecord FILE --yes --upstream openai=UPSTREAM --upstream anthropic=UPSTREAM",
];

/// The separator between a call and its answer in the description of a take.
const SAID: &str = " said ";

/// Answers with these words and the request's prompt.
fn speaker(words: &'static str) -> Upstream {
    let padding = "and more ".repeat(100);
    Upstream::start(move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let prompt = body["messages"][0]["content"].as_str().unwrap();
        let text = format!("{words} to {prompt}, a secret {padding}");
        match request.target.as_str() {
            "/v1/messages" => Answer::json(200, message_answer(&text)),
            _ => Answer::json(200, chat_answer(&text)),
        }
    })
}

/// A recording, another one, pending new answers, and calls in the log of a recorder that was
/// killed.
fn sample() -> Scene {
    let scene = Scene::new();
    let (old, new) = (speaker("old"), speaker("new"));
    let calls = |what: &str| -> Vec<_> {
        let of = |n| [chat(&format!("{what} {n}")), message(&format!("{what} {n}"))];
        (0..CALLS).flat_map(of).collect()
    };
    scene.recorded(&old, &calls("other"));
    fs::rename(scene.recording(), scene.path("other.json")).unwrap();
    scene.recorded(&old, &calls("own"));
    rerecord(&scene, &new).expect(0);
    let server = scene.record(&old, &[]);
    for call in calls("logged").iter().take(8) {
        server.call(call).expect(200);
    }
    kill(&server);
    server.process.wait().expect(-9);
    for left in [".lock", ".run"] {
        fs::remove_file(scene.hidden(left)).unwrap();
    }
    scene
}

fn rerecord(scene: &Scene, upstream: &Upstream) -> crate::support::Finished {
    let line = COMMANDS[5].replace("FILE", scene.name()).replace("UPSTREAM", &upstream.url());
    let words: Vec<&str> = line.split(' ').collect();
    crate::support::loomrec::finish(&mut with_keys(command(scene.dir(), &words)), b"")
}

fn with_keys(mut command: std::process::Command) -> std::process::Command {
    let key = "test-0123456789abcdefghijklmn";
    command.env("OPENAI_API_KEY", key).env("ANTHROPIC_API_KEY", key);
    command
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// The contents of a recording, with its log: each take's prompt and answer.
fn held(dir: &Path, name: &str) -> BTreeSet<String> {
    let hidden = |suffix: &str| dir.join(".loomrec").join(format!("{name}{suffix}"));
    if ![dir.join(name), hidden(".log"), hidden(".folding")].iter().any(|path| path.exists()) {
        return BTreeSet::new();
    }
    // Merged with itself, it is as it is, with its log.
    run(dir, &["merge", "-o", "look.json", name, name]).expect(0);
    let text = fs::read_to_string(dir.join("look.json")).unwrap();
    fs::remove_file(dir.join("look.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let entries = json.as_object().unwrap().iter().filter(|(name, _)| !name.starts_with('_'));
    entries
        .flat_map(|(_, entry)| entry.as_array().cloned().unwrap_or_else(|| vec![entry.clone()]))
        .map(|entry| {
            let prompt = &entry["request"]["body"]["messages"][0]["content"];
            format!("{} {prompt}{SAID}{}", entry["provider"], entry["content"])
        })
        .collect()
}

/// A command that is run in copies of a sample.
struct Work<'a> {
    sample: &'a Scene,
    line: String,
    upstream: &'a Upstream,
}

impl Work<'_> {
    fn command(&self, dir: &Path) -> std::process::Command {
        let line = self.line.replace("FILE", self.sample.name());
        let line = line.replace("UPSTREAM", &self.upstream.url());
        with_keys(command(dir, &line.split(' ').collect::<Vec<_>>()))
    }

    fn copied(&self) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        copy(self.sample.dir(), dir.path());
        dir
    }

    /// Everything that the command may change.
    fn look(&self, dir: &Path) -> [BTreeSet<String>; 2] {
        let name = self.sample.name();
        [held(dir, name), held(dir, &format!("{name}.new"))]
    }

    /// Runs it to its end, and then kills it at various moments before that.
    fn prove(&self, rounds: usize, chance: &mut Chance) -> usize {
        let dir = self.copied();
        let before = self.look(dir.path());
        let began = Instant::now();
        let done = Process::spawn(&mut self.command(dir.path())).wait();
        assert_eq!(done.code, 0, "{}: {}{}", self.line, done.stdout, done.stderr);
        let took = began.elapsed();
        let after = self.look(dir.path());
        let mut killed = 0;
        for _ in 0..rounds {
            let dir = self.copied();
            let mut process = Process::spawn(&mut self.command(dir.path()));
            let moment = took.as_micros() as usize;
            std::thread::sleep(Duration::from_micros(chance.below(moment) as u64));
            if !process.has_ended() {
                process.signal("KILL");
            }
            killed += usize::from(process.wait().code == -9);
            self.check(dir.path(), &before, &after);
        }
        killed
    }

    fn check(&self, dir: &Path, before: &[BTreeSet<String>; 2], after: &[BTreeSet<String>; 2]) {
        let now = self.look(dir);
        let line = &self.line;
        for ((now, before), after) in now.iter().zip(before).zip(after) {
            let lost: Vec<_> =
                before.intersection(after).filter(|one| !now.contains(*one)).collect();
            assert!(lost.is_empty(), "{line}: {} are lost: {lost:?}", lost.len());
            let odd: Vec<_> =
                now.iter().filter(|one| !before.contains(*one) && !after.contains(*one)).collect();
            assert!(odd.is_empty(), "{line}: nobody has recorded {odd:?}");
            // A take that is changed is present, in its old or its new state.
            let calls = |all: &BTreeSet<String>| -> BTreeSet<String> {
                all.iter().filter_map(|one| Some(one.split_once(SAID)?.0.to_owned())).collect()
            };
            let stay = &calls(before) & &calls(after);
            let lost: Vec<_> = stay.difference(&calls(now)).cloned().collect();
            assert!(lost.is_empty(), "{line}: calls are lost: {lost:?}");
        }
        let whole = now[0] == before[0] || now[0] == after[0];
        assert!(whole, "{line}: neither the old file nor the new one");
        // A take that moves from one file to another is in one of them.
        let all = |[one, two]: &[BTreeSet<String>; 2]| -> BTreeSet<String> { one | two };
        let lost: Vec<_> = all(after)
            .difference(&all(&now))
            .filter(|one| all(before).contains(*one))
            .cloned()
            .collect();
        assert!(lost.is_empty(), "{line}: neither here nor there: {lost:?}");
        let again = Process::spawn(&mut self.command(dir)).wait();
        assert_eq!(again.code, 0, "{line}, again: {}{}", again.stdout, again.stderr);
        let now = self.look(dir);
        assert!(now == *after, "{line}: not the same the second time");
    }
}

fn prove(rounds: usize) -> usize {
    let (upstream, mut chance, mut killed) = (speaker("new"), Chance::new(), 0);
    let sample = sample();
    for line in COMMANDS {
        let work = Work { sample: &sample, line: line.to_owned(), upstream: &upstream };
        killed += work.prove(rounds, &mut chance);
    }
    killed
}

#[test]
fn nothing_is_lost_when_a_command_that_changes_a_recording_is_killed() {
    assert!(prove(rounds(2, 40)) > 0, "each ended before it was killed");
}

/// Run by `scripts/soak`, for the time it sets.
#[test]
#[ignore = "it runs for minutes: scripts/soak"]
fn soak() {
    let minutes: f64 = std::env::var("SOAK_MINUTES").map_or(1.0, |text| text.parse().unwrap());
    let until = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    let mut killed = 0;
    while killed == 0 || Instant::now() < until {
        killed += prove(5);
    }
    use std::io::Write as _;
    let _ = writeln!(
        std::io::stdout(),
        "maintenance: {killed} commands killed, nothing lost ({} commands)",
        COMMANDS.len()
    );
}
