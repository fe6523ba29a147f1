//! Many processes, and processes that die: nothing acknowledged is lost.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Client, Gate, Scene, Server, Upstream};

const PROCESSES: usize = 8;
const CALLS: usize = 200;
const THREADS: usize = 5;

fn contents(scene: &Scene) -> BTreeSet<String> {
    let takes = scene.takes();
    let all: BTreeSet<String> =
        takes.iter().map(|(_, take)| take["content"].as_str().unwrap().to_owned()).collect();
    assert_eq!(all.len(), takes.len(), "an entry stands twice");
    all
}

/// Answers each chat call with its own prompt.
fn parrot() -> Upstream {
    Upstream::start(|request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        Answer::json(200, chat_answer(body["messages"][0]["content"].as_str().unwrap()))
    })
}

#[test]
fn eight_processes_record_into_one_file_and_lose_nothing() {
    let (scene, upstream) = (Scene::new(), parrot());
    let servers: Vec<Server> = (0..PROCESSES).map(|_| scene.record(&upstream, &[])).collect();
    let prompts = |process: usize, thread: usize| {
        (0..CALLS / THREADS).map(move |n| format!("process {process} thread {thread} call {n}"))
    };
    let threads: Vec<_> = servers
        .iter()
        .enumerate()
        .flat_map(|(process, server)| {
            (0..THREADS).map(move |thread| (process, thread, server.address))
        })
        .map(|(process, thread, address)| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                for prompt in prompts(process, thread) {
                    let answer = client.exchange(&chat(&prompt)).expect(200);
                    assert_eq!(answer.text(), chat_answer(&prompt));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    servers.into_iter().for_each(|server| drop(server.stop().expect(0)));
    let expected: BTreeSet<String> =
        (0..PROCESSES).flat_map(|p| (0..THREADS).flat_map(move |t| prompts(p, t))).collect();
    assert_eq!(expected.len(), PROCESSES * CALLS);
    assert_eq!(contents(&scene), expected);
    let left: Vec<_> = scene.files().into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [scene.recording()], "something was left behind");
}

#[test]
fn an_answer_received_in_full_survives_a_kill_the_next_instant() {
    let (scene, upstream) = (Scene::new(), parrot());
    for round in 0..3 {
        let server = scene.record(&upstream, &[]);
        let prompt = format!("round {round}");
        server.call(&chat(&prompt)).expect(200);
        server.process.signal("KILL");
        server.process.wait().expect(-9);
        assert!(contents(&scene).contains(&prompt), "{}", scene.text());
    }
    let streamed = chat_events(&["kept"]);
    let upstream = Upstream::always(Answer::events(&streamed));
    let server = scene.record(&upstream, &[]);
    server.call(&chat_streamed("a stream")).expect(200);
    server.process.signal("KILL");
    server.process.wait().expect(-9);
    assert!(contents(&scene).contains("kept"));
    let calls = [chat("round 0"), chat("round 2"), chat_streamed("a stream")];
    scene.replayed(&["--strict"], &calls, 0).into_iter().for_each(|r| drop(r.expect(200)));
}

#[test]
fn a_kill_under_load_loses_nothing_that_was_answered() {
    let (scene, upstream) = (Scene::new(), parrot());
    let server = scene.record(&upstream, &[]);
    let (address, enough) = (server.address, Gate::new());
    let answered = Arc::new(Mutex::new(BTreeSet::new()));
    let threads: Vec<_> = (0..6)
        .map(|thread| {
            let (answered, enough) = (Arc::clone(&answered), enough.clone());
            std::thread::spawn(move || {
                for n in 0.. {
                    let prompt = format!("thread {thread} call {n}");
                    let Some(mut client) = Client::try_connect(address) else { return };
                    client.send(&chat(&prompt));
                    let Some(answer) = client.try_collect() else { return };
                    assert_eq!(answer.text(), chat_answer(&prompt));
                    let mut answered = answered.lock().unwrap();
                    answered.insert(prompt);
                    if answered.len() >= 60 {
                        enough.open();
                    }
                }
            })
        })
        .collect();
    assert!(enough.wait());
    server.process.signal("KILL");
    server.process.wait().expect(-9);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let answered = answered.lock().unwrap().clone();
    let kept = contents(&scene);
    let lost: Vec<_> = answered.difference(&kept).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    scene.recorded(&upstream, &[chat("one more")]);
    assert!(contents(&scene).is_superset(&kept));
}

#[test]
fn an_interrupted_recorder_drains_what_is_under_way() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let events = chat_events(&["before ", "and after"]);
    let answer = Answer::stream().chunk(&events[0]).chunk(&events[1]).wait(&gate);
    let rest = events[2..].iter().fold(answer, |answer, event| answer.chunk(event));
    let upstream = Upstream::always(rest.end());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    client.until("before");
    server.process.signal("TERM");
    gate.open();
    assert!(client.collect(head).expect(200).text().ends_with("data: [DONE]\n\n"));
    server.process.wait().expect(0);
    assert_eq!(scene.only_take()["content"], "before and after");
}

#[test]
fn idle_keep_alive_connections_do_not_hold_up_the_end() {
    let (scene, upstream) = (Scene::new(), parrot());
    scene.recorded(&upstream, &[chat("hi")]);
    for server in [scene.record(&upstream, &[]), scene.replay(&[])] {
        let mut idle = server.connect();
        idle.exchange(&chat("hi")).expect(200);
        let start = std::time::Instant::now();
        server.stop().expect(0);
        assert!(start.elapsed() < std::time::Duration::from_secs(5));
        drop(idle);
    }
}

#[test]
fn a_recording_that_someone_deletes_or_replaces_is_not_called_whole() {
    for replace in [false, true] {
        let scene = Scene::new();
        let upstream = Upstream::always(Answer::json(200, "{}"));
        let server = scene.record(&upstream, &[]);
        server.call(&chat("one")).expect(200);
        let before = scene.text();
        server.call(&chat("two")).expect(200);
        match replace {
            true => std::fs::write(scene.recording(), before).unwrap(),
            false => std::fs::remove_file(scene.recording()).unwrap(),
        }
        server.call(&chat("three")).expect(200);
        let said = server.stop().expect(5);
        assert!(said.stderr.contains("deleted or replaced"), "{}", said.stderr);
        assert!(scene.text().contains("three"));
    }
}

#[test]
fn a_recording_that_is_gone_at_the_end_is_not_called_whole() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, "{}"));
    let server = scene.record(&upstream, &[]);
    server.call(&chat("one")).expect(200);
    std::fs::remove_file(scene.recording()).unwrap();
    let said = server.stop().expect(5);
    assert!(said.stderr.contains("deleted or replaced"), "{}", said.stderr);
}
