//! The long test, run by `scripts/soak`: mixed traffic for minutes while recorders are killed,
//! others join, readers read and logs are compacted. It prints figures, and fails if an answer is
//! lost or a recorder grows without bound.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use crate::support::Scene;
use crate::support::chance::Chance;
use crate::support::fleet::Fleet;
use crate::support::ledger::{Ledger, beside, kept, listed, teller};
use crate::support::swarm::{Habit, Swarm, call};

/// How often the recorders are checked.
const TICK: Duration = Duration::from_millis(100);
/// How much a recorder may grow in all, and for each call that was kept: it remembers the names of
/// its run, and compaction looks at the places of all entries.
const GROWTH: u64 = 64 * 1024 * 1024;
const GROWTH_PER_CALL: u64 = 400;
/// How many more files may be open at the end than after the start.
const MORE_FILES: usize = 16;
/// Each client makes a call in this time: about 250 calls per second in all.
const HABIT: Habit = Habit { clients: 4, big: 1, cut: 2, pause: Duration::from_millis(40) };

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The resident bytes and the open files of a process.
fn usage(pid: u32) -> (u64, usize) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = rss.trim().trim_end_matches(" kB").parse().unwrap();
    (kilobytes * 1024, std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count())
}

/// Recurring moments, at random intervals between half of `every` and one and a half times it.
struct Moments {
    every: Duration,
    next: Instant,
}

impl Moments {
    fn every(every: Duration) -> Self {
        Self { every, next: Instant::now() + every }
    }

    fn is_due(&mut self, chance: &mut Chance) -> bool {
        let due = Instant::now() >= self.next;
        if due {
            self.next += self.every.mul_f64(0.5 + chance.below(1000) as f64 / 1000.0);
        }
        due
    }
}

/// What happened to one recording.
#[derive(Default)]
struct Figures {
    kills: usize,
    folds: usize,
    joins: usize,
    reads: usize,
    acknowledged: usize,
    kept: usize,
    lost: usize,
}

impl Figures {
    fn close(mut self, scene: &Scene, name: &str, ledger: &Ledger) -> Self {
        let (marks, kept) = (ledger.marks(), kept(scene));
        let lost: BTreeSet<_> = marks.difference(&kept).collect();
        (self.acknowledged, self.kept, self.lost) = (marks.len(), kept.len(), lost.len());
        say(&format!(
            "{name}: {} answers acknowledged, {} exchanges kept, {} lost; {} kills, {} folds, \
             {} joins, {} reads",
            self.acknowledged, self.kept, self.lost, self.kills, self.folds, self.joins, self.reads
        ));
        lost.iter().take(10).for_each(|mark| say(&format!("  lost: {mark}")));
        self
    }
}

/// Counts how often the file was replaced.
struct Folds {
    inode: u64,
    count: usize,
}

impl Folds {
    fn look(&mut self, scene: &Scene) {
        let inode = std::fs::metadata(scene.recording()).map_or(0, |file| file.ino());
        self.count += usize::from(inode != self.inode);
        self.inode = inode;
    }
}

/// Latencies within a minute, as clients saw them.
fn latencies(ledger: &Ledger, minute: usize) {
    let mut times = ledger.take_times();
    times.sort();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let (p50, p99) = (ms(at(50)), ms(at(99)));
    say(&format!("minute {minute}: {} calls, p50 {p50:.2} ms, p99 {p99:.2} ms", times.len()));
}

/// Three recorders of one named run: the first lives for the whole time and is watched, the others
/// are killed one at a time; others join for a moment, and readers read.
fn one_is_killed(until: Instant, chance: &mut Chance) -> Figures {
    let (scene, upstream) = (Scene::new(), teller());
    let swarm = Swarm::start(3, HABIT, chance);
    let mut fleet = Fleet::start(&scene, &upstream, &["--run", "soak"], 3, &swarm);
    let (mut figures, mut folds) = (Figures::default(), Folds { inode: 0, count: 0 });
    let mut kill = Moments::every(Duration::from_secs(4));
    let mut join = Moments::every(Duration::from_secs(5));
    let mut read = Moments::every(Duration::from_secs(6));
    let (began, mut minute, mut first) = (Instant::now(), 0, None);
    let watched = fleet.servers[0].process.pid();
    while Instant::now() < until {
        std::thread::sleep(TICK);
        folds.look(&scene);
        if kill.is_due(chance) {
            fleet.replace(1 + chance.below(2), &swarm);
            figures.kills += 1;
        }
        if join.is_due(chance) {
            let server = scene.record(&upstream, &["--run", "soak"]);
            server.call(&call(&format!("chat-join{}", figures.joins))).expect(200);
            server.stop().expect(0);
            figures.joins += 1;
        }
        if read.is_due(chance) {
            let noted = swarm.ledger.len();
            let listed = listed(&scene);
            assert!(listed >= noted, "{listed} are listed of {noted} that were answered");
            figures.reads += 1;
        }
        if first.is_none() && began.elapsed() > Duration::from_secs(15) {
            first = Some((usage(watched), swarm.ledger.len()));
        }
        if began.elapsed() > Duration::from_secs(60) * (minute + 1) {
            minute += 1;
            latencies(&swarm.ledger, minute as usize);
        }
    }
    let (ledger, last) = (swarm.ledger.clone(), usage(watched));
    swarm.stop();
    fleet.stop();
    folds.look(&scene);
    figures.folds = folds.count;
    let ((rss, files), calls) = first.expect("a soak of more than 15 seconds");
    let bound = rss + GROWTH + GROWTH_PER_CALL * (ledger.len() - calls) as u64;
    say(&format!(
        "the recorder that lives: RSS first {:.1} MiB, last {:.1} MiB, bound {:.1} MiB; \
         open files first {files}, last {}, bound {}",
        mib(rss),
        mib(last.0),
        mib(bound),
        last.1,
        files + MORE_FILES
    ));
    let figures = figures.close(&scene, "one killed at a time", &ledger);
    assert_eq!(beside(&scene), ["run.json.run"], "something was left behind");
    assert!(last.0 <= bound, "memory grows with the number of calls");
    assert!(last.1 <= files + MORE_FILES, "open files leak");
    figures
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

/// Two recorders that are killed together; the next command, a reader or a recorder, finds the
/// files they left.
fn all_are_killed(until: Instant, chance: &mut Chance) -> Figures {
    let (scene, upstream) = (Scene::new(), teller());
    let swarm = Swarm::start(2, HABIT, chance);
    let mut fleet = Fleet::start(&scene, &upstream, &[], 2, &swarm);
    let (mut figures, mut folds) = (Figures::default(), Folds { inode: 0, count: 0 });
    let mut kill = Moments::every(Duration::from_secs(5));
    while Instant::now() < until {
        std::thread::sleep(TICK);
        folds.look(&scene);
        if kill.is_due(chance) {
            fleet.kill_all();
            figures.kills += 2;
            if chance.below(2) == 0 {
                assert!(listed(&scene) >= swarm.ledger.len());
                figures.reads += 1;
            }
            fleet.restart(2, &swarm);
        }
    }
    let ledger = swarm.ledger.clone();
    swarm.stop();
    fleet.stop();
    folds.look(&scene);
    figures.folds = folds.count;
    let figures = figures.close(&scene, "all killed together", &ledger);
    assert_eq!(beside(&scene), [""; 0], "something was left behind");
    figures
}

#[test]
#[ignore = "takes minutes: scripts/soak runs it"]
fn soak() {
    let minutes = std::env::var("SOAK_MINUTES").map_or(5.0, |given| given.parse().unwrap());
    let mut chance = Chance::new();
    let until = Instant::now() + Duration::from_secs_f64(60.0 * minutes);
    let [mut one, mut all] = [chance.fork(), chance.fork()];
    let figures = std::thread::scope(|scope| {
        let one = scope.spawn(move || one_is_killed(until, &mut one));
        let all = scope.spawn(move || all_are_killed(until, &mut all));
        [one.join().unwrap(), all.join().unwrap()]
    });
    let sum = |part: fn(&Figures) -> usize| figures.iter().map(part).sum::<usize>();
    let (calls, lost, kills) = (sum(|f| f.acknowledged), sum(|f| f.lost), sum(|f| f.kills));
    say(&format!("{calls} calls acknowledged, {kills} kills, {lost} lost"));
    assert_eq!(lost, 0, "answers that clients received in full are lost");
}
