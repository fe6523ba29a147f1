//! Tests of compressed answers that decode to far more than their size.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::support::memory::{measured, peak_of};
use crate::support::shape::{chat, chat_answer, chat_streamed};
use crate::support::{Answer, Scene, Upstream};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// 1 GiB of zeros, in members of 8 MiB each.
fn bomb() -> Vec<u8> {
    gzip(&vec![0; 8 << 20]).repeat(128)
}

/// A recording of one chat whose answer has this body and coding.
fn recorded(body: &[u8], coding: &str) -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    scene.recorded(&upstream, &[chat("hi"), chat("other")]);
    let mut held = scene.json();
    let name = scene.takes()[0].0.clone();
    let response = held[&name]["response"].as_object_mut().unwrap();
    response.remove("body");
    response.remove("style");
    response.insert("base64".to_owned(), STANDARD.encode(body).into());
    response["headers"]["content-encoding"] = json!(coding);
    response["headers"].as_object_mut().unwrap().remove("content-length");
    scene.write(serde_json::to_string_pretty(&held).unwrap());
    scene
}

#[test]
fn bomb_in_a_recorded_answer_costs_no_reading_command_much_memory() {
    for (body, coding) in [(bomb(), "gzip"), (gzip(&bomb()), "gzip, gzip")] {
        let scene = recorded(&body, coding);
        let commands: [(&[&str], i32, &str); 7] = [
            (&["verify", "run.json"], 1, "decodes to more bytes"),
            (&["verify", "--json", "run.json"], 1, "decodes to more bytes"),
            (&["ls", "--json", "run.json"], 0, ""),
            (&["stats", "run.json"], 0, ""),
            (&["show", "run.json"], 0, ""),
            (&["diff", "run.json", "run.json"], 0, ""),
            (&["redact", "--redact", "nothing-like-this", "run.json"], 1, "NOT removed"),
        ];
        for (args, code, says) in commands {
            let (most, said) = measured(&scene, args, code);
            assert!(most < 150 << 10, "{args:?}: {most} kB");
            assert!(said.contains(says), "{args:?}: {said}");
        }
    }
}

#[test]
fn bomb_is_not_unfolded_for_a_caller_and_holds_up_no_other_call() {
    let scene = recorded(&bomb(), "gzip");
    let server = scene.replay(&["--repeat", "last"]);
    for _ in 0..3 {
        let answer = server.call(&chat_streamed("hi"));
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert!(answer.text().contains("decodes to more bytes"), "{}", answer.text());
        server.call(&chat("other")).expect(200);
    }
    assert!(peak_of(server.process.pid()) < 200 << 10, "{} kB", peak_of(server.process.pid()));
    server.stop();
}
