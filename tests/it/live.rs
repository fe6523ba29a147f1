//! Tests of reading a recording while it is recorded, or without permission to write.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::chance::Chance;
use crate::support::fleet::{Fleet, kill};
use crate::support::ledger::{check, check_replay, kept, listed, mark, merged, teller};
use crate::support::loomrec::{Server, command, finish};
use crate::support::shape::{chat_answer, chat_events, chat_streamed};
use crate::support::swarm::{Habit, Swarm, call};
use crate::support::{Answer, Gate, Scene, Upstream};

/// Shorter than the wait for any lock.
const AT_ONCE: Duration = Duration::from_secs(10);

fn lock(scene: &Scene) -> fs::File {
    let mut options = fs::OpenOptions::new();
    let file =
        options.create(true).truncate(false).write(true).open(scene.planted(".lock")).unwrap();
    fs2::FileExt::lock_exclusive(&file).unwrap();
    file
}

#[test]
fn a_recording_is_listed_and_replayed_while_it_is_recorded() {
    let (scene, upstream) = (Scene::new(), teller());
    scene.recorded(&upstream, &[call("chat-of-an-earlier-run")]);
    let server = scene.record(&upstream, &[]);
    for n in 1..6 {
        server.call(&call(&format!("stream-call{n}"))).expect(200);
        assert_eq!(listed(&scene), n + 1);
    }
    let shown = scene.run(&["show", "run.json", "--json"]);
    assert!([0, 2].contains(&shown.code), "{}", shown.stderr);
    let replay = scene.replay(&[]);
    let heard: Vec<_> =
        (1..6).map(|n| replay.call(&call(&format!("stream-call{n}"))).expect(200)).collect();
    // What a replay has read stays valid, whatever is recorded later.
    server.call(&call("chat-later")).expect(200);
    server.stop().expect(0);
    replay.call(&call("chat-of-an-earlier-run")).expect(200);
    replay.stop().expect(0);
    let marks = heard.iter().map(|answer| mark(&answer.text()).unwrap()).collect();
    assert_eq!(check(&scene, &marks).len(), 7);
    assert_eq!(scene.names(), ["run.json"]);
}

#[test]
fn readers_do_not_wait_for_a_writer_that_holds_the_lock() {
    let (scene, upstream) = (Scene::new(), teller());
    let server = scene.record(&upstream, &[]);
    server.call(&call("chat-one")).expect(200);
    let guard = lock(&scene);
    let began = Instant::now();
    assert_eq!(listed(&scene), 1);
    let replay = scene.replay(&[]);
    replay.call(&call("chat-one")).expect(200);
    replay.stop().expect(0);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    drop(guard);
    server.stop().expect(0);
}

#[test]
fn readers_see_everything_answered_and_disturb_nobody() {
    let (scene, upstream, mut chance) = (Scene::new(), teller(), Chance::new());
    // A pause keeps the number of takes low for a slow reader.
    let habit = Habit { pause: Duration::from_millis(10), ..Habit::default() };
    let swarm = Swarm::start(2, habit, &mut chance);
    let fleet = Fleet::start(&scene, &upstream, &[], 2, &swarm);
    for n in 1..12 {
        swarm.ledger.wait_for(n * 40);
        let noted = swarm.ledger.len();
        let listed = listed(&scene);
        assert!(listed >= noted, "{listed} are listed of {noted} that were answered");
    }
    let ledger = swarm.ledger.clone();
    swarm.stop();
    fleet.stop();
    check(&scene, &ledger.marks());
    assert_eq!(scene.names(), ["run.json"]);
}

#[test]
fn the_last_byte_waits_for_the_disk_and_the_rest_does_not() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let events = chat_events(&["first", "last"]);
    let answer = Answer::stream().chunk(events[..2].concat()).wait(&gate);
    let upstream = Upstream::always(answer.chunk(events[2..].concat()).end());
    let server = scene.record(&upstream, &[]);
    let guard = lock(&scene);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    client.until("first");
    gate.open();
    client.until("[DONE]");
    // Everything has arrived except the end, which must not come while nothing can be stored.
    assert!(client.is_quiet_for(Duration::from_millis(400)), "acknowledged before it was kept");
    drop(guard);
    client.collect(head).expect(200);
    kill(&server);
    server.process.wait().expect(-9);
    assert_eq!(listed(&scene), 1);
}

/// A recording of one call in the file, and one in the log of a recorder that was killed.
fn killed(upstream: &Upstream) -> Scene {
    let scene = Scene::new();
    scene.recorded(upstream, &[call("chat-folded")]);
    let server = scene.record(upstream, &[]);
    server.call(&call("chat-in-the-log")).expect(200);
    kill(&server);
    server.process.wait().expect(-9);
    scene
}

#[test]
fn a_log_that_nobody_holds_is_told_by_readers_and_left_where_it_is() {
    let scene = killed(&teller());
    let before = scene.files();
    let said = |args: &[&str]| {
        let done = scene.run(args);
        assert!(scene.files() == before, "{args:?} has changed something: {:?}", scene.names());
        done.stderr
    };
    for args in [
        &["ls", "run.json"][..],
        &["show", "run.json"],
        &["diff", "run.json", "run.json"],
        &["stats", "run.json"],
        &["prune", "run.json", "--upstream", "openai"],
        &["redact", "run.json", "--redact", "chat"],
        &["export", "--to", "har", "run.json"],
        &["review", "run.json", "--check"],
    ] {
        let said = said(args);
        let parts = ["run.json.log holds 1 takes", "loomrec verify --fix run.json"];
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
    said(&["verify", "run.json"]);
    said(&["doctor", "run.json"]);
    said(&["review", "--list", "run.json"]);
}

#[test]
fn replay_reads_a_log_that_nobody_holds_and_a_strict_one_names_the_command_that_merges_it() {
    let scene = killed(&teller());
    let before = scene.files();
    let strict = ["replay", "-r", "run.json", "--strict", "--", "true"];
    scene.run(&strict).expect(4).says(&["run.json.log", "`loomrec verify --fix run.json`"]);
    assert!(scene.files() == before, "something was written: {:?}", scene.names());
    let server = scene.replay(&[]);
    for text in ["chat-folded", "chat-in-the-log"] {
        assert!(server.call(&call(text)).expect(200).text().contains(text), "{text}");
    }
    let parts = ["run.json.log holds 1 takes", "loomrec verify --fix run.json"];
    server.stop().expect(0).says(&parts);
    assert!(scene.files() == before, "something was written: {:?}", scene.names());
    merged(&scene);
    assert!(!scene.hidden(".log").exists(), "{:?}", scene.names());
    scene.replayed(&["--strict"], &[call("chat-folded"), call("chat-in-the-log")], 0);
}

#[test]
fn a_committed_log_answers_no_strict_replay() {
    // The reviewed file has one answer; the log beside it has another for the same request.
    let (scene, other) = (Scene::new(), killed(&teller()));
    let upstream = Upstream::start(|_| Answer::json(200, chat_answer("good")));
    scene.recorded(&upstream, &[call("chat-in-the-log")]);
    let reviewed = scene.text();
    fs::copy(other.hidden(".log"), scene.planted(".log")).unwrap();
    fs::copy(other.hidden(".log"), scene.planted(".folding")).unwrap();
    for name in [".log", ".folding"] {
        scene.run(&["replay", "-r", "run.json", "--strict", "--", "true"]).expect(4);
        assert_eq!(scene.text(), reviewed, "the file was changed");
        fs::remove_file(scene.hidden(name)).unwrap();
    }
    let answer = scene.replayed(&["--strict"], &[call("chat-in-the-log")], 0).remove(0);
    assert!(answer.text().contains("good"), "{}", answer.text());
}

#[test]
fn a_committed_log_is_not_turned_on_by_locks_that_any_reader_can_hold() {
    let (scene, other, upstream) = (Scene::new(), killed(&teller()), teller());
    scene.recorded(&upstream, &[call("chat-in-the-log")]);
    let reviewed = scene.text();
    let held = |suffix: &str| {
        let file = fs::File::open(scene.hidden(suffix)).unwrap();
        fs2::FileExt::lock_shared(&file).unwrap();
        file
    };
    fs::copy(other.hidden(".log"), scene.planted(".log")).unwrap();
    fs::write(scene.planted(".lock"), "").unwrap();
    let refused = |what: &str| {
        let strict = &["replay", "-r", "run.json", "--strict", "--", "true"];
        let done = scene.run(strict);
        assert_eq!(done.code, 4, "{what}: {}", done.stderr);
        assert_eq!(scene.text(), reviewed, "{what}: the file was changed");
    };
    let lock = held(".lock");
    refused("the lock is held, and there is no run");
    fs::write(scene.planted(".run"), "{\"run\":null}\n").unwrap();
    fs::set_permissions(scene.hidden(".run"), fs::Permissions::from_mode(0o644)).unwrap();
    refused("the lock is held, and the run is free");
    let run = held(".run");
    refused("both are held, and anybody may hold them");
    drop(lock);
    refused("the run is held, and anybody may hold it");
    drop(run);
}

#[test]
fn record_and_verify_fix_merge_what_a_killed_recorder_left_and_say_so() {
    let upstream = teller();
    for with_record in [true, false] {
        let scene = killed(&upstream);
        let said = match with_record {
            true => scene.record(&upstream, &[]).stop().expect(0).stderr,
            false => merged(&scene).stdout,
        };
        assert!(said.contains("left in its log"), "{said}");
        assert_eq!(kept(&scene).len(), 2);
        assert!(!scene.hidden(".log").exists(), "{:?}", scene.names());
        let again = scene.run(&["ls", "run.json"]).expect(0);
        assert_eq!(again.stderr, "", "said twice");
    }
}

/// A user other than root, to whom permissions apply.
const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// A folder that commands made here may only read.
struct ReadOnly {
    scene: Scene,
    binary: PathBuf,
}

impl ReadOnly {
    fn new(scene: Scene) -> Self {
        // Root may write anywhere, and this user cannot even reach the build's folder.
        let binary = scene.path("loomrec");
        // Copied by another process. Otherwise a child that another test forks meanwhile would hold
        // the file open for writing, and it could not be executed.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_loomrec")).arg(&binary).status();
        assert!(copied.unwrap().success());
        for (path, _) in scene.files() {
            let mode = if path.ends_with("loomrec") { 0o555 } else { 0o400 };
            Self::hand_over(&path, mode);
        }
        if scene.path(".loomrec").exists() {
            Self::hand_over(&scene.path(".loomrec"), 0o500);
        }
        Self::hand_over(scene.dir(), 0o500);
        Self { scene, binary }
    }

    fn hand_over(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        if is_root() {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let given = command(self.scene.dir(), args);
        let mut command = Command::new(&self.binary);
        command.args(given.get_args()).current_dir(self.scene.dir()).env_clear();
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = fs::set_permissions(self.scene.dir(), Permissions::from_mode(0o700));
    }
}

#[test]
fn a_checkout_that_may_only_be_read_is_replayed_with_a_command() {
    let (scene, upstream) = (Scene::new(), teller());
    scene.recorded(&upstream, &[call("chat-kept")]);
    fs::remove_dir_all(scene.path(".loomrec")).unwrap();
    let folder = ReadOnly::new(scene);
    let args = ["replay", "--strict", "--allow-empty", "-r", "run.json", "--", "/bin/true"];
    finish(&mut folder.command(&args), b"").expect(0);
    assert!(!folder.scene.path(".loomrec").exists());
}

#[test]
fn a_folder_that_may_only_be_read_is_listed_and_replayed() {
    let (scene, upstream) = (Scene::new(), teller());
    scene.recorded(&upstream, &[call("chat-folded")]);
    let server = scene.record(&upstream, &[]);
    server.call(&call("chat-in-the-log")).expect(200);
    kill(&server);
    server.process.wait().expect(-9);
    let folder = ReadOnly::new(scene);
    let before = folder.scene.files();
    let listed = finish(&mut folder.command(&["ls", "run.json", "--json"]), b"").expect(0);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(rows.len(), 2, "{}", listed.stderr);
    let mut refused = folder.command(&["replay", "--strict", "-r", "run.json"]);
    finish(&mut refused, b"").expect(4).says(&["verify --fix run.json"]);
    assert_eq!(folder.scene.files(), before, "something was written");
    drop(folder);
    let scene = Scene::new();
    scene.recorded(&upstream, &[call("chat-folded")]);
    let folder = ReadOnly::new(scene);
    let mut replay = folder.command(&["replay", "-r", "run.json", "--listen", "127.0.0.1:0"]);
    let replay = Server::spawn(&mut replay);
    replay.call(&call("chat-folded")).expect(200);
    replay.stop().expect(0);
}

#[test]
fn a_folder_that_may_only_be_read_is_not_recorded_into() {
    let (scene, upstream) = (Scene::new(), teller());
    scene.recorded(&upstream, &[call("chat-one")]);
    let folder = ReadOnly::new(scene);
    let url = format!("openai={}", upstream.url());
    let refused = folder.command(&["record", "-r", "run.json", "--upstream", &url]);
    let mut refused = refused;
    let said = finish(&mut refused, b"").expect(5);
    assert!(
        said.stderr.contains("run.json") && said.stderr.contains("Permission denied"),
        "{}",
        said.stderr
    );
    check_replay(&folder.scene, &kept(&folder.scene));
}
