//! Tests of `diff`: the changes between two recordings, for people and for programs.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::loomrec::command;
use crate::support::shape::{
    CHAT, chat, chat_answer, chat_body, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Call, Scene, Upstream};

/// A chat answer that calls a tool.
fn calls_tool(city: &str) -> String {
    let mut answer: Value = serde_json::from_str(&chat_answer("")).unwrap();
    let arguments = json!({"city": city, "unit": "celsius"}).to_string();
    let function = json!({"name": "get_weather", "arguments": arguments});
    answer["choices"][0]["message"]["tool_calls"] =
        json!([{"id": "call_1", "type": "function", "function": function}]);
    answer["choices"][0]["finish_reason"] = json!("tool_calls");
    answer.to_string()
}

/// An upstream with one of two sets of answers.
fn upstream(second: bool) -> Upstream {
    Upstream::start(move |request| {
        let text = request.text();
        match request.target.as_str() {
            "/v1/messages" => Answer::json(200, message_answer("Bonjour.")),
            _ if text.contains("weather") => {
                Answer::json(200, calls_tool(if second { "Oslo" } else { "Paris" }))
            }
            _ if text.contains("\"stream\":true") && second => {
                Answer::events(&chat_events(&["Hel", "lo", " there."]))
            }
            _ if text.contains("\"stream\":true") => {
                Answer::events(&chat_events(&["Hello", " there."]))
            }
            _ if text.contains("fail") && second => Answer::json(429, "{\"error\":{\"code\":1}}"),
            _ if text.contains("forecast") && second => {
                Answer::json(200, chat_answer("Snow, alas."))
            }
            _ => Answer::json(200, chat_answer("Rain, alas.")),
        }
    })
}

fn system(words: &str) -> Call {
    let mut body = chat_body("What is the forecast for the weekend?");
    let first = json!({"role": "system", "content": format!("You are a {words} assistant for those at sea.")});
    body["messages"].as_array_mut().unwrap().insert(0, first);
    Call::post(CHAT, body.to_string())
}

/// Two recordings, `a.json` and `b.json`, of a program that was changed in between.
fn sample() -> Scene {
    let scene = Scene::new();
    let same = [chat("hi"), chat_streamed("Say hello")];
    let greet = || message("hi").header("x-loomrec-step-id: greet");
    let before = [system("terse"), chat("weather"), chat("fail"), greet()];
    let after = [system("kind"), chat("weather"), chat("fail"), greet(), chat("one more")];
    for (second, calls, name) in [(false, &before[..], "a.json"), (true, &after[..], "b.json")] {
        let all: Vec<Call> = same.iter().chain(calls).cloned().collect();
        scene.recorded(&upstream(second), &all);
        std::fs::rename(scene.recording(), scene.path(name)).unwrap();
    }
    scene
}

/// The output of `diff --json` for the two recordings, which differ.
fn json_output(scene: &Scene, more: &[&str], code: i32) -> Value {
    let args = [&["diff", "a.json", "b.json", "--json"], more].concat();
    serde_json::from_str(&scene.run(&args).expect(code).stdout).unwrap()
}

/// The differences that count, as `place: a -> b`.
fn counted(output: &Value) -> Vec<String> {
    let calls = output["calls"].as_array().unwrap();
    let all = calls.iter().flat_map(|call| call["differences"].as_array().unwrap());
    all.filter(|difference| difference["counts"] == true)
        .map(|it| format!("{}: {} -> {}", it["place"].as_str().unwrap(), it["a"], it["b"]))
        .collect()
}

#[test]
fn two_recordings_are_compared_by_call() {
    let scene = sample();
    let output = json_output(&scene, &[], 1);
    assert_eq!(
        counted(&output),
        [
            "/messages/0/content: \"You are a terse assistant for those at sea.\" -> \"You are a kind assistant for those at sea.\"",
            "answer/text: \"Rain, alas.\" -> \"Snow, alas.\"",
            "answer/tool_calls/0/arguments/city: \"Paris\" -> \"Oslo\"",
            "answer/text: \"Rain, alas.\" -> null",
            "answer/finish_reason: \"stop\" -> null",
            "answer/model: \"gpt-4o-mini-2024-07-18\" -> \"gpt-4o-mini\"",
            "answer/usage/prompt_tokens: 9 -> null",
            "answer/usage/completion_tokens: 12 -> null",
            "answer/usage/total_tokens: 21 -> null",
            "answer/cost_usd: 8.55e-6 -> null",
            "response/status: 200 -> 429",
            "response/body: null -> {\"error\":{\"code\":1}}",
        ]
    );
    let summary = &output["summary"];
    assert_eq!((&summary["same"], &summary["changed"]), (&json!(3), &json!(3)), "{summary}");
    assert_eq!((&summary["only_a"], &summary["only_b"]), (&json!(0), &json!(1)), "{summary}");
    assert_eq!(output["same"], false);
    let near: Vec<&Value> =
        output["calls"].as_array().unwrap().iter().map(|call| &call["matched_by"]).collect();
    assert!(
        near.contains(&&json!("nearest")) && near.contains(&&json!("request_hash")),
        "{near:?}"
    );
    let text =
        &output["calls"].as_array().unwrap().iter().find(|call| call["matched_by"] == "nearest");
    assert!(text.unwrap()["differences"][0]["text"][0].as_str().unwrap().starts_with("-You are"));
}

#[test]
fn people_read_blocks_without_colour_where_there_is_no_terminal() {
    let scene = sample();
    let before = std::fs::read(scene.path("a.json")).unwrap();
    let ended = scene.run(&["diff", "a.json", "b.json"]).expect(1);
    for part in [
        "--- a.json\n+++ b.json\n",
        "      - You are a terse assistant for those at sea.\n",
        "      + You are a kind assistant for those at sea.\n",
        "tool_calls/0/arguments/city: \"Paris\" → \"Oslo\"",
        "response/status: 200 → 429",
        "only in b.json\n",
        "3 calls changed · 1 call only in b.json · 3 the same",
    ] {
        assert!(ended.stdout.contains(part), "{part:?} not in\n{}", ended.stdout);
    }
    assert!(!ended.stdout.contains('\u{1b}'), "{:?}", ended.stdout);
    assert_eq!(std::fs::read(scene.path("a.json")).unwrap(), before);
    let mut names = scene.names();
    names.retain(|name| name.ends_with(".json"));
    assert_eq!(names, ["a.json", "b.json"]);
}

#[test]
fn recording_does_not_differ_from_itself_nor_from_its_like() {
    let scene = sample();
    let ended = scene.run(&["diff", "a.json", "a.json"]).expect(0);
    assert_eq!(ended.stdout, "no difference: 6 calls the same\n");
    // The same calls again, with other times and the stream in other chunks.
    let again = [chat("hi"), chat_streamed("Say hello")];
    for (second, name) in [(false, "one.json"), (true, "two.json")] {
        scene.recorded(&upstream(second), &again);
        std::fs::rename(scene.recording(), scene.path(name)).unwrap();
    }
    scene.run(&["diff", "one.json", "two.json"]).expect(0);
    let markdown = scene.run(&["diff", "one.json", "two.json", "--markdown"]).expect(0);
    assert!(markdown.stdout.contains("no difference: 2 calls the same"), "{}", markdown.stdout);
}

#[test]
fn half_and_places_can_be_left_out() {
    let scene = sample();
    const REQUESTS: [&str; 4] = ["--ignore", "answer", "--ignore", "response"];
    let requests = counted(&json_output(&scene, &REQUESTS, 1));
    assert_eq!(requests.len(), 1, "{requests:?}");
    let answers = counted(&json_output(&scene, &["--ignore", "request"], 1));
    assert!(answers.iter().all(|line| !line.starts_with("/messages")), "{answers:?}");
    let ignore = [&REQUESTS[..], &["--ignore", "/messages/0/content"]].concat();
    assert_eq!(counted(&json_output(&scene, &ignore, 1)), [""; 0], "one call is in b.json alone");
    let every = [&REQUESTS[..], &["--ignore", "/messages/*/content"]].concat();
    assert_eq!(counted(&json_output(&scene, &every, 1)), [""; 0], "the same with a pattern");
    scene.run(&["diff", "a.json", "b.json", "--ignore", "anser"]).expect(2).says(&["answer"]);
    scene.run(&["diff", "a.json", "b.json", "--ignore", "/a~2"]).expect(2).says(&["~0"]);
}

#[test]
fn call_is_the_same_when_what_changed_is_left_out() {
    let scene = Scene::new();
    for (name, slow) in [("a.json", 0), ("b.json", 20)] {
        let mut body = chat_body("hi");
        body["user"] = json!(name);
        let call = || Call::post(CHAT, body.to_string());
        let upstream = Upstream::start(move |_| {
            // Makes the times differ.
            std::thread::sleep(Duration::from_millis(slow));
            Answer::json(200, chat_answer("Rain, alas."))
        });
        scene.recorded(&upstream, &[call(), call()]);
        std::fs::rename(scene.recording(), scene.path(name)).unwrap();
    }
    let matched = |output: &Value| output["calls"][0]["matched_by"].clone();
    assert_eq!(matched(&json_output(&scene, &[], 1)), "nearest");
    let left = json_output(&scene, &["--ignore", "/user"], 0);
    assert_eq!(matched(&left), "request_hash");
    scene.run(&["diff", "a.json", "b.json", "--ignore", "/user"]).expect(0);
}

#[test]
fn stat_and_markdown_tell_the_same() {
    let scene = sample();
    let stat = scene.run(&["diff", "a.json", "b.json", "--stat"]).expect(1).stdout;
    assert_eq!(stat.lines().filter(|line| line.contains("changed ")).count(), 4, "{stat}");
    assert!(stat.contains("only in B") && stat.contains("openai chat"), "{stat}");
    let markdown = scene.run(&["diff", "a.json", "b.json", "--markdown"]).expect(1).stdout;
    for part in [
        "### `a.json` → `b.json`\n",
        "| `answer/tool_calls/0/arguments/city` |",
        "<details><summary>",
        "```diff\n@@ /messages/0/content @@\n-You are a terse",
    ] {
        assert!(markdown.contains(part), "{part:?} not in\n{markdown}");
    }
}

#[test]
fn recording_that_is_being_recorded_is_compared_as_far_as_it_is() {
    let scene = sample();
    let from = upstream(true);
    let server = scene.record(&from, &[]);
    server.call(&chat("hi"));
    let ended = scene.run(&["diff", "a.json", "run.json"]).expect(1);
    assert!(ended.stdout.contains("5 calls only in a.json · 1 the same"), "{}", ended.stdout);
    server.stop().expect(0);
}

/// Files that a program could be given and that are not recordings.
fn bad() -> Vec<(&'static str, Vec<u8>)> {
    let good = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/demo.json"));
    let good = good.unwrap();
    let mut entries = String::from("{\"_version\": 2, \"x\": {\"request\": {\"method\": 1}}}");
    entries.push('\n');
    vec![
        ("empty", Vec::new()),
        ("cut", good[..good.len() / 2].to_vec()),
        ("an array", b"[]".to_vec()),
        ("wrong-typed", entries.into_bytes()),
        ("deep", "[".repeat(300_000).into_bytes()),
        ("deep inside", format!("{{\"a\": {}", "{\"a\":".repeat(300_000)).into_bytes()),
        ("a key twice", b"{\"a\": {}, \"a\": {}}".to_vec()),
        ("no text", vec![0xff; 4096]),
    ]
}

#[test]
fn bad_recording_is_refused_on_either_side() {
    let scene = Scene::new();
    std::fs::write(scene.path("good.json"), b"{\"_version\": 2}").unwrap();
    for (kind, bytes) in bad() {
        std::fs::write(scene.path("bad.json"), &bytes).unwrap();
        for args in [
            &["diff", "good.json", "bad.json"][..],
            &["diff", "bad.json", "good.json", "--json"],
            &["diff", "bad.json", "bad.json", "--markdown"],
            &["show", "bad.json"],
        ] {
            let ended = scene.run(args);
            assert_eq!(ended.code, 4, "{kind} {args:?}: {}", ended.stderr);
            assert!(ended.stderr.contains("bad.json"), "{kind}: {}", ended.stderr);
            assert!(!ended.stderr.contains("panicked"), "{kind}: {}", ended.stderr);
        }
    }
    scene.run(&["diff", "good.json", "gone.json"]).expect(4).says(&["gone.json"]);
    scene.run(&["diff", "good.json"]).expect(2);
    scene.run(&["diff", "good.json", "good.json", "--json", "--stat"]).expect(2);
    let ended = scene.run(&["diff", "good.json", "good.json"]).expect(0);
    assert_eq!(ended.stdout, "no difference: 0 calls the same\n");
}

/// A recording of plain entries.
fn plain(entries: Value) -> String {
    let mut file = json!({"_version": 2});
    file.as_object_mut().unwrap().extend(entries.as_object().unwrap().clone());
    file.to_string()
}

#[test]
fn nothing_of_a_recording_acts_on_the_terminal_or_shows_a_secret() {
    let scene = Scene::new();
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    let evil = "\u{1b}[2J\u{9b}31m\u{202e}\r`|<b>@@";
    let entry = |text: &str| {
        json!({"content": format!("{evil} Basic words {text} {secret}"), "model": evil, "session": text,
               "tool_calls": [{"id": "1", "name": evil, "arguments": {evil: text, secret: evil}}],
               "request": {"method": "POST", "path": "/v1/x", "headers": {}, "body": {evil: text}}})
    };
    let file =
        |text: &str| plain(json!({"plan": entry(text), format!("{evil}{text}"): entry("x")}));
    std::fs::write(scene.path("a.json"), file("old")).unwrap();
    std::fs::write(scene.path("b.json"), file("new")).unwrap();
    for more in [&[][..], &["--json"], &["--markdown"], &["--stat"]] {
        let args = [&["diff", "a.json", "b.json"], more].concat();
        let shown = scene.run(&args).expect(1).stdout;
        for bad in ["\u{1b}", "\u{9b}", "\u{202e}", "\r", secret] {
            assert!(!shown.contains(bad), "{bad:?} in {more:?}: {shown:?}");
        }
        // Nothing else is removed from a text.
        assert!(more == ["--stat"] || shown.contains("Basic words"), "{more:?}: {shown}");
    }
    let shown = scene.run(&["show", "a.json"]).expect(0).stdout;
    assert!(!shown.contains('\u{1b}') && !shown.contains(secret), "{shown:?}");
}

#[test]
fn huge_texts_are_compared_in_time() {
    let scene = Scene::new();
    let text = |salt: usize| (0..400_000).map(|n| format!("{} ", n * salt)).collect::<String>();
    for (name, salt) in [("a.json", 7), ("b.json", 11)] {
        let entry = json!({"content": text(salt), "request": {"method": "POST", "path": "/v1/x",
            "headers": {}, "body": {"input": text(salt), "list": vec![salt; 100_000]}}});
        std::fs::write(scene.path(name), plain(json!({"plan": entry}))).unwrap();
    }
    for more in [&[][..], &["--markdown"], &["--stat"]] {
        let args = [&["diff", "a.json", "b.json"], more].concat();
        let shown = scene.run(&args).expect(1).stdout;
        assert!(shown.len() < 300_000, "{more:?}: {} bytes", shown.len());
    }
}

#[test]
fn closed_stdout_is_no_error_and_the_answer_stays() {
    let scene = sample();
    for more in [&[][..], &["--json"], &["--stat"]] {
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        let args = [&["diff", "a.json", "b.json"], more].concat();
        let mut command = command(scene.dir(), &args);
        let output = command.stdin(Stdio::null()).stdout(write).stderr(Stdio::piped());
        let output = output.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(1), ""), "{more:?}");
    }
}

/// Runs git in a folder, and returns its output.
#[track_caller]
fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", dir).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_PAGER", "cat");
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    let output = command.args(who).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn git_diff_shows_recordings_as_text_through_textconv() {
    let scene = sample();
    let dir = scene.path("repository");
    std::fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "-q"]);
    let show = format!("'{}' show", env!("CARGO_BIN_EXE_loomrec"));
    git(&dir, &["config", "diff.loomrec.textconv", &show]);
    std::fs::write(dir.join(".gitattributes"), "recordings/*.json diff=loomrec\n").unwrap();
    std::fs::create_dir(dir.join("recordings")).unwrap();
    let file = dir.join("recordings/agent.json");
    std::fs::copy(scene.path("a.json"), &file).unwrap();
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-qm", "one"]);
    std::fs::copy(scene.path("b.json"), &file).unwrap();
    let shown = git(&dir, &["diff"]);
    for part in [
        "\n-    /messages/0/content: \"You are a terse assistant for those at sea.\"\n",
        "\n+    /messages/0/content: \"You are a kind assistant for those at sea.\"\n",
        "\n-    get_weather/city: \"Paris\"\n+    get_weather/city: \"Oslo\"\n",
        "\n+    Snow, alas.\n",
    ] {
        assert!(shown.contains(part), "{part:?} not in\n{shown}");
    }
    for part in ["recorded_at", "latency", "Bonjour", "chatcmpl-1"] {
        assert!(
            !shown.lines().any(|line| line.starts_with(['+', '-']) && line.contains(part)),
            "{shown}"
        );
    }
    git(&dir, &["commit", "-qam", "two"]);
    // If only times changed, there is nothing to review.
    scene.recorded(&upstream(true), &[chat("hi")]);
    let mut text = std::fs::read_to_string(&file).unwrap();
    text = regex::Regex::new(r#""latency_ms": [0-9.]+"#)
        .unwrap()
        .replace_all(&text, "\"latency_ms\": 1.5")
        .into_owned();
    std::fs::write(&file, text).unwrap();
    let nothing = git(&dir, &["diff"]);
    assert!(!nothing.contains("\n@@"), "{nothing}");
    assert_eq!(git(&dir, &["status", "--short"]), " M recordings/agent.json\n");
}
