//! The generated proof of `--strict`: every flag, variable and setting of `replay`, every control
//! call, every header that tells loomrec something, and every other variable that it reads is tried
//! with a value that could weaken a strict replay. Each run has to stay red, or name what was typed.
//!
//! Nothing here lists what weakens. The flags are those of the command's definition, and the
//! endpoints, members and headers those of loomrec's own tables. A new one without a value to try
//! fails these tests.

mod clients;
mod environment;
mod flags;
mod tables;
mod values;

use std::path::Path;

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{CHAT, chat_answer};
use crate::support::{Answer, Finished, Received, Scene, Upstream};

/// The program under test: it makes the calls of a file, and with `around` connects to a provider's
/// own host. It succeeds whatever the answers are.
const PROGRAM: &str = r#"
import base64, json, os, socket, sys

def exchange(place, head, body=b""):
    host, port = place.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
            if b" 403 " in answer and head[0].startswith("CONNECT"):
                break
        return answer

place = os.environ["OPENAI_BASE_URL"].removeprefix("http://").removesuffix("/openai/v1")
for call in json.load(open(sys.argv[1])):
    body = call["body"].encode()
    head = [f"POST {call['path']} HTTP/1.1", f"host: {place}", "connection: close"]
    head += ["content-type: application/json", f"content-length: {len(body)}"]
    head += [f"{name}: {value}" for name, value in call["headers"].items()]
    try:
        answer = exchange(place, head, body)
        status, text = int(answer[9:12]), answer.split(b"\r\n\r\n", 1)[1].decode()
    except Exception as error:
        status, text = 0, str(error)
    print(json.dumps({"label": call["label"], "status": status, "body": text}))
proxy = os.environ.get("HTTPS_PROXY", "").removeprefix("http://").rstrip("/")
if "around" in sys.argv and proxy:
    login, proxy = proxy.rsplit("@", 1)
    login = "proxy-authorization: Basic " + base64.b64encode(login.encode()).decode()
    exchange(proxy, ["CONNECT api.openai.com:443 HTTP/1.1", "host: api.openai.com:443", login])
"#;

/// The recorded call.
const RECORDED: &str = "recorded";
/// The call of an upstream that is no known provider.
const CUSTOM: &str = "custom";

/// One call of the program.
fn call(label: &str, path: &str, beta: &str, body: &Value) -> Value {
    let headers = json!({ "openai-beta": beta });
    json!({ "label": label, "path": path, "headers": headers, "body": body.to_string() })
}

/// A chat with a city, an id and a tool's result in it.
fn chat_with(city: &str, id: u8, result: &str) -> Value {
    let id = format!("{id}").repeat(8);
    json!({ "model": "gpt-4o-mini", "messages": [
        { "role": "user", "content": format!("umbrella in /city/{city} {id}-1111-4111-8111-111111111111") },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "call_1", "type": "function",
            "function": { "name": "ls", "arguments": "{}" } }] },
        { "role": "tool", "tool_call_id": "call_1", "content": result },
    ] })
}

/// The calls that are recorded.
fn recorded_calls() -> Vec<Value> {
    vec![
        call(RECORDED, CHAT, "v1", &chat_with("Paris", 1, "a.txt")),
        call(CUSTOM, "/mine/v1/things", "v1", &json!({})),
    ]
}

/// The calls that a recording of [`recorded_calls`] does not answer: one too many, and drifted ones.
fn unrecorded_calls() -> Vec<Value> {
    let mut more = chat_with("Paris", 1, "a.txt");
    more["user"] = json!("someone");
    vec![
        call("again", CHAT, "v1", &chat_with("Paris", 1, "a.txt")),
        call("another city", CHAT, "v1", &chat_with("Oslo", 1, "a.txt")),
        call("another id", CHAT, "v1", &chat_with("Paris", 2, "a.txt")),
        call("another result", CHAT, "v1", &chat_with("Paris", 1, "b.txt")),
        call("another header", CHAT, "v2", &chat_with("Paris", 1, "a.txt")),
        call("another member", CHAT, "v1", &more),
        call("another query", "/mine/v1/things?customer=b", "v1", &json!({})),
    ]
}

/// An upstream that repeats the prompt.
fn echo() -> Upstream {
    Upstream::start(|received: &Received| {
        let body: Value = serde_json::from_slice(&received.body).unwrap_or_default();
        let prompt = body["messages"][0]["content"].as_str().unwrap_or_default();
        Answer::json(200, chat_answer(&format!("re: {prompt}")))
    })
}

/// A folder with a recording, the program, and what flags may name.
struct Stage {
    scene: Scene,
    /// The answers that were recorded, by label.
    answers: Vec<(String, String)>,
}

/// One replay.
struct Outcome {
    finished: Finished,
    /// Each call with its status and its answer.
    calls: Vec<(String, u64, String)>,
    receipt: Value,
    /// What the run has to complain of.
    complaints: Vec<&'static str>,
}

impl Stage {
    fn new() -> Self {
        let (scene, upstream) = (Scene::new(), echo());
        std::fs::write(scene.path("program.py"), PROGRAM).unwrap();
        let file = |name: &str, calls: &[Value]| {
            std::fs::write(scene.path(name), json!(calls).to_string()).unwrap();
        };
        file("recorded.json", &recorded_calls());
        file("all.json", &[recorded_calls(), unrecorded_calls()].concat());
        file("unrecorded.json", &unrecorded_calls());
        let record = |name: &str, calls: &str| {
            let mine = format!("mine={}", upstream.url());
            let openai = format!("openai={}", upstream.url());
            let line = ["record", "-r", name, "--var", "city=/city/Paris", "--upstream", &mine];
            let line =
                [&line[..], &["--upstream", &openai, "--", "python3", "-S", "program.py", calls]];
            finish(&mut command(scene.dir(), &line.concat()), b"").expect(0)
        };
        let recorded = record("run.json", "recorded.json");
        // A recording of what the other one does not answer.
        record("other.json", "all.json");
        values::write_files(scene.dir());
        let calls = read_calls(&recorded.stdout);
        let answers = calls.into_iter().map(|(label, _, body)| (label, body)).collect();
        Self { scene, answers }
    }

    fn dir(&self) -> &Path {
        self.scene.dir()
    }

    /// Replays strictly with these flags and variables, and CMD behind them.
    fn replay(&self, flags: &[String], variables: &[(String, String)], cmd: &[&str]) -> Outcome {
        let _ = std::fs::remove_file(self.scene.path("receipt.json"));
        let mut line: Vec<&str> =
            vec!["replay", "--strict", "--upstream", "mine=http://127.0.0.1:1"];
        line.extend(flags.iter().map(String::as_str));
        line.push("--");
        line.extend(cmd);
        let mut process = command(self.dir(), &line);
        process.envs(variables.iter().map(|(name, value)| (name, value)));
        let finished = finish(&mut process, b"");
        let receipt = std::fs::read(self.scene.path("receipt.json")).unwrap_or_default();
        let has_fault = flags.iter().any(|flag| flag == UNREACHED);
        let complaints = COMPLAINTS.into_iter().chain(has_fault.then_some("never happened"));
        Outcome {
            complaints: complaints.collect(),
            calls: read_calls(&finished.stdout),
            receipt: serde_json::from_slice(&receipt).unwrap_or_default(),
            finished,
        }
    }

    /// Returns how an outcome is weaker than a strict replay. Empty if it is not.
    fn weakened(&self, outcome: &Outcome) -> Vec<String> {
        let mut found = Vec::new();
        if outcome.finished.code == 0 {
            found.push("exit code 0".to_owned());
        }
        for (label, status, body) in &outcome.calls {
            let recorded = self.answers.iter().find(|(known, _)| known == label);
            let is_good = (1..400).contains(status);
            match recorded {
                None if is_good => found.push(format!("{label} was answered")),
                Some((_, answer)) if is_good && answer != body => {
                    found.push(format!("{label} got another answer: {body}"));
                }
                _ => {}
            }
        }
        // A run that did not begin, or whose program did not run to its end, is red anyway.
        let complaints = outcome.receipt["complaints"].as_array();
        for expected in &outcome.complaints {
            let is_there = |complaint: &Value| complaint.as_str().unwrap().contains(*expected);
            let is_whole = outcome.calls.len() == self.answers.len() + unrecorded_calls().len();
            if is_whole && complaints.is_some_and(|all| !all.iter().any(is_there)) {
                found.push(format!("nothing complains of {expected:?}"));
            }
        }
        found
    }
}

/// A fault that no call of the program reaches.
const UNREACHED: &str = "nowhere=timeout:1";

/// What a run complains of whose program goes around loomrec and calls what is not recorded.
const COMPLAINTS: [&str; 2] = ["calls without a recorded answer", "api.openai.com"];

/// The program that makes all calls, and goes around loomrec.
const ALL: [&str; 5] = ["python3", "-S", "program.py", "all.json", "around"];

fn read_calls(stdout: &str) -> Vec<(String, u64, String)> {
    let lines = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let call = |line: Value| {
        (text(&line["label"]), line["status"].as_u64().unwrap_or_default(), text(&line["body"]))
    };
    lines.filter(|line| line["label"].is_string()).map(call).collect()
}

impl Outcome {
    /// Whether the verdict or the receipt names a flag, a variable or a setting.
    fn names(&self, what: &str) -> bool {
        let said = self.finished.stderr.lines().filter(|line| line.contains("in force: "));
        let in_receipt = self.receipt["in_force"].to_string().contains(what);
        in_receipt || said.into_iter().any(|line| line.contains(what))
    }
}

#[test]
fn strict_replay_of_the_program_is_red_for_every_reason() {
    let stage = Stage::new();
    let base = ["-r", "run.json", "--receipt", "receipt.json", "--fault", UNREACHED];
    let base = base.map(str::to_owned);
    let outcome = stage.replay(&base, &[], &ALL);
    assert_eq!(outcome.finished.code, 1, "{}", outcome.finished.stderr);
    assert_eq!(outcome.calls.len(), 9, "{}", outcome.finished.stdout);
    let weakened = stage.weakened(&outcome);
    assert!(weakened.is_empty(), "{weakened:?}\n{}", outcome.finished.stderr);
    for (label, status, body) in &outcome.calls {
        let is_recorded = stage.answers.iter().any(|(known, _)| known == label);
        assert_eq!(*status, if is_recorded { 200 } else { 422 }, "{label}: {body}");
    }
    // The other recording answers them all, so that each is a drift and no mistake of this test.
    let other = ["-r", "other.json"].map(str::to_owned);
    let outcome = stage.replay(&other, &[], &["python3", "-S", "program.py", "all.json"]);
    assert_eq!(outcome.finished.code, 0, "{}", outcome.finished.stderr);
}
