//! Tests of the support code itself: the client sees what the upstream sends.

use std::collections::BTreeSet;
use std::time::Duration;

use super::ledger::{Ledger, check, mark, teller};
use super::swarm::call;
use super::{Answer, Call, Client, End, Gate, Scene, Upstream};

#[test]
fn the_client_sees_chunks_and_every_kind_of_end() {
    let gate = Gate::new();
    let upstream = Upstream::script(vec![
        Answer::events(&["one", "two"]),
        Answer::stream().chunk("one").wait(&gate).reset(),
        Answer::stream().chunk("one").close(),
        Answer::head(200, &["content-length: 10"]).bytes("short").close(),
        Answer::head(200, &[]).bytes("open end").close(),
        Answer::raw("").close(),
        Answer::json(200, "{}"),
    ]);
    let call = || {
        let mut client = Client::connect(upstream.address());
        client.send(&Call::post("/x", "{}"));
        client
    };
    let mut client = call();
    let head = client.head();
    let seen = client.collect(head).expect(200);
    assert_eq!(seen.chunks, [b"one", b"two"]);
    let mut client = call();
    client.head();
    assert_eq!(client.chunk().unwrap(), b"one");
    gate.open();
    let head = crate::support::wire::Head::default();
    assert_eq!(client.collect(head).end, End::Reset);
    for _ in 0..3 {
        let mut client = call();
        let head = client.head();
        assert_eq!(client.collect(head).end, End::Closed);
    }
    assert_eq!(call().silence(), End::Closed);
    let answer = Client::call(upstream.address(), &Call::get("/y").header("expect: 100-continue"));
    assert_eq!(answer.expect(200).text(), "{}");
    assert_eq!((upstream.connections(), upstream.requests()), (7, 7));
    assert_eq!(upstream.received()[6].target, "/y");
}

#[test]
fn the_ledger_tells_answers_apart() {
    let (ledger, took) = (Ledger::default(), Duration::from_millis(1));
    ledger.note("so <<chat-a => 1>> it is", took);
    ledger.note("<<chat-a => 2>>", took);
    assert_eq!(
        (ledger.len(), ledger.take_times(), ledger.take_times()),
        (2, vec![took; 2], vec![])
    );
    let again = ledger.clone();
    std::thread::spawn(move || again.note("<<chat-a => 1>>", took)).join().unwrap_err();
}

#[test]
fn the_check_of_a_recording_finds_what_is_lost_doubled_or_anothers() {
    let (scene, upstream) = (Scene::new(), teller());
    let answers = scene.recorded(&upstream, &[call("chat-a"), call("stream-b")]);
    let marks: BTreeSet<_> = answers.iter().map(|a| mark(&a.text()).unwrap()).collect();
    assert_eq!(check(&scene, &marks), marks);
    let fails = |text: String, marks: &BTreeSet<String>| {
        let scene = Scene::new();
        scene.write(text);
        let marks = marks.clone();
        std::thread::spawn(move || drop(check(&scene, &marks))).join().unwrap_err();
    };
    let lost = BTreeSet::from(["chat-c => 3".to_owned()]);
    fails(scene.text(), &lost);
    fails(scene.text().replace("stream-b", "stream-c").replace("c => ", "b => "), &marks);
    fails(scene.text().replace("b => 1", "b => 0").replace("a => 0", "b => 0"), &BTreeSet::new());
}
