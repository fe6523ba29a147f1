//! Tests of what people read of long conversations: what is new, once.

mod compared;
mod shown;

use serde_json::Value;

use crate::support::Scene;
use crate::support::conversation::RecordedCalls;

/// The turns of a long conversation.
const TURNS: usize = 200;
/// Fewer lines than this fit on a screen or two.
const FEW_LINES: usize = 60;

/// A scene with these recordings.
fn scene(files: &[(&str, &RecordedCalls)]) -> Scene {
    let scene = Scene::new();
    for (name, calls) in files {
        std::fs::write(scene.path(name), calls.file()).unwrap();
    }
    scene
}

/// The output of a command that exits with `code`.
#[track_caller]
fn output(scene: &Scene, args: &[&str], code: i32) -> String {
    scene.run(args).expect(code).stdout
}

#[track_caller]
fn json_of(scene: &Scene, args: &[&str], code: i32) -> Value {
    serde_json::from_str(&output(scene, args, code)).unwrap()
}

/// Fails if a text has too many lines to be read.
#[track_caller]
fn assert_few_lines(text: &str) {
    let count = text.lines().count();
    assert!(count < FEW_LINES, "{count} lines:\n{text}");
}
