//! Tests of takes: the Nth identical call gets the Nth take, by session and by step.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::support::shape::{chat, chat_answer, chat_body, chat_streamed};
use crate::support::{Answer, Call, Client, Gate, Response, Scene, Upstream};

fn content(answer: &Response) -> String {
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

/// Answers "1", "2", … in order of arrival.
fn counting() -> Upstream {
    Upstream::script((1..=40).map(|n| Answer::json(200, chat_answer(&n.to_string()))).collect())
}

fn calls(call: &Call, n: usize) -> Vec<Call> {
    vec![call.clone(); n]
}

fn within(session: &str, prompt: &str) -> Call {
    let target = format!("/@{session}/openai/v1/chat/completions");
    Call::post(&target, chat_body(prompt).to_string())
}

#[test]
fn identical_calls_get_their_takes_in_order() {
    let scene = Scene::new();
    scene.recorded(&counting(), &calls(&chat("hi"), 12));
    let names: Vec<String> = scene.takes().into_iter().map(|(name, _)| name).collect();
    let hash = names[0].clone();
    let expected: Vec<String> =
        std::iter::once(hash.clone()).chain((2..=12).map(|n| format!("{hash}#{n}"))).collect();
    assert_eq!(names, expected);
    let answers = scene.replayed(&["--strict", "--fail-unused"], &calls(&chat("hi"), 12), 0);
    let seen: Vec<String> = answers.iter().map(content).collect();
    assert_eq!(seen, (1..=12).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn one_test_recorded_again_keeps_the_takes_of_the_others() {
    let scene = Scene::new();
    scene.recorded(&counting(), &calls(&chat("hi"), 4));
    let again = Upstream::always(Answer::json(200, chat_answer("again")));
    let server = scene.record(&again, &["--receipt", "receipt.json"]);
    server.call(&chat("hi")).expect(200);
    let ended = server.stop().expect(0);
    let told = ": 1 of 4 earlier takes replaced; 3 kept, which this run did not reach";
    for told in [told, "loomrec prune "] {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    assert_eq!(receipt["earlier_takes"], serde_json::json!({"kept": 3, "replaced": 1}));
    let answers = scene.replayed(&["--strict", "--fail-unused"], &calls(&chat("hi"), 4), 0);
    assert_eq!(answers.iter().map(content).collect::<Vec<_>>(), ["again", "2", "3", "4"]);
    // A run that reaches all takes replaces all.
    let server = scene.record(&again, &[]);
    calls(&chat("hi"), 4).iter().for_each(|call| drop(server.call(call).expect(200)));
    let ended = server.stop().expect(0);
    assert!(!ended.stderr.contains("earlier takes"), "{}", ended.stderr);
    let answers = scene.replayed(&["--strict", "--fail-unused"], &calls(&chat("hi"), 4), 0);
    assert_eq!(answers.iter().map(content).collect::<Vec<_>>(), ["again"; 4]);
}

#[test]
fn takes_that_a_full_run_no_longer_makes_are_pruned_as_the_receipt_says() {
    let scene = Scene::new();
    scene.recorded(&counting(), &calls(&chat("hi"), 3));
    scene.recorded(&counting(), &calls(&chat("hi"), 2));
    let two = calls(&chat("hi"), 2);
    scene.replayed(&["--strict", "--fail-unused"], &two, 1);
    scene.replayed(&["--receipt", "run.receipt"], &two, 0);
    scene.run(&["prune", scene.name(), "--unused", "run.receipt", "--apply"]).expect(0);
    scene.replayed(&["--strict", "--fail-unused"], &two, 0);
    assert_eq!(scene.takes().len(), 2);
}

#[test]
fn sessions_keep_their_takes_when_another_is_recorded_again() {
    let scene = Scene::new();
    scene.recorded(&counting(), &[within("a", "hi"), within("b", "hi"), within("a", "hi")]);
    let again = Upstream::always(Answer::json(200, chat_answer("again")));
    scene.recorded(&again, &[within("a", "hi")]);
    let all = [within("b", "hi"), within("a", "hi"), within("a", "hi")];
    let answers = scene.replayed(&["--strict", "--fail-unused"], &all, 0);
    assert_eq!(answers.iter().map(content).collect::<Vec<_>>(), ["2", "again", "3"]);
}

#[test]
fn an_sdks_own_retry_is_a_take_of_its_own() {
    let upstream = Upstream::script(vec![
        Answer::whole(500, &["retry-after: 0"], "{\"error\":{\"message\":\"oops\"}}"),
        Answer::json(200, chat_answer("fine")),
    ]);
    let scene = Scene::new();
    let retry = [chat("hi"), chat("hi").header("x-stainless-retry-count: 1")];
    scene.recorded(&upstream, &retry);
    let answers = scene.replayed(&["--strict", "--fail-unused"], &retry, 0);
    assert_eq!((answers[0].status, answers[1].status), (500, 200));
}

#[test]
fn takes_are_numbered_by_arrival_and_not_by_end() {
    let (scene, slow) = (Scene::new(), Gate::new());
    let upstream = Upstream::script(vec![
        Answer::raw("").wait(&slow).bytes(whole("first")),
        Answer::raw(whole("second")),
    ]);
    let server = scene.record(&upstream, &[]);
    let mut first = server.connect();
    first.send(&chat("hi"));
    upstream.wait_for(1);
    assert_eq!(content(&server.call(&chat("hi")).expect(200)), "second");
    slow.open();
    let head = first.head();
    assert_eq!(content(&first.collect(head).expect(200)), "first");
    server.stop().expect(0);
    let answers = scene.replayed(&["--strict"], &calls(&chat("hi"), 2), 0);
    assert_eq!(answers.iter().map(content).collect::<Vec<_>>(), ["first", "second"]);
}

fn whole(text: &str) -> String {
    let body = chat_answer(text);
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[test]
fn concurrent_identical_calls_get_each_take_once_in_order_of_arrival() {
    let scene = Scene::new();
    scene.recorded(&counting(), &calls(&chat("hi"), 40));
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let address = server.address;
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                let take = |_| content(&client.exchange(&chat("hi")).expect(200)).parse().unwrap();
                (0..5).map(take).collect::<Vec<u32>>()
            })
        })
        .collect();
    let seen: Vec<Vec<u32>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(seen.iter().all(|takes| takes.is_sorted()), "{seen:?}");
    let all: BTreeSet<u32> = seen.concat().into_iter().collect();
    assert_eq!(all, (1..=40).collect());
    server.stop().expect(0);
}

#[test]
fn concurrent_identical_calls_are_all_recorded() {
    let scene = Scene::new();
    let upstream = counting();
    let server = scene.record(&upstream, &[]);
    let address = server.address;
    let threads: Vec<_> = (0..20)
        .map(|_| {
            std::thread::spawn(move || content(&Client::call(address, &chat("hi")).expect(200)))
        })
        .collect();
    let given: BTreeSet<String> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    server.stop().expect(0);
    let kept: BTreeSet<String> = scene
        .takes()
        .iter()
        .map(|(_, take)| take["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((given.len(), scene.takes().len()), (20, 20));
    assert_eq!(kept, given);
}

#[test]
fn each_session_has_its_own_cursor() {
    let scene = Scene::new();
    scene.recorded(&counting(), &calls(&chat("hi"), 2));
    let server = scene.replay(&["--strict"]);
    let header = |name: &str| chat("hi").header(&format!("x-loomrec-session: {name}"));
    for expected in ["1", "2"] {
        for call in [within("a", "hi"), header("b"), chat("hi"), within("c%20d", "hi")] {
            assert_eq!(content(&server.call(&call).expect(200)), expected);
        }
    }
    // A session named by the path and one named by the header are the same.
    server.call(&header("a")).expect(422);
    server.stop().expect(1);
}

#[test]
fn a_session_replays_its_own_takes_first() {
    let scene = Scene::new();
    let upstream = counting();
    let order = [within("a", "hi"), chat("hi"), within("b", "hi"), within("a", "hi")];
    scene.recorded(&upstream, &order);
    let sessions: Vec<Value> =
        scene.takes().iter().map(|(_, take)| take["session"].clone()).collect();
    assert_eq!(sessions, [Value::from("a"), Value::Null, Value::from("b"), Value::from("a")]);
    assert!(upstream.received().iter().all(|r| r.target == "/v1/chat/completions"));
    let server = scene.replay(&[]);
    let ask = |call: &Call| content(&server.call(call).expect(200));
    assert_eq!(ask(&within("b", "hi")), "3");
    assert_eq!(ask(&within("a", "hi")), "1");
    assert_eq!(ask(&within("a", "hi")), "4");
    assert_eq!(ask(&chat("hi")), "2");
    assert_eq!(ask(&within("new", "hi")), "2");
    server.call(&within("a", "hi")).expect(422);
    server.stop().expect(1);
}

#[test]
fn a_step_id_names_its_entry() {
    let scene = Scene::new();
    let step = |id: &str, prompt: &str| chat(prompt).header(&format!("x-loomrec-step-id: {id}"));
    scene.recorded(&counting(), &[step("plan", "one"), step("write the text", "two")]);
    let names: Vec<String> = scene.takes().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["plan", "write the text"]);
    let server = scene.replay(&["--strict"]);
    let answer = server.call(&step("plan", "one")).expect(200);
    assert_eq!(answer.header("x-loomrec-matched-by"), Some("step_id"));
    assert_eq!(answer.header("x-loomrec-entry"), Some("plan"));
    server.stop().expect(0);
}

#[test]
fn the_turns_of_a_step_are_a_list_and_found_by_hash() {
    let scene = Scene::new();
    let step = |prompt: &str| chat(prompt).header("x-loomrec-step-id: loop");
    scene.recorded(&counting(), &[step("one"), step("two"), step("one")]);
    assert_eq!(scene.json()["loop"].as_array().map(Vec::len), Some(3));
    let order = [step("two"), step("one"), step("one")];
    let answers = scene.replayed(&["--strict", "--fail-unused"], &order, 0);
    assert_eq!(answers.iter().map(content).collect::<Vec<_>>(), ["2", "1", "3"]);
    let answers = scene.replayed(&[], &[step("two"), step("two"), step("one")], 1);
    assert_eq!(answers.iter().map(|a| a.status).collect::<Vec<_>>(), [200, 422, 200]);
}

#[test]
fn a_step_id_that_could_be_mistaken_is_refused() {
    let (scene, upstream) = (Scene::new(), counting());
    let server = scene.record(&upstream, &[]);
    let hash = "0123456789abcdef".repeat(4);
    for id in ["_version", "_meta", &hash, &format!("{hash}#2"), &"x".repeat(300)] {
        let answer = server.call(&chat("hi").header(&format!("x-loomrec-step-id: {id}")));
        assert_eq!(answer.status, 400, "{id}: {}", answer.text());
    }
    server.stop();
    assert_eq!(upstream.requests(), 0);
}

#[test]
fn both_modes_of_one_call_share_a_hash() {
    let scene = Scene::new();
    let events = crate::support::shape::chat_events(&["s"]);
    let upstream = Upstream::script(vec![
        Answer::json(200, chat_answer("c")),
        Answer::events(&events),
        Answer::json(200, chat_answer("c2")),
    ]);
    scene.recorded(&upstream, &[chat("hi"), chat_streamed("hi"), chat("hi")]);
    let names: Vec<String> = scene.takes().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[1], format!("{}#2", names[0]));
    let server = Arc::new(scene.replay(&["--strict"]));
    assert_eq!(content(&server.call(&chat("hi")).expect(200)), "c");
    assert_eq!(content(&server.call(&chat("hi")).expect(200)), "c2");
    assert_eq!(content(&server.call(&chat("hi")).expect(200)), "s");
    server.call(&chat("hi")).expect(422);
}

#[test]
fn endpoint_with_v1_and_one_without_it_answer_their_own_calls() {
    let (scene, upstream) =
        (Scene::new(), Upstream::start(|call| Answer::json(200, format!("{:?}", call.target))));
    let gateway = format!("gw={}", upstream.url());
    let call = |path: &str| Call::post(&format!("/gw{path}"), r#"{"a": 1}"#);
    let server = scene.record(&upstream, &["--upstream", &gateway]);
    for path in ["/v1/users", "/users"] {
        server.call(&call(path)).expect(200);
    }
    server.stop().expect(0);
    let keys: BTreeSet<String> =
        scene.takes().iter().map(|(name, _)| name.split('#').next().unwrap().to_owned()).collect();
    assert_eq!(keys.len(), 1, "the paths have one key: {keys:?}");
    let server = scene.replay(&["--strict"]);
    for path in ["/users", "/v1/users"] {
        assert_eq!(server.call(&call(path)).expect(200).json(), path);
    }
    server.stop().expect(0).says(&["2 served", "0 of 2 takes unused"]);
    let twice = scene.replayed(&["--strict"], &[call("/users"), call("/users")], 1);
    assert_eq!((twice[0].status, twice[1].status), (200, 422), "{}", twice[1].text());

    // A recording with one of them answers both: that may be one endpoint.
    let scene = Scene::new();
    let server = scene.record(&upstream, &["--upstream", &gateway]);
    server.call(&call("/v1/users")).expect(200);
    server.stop().expect(0);
    scene.replayed(&["--strict"], &[call("/users")], 0).remove(0).expect(200);
}
