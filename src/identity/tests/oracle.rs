//! Python as the oracle: one process per test, one line per question.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Answers lines `OP HEX`: for `dump` and `chat` the text or hash that Python makes of the JSON, or
/// `refused` if it is not plain.
const SCRIPT: &str = r#"
import hashlib, json, sys

def pairs(items):
    whole = dict(items)
    if len(whole) != len(items):
        raise ValueError("duplicate key")
    return whole

def constant(name):
    raise ValueError(name)

def load(raw):
    value = json.loads(raw.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # refuses lone surrogates
    return value

def chat(body):
    named = ("messages", "model", "temperature", "max_tokens")
    payload = {name: body.get(name) for name in named}
    dropped = named + ("stream", "stream_options")
    payload["extra"] = {k: v for k, v in body.items() if k not in dropped}
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()

for line in sys.stdin:
    op, _, text = line.rstrip("\n").partition(" ")
    try:
        value = load(bytes.fromhex(text))
        answer = chat(value) if op == "chat" else json.dumps(value, sort_keys=True)
    except (ValueError, RecursionError):
        answer = "refused"
    print(answer, flush=True)
"#;

/// A running Python.
pub(super) struct Oracle {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    /// Starts Python. The tests need `python3` and fail without it.
    pub(super) fn start() -> Self {
        let mut child = Command::new("python3")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("these tests need python3 on the PATH");
        let questions = child.stdin.take().expect("stdin is piped");
        let answers = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self { child, questions, answers }
    }

    /// `json.dumps(json.loads(source), sort_keys=True)`; `None` if Python, with strict settings,
    /// refuses the source.
    pub(super) fn dump(&mut self, source: &[u8]) -> Option<String> {
        self.ask("dump", source)
    }

    /// AgentLoom's hash of a chat body.
    pub(super) fn chat(&mut self, source: &[u8]) -> Option<String> {
        self.ask("chat", source)
    }

    fn ask(&mut self, op: &str, source: &[u8]) -> Option<String> {
        let hex: String = source.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(self.questions, "{op} {hex}").expect("python3 reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("python3 answers");
        let answer = answer.strip_suffix('\n').expect("python3 is still there");
        (answer != "refused").then(|| answer.to_owned())
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
