//! Tests of members that occur twice in an entry: a reviewer reads the first, loomrec would read
//! the last.

use crate::support::Scene;
use crate::support::shape::chat;

use super::{recorded, replayed};

const STRICT: [&str; 6] = ["replay", "--strict", "-r", "run.json", "--", "true"];

/// The recording with a text inserted before another.
fn doubled(before: &str, more: &str) -> Scene {
    let scene = recorded(&[]);
    let text = scene.text();
    assert!(text.contains(before), "{text}");
    scene.write(text.replacen(before, &format!("{more}{before}"), 1));
    scene
}

fn refused(scene: &Scene, at: &str) {
    scene.run(&STRICT).expect(4).says(&["run.json", "holds a member twice", "--allow-unchecked"]);
    let verified = scene.run(&["verify", "run.json"]).expect(1).stdout;
    assert!(verified.contains("twice") && verified.contains("[duplicate]"), "{at}: {verified}");
    let (ended, receipt) =
        replayed(scene, &["--strict", "--allow-unchecked"], &[], &[(chat("hi"), 200)]);
    ended.expect(0).says(&["entries that cannot be checked: 1"]);
    assert_eq!(receipt["in_force"]["unchecked"]["calls"], 1);
}

#[test]
fn an_entry_with_two_requests_is_refused_under_strict() {
    let shown = r#""request": {"method": "POST", "path": "/safe", "headers": [], "body": {}},"#;
    refused(&doubled(r#""request": {"#, shown), "request");
}

#[test]
fn an_entry_with_two_responses_is_refused_under_strict() {
    let shown = r#""response": {"status": 200, "headers": [], "text": "safe"}, "#;
    refused(&doubled(r#""response": {"#, shown), "response");
}

#[test]
fn a_member_that_stands_twice_in_a_body_is_refused_under_strict() {
    let shown = r#""messages": [{"role": "user", "content": "is this safe?"}], "#;
    refused(&doubled(r#""messages": "#, shown), "body");
    let shown = r#""content": "is this safe?", "#;
    refused(&doubled(r#""content": "hi""#, shown), "message");
    // Its name may be spelled differently.
    let shown = r#""mess\u0061ges": [{"role": "user", "content": "is this safe?"}], "#;
    refused(&doubled(r#""messages": "#, shown), "escaped");
}

#[test]
fn an_entry_that_stands_twice_is_refused() {
    let scene = recorded(&[]);
    let key = scene.takes()[0].0.clone();
    let before = format!("\"{key}\": ");
    let more = format!("{before}{{\"content\": \"safe\"}}, ");
    let scene = doubled(&before, &more);
    scene.run(&STRICT).expect(4);
    scene.run(&["verify", "run.json"]).expect(1);
}
