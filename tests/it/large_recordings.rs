//! Tests of recordings with very many small entries, and of one entry that is too large.

use std::fmt::Write as _;
use std::process::Command;

use crate::support::Scene;
use crate::support::loomrec::finish;
use crate::support::memory::{measured, peak_of};

/// A fifth of a million entries, because memory grows with their number.
const COUNT: usize = 200_000;
/// 400 bytes per entry, and what a debug build of the program takes itself.
const ALLOWED_KB: u64 = (70 << 10) + COUNT as u64 * 400 / 1000;

/// A recording with this many entries, each made by `member`.
fn recording(member: impl Fn(usize) -> String) -> Scene {
    let scene = Scene::new();
    let mut text = r#"{"_version":2,"_loomrec":{"format":"1.0"}"#.to_owned();
    (0..COUNT).for_each(|at| write!(text, ",\n{}", member(at)).unwrap());
    text.push_str("}\n");
    scene.write(text);
    scene
}

const ANSWER: &str = r#"{"response":{"status":200}}"#;

fn hash(at: usize) -> String {
    format!("{:064x}", (at as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834))
}

#[test]
fn replay_of_very_many_entries_takes_little_memory_for_each() {
    let shapes: [(&str, &dyn Fn(usize) -> String); 4] = [
        ("steps", &|at| format!(r#""s{at:07}":{ANSWER}"#)),
        ("words", &|at| format!(r#""s{at:07}":{{"content":"hello"}}"#)),
        ("hashes", &|at| format!(r#""{}":{ANSWER}"#, hash(at))),
        ("lists", &|at| format!(r#""s{at:07}":[{ANSWER}]"#)),
    ];
    for (shape, member) in shapes {
        let scene = recording(member);
        let server = scene.replay(&[]);
        let most = peak_of(server.process.pid());
        assert!(most < ALLOWED_KB, "{shape}: {most} kB of {ALLOWED_KB} kB");
        server.stop();
    }
}

#[test]
fn takes_of_a_large_recording_are_served_as_they_were_recorded() {
    let scene = recording(|at| {
        let text = format!(r#"{{"status":200,"headers":{{"x-at":"{at}"}},"text":"answer {at}"}}"#);
        format!(r#""s{at:07}":{{"response":{text}}}"#)
    });
    let server = scene.replay(&[]);
    for at in [0, 1, 127, 128, COUNT / 2, COUNT - 1] {
        let call = crate::support::Call::post("/openai/v1/x", "{}");
        let answer = server.call(&call.header(&format!("x-loomrec-step-id: s{at:07}"))).expect(200);
        assert_eq!(answer.text(), format!("answer {at}"));
        assert_eq!(answer.header("x-at"), Some(at.to_string().as_str()));
        assert_eq!(answer.header("x-loomrec-entry"), Some(format!("s{at:07}").as_str()));
    }
    server.stop();
}

#[test]
fn commands_that_list_and_check_hold_few_bytes_of_each_entry() {
    let scene = recording(|at| format!(r#""s{at:07}":{ANSWER}"#));
    for command in ["ls", "stats", "verify"] {
        let (most, _) = measured(&scene, &[command, "--json", "run.json"], 0);
        assert!(most < ALLOWED_KB, "{command}: {most} kB of {ALLOWED_KB} kB");
    }
}

#[test]
fn entry_that_memory_has_no_room_for_is_refused() {
    let scene = Scene::new();
    let words = "word ".repeat(16_000_000);
    scene.write(format!("{{\"_version\": 2, \"big\": {{\"content\": \"{words}\"}}}}"));
    let within = |args: &str| {
        let line = format!("ulimit -v 400000 && exec {} {args}", env!("CARGO_BIN_EXE_loomrec"));
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).current_dir(scene.dir());
        finish(&mut shell, b"").expect(4)
    };
    for args in ["ls run.json", "diff run.json run.json", "merge run.json run.json -o small.json"] {
        within(args).says(&["run.json", "an entry of 8000", "more memory"]);
    }
    let told = within("verify run.json").stdout;
    assert!(told.contains("run.json") && told.contains("more memory"), "{told}");
    assert_eq!(scene.names(), ["run.json"]);
}
