//! Programs with random timelines of calls at the same time: each ends, in the recorded order, and
//! each answer is the recorded one.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{LONGEST_WAIT, OUT_OF_ORDER, record_alone, set_times};
use crate::support::chance::{Chance, rounds};
use crate::support::shape::{chat, chat_streamed};
use crate::support::{Call, Client, Scene};

/// What a call of a replayed program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Reads,
    Leaves,
    IsMissing,
}

/// A call of a program.
#[derive(Debug)]
struct TimelineCall {
    prompt: String,
    streamed: bool,
    /// When it arrived and when its answer ended, in milliseconds.
    arrived: f64,
    ended: f64,
    manner: Manner,
}

impl TimelineCall {
    fn random(number: usize, chance: &mut Chance) -> Self {
        let arrived = chance.below(40) as f64;
        let manner = match chance.below(8) {
            0 => Manner::Leaves,
            1 => Manner::IsMissing,
            _ => Manner::Reads,
        };
        Self {
            prompt: format!("call {number}"),
            streamed: chance.below(3) == 0,
            arrived,
            ended: arrived + 1.0 + chance.below(90) as f64 + chance.below(1000) as f64 / 1000.0,
            manner,
        }
    }

    fn call(&self) -> Call {
        if self.streamed { chat_streamed(&self.prompt) } else { chat(&self.prompt) }
    }

    /// Whether the answer to `other` waits for the end of this one.
    fn ends_before(&self, other: &Self) -> bool {
        let rounding = 0.0015;
        self.ended + rounding < other.ended && self.ended > other.arrived + rounding
    }
}

/// Records the calls, and returns the bytes of each answer.
fn record(scene: &Scene, calls: &[TimelineCall]) -> Vec<Vec<u8>> {
    let requests: Vec<Call> = calls.iter().map(TimelineCall::call).collect();
    record_alone(scene, &requests);
    let times: Vec<(&str, f64, f64)> =
        calls.iter().map(|call| (call.prompt.as_str(), call.arrived, call.ended)).collect();
    set_times(scene, &times);
    let server = scene.replay(&[]);
    let bytes = requests.iter().map(|call| server.call(call).expect(200).body()).collect();
    server.stop().expect(0);
    bytes
}

/// Returns the names of the entries that answered calls, in the order in which the answers ended.
fn journal(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
    let entry = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["entry"].as_str().unwrap_or_default().to_owned()
    };
    text.lines().map(entry).collect()
}

/// Replays the calls, which are sent in a random order, and checks the end and the bytes of each.
/// Returns the name of the entry of each call that was read.
fn replay(
    scene: &Scene,
    calls: &[TimelineCall],
    bytes: &[Vec<u8>],
    chance: &mut Chance,
) -> Vec<Option<String>> {
    let server = scene.replay(&["--end-order", "recorded", "--journal", "run.jsonl"]);
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|_| chance.next());
    order.retain(|call| calls[*call].manner != Manner::IsMissing);
    let send = |at: &usize| {
        let mut client = server.connect();
        client.send(&calls[*at].call());
        (*at, client)
    };
    let sent: Vec<(usize, Client)> = order.iter().map(send).collect();
    let mut names = vec![None; calls.len()];
    std::thread::scope(|scope| {
        let (left, read): (Vec<_>, Vec<_>) =
            sent.into_iter().partition(|(at, _)| calls[*at].manner == Manner::Leaves);
        drop(left);
        let readers: Vec<_> = read
            .into_iter()
            .map(|(at, mut client)| scope.spawn(move || (at, client.answer().unwrap())))
            .collect();
        for reader in readers {
            let (at, answer) = reader.join().unwrap();
            assert_eq!(answer.body(), bytes[at], "{}", calls[at].prompt);
            names[at] = answer.header("x-loomrec-entry").map(str::to_owned);
        }
    });
    let ended = server.stop();
    assert!(!ended.stderr.contains(OUT_OF_ORDER), "{}", ended.stderr);
    names
}

#[test]
fn random_programs_end_in_the_recorded_order_and_get_the_recorded_bytes() {
    let mut chance = Chance::new();
    for round in 0..rounds(12, 200) {
        let count = 2 + chance.below(6);
        let calls: Vec<_> = (0..count).map(|at| TimelineCall::random(at, &mut chance)).collect();
        let scene = Scene::new();
        let bytes = record(&scene, &calls);
        let began = Instant::now();
        let names = replay(&scene, &calls, &bytes, &mut chance);
        let limit = LONGEST_WAIT + Duration::from_secs(10);
        assert!(began.elapsed() < limit, "round {round}: {calls:#?}");
        let ended = journal(&scene);
        let place = |call: usize| ended.iter().position(|name| Some(name) == names[call].as_ref());
        for (a, earlier) in calls.iter().enumerate() {
            for (b, later) in calls.iter().enumerate().filter(|(_, it)| earlier.ends_before(it)) {
                if let (Some(first), Some(second)) = (place(a), place(b)) {
                    assert!(first < second, "round {round}: {earlier:?} after {later:?}");
                }
            }
        }
    }
}
