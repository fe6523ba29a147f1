//! Tests of many processes, and of processes that die: nothing acknowledged is lost.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::support::chance::rounds;
use crate::support::ledger::{check, check_replay, mark, merged, teller};
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::swarm::call;
use crate::support::{Answer, Client, Gate, Scene, Server, Upstream};

const PROCESSES: usize = 8;
const THREADS: usize = 5;

/// The answers in the recording, each of which must be there once. Merges the log of a killed
/// recorder first.
fn contents(scene: &Scene) -> BTreeSet<String> {
    merged(scene);
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
    let (scene, upstream, calls) = (Scene::new(), parrot(), rounds(500, 5_000));
    let servers: Vec<Server> = (0..PROCESSES).map(|_| scene.record(&upstream, &[])).collect();
    let prompts = move |process: usize, thread: usize| {
        (0..calls / THREADS).map(move |n| format!("process {process} thread {thread} call {n}"))
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
    assert_eq!(expected.len(), PROCESSES * calls);
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
fn recorders_that_join_a_run_by_name_keep_each_others_takes() {
    let (scene, upstream) = (Scene::new(), teller());
    scene.recorded(&upstream, &[call("chat-shared")]);
    let mut marks = BTreeSet::new();
    // One after the other, of which the second is killed, and two at the same time.
    for kill in [false, true, false] {
        let servers = [(); 2].map(|()| scene.record(&upstream, &["--run", "nightly"]));
        for server in servers {
            let answer = server.call(&call("chat-shared")).expect(200);
            marks.insert(mark(&answer.text()).unwrap());
            if kill {
                server.process.signal("KILL");
                server.process.wait().expect(-9);
            } else {
                server.stop().expect(0);
            }
        }
    }
    assert_eq!(check(&scene, &marks), marks, "the earlier run's take has given way, no other");
    check_replay(&scene, &marks);
    assert_eq!(scene.names(), ["run.json", "run.json.run"], "only a named run's file stays");
    let before = scene.takes().len();
    scene.recorded(&upstream, &[call("chat-shared")]);
    assert_eq!(
        scene.takes().len(),
        before,
        "a run without a name is a new one: it replaces a take"
    );
}

#[test]
fn a_committed_file_of_a_run_keeps_no_committed_take_in_front() {
    let (scene, committed) = (Scene::new(), Scene::new());
    let upstream = teller();
    committed.recorded(&upstream, &[call("chat-else")]);
    let server = committed.record(&upstream, &["--run", "ci"]);
    server.call(&call("chat-shared")).expect(200);
    server.stop().expect(0);
    // As git checks them out.
    std::fs::copy(committed.recording(), scene.recording()).unwrap();
    std::fs::copy(committed.hidden(".run"), scene.planted(".run")).unwrap();
    let server = scene.record(&upstream, &["--run", "ci"]);
    let new = server.call(&call("chat-shared")).expect(200).text();
    server.stop().expect(0);
    let replayed = scene.replayed(&["--strict"], &[call("chat-shared")], 0);
    assert_eq!(replayed[0].text(), new, "an old answer stands in front");
}

#[test]
fn equal_calls_with_equal_answers_at_the_same_time_are_each_kept() {
    const EACH: usize = 200;
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let servers = [scene.record(&upstream, &[]), scene.record(&upstream, &[])];
    std::thread::scope(|scope| {
        for thread in 0..PROCESSES {
            let mut client = servers[thread % servers.len()].connect();
            let calls =
                move || (0..EACH).for_each(|_| drop(client.exchange(&chat("a")).expect(200)));
            scope.spawn(calls);
        }
    });
    servers.into_iter().for_each(|server| drop(server.stop().expect(0)));
    assert_eq!(scene.takes().len(), PROCESSES * EACH);
}
