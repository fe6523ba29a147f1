//! A scripted server, and clients of it.

use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::loomrec::{Process, command, finish};
use crate::support::{Finished, Scene};

/// The server.
const SERVER: &str = include_str!("server.py");

/// A scene with the server's script in it.
pub(super) fn scene() -> Scene {
    let scene = Scene::new();
    write_server(&scene);
    scene
}

pub(super) fn write_server(scene: &Scene) {
    std::fs::write(scene.path("server.py"), SERVER).unwrap();
}

/// How often the server was started.
pub(super) fn starts(scene: &Scene) -> usize {
    read_lines(scene, "starts").len()
}

/// The lines of a file of the scene.
pub(super) fn read_lines(scene: &Scene, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(scene.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Removes the server: a process that would start now fails.
pub(super) fn remove_server(scene: &Scene) {
    std::fs::remove_file(scene.path("server.py")).unwrap();
}

/// The words of `loomrec mcp` in front of the server.
pub(super) fn bridge_words() -> Vec<OsString> {
    let words = ["mcp", "--name", "tools", "--", "python3", "server.py"].map(OsString::from);
    [vec![OsString::from(env!("CARGO_BIN_EXE_loomrec"))], words.into()].concat()
}

/// A run of this mode whose command is a bridge.
pub(super) fn bridge(scene: &Scene, args: &[&str]) -> Command {
    let mut words: Vec<OsString> = args.iter().map(OsString::from).collect();
    words.extend(["-r".into(), scene.recording().into(), "--".into()]);
    words.extend(bridge_words());
    command(scene.dir(), &words)
}

/// Runs a bridge within a run of this mode, with these messages on stdin.
#[track_caller]
pub(super) fn converse(scene: &Scene, args: &[&str], messages: &[Value]) -> Finished {
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    finish(&mut bridge(scene, args), lines.as_bytes())
}

/// The messages that a client got, in the order of their ids, and without ids first.
pub(super) fn answers(ended: &Finished) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"));
    let mut messages: Vec<Value> = ended.stdout.lines().map(read).collect();
    messages.sort_by_key(|message| message["id"].to_string());
    messages
}

/// A request.
pub(super) fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    let mut request = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method });
    if !params.is_null() {
        request["params"] = params.clone();
    }
    request
}

/// A call of a tool.
pub(super) fn call(id: impl Into<Value>, tool: &str, arguments: impl Into<Value>) -> Value {
    request(id, "tools/call", &json!({ "name": tool, "arguments": arguments.into() }))
}

pub(super) fn initialize() -> Value {
    request(0, "initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": {} }))
}

pub(super) fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// What the server says to a call of a tool.
pub(super) fn said(id: impl Into<Value>, tool: &str, arguments: impl Into<Value>) -> Value {
    let text = json!([tool, arguments.into()]);
    // As Python writes lists.
    let text = text.to_string().replace(',', ", ");
    let content = [json!({ "type": "text", "text": text })];
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": { "content": content } })
}

/// A client that waits for each answer.
pub(super) struct StdioClient {
    process: Process,
    stdin: std::process::ChildStdin,
}

impl StdioClient {
    #[track_caller]
    pub(super) fn start(command: &mut Command) -> Self {
        let (process, stdin) = Process::with_stdin(command);
        Self { process, stdin }
    }

    pub(super) fn send(&mut self, message: &Value) {
        use std::io::Write as _;
        self.stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Sends a request and returns its answer.
    #[track_caller]
    pub(super) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let id = &message["id"];
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let lines = self.process.stdout();
            let messages = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
            let mut answers = messages.filter(|message: &Value| message["id"] == *id);
            if let Some(answer) = answers.next_back() {
                return answer;
            }
            let said = self.process.stderr();
            assert!(Instant::now() < until && !self.process.has_ended(), "{lines}\n{said}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    pub(super) fn wait_for(&mut self, text: &str) {
        self.process.wait_for(text);
    }

    pub(super) fn process(&self) -> &Process {
        &self.process
    }

    /// Closes its stdin, and returns how it ends.
    #[track_caller]
    pub(super) fn close(self) -> Finished {
        drop(self.stdin);
        self.process.wait()
    }

    /// Returns how it ends by itself.
    #[track_caller]
    pub(super) fn wait(self) -> Finished {
        let Self { process, stdin } = self;
        let ended = process.wait();
        drop(stdin);
        ended
    }
}
