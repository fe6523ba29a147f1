//! Tests of `scripts/fuzz` with stub targets: it never omits a target silently.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::Scene;

/// The output of a target that ran to its end.
const FINE: &str = "echo stat::number_of_executed_units: 7";

fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Runs the script, two targets at once, with these targets. Returns its exit code and its output.
fn fuzzed(targets: &[(&str, &str)]) -> (Option<i32>, String) {
    let scene = Scene::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/fuzz");
    fs::create_dir_all(scene.path("scripts")).unwrap();
    fs::copy(source, scene.path("scripts/fuzz")).unwrap();
    write_program(&scene.path("bin/cargo"), "exit 0");
    for (name, does) in targets {
        let target = scene.path(&format!("tests/fuzz/fuzz_targets/{name}.rs"));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, "").unwrap();
        write_program(&scene.path(&format!("target/debug/{name}")), does);
    }
    let path = std::env::var("PATH").unwrap();
    let ran = Command::new("bash")
        .args(["scripts/fuzz", "1"])
        .current_dir(scene.dir())
        .env("PATH", format!("{}:{path}", scene.path("bin").display()))
        .env("CARGO_TARGET_DIR", scene.path("target"))
        .env("LOOMREC_FUZZ_WORKERS", "2")
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn targets_that_all_run_to_their_end_are_a_success() {
    let (code, said) = fuzzed(&[("one", FINE), ("three", FINE), ("two", FINE)]);
    assert_eq!(code, Some(0), "{said}");
    for name in ["one", "two", "three"] {
        assert!(said.lines().any(|line| line.starts_with(name) && line.ends_with("ok")), "{said}");
    }
}

#[test]
fn a_target_whose_worker_dies_fails_the_run_and_the_others_are_still_run() {
    for dies in ["kill -9 $PPID", "rm -r .cache/fuzz/log"] {
        let (code, said) = fuzzed(&[("a", dies), ("b", FINE), ("c", FINE), ("d", FINE)]);
        assert_eq!(code, Some(1), "{dies}: {said}");
        assert!(said.contains("not run to their end: a"), "{dies}: {said}");
        if dies.starts_with("kill") {
            assert!(said.lines().any(|line| line.starts_with("c ")), "{said}");
        }
    }
}

#[test]
fn an_input_that_fails_fails_the_run_and_is_named() {
    let fails = format!("echo Test unit written to .cache/fuzz/failures/b-crash-1; {FINE}");
    let (code, said) = fuzzed(&[("a", FINE), ("b", &fails)]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("FAILED") && said.contains("scripts/fuzz --reproduce"), "{said}");
}
