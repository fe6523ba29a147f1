//! Tests of `--max-age`: takes that are too old are reported, and fail the run on request.

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

/// A recording of three takes: an old one, a new one, and one without a time.
fn sample() -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello.")));
    let step = |name: &str| chat(name).header(&format!("x-loomrec-step-id: {name}"));
    scene.recorded(&upstream, &[step("old"), step("new"), step("undated")]);
    let mut json = scene.json();
    json["old"]["recorded_at"] = json!("2001-01-01T00:00:00.000000Z");
    json["undated"].as_object_mut().unwrap().remove("recorded_at");
    scene.write(format!("{json:#}\n"));
    scene
}

fn receipt(scene: &Scene) -> Value {
    let text = std::fs::read_to_string(scene.path("receipt")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn old_takes_are_told_and_fail_the_run_only_when_asked() {
    let scene = sample();
    let told = |more: &[&str], code: i32| {
        let server = scene.replay(&[&["--receipt", "receipt"], more].concat());
        server.call(&chat("new").header("x-loomrec-step-id: new")).expect(200);
        (server.stop().expect(code), receipt(&scene))
    };
    let (_, plain) = told(&[], 0);
    assert_eq!(plain["expired"], Value::Null);
    let (said, warned) = told(&["--max-age", "90d"], 0);
    said.says(&["takes recorded more than 90 d ago: 1, the oldest", ": old", "do not say when"]);
    assert_eq!((&warned["verdict"], &warned["expired"]["takes"]), (&json!("ok"), &json!(1)));
    assert_eq!(warned["expired"]["max_age_s"], 7_776_000);
    assert_eq!(warned["expired"]["undated"], 1);
    let (said, failed) = told(&["--max-age", "90d:fail"], 1);
    said.says(&["failed", "takes recorded more than 90 d ago: 1"]);
    assert_eq!(failed["verdict"], "failed");
    let (_, fine) = told(&["--max-age", "5000w:fail"], 0);
    assert_eq!(fine["expired"]["oldest_s"], Value::Null);
    // Set in the project's file.
    let settings = "[replay]\nmax-age = '1h:fail'\n";
    std::fs::write(scene.path("loomrec.toml"), settings).unwrap();
    told(&[], 1).0.says(&["more than 1 h ago"]);
}

#[test]
fn time_that_is_none_is_refused() {
    let scene = sample();
    for odd in ["90", "x", "1.5d"] {
        let args = ["replay", "-r", "run.json", "--max-age", odd];
        scene.run(&args).expect(2).says(&["--max-age", "30d"]);
    }
    let args = ["replay", "-r", "run.json", "--max-age", "30d:warn"];
    scene.run(&args).expect(2).says(&["--max-age", "after 30d it takes :fail or nothing"]);
}
