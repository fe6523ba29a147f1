//! Tests of the record modes: what is sent upstream, what is kept, what is replaced.

use serde_json::Value;

use crate::support::shape::{chat, chat_answer, chat_body, chat_events, chat_streamed};
use crate::support::{Answer, Call, Response, Scene, Upstream};

fn content(answer: &Response) -> String {
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

fn saying(text: &str) -> Upstream {
    Upstream::always(Answer::json(200, chat_answer(text)))
}

fn contents(scene: &Scene) -> Vec<String> {
    let text = |take: &Value| take["content"].as_str().unwrap_or_default().to_owned();
    scene.takes().iter().map(|(_, take)| text(take)).collect()
}

/// Runs `record --mode` with the calls; returns the answers and the exit code.
fn record(scene: &Scene, upstream: &Upstream, mode: &str, calls: &[Call]) -> (Vec<Response>, i32) {
    let server = scene.record(upstream, &["--mode", mode]);
    let answers = calls.iter().map(|call| server.call(call)).collect();
    (answers, server.stop().code)
}

#[test]
fn all_replaces_what_it_records_again_and_leaves_the_rest_in_place() {
    let scene = Scene::new();
    scene.recorded(&saying("old"), &[chat("a"), chat("a"), chat("b"), chat("c")]);
    let names: Vec<String> = scene.takes().into_iter().map(|(name, _)| name).collect();
    let upstream = saying("new");
    let (_, code) = record(&scene, &upstream, "all", &[chat("d"), chat("a")]);
    assert_eq!((code, upstream.requests()), (0, 2));
    assert_eq!(contents(&scene), ["new", "old", "old", "old", "new"]);
    let after: Vec<String> = scene.takes().into_iter().map(|(name, _)| name).collect();
    assert_eq!(after[..4], names[..], "the take that the run did not reach stays");
}

#[test]
fn same_request_to_another_upstream_is_another_call() {
    let scene = Scene::new();
    let at = |name: &str, said: &str| {
        let upstream = saying(said);
        let to = format!("{name}={}", upstream.url());
        let server = scene.record(&upstream, &["--upstream", &to]);
        server.call(&Call::post(&format!("/{name}/v1/things"), r#"{"q":1}"#)).expect(200);
        server.stop().expect(0);
    };
    at("one", "a");
    at("two", "b");
    at("one", "A");
    let server = scene.replay(&["--strict", "--fail-unused"]);
    for (name, said) in [("two", "b"), ("one", "A")] {
        let call = Call::post(&format!("/{name}/v1/things"), r#"{"q":1}"#);
        assert_eq!(content(&server.call(&call)), said);
    }
    server.stop().expect(0);
}

/// An upstream whose answers say the run, and what they were asked for. It answers 429 if it is asked
/// for `failing`.
fn telling(run: &'static str, failing: Option<&'static str>) -> Upstream {
    Upstream::start(move |request| {
        let streamed = request.text().contains("\"stream\":true");
        let asked = format!("{}{}", request.target, if streamed { " streamed" } else { "" });
        match failing == Some(asked.as_str()) {
            true => Answer::json(429, r#"{"error":{"message":"no","type":"x"}}"#),
            false if streamed => Answer::events(&chat_events(&[run, " ", &asked])),
            false => Answer::json(200, chat_answer(&format!("{run} {asked}"))),
        }
    })
}

/// Pairs of calls that differ in their mount, in their delivery, or in the upstream of a step, with
/// what the upstream is asked for by the second.
fn similar_calls() -> [(Call, Call, &'static str); 3] {
    let at = |target: &str| Call::post(target, chat_body("hi").to_string());
    let step = |target: &str| at(target).header("x-loomrec-step-id: ask");
    let plain = "/gw/v1/chat/completions";
    let streamed = Call::post(plain, chat_streamed("hi").body_bytes());
    [
        (
            at("/gw/openai/v1/chat/completions"),
            at("/gw/groq/v1/chat/completions"),
            "/groq/v1/chat/completions",
        ),
        (at(plain), streamed, "/v1/chat/completions streamed"),
        (step(plain), step("/two/v1/chat/completions"), "/two/v1/chat/completions"),
    ]
}

#[test]
fn takes_of_another_mount_delivery_or_upstream_stay_when_a_call_is_recorded_again() {
    for (one, other, asked) in similar_calls() {
        let scene = Scene::new();
        let record = |upstream: &Upstream, calls: &[&Call]| {
            let url = upstream.url();
            let names = [format!("gw={url}"), format!("two={url}/two")];
            let flags = ["--upstream", &names[0], "--upstream", &names[1]];
            let server = scene.record(upstream, &flags);
            for call in calls {
                server.call(call);
            }
            server.stop();
        };
        let replayed = || {
            let server = scene.replay(&["--strict", "--fail-unused"]);
            let runs = [&one, &other].map(|call| {
                let text = server.call(call).expect(200).text();
                ["first", "second", "third"].into_iter().find(|run| text.contains(run))
            });
            server.stop().expect(0);
            runs.map(Option::unwrap_or_default)
        };
        record(&telling("first", None), &[&one, &other]);
        record(&telling("second", None), &[&other]);
        assert_eq!(replayed(), ["first", "second"], "{asked}");
        record(&telling("third", Some(asked)), &[&one, &other]);
        assert_eq!(replayed(), ["third", "second"], "{asked}");
        record(&telling("never", Some(asked)), &[&other]);
        assert_eq!(replayed(), ["third", "second"], "{asked}");
    }
}

#[test]
fn new_episodes_answers_what_is_known_and_records_what_is_not() {
    let scene = Scene::new();
    scene.recorded(&saying("old"), &[chat("a")]);
    let upstream = saying("new");
    let calls = [chat("a"), chat("b"), chat("a")];
    let (answers, code) = record(&scene, &upstream, "new_episodes", &calls);
    assert_eq!(answers.iter().map(content).collect::<Vec<_>>(), ["old", "new", "new"]);
    assert_eq!((code, upstream.requests()), (0, 2));
    assert_eq!(contents(&scene), ["old", "new", "new"]);
    let again = saying("never");
    record(&scene, &again, "new_episodes", &calls);
    assert_eq!(again.connections(), 0);
}

#[test]
fn new_episodes_give_a_later_replay_the_answers_that_the_run_got() {
    let said = |answer: &Response| {
        let text = answer.text();
        ["first", "second", "third"]
            .into_iter()
            .filter(|run| text.contains(run))
            .collect::<String>()
    };
    let with = |line: &str| chat("hi").header(line);
    let (step, session) = (with("x-loomrec-step-id: plan"), with("x-loomrec-session: one"));
    let pairs = [
        (step.clone(), chat("hi")),
        (chat("hi"), step),
        (chat_streamed("hi"), chat("hi")),
        (chat("hi"), chat_streamed("hi")),
        (chat("hi"), session),
    ];
    for (before, call) in pairs {
        let scene = Scene::new();
        scene.recorded(&telling("first", None), std::slice::from_ref(&before));
        let upstream = telling("second", None);
        let calls = [call.clone(), call.clone()];
        let (got, code) = record(&scene, &upstream, "new_episodes", &calls);
        assert_eq!((code, upstream.requests()), (0, 2), "{}", call.head());
        let served = scene.replayed(&["--strict"], &calls, 0);
        assert_eq!(
            served.iter().map(said).collect::<Vec<_>>(),
            got.iter().map(said).collect::<Vec<_>>(),
            "{}",
            call.head()
        );
        // What is recorded in its own scope is not recorded again.
        let (_, code) = record(&scene, &telling("third", None), "new_episodes", &[before, call]);
        assert_eq!((code, scene.text().contains("third")), (0, false));
    }
}

#[test]
fn once_records_only_where_there_is_no_recording() {
    let (scene, upstream) = (Scene::new(), saying("first"));
    let (answers, code) = record(&scene, &upstream, "once", &[chat("a"), chat("b")]);
    assert_eq!((content(&answers[0]).as_str(), code, upstream.requests()), ("first", 0, 2));
    let later = saying("later");
    let (answers, code) = record(&scene, &later, "once", &[chat("b"), chat("c"), chat("a")]);
    assert_eq!(answers.iter().map(|a| a.status).collect::<Vec<_>>(), [200, 422, 200]);
    assert_eq!((content(&answers[0]).as_str(), code, later.connections()), ("first", 1, 0));
    assert_eq!(contents(&scene).len(), 2);
}

#[test]
fn none_never_goes_upstream_and_never_writes() {
    let scene = Scene::new();
    scene.recorded(&saying("old"), &[chat("a")]);
    let (before, upstream) = (scene.text(), saying("new"));
    let (answers, code) = record(&scene, &upstream, "none", &[chat("a"), chat("b")]);
    assert_eq!((answers[0].status, answers[1].status, code), (200, 422, 1));
    assert_eq!((scene.text(), upstream.connections()), (before, 0));
}

/// The recording's text with all times blanked out.
fn timeless(scene: &Scene) -> String {
    let blank = |pattern: &str, text: &str, with: &str| {
        regex::Regex::new(pattern).unwrap().replace_all(text, with).into_owned()
    };
    let text = blank(r#""recorded_at": "[^"]*""#, &scene.text(), r#""recorded_at": """#);
    let text = blank(r#""latency_ms": [0-9.]+"#, &text, r#""latency_ms": 0"#);
    blank(r"(?m)^(\s*)\[[0-9.]+, ", &text, "$1[0, ")
}

#[test]
fn recording_the_same_again_changes_nothing_but_times() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.text().contains("\"stream\":true") {
        true => Answer::events(&chat_events(&["a", "b"])),
        false => Answer::json(200, chat_answer("whole")),
    });
    let step = chat("step").header("x-loomrec-step-id: plan");
    let calls = [chat("a"), chat_streamed("b"), chat("a"), step, Call::get("/openai/v1/models")];
    scene.recorded(&upstream, &calls);
    let first = timeless(&scene);
    assert_ne!(first, scene.text());
    for _ in 0..2 {
        scene.recorded(&upstream, &calls);
        assert_eq!(timeless(&scene), first);
    }
    assert_eq!(scene.takes().len(), 5);
}

#[test]
fn a_run_joined_by_name_keeps_takes_side_by_side() {
    let scene = Scene::new();
    for answer in ["one", "two"] {
        let upstream = saying(answer);
        let server = scene.record(&upstream, &["--run", "ci-77"]);
        server.call(&chat("a")).expect(200);
        server.stop().expect(0);
    }
    assert_eq!(contents(&scene), ["one", "two"]);
    let upstream = saying("three");
    let server = scene.record(&upstream, &["--run", "ci-78"]);
    server.call(&chat("a")).expect(200);
    server.stop().expect(0);
    assert_eq!(contents(&scene), ["three", "two"], "another run replaces one take by one");
}

#[test]
fn recorders_alive_together_are_one_run() {
    let (scene, first, second) = (Scene::new(), saying("one"), saying("two"));
    scene.recorded(&saying("old"), &[chat("a")]);
    let (one, two) = (scene.record(&first, &[]), scene.record(&second, &[]));
    one.call(&chat("a")).expect(200);
    two.call(&chat("a")).expect(200);
    one.stop().expect(0);
    two.call(&chat("b")).expect(200);
    two.stop().expect(0);
    assert_eq!(contents(&scene), ["one", "two", "two"]);
}

#[test]
fn a_recorder_that_was_killed_ends_its_part() {
    let scene = Scene::new();
    let upstream = saying("lost run");
    let killed = scene.record(&upstream, &[]);
    killed.call(&chat("a")).expect(200);
    killed.process.signal("KILL");
    killed.process.wait().expect(-9);
    scene.run(&["verify", "--fix", "run.json"]).expect(0);
    assert_eq!(contents(&scene), ["lost run"]);
    scene.recorded(&saying("next run"), &[chat("a")]);
    assert_eq!(contents(&scene), ["next run"]);
}

#[test]
fn other_identity_rules_than_the_files_are_refused_when_recording() {
    let scene = Scene::new();
    scene.recorded(&saying("old"), &[chat("a")]);
    let before = scene.text();
    let upstream = saying("new");
    let args =
        scene.record_args(&upstream.url(), &["--ignore", "/user", "--listen", "127.0.0.1:0"]);
    let ended = crate::support::run(scene.dir(), &args);
    assert!(ended.code != 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("/user"), "{}", ended.stderr);
    assert_eq!(scene.text(), before);
}
