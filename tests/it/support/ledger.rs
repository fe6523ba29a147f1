//! The answers that clients got in full, and whether a recording has them. Each answer carries a
//! unique mark, so that none is taken for another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use regex::Regex;
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;

use super::gate::PATIENCE;
use super::shape::{chat_answer, chat_events};
use super::{Answer, End, Finished, Received, Scene, Upstream};

/// The marks of the answers that clients received to the last byte.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<(Mutex<Noted>, Condvar)>);

#[derive(Default)]
struct Noted {
    marks: BTreeSet<String>,
    times: Vec<Duration>,
}

impl Ledger {
    /// Notes an answer. Must only be called once all of it has come.
    #[track_caller]
    pub(crate) fn note(&self, answer: &str, took: Duration) {
        let mark = mark(answer).unwrap_or_else(|| panic!("an answer without a mark: {answer}"));
        let mut noted = self.0.0.lock().unwrap();
        assert!(noted.marks.insert(mark), "answered twice: {answer}");
        noted.times.push(took);
        self.0.1.notify_all();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.0.lock().unwrap().marks.len()
    }

    pub(crate) fn marks(&self) -> BTreeSet<String> {
        self.0.0.lock().unwrap().marks.clone()
    }

    /// How long the answers took that were noted since the last call.
    pub(crate) fn take_times(&self) -> Vec<Duration> {
        std::mem::take(&mut self.0.0.lock().unwrap().times)
    }

    /// Waits until `n` answers are noted.
    #[track_caller]
    pub(crate) fn wait_for(&self, n: usize) {
        let few = |noted: &mut Noted| noted.marks.len() < n;
        let noted = self.0.0.lock().unwrap();
        let (noted, _) = self.0.1.wait_timeout_while(noted, PATIENCE, few).unwrap();
        let seen = noted.marks.len();
        drop(noted);
        assert!(seen >= n, "only {seen} of {n} answers came");
    }
}

/// The mark in a text: `<<NAME => SERIAL>>`; NAME is that of the call.
pub(crate) fn mark(text: &str) -> Option<String> {
    let from = text.find("<<")? + 2;
    let length = text[from..].find(">>")?;
    Some(text[from..from + length].to_owned())
}

/// An upstream whose every answer carries a mark. The first word of the prompt selects the answer:
/// `error` is a 500, `cut` breaks off; all others are answered, as a stream if one is requested.
pub(crate) fn teller() -> Upstream {
    let serial = AtomicUsize::new(0);
    Upstream::forgetful(move |request| {
        marked_answer(request, serial.fetch_add(1, Ordering::SeqCst))
    })
}

fn marked_answer(request: &Received, serial: usize) -> Answer {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let prompt = body["messages"][0]["content"].as_str().unwrap();
    let name = prompt.lines().next().unwrap_or_default();
    let mark = format!("<<{name} => {serial}>>");
    match name.split('-').next() {
        Some("error") => Answer::json(500, format!(r#"{{"error":{{"message":"{mark}"}}}}"#)),
        Some("cut") => Answer::stream().chunk(&chat_events(&[&mark])[1]).close(),
        _ if body["stream"] == true => Answer::events(&chat_events(&["so ", &mark, " it is"])),
        _ => Answer::json(200, chat_answer(&mark)),
    }
}

/// The marks in the recording, each found once and in an entry for its own request.
#[track_caller]
pub(crate) fn kept(scene: &Scene) -> BTreeSet<String> {
    let file = BufReader::new(File::open(scene.recording()).unwrap());
    let mut entries = serde_json::Deserializer::from_reader(file);
    let marks = entries.deserialize_map(Marks::default()).unwrap();
    entries.end().unwrap();
    marks
}

/// Reads a recording one entry at a time, because that of a long run does not fit in memory.
#[derive(Default)]
struct Marks(BTreeSet<String>);

impl Marks {
    #[track_caller]
    fn take(&mut self, name: &str, take: &Value) {
        let (mark, call) = read_take(take);
        assert_eq!(mark.split(" => ").next(), Some(call.as_str()), "{name} has another's answer");
        assert!(self.0.insert(mark.clone()), "{mark} stands twice, again under {name}");
    }
}

impl<'de> Visitor<'de> for Marks {
    type Value = BTreeSet<String>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a recording")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        while let Some((name, entry)) = map.next_entry::<String, Value>()? {
            match &entry {
                _ if name.starts_with('_') => {}
                Value::Array(turns) => turns.iter().for_each(|turn| self.take(&name, turn)),
                one => self.take(&name, one),
            }
        }
        Ok(self.0)
    }
}

/// The mark of a take's answer, and the name of its call.
#[track_caller]
fn read_take(take: &Value) -> (String, String) {
    let answer = take["response"].to_string();
    let mark = mark(&answer).unwrap_or_else(|| panic!("a take without a mark: {take}"));
    let prompt = take["request"]["body"]["messages"][0]["content"].as_str();
    let prompt = prompt.unwrap_or_else(|| panic!("a take without its request: {take}"));
    (mark, prompt.lines().next().unwrap_or_default().to_owned())
}

/// Merges the files of a killed recorder into the recording.
#[track_caller]
pub(crate) fn merged(scene: &Scene) -> Finished {
    scene.run(&["verify", "--fix", scene.name()]).expect(0)
}

/// Checks everything that must hold once no recorder runs: `ls` reads all of it and changes
/// nothing, `verify --fix` merges leftover files, and each noted answer is in it once.
#[track_caller]
pub(crate) fn check(scene: &Scene, noted: &BTreeSet<String>) -> BTreeSet<String> {
    let before = scene.files();
    let listed = listed(scene);
    assert!(scene.files() == before, "ls has changed something: {:?}", scene.names());
    merged(scene);
    let kept = kept(scene);
    assert_eq!(listed, kept.len(), "ls lists other takes than the file has");
    let lost: Vec<_> = noted.difference(&kept).collect();
    assert!(lost.is_empty(), "{} of {} answers are lost: {lost:?}", lost.len(), noted.len());
    kept
}

/// How many takes `ls` lists.
#[track_caller]
pub(crate) fn listed(scene: &Scene) -> usize {
    let listed = scene.run(&["ls", scene.name(), "--json"]).expect(0);
    let rows: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    rows.len()
}

/// Replays every call in `kept` as often as it was kept, and gets exactly these answers; a further
/// call is refused.
#[track_caller]
pub(crate) fn check_replay(scene: &Scene, kept: &BTreeSet<String>) {
    let mut calls: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for mark in kept {
        let name = mark.split(" => ").next().unwrap().to_owned();
        calls.entry(name).or_default().insert(mark.clone());
    }
    let server = scene.replay(&[]);
    let mut client = server.connect();
    for (name, marks) in &calls {
        let mut seen = BTreeSet::new();
        for _ in marks {
            let answer = client.exchange(&super::swarm::call(name));
            if answer.end != End::Complete {
                client = server.connect();
            }
            assert_ne!(answer.status, 422, "{name} is not replayed: {}", answer.text());
            seen.insert(mark(&answer.text()).unwrap());
        }
        assert_eq!(&seen, marks);
    }
    let first = calls.keys().next().unwrap();
    assert_eq!(client.exchange(&super::swarm::call(first)).status, 422);
    server.stop().expect(1);
}

/// The files left beside the recording. Torn tails are not counted, because a kill in the middle of
/// a write leaves one for people to examine.
pub(crate) fn beside(scene: &Scene) -> Vec<String> {
    let torn = Regex::new(r"^run\.json\.log\.torn-").unwrap();
    let names = scene.names().into_iter();
    names.filter(|name| name != scene.name() && !torn.is_match(name)).collect()
}
