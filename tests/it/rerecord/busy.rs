//! Tests of upstreams that are busy, slow, cut answers or refuse.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::json;

use super::{KEY, entries, json_of, rerecord, several, speaker};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

#[test]
fn busy_upstream_is_asked_again_when_it_says() {
    let scene = several(1);
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let upstream = Upstream::start(move |_| {
        let mut times = seen.lock().unwrap();
        times.push(Instant::now());
        match times.len() {
            1 => Answer::whole(429, &["retry-after: 1"], "{\"error\":{\"message\":\"slow down\"}}"),
            2 => Answer::whole(529, &["retry-after-ms: 20"], "{}"),
            3 => Answer::stream().chunk("data: {\"choices\":[]}\n\n").close(),
            _ => Answer::json(200, chat_answer("new")),
        }
    });
    let told = json_of(&rerecord(&scene, &upstream, &["run.json", "--yes", "--json"], 0));
    assert_eq!((&told["kept"], &told["retried"]), (&json!(1), &json!(1)), "{told}");
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 4);
    assert!((times[1] - times[0]).as_millis() >= 1000, "Retry-After was not kept to");
    // The failed attempts are not kept.
    let kept = entries(&scene, "run.json.new");
    assert_eq!((kept.len(), &kept[0].1["content"]), (1, &json!("new")));
}

#[test]
fn call_is_left_out_when_its_upstream_stays_busy() {
    let scene = several(2);
    let upstream = Upstream::start(|request| match request.text().contains("prompt 0") {
        true => Answer::whole(503, &["retry-after-ms: 1"], "{\"error\":{\"message\":\"down\"}}"),
        false => Answer::json(200, chat_answer("new")),
    });
    let args = ["run.json", "--yes"];
    rerecord(&scene, &upstream, &args, 1).says(&[
        "status 503: down (6 tries)",
        "1 new answer ",
        "1 failed",
        "same command again",
    ]);
    assert_eq!((upstream.requests(), entries(&scene, "run.json.new").len()), (7, 1));
    // The next run continues where it stopped.
    let well = speaker("new");
    rerecord(&scene, &well, &args, 0);
    assert_eq!((well.requests(), entries(&scene, "run.json.new").len()), (1, 2));
}

#[test]
fn call_is_left_out_when_it_would_have_to_wait_too_long_or_is_refused() {
    for (answer, told) in [
        (Answer::whole(429, &["retry-after: 3600"], "{}"), "asked again in 3600 s"),
        (
            Answer::json(400, "{\"error\":{\"message\":\"no such\\nmodel\"}}"),
            "status 400: no such model",
        ),
        (Answer::json(404, "{}"), "status 404"),
    ] {
        let scene = several(1);
        let upstream = Upstream::always(answer);
        rerecord(&scene, &upstream, &["run.json", "--yes"], 1).says(&[told]);
        assert_eq!(
            (upstream.requests(), scene.names()),
            (1, vec!["run.json".to_owned()]),
            "{told}"
        );
    }
}

#[test]
fn nothing_more_is_sent_when_the_key_is_refused() {
    let scene = several(9);
    let said = format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}");
    let upstream = Upstream::always(Answer::json(401, said));
    let told = rerecord(&scene, &upstream, &["run.json", "--yes"], 1);
    assert!(!told.stderr.contains(KEY), "{}", told.stderr);
    assert!(upstream.requests() <= 4, "{}", upstream.requests());
}

#[test]
fn status_that_was_recorded_is_kept_when_it_comes_again() {
    let scene = Scene::new();
    let fails = || Upstream::always(Answer::json(400, "{\"error\":{\"message\":\"bad\"}}"));
    scene.recorded(&fails(), &[chat("hi")]);
    rerecord(&scene, &fails(), &["run.json", "--yes"], 0).says(&["1 same"]);
}

#[test]
fn no_more_requests_are_under_way_than_the_limit() {
    let scene = several(9);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (under_way, seen) = (Arc::clone(&now), Arc::clone(&most));
    let upstream = Upstream::start(move |_| {
        let count = under_way.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(count, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(60));
        under_way.fetch_sub(1, Ordering::SeqCst);
        Answer::json(200, chat_answer("new"))
    });
    rerecord(&scene, &upstream, &["run.json", "--yes"], 0);
    assert_eq!((most.load(Ordering::SeqCst), upstream.requests()), (4, 9));
}

#[test]
fn takes_of_one_name_are_sent_one_after_the_other() {
    let scene = Scene::new();
    scene.recorded(&speaker("old"), &[chat("hi"), chat("hi"), chat("hi")]);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (under_way, seen) = (Arc::clone(&now), Arc::clone(&most));
    let upstream = Upstream::start(move |_| {
        let count = under_way.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(count, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(20));
        under_way.fetch_sub(1, Ordering::SeqCst);
        Answer::json(200, chat_answer("new"))
    });
    rerecord(&scene, &upstream, &["run.json", "--yes"], 0);
    assert_eq!((most.load(Ordering::SeqCst), upstream.requests()), (1, 3));
    let takes: Vec<_> = entries(&scene, "run.json.new")
        .into_iter()
        .map(|(_, entry)| entry["pending"]["replaces"]["take"].clone())
        .collect();
    assert_eq!(takes, [json!(1), json!(2), json!(3)]);
}
