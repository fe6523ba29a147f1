//! Tests that every recording in the repository replays: each recorded request, sent again, gets
//! the recorded answer.

use std::path::{Path, PathBuf};

use base64::Engine;
use serde_json::Value;

use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Call, End, Scene, Server, Upstream};

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

/// The takes of a file, each with its step, if it has one.
fn takes(file: &Path) -> Vec<(Option<String>, Value)> {
    let value: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut out = Vec::new();
    for (name, entry) in
        value.as_object().unwrap().iter().filter(|(name, _)| !name.starts_with('_'))
    {
        let hash = name.get(..64).is_some_and(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
        let step = (!hash).then(|| name.clone());
        match entry {
            Value::Array(turns) => out.extend(turns.iter().map(|t| (step.clone(), t.clone()))),
            one => out.push((step, one.clone())),
        }
    }
    out
}

/// The recorded request, as a client would send it.
fn call_of(step: Option<&str>, take: &Value) -> Call {
    let request = &take["request"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let query = text(&request["query"]).map_or(String::new(), |query| format!("?{query}"));
    let upstream = take["upstream"].as_str().unwrap();
    let target = format!("/{upstream}{}{query}", request["path"].as_str().unwrap());
    let mut call = Call::new(request["method"].as_str().unwrap(), &target);
    let pairs: Vec<(String, String)> = match &request["headers"] {
        Value::Object(map) => map.iter().map(|(n, v)| (n.clone(), text(v).unwrap())).collect(),
        Value::Array(list) => {
            list.iter().map(|p| (text(&p[0]).unwrap(), text(&p[1]).unwrap())).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in pairs {
        call = call.header(&format!("{name}: {value}"));
    }
    if let Some(session) = take["session"].as_str() {
        call = call.header(&format!("x-loomrec-session: {session}"));
    }
    if let Some(step) = step {
        call = call.header(&format!("x-loomrec-step-id: {step}"));
    }
    let base64 = |value: &Value| {
        let code = value.as_str()?;
        Some(base64::engine::general_purpose::STANDARD.decode(code).unwrap())
    };
    match request.get("body") {
        Some(body) => call.body(body.to_string()),
        None => match text(&request["text"])
            .map(String::into_bytes)
            .or_else(|| base64(&request["base64"]))
        {
            Some(bytes) => call.body(bytes),
            None => call,
        },
    }
}

/// Replays every recorded request in the file's order; all takes must be used.
#[track_caller]
fn replays_itself(file: &Path) -> usize {
    let scene = Scene::new();
    let args = ["replay", "--strict", "--fail-unused", "-r", file.to_str().unwrap()];
    let server = Server::start(scene.dir(), &args);
    let takes = takes(file);
    for (step, take) in &takes {
        let answer = server.call(&call_of(step.as_deref(), take));
        assert_eq!(answer.status, take["response"]["status"], "{}", answer.text());
        let complete = take["response"]["end"] == "complete";
        assert_eq!(answer.end == End::Complete, complete, "{take}");
        if let Some(chunks) = take["response"]["chunks"].as_array() {
            let text = |chunk: &Value| chunk[1].as_str().map(|text| text.as_bytes().to_vec());
            if let Some(kept) = chunks.iter().map(text).collect::<Option<Vec<_>>>() {
                assert_eq!(answer.chunks, kept, "{take}");
            }
        }
    }
    server.stop().expect(0);
    takes.len()
}

#[test]
fn the_recordings_of_this_repository_replay() {
    let files = samples();
    assert!(!files.is_empty(), "recordings/ holds none");
    for file in files {
        assert!(replays_itself(&file) > 0, "{} is empty", file.display());
    }
}

#[test]
fn a_recording_of_many_kinds_replays_itself() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("m")),
        "/v1/models?limit=2" => Answer::json(404, "{\n  \"error\": {}\n}"),
        "/cut" => Answer::head(200, &["content-length: 9"]).bytes("1234").close(),
        _ if request.text().contains("\"stream\":true") => {
            Answer::events(&chat_events(&["a", "b"]))
        }
        _ => Answer::json(200, chat_answer("c")),
    });
    let calls = [
        chat("one"),
        chat_streamed("one"),
        chat("one"),
        message("two").header("x-loomrec-step-id: plan"),
        message("two").header("x-loomrec-step-id: plan"),
        Call::get("/openai/v1/models?limit=2"),
        Call::get("/openai/cut"),
        Call::new("PUT", "/openai/v1/bytes").body([0xff_u8, 0xfe, 0]),
        Call::new("PUT", "/openai/v1/text").header("content-type: text/plain").body("plain ☃"),
        chat("in a session").header("x-loomrec-session: s 1"),
    ];
    scene.recorded(&upstream, &calls);
    assert_eq!(replays_itself(&scene.recording()), calls.len());
}
