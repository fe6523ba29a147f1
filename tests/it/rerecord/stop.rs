//! Tests of runs that are stopped and continued.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{entries, prepared, rerecord, several, speaker};
use crate::support::loomrec::Process;
use crate::support::shape::chat_answer;
use crate::support::{Answer, Gate, Upstream};

/// Answers the first requests at once, and the others after the gate is open.
fn slow(gate: &Gate, at_once: usize) -> Upstream {
    let (gate, left) = (gate.clone(), std::sync::atomic::AtomicUsize::new(at_once));
    Upstream::start(move |_| {
        let answer = chat_answer("new");
        let now =
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        match now {
            true => Answer::json(200, answer),
            false => Answer::raw("").wait(&gate).bytes(format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            )),
        }
    })
}

#[test]
fn interrupt_keeps_what_is_done_and_the_same_command_goes_on() {
    let (scene, gate) = (several(8), Gate::new());
    let upstream = slow(&gate, 3);
    let args = ["run.json", "--yes"];
    let mut process = Process::spawn(&mut prepared(&scene, &upstream, &args));
    // Three are answered, and four wait.
    upstream.wait_for(7);
    process.signal("INT");
    process.wait_for("stopping");
    // Started requests are completed, and no new one starts.
    gate.open();
    let told =
        process.wait().expect(1).says(&["7 new answers", "1 not sent", "same command again"]);
    assert_eq!(
        (upstream.requests(), entries(&scene, "run.json.new").len()),
        (7, 7),
        "{}",
        told.stderr
    );
    let rest = speaker("new");
    rerecord(&scene, &rest, &args, 0).says(&["1 new answer", "7 were there already"]);
    assert_eq!((rest.requests(), entries(&scene, "run.json.new").len()), (1, 8));
}

#[test]
fn second_interrupt_gives_up_what_is_under_way() {
    let (scene, gate) = (several(6), Gate::new());
    let upstream = slow(&gate, 1);
    let mut process = Process::spawn(&mut prepared(&scene, &upstream, &["run.json", "--yes"]));
    // The fifth is sent once an answer is on disk.
    upstream.wait_for(5);
    process.signal("INT");
    process.wait_for("stopping");
    process.signal("INT");
    process.wait().expect(1).says(&["1 new answer ", "5 not sent"]);
    gate.open();
    assert_eq!(entries(&scene, "run.json.new").len(), 1);
}

#[test]
fn killed_run_loses_no_answer_that_came_in_full() {
    let (scene, gate) = (several(10), Gate::new());
    let upstream = slow(&gate, 3);
    let process = Process::spawn(&mut prepared(&scene, &upstream, &["run.json", "--yes"]));
    // The seventh is sent once the third is on disk.
    upstream.wait_for(7);
    process.signal("KILL");
    process.wait().expect(-9);
    gate.open();
    let rest = speaker("new");
    rerecord(&scene, &rest, &["run.json", "--yes"], 0);
    assert_eq!((rest.requests(), entries(&scene, "run.json.new").len()), (7, 10));
    assert_eq!(scene.names(), ["run.json", "run.json.new"]);
}

#[test]
fn upstream_that_is_gone_is_told() {
    let scene = several(1);
    let gone = Arc::new(AtomicBool::new(false));
    let upstream = speaker("new");
    gone.store(true, Ordering::SeqCst);
    let address = upstream.url();
    drop(upstream);
    let mut command = crate::support::loomrec::command(
        scene.dir(),
        &["rerecord", "run.json", "--yes", "--upstream", &format!("openai={address}")],
    );
    command.env("OPENAI_API_KEY", super::KEY);
    crate::support::loomrec::finish(&mut command, b"")
        .expect(1)
        .says(&["failed to reach upstream openai", "(6 tries)"]);
}
