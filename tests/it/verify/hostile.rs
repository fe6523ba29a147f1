//! Tests of files that are not recordings, or hardly: reported with their place, without a panic,
//! and without much memory.

use std::io::Write as _;
use std::process::Command;

use super::{json_output, places, sample};
use crate::support::Scene;

/// Texts that are damaged or strange, and the exit code.
fn texts() -> Vec<(&'static str, Vec<u8>, i32)> {
    let text = sample().text();
    let hash = "ab".repeat(32);
    let entry = "{\"content\": \"x\"}";
    let deep =
        format!("{{\"_version\": 2, \"plan\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let inner = format!("{{\"plan\": {{\"x\": {}{}}}}}", "[".repeat(100_000), "]".repeat(100_000));
    vec![
        ("empty", Vec::new(), 4),
        ("blank", b" \n".to_vec(), 4),
        ("cut", text.as_bytes()[..text.len() / 2].to_vec(), 4),
        ("no JSON", b"hello\n".to_vec(), 4),
        ("no UTF-8", b"{\"a\": {\"content\": \"\xff\"}}".to_vec(), 4),
        ("an array", b"[]".to_vec(), 4),
        ("a byte-order mark", b"\xef\xbb\xbf{}".to_vec(), 4),
        ("version 1", b"{\"_version\": 1}".to_vec(), 1),
        ("newer", text.replace("\"format\": \"1.0\"", "\"format\": \"2.0\"").into(), 1),
        ("wrong types", text.replace("\"status\": 200", "\"status\": \"two\"").into(), 1),
        ("twice", format!("{{\"a\": {entry}, \"a\": {entry}}}").into(), 1),
        ("a field twice", b"{\"a\": {\"content\": \"x\", \"content\": \"y\"}}".to_vec(), 1),
        ("a list under a hash", format!("{{\"{hash}\": [{entry}]}}").into(), 1),
        ("no entry", b"{\"a\": 7, \"b\": [7], \"c\": \"x\"}".to_vec(), 1),
        ("deep", deep.into(), 1),
        ("deep inside", inner.into(), 1),
        ("an unknown fault", b"{\"a\": {\"fault\": {\"type\": \"tiemout\"}}}".to_vec(), 1),
    ]
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_nothing_is_changed() {
    for (kind, bytes, code) in texts() {
        let scene = Scene::new();
        scene.write(&bytes);
        for args in [&["verify", "run.json"][..], &["verify", "--fix", "run.json"]] {
            let ended = scene.run(args);
            let said = format!("{}{}", ended.stdout, ended.stderr);
            let codes = [code, if code == 1 && args.len() > 2 { 4 } else { code }];
            assert!(codes.contains(&ended.code), "{kind}: {} {said}", ended.code);
            assert!(said.contains("run.json") && !said.contains("panicked"), "{kind}: {said}");
            assert_eq!(std::fs::read(scene.recording()).unwrap(), bytes, "{kind} was changed");
        }
    }
}

#[test]
fn each_wrong_field_is_told_and_not_the_first_alone() {
    let scene = Scene::new();
    scene.write(
        "{\n  \"a\": {\n    \"content\": \"x\",\n    \"model\": 7,\n    \"usage\": [],\n    \
         \"response\": {\n      \"status\": \"x\"\n    }\n  },\n  \"b\": 5\n}\n",
    );
    let output = json_output(&scene, &[], 1);
    let found = places(&output);
    assert_eq!(
        found,
        ["rules - ", "shape a /model", "shape a /usage", "shape a /response/status", "shape b /b"]
    );
    let lines: Vec<u64> =
        output["problems"].as_array().unwrap().iter().filter_map(|p| p["line"].as_u64()).collect();
    assert_eq!(lines, [4, 5, 7, 10]);
}

/// Runs a command with this much address space, in MiB.
fn within(scene: &Scene, megabytes: usize, args: &str) -> std::process::Output {
    let line =
        format!("ulimit -v {} && exec {} {args}", megabytes * 1024, env!("CARGO_BIN_EXE_loomrec"));
    Command::new("bash").args(["-c", &line]).current_dir(scene.dir()).output().unwrap()
}

#[test]
fn a_large_file_takes_no_more_memory_than_its_entries() {
    let scene = Scene::new();
    let file = std::fs::File::create(scene.recording()).unwrap();
    file.set_len(1 << 30).unwrap();
    let ended = within(&scene, 700, "verify run.json");
    assert_eq!(ended.status.code(), Some(4), "{}", String::from_utf8_lossy(&ended.stderr));
    // Many entries of a megabyte, which hold only words.
    let mut file = std::io::BufWriter::new(std::fs::File::create(scene.recording()).unwrap());
    let words = "word ".repeat(200_000);
    write!(file, "{{\"_version\": 2").unwrap();
    for number in 0..300 {
        write!(file, ",\n  \"step {number}\": {{\"content\": \"{words}\"}}").unwrap();
    }
    writeln!(file, "\n}}").unwrap();
    drop(file);
    let ended = within(&scene, 700, "verify run.json");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("ok, 300 calls"), "{said}");
}
