//! Tests of a damaged recording that is a folder: what `verify` reports and fixes.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{calls, names, upstream};
use crate::support::shape::chat;
use crate::support::{Finished, Scene};

fn recorded() -> Scene {
    let scene = Scene::split();
    scene.recorded(&upstream(), &calls());
    scene
}

/// The only file whose name contains this.
#[track_caller]
fn file(scene: &Scene, part: &str) -> PathBuf {
    let all = names(&scene.recording());
    let mut found = all.iter().filter(|name| name.contains(part));
    let name = found.next().unwrap_or_else(|| panic!("no {part}: {all:?}"));
    assert_eq!(found.next(), None);
    scene.recording().join(name)
}

/// The file of a hash with a single take.
fn single(scene: &Scene) -> PathBuf {
    let all = names(&scene.recording());
    let twice = all.iter().find_map(|name| name.strip_suffix("#2.json")).unwrap();
    let one = all.iter().find(|name| !name.starts_with(twice) && !name.starts_with("Plan"));
    scene.recording().join(one.unwrap())
}

fn verify(scene: &Scene, more: &[&str], code: i32) -> Value {
    let finished: Finished = scene.run(&[&["verify", "run/", "--json"], more].concat());
    let told = finished.expect(code).stdout;
    let told: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    told["files"][0].clone()
}

/// The kind of each problem, and its file.
fn places(told: &Value) -> Vec<(String, String)> {
    let place = |problem: &Value| {
        let word = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
        (word("kind"), word("file"))
    };
    told["problems"].as_array().unwrap().iter().map(place).collect()
}

fn shown(path: &std::path::Path) -> String {
    format!("run/{}", path.file_name().unwrap().to_str().unwrap())
}

#[test]
fn bad_entry_is_told_with_its_file_and_line() {
    let scene = recorded();
    let bad = single(&scene);
    let text = fs::read_to_string(&bad).unwrap().replace("\"status\": 200", "\"status\": \"two\"");
    let line = 1 + text.lines().position(|line| line.contains("\"status\": \"two\"")).unwrap();
    fs::write(&bad, text).unwrap();
    let told = verify(&scene, &[], 1);
    assert_eq!(places(&told), [("shape".to_owned(), shown(&bad))]);
    assert_eq!((&told["problems"][0]["line"], &told["entries"]), (&json!(line), &json!(5)));
    let text = scene.run(&["verify", "run/"]).expect(1).stdout;
    assert!(text.contains(&format!("{}:{line}: error: ", shown(&bad))), "{text}");
    // A reader names the line of the entry.
    scene.run(&["ls", "run/"]).expect(4).says(&[&shown(&bad), "line 10:", "/response/status"]);
}

#[test]
fn files_that_are_no_recordings_are_told_each_and_the_others_are_looked_at() {
    let scene = recorded();
    let cut = single(&scene);
    let text = fs::read(&cut).unwrap();
    fs::write(&cut, &text[..text.len() / 2]).unwrap();
    fs::create_dir(scene.recording().join("x.json")).unwrap();
    fs::write(scene.recording().join("none.json"), "{\"_version\": 2}").unwrap();
    let told = verify(&scene, &[], 4);
    let mut expected = vec![shown(&cut), "run/none.json".into(), "run/x.json".into()];
    expected.sort();
    let expected: Vec<_> = expected.into_iter().map(|file| ("shape".to_owned(), file)).collect();
    assert_eq!(places(&told), expected);
    assert!(told["unreadable"].as_str().unwrap().contains("2 of its 6 files"), "{told}");
    // Nothing is fixed, and nothing is damaged further.
    let before = names(&scene.recording());
    verify(&scene, &["--fix"], 4);
    assert_eq!(names(&scene.recording()), before);
}

#[test]
fn what_no_file_tells_by_itself_is_told_and_mended_where_it_can_be() {
    let scene = recorded();
    let plan = file(&scene, "Plan");
    let (second, odd) = (file(&scene, "#2"), scene.recording().join("odd name.json"));
    let first = PathBuf::from(second.to_str().unwrap().replace("#2", ""));
    fs::remove_file(&first).unwrap();
    fs::rename(&plan, &odd).unwrap();
    let told = verify(&scene, &[], 0);
    let expected =
        [("key".to_owned(), shown(&second)), ("name".to_owned(), "run/odd name.json".to_owned())];
    assert_eq!(places(&told), expected);
    let told = verify(&scene, &["--fix"], 0);
    assert_eq!((places(&told), told["mended"].as_array().unwrap().len()), (vec![], 2), "{told}");
    assert!(plan.exists() && first.exists() && !second.exists() && !odd.exists());
    assert_eq!(scene.names(), ["run"]);
    scene.replayed(&["--strict"], &calls()[1..], 0);
    // A key in two files, and one made under other rules.
    fs::copy(&first, &odd).unwrap();
    let told = verify(&scene, &[], 1);
    let twice = ("duplicate".to_owned(), "run/odd name.json".to_owned());
    assert!(places(&told).contains(&twice), "{told}");
    scene.run(&["verify", "run/", "--fix"]).expect(4);
    assert!(odd.exists() && first.exists());
    fs::remove_file(&odd).unwrap();
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&first, text.replace("\"ignore\": []", "\"ignore\": [\"/user\"]")).unwrap();
    let told = verify(&scene, &[], 1);
    assert!(places(&told).iter().any(|(kind, _)| kind == "format"), "{told}");
    scene.run(&["verify", "nowhere/"]).expect(4).says(&[]);
}

#[test]
fn what_waits_beside_a_folder_is_told_by_verify() {
    let scene = recorded();
    let server = scene.replay(&["--pending", scene.path("run.pending").to_str().unwrap()]);
    server.call(&chat("unheard of"));
    server.stop().expect(1);
    let told = verify(&scene, &[], 0);
    assert_eq!(places(&told), [("leftover".to_owned(), String::new())]);
    assert!(told["problems"][0]["text"].as_str().unwrap().contains("run.pending"));
}

#[test]
fn replay_names_the_file_of_an_entry_that_it_refuses() {
    let scene = recorded();
    let bad = single(&scene);
    let text = fs::read_to_string(&bad).unwrap();
    let with = |name: &str, value: Value| {
        let mut file: Value = serde_json::from_str(&text).unwrap();
        let key = file.as_object().unwrap().keys().find(|key| !key.starts_with('_')).unwrap();
        let key = key.clone();
        file[&key][name] = value;
        fs::write(&bad, file.to_string()).unwrap();
    };
    let replay = |more: &[&str]| {
        let args = [&["replay", "-r", "run/", "--listen", "127.0.0.1:0"], more].concat();
        scene.run(&[&args[..], &["--", "true"]].concat()).expect(4)
    };
    with("fault", json!({"type": "no such fault"}));
    replay(&[]).says(&[&format!("recording {}: in ", shown(&bad))]);
    let mut request: Value = serde_json::from_str(&text).unwrap();
    let entry = request.as_object_mut().unwrap().values_mut().next_back().unwrap();
    let mut request = entry["request"].take();
    request["path"] = json!("/v1/other");
    with("request", request);
    replay(&["--strict"]).says(&[&format!("replay {} strictly: ", shown(&bad))]);
}
