//! Tests of `--redact NAME=REGEX`: numbered placeholders.

use serde_json::json;

use crate::support::shape::{CHAT, chat_answer, chat_events};
use crate::support::{Answer, Call, Scene, Upstream};

#[test]
fn named_placeholders_keep_a_conversation_together() {
    let upstream = Upstream::start(|request| {
        let text = request.text();
        let answer = match text.matches("role").count() {
            1 => "Ask bob@example.com, ann@example.com!",
            _ => "All done.",
        };
        match text.contains("\"stream\":true") {
            true => Answer::events(&chat_events(&[&answer[..7], &answer[7..]])),
            false => Answer::json(200, chat_answer(answer)),
        }
    });
    let turn = |stream: bool, said: Option<&str>| {
        let message = |role: &str, text: &str| json!({"role": role, "content": text});
        let mut messages = vec![message("user", "I am ann@example.com")];
        messages.extend(said.map(|said| message("assistant", said)));
        messages.extend(said.map(|_| message("user", "Write to eve@example.com")));
        let body = json!({"model": "m", "stream": stream, "user": "me@example.com",
                          "messages": messages});
        Call::post(CHAT, body.to_string())
    };
    let rule = ["--redact", "EMAIL=[a-z]+@example\\.com"];
    for stream in [false, true] {
        let scene = Scene::new();
        let server = scene.record(&upstream, &rule);
        server.call(&turn(stream, None)).expect(200);
        let said = "Ask bob@example.com, ann@example.com!";
        server.call(&turn(stream, Some(said))).expect(200);
        server.stop().expect(0);
        assert!(!scene.text().contains("example.com"), "{}", scene.text());
        let body = &scene.takes()[1].1["request"]["body"];
        assert_eq!(body["user"], "<EMAIL:1>");
        let texts = ["I am <EMAIL:2>", "Ask <EMAIL:3>, <EMAIL:2>!", "Write to <EMAIL:4>"];
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(body["messages"][at]["content"], *text);
        }
        // The program sends back the answer that it got in the replay.
        let calls = [turn(stream, None), turn(stream, Some(texts[1]))];
        scene.replayed(&rule, &calls, 0);
        // Two different people do not match one.
        let other = turn(stream, Some("Ask <EMAIL:2>, <EMAIL:2>!"));
        scene.replayed(&rule, &[other], 1);
        // The name of a rule may come from the environment or the project's settings.
        std::fs::write(scene.path("loomrec.toml"), format!("redact = ['{}']\n", rule[1])).unwrap();
        scene.replayed(&[], &calls, 0);
    }
}
