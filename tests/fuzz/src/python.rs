//! Python's `json` as an oracle: one long-lived child process, which is asked through pipes.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

/// Python's verdict on a text.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is JSON, and this is `json.dumps(json.loads(text), sort_keys=True)`.
    Accepted(String),
    /// An object has a key twice.
    Duplicate,
    /// A string contains half of a surrogate pair.
    Surrogate,
    /// It is not JSON.
    Refused(String),
}

/// A running oracle.
struct Oracle {
    child: Child,
    questions: ChildStdin,
    answers: ChildStdout,
}

static ORACLE: Mutex<Option<Oracle>> = Mutex::new(None);

/// Asks Python about a text.
///
/// # Panics
/// If there is no `python3`, or if it ends.
pub fn ask(text: &str) -> Verdict {
    let mut held = ORACLE.lock().unwrap();
    let oracle = held.get_or_insert_with(Oracle::start);
    let verdict = oracle.ask(text);
    verdict
        .unwrap_or_else(|error| panic!("the oracle ended ({error}): {:?}", oracle.child.try_wait()))
}

impl Oracle {
    fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/oracle.py");
        let mut child = Command::new("python3")
            .args(["-I", "-S", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the target `json` needs python3");
        let (questions, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, questions, answers }
    }

    fn ask(&mut self, text: &str) -> std::io::Result<Verdict> {
        let length = u32::try_from(text.len()).unwrap();
        self.questions.write_all(&[&length.to_le_bytes(), text.as_bytes()].concat())?;
        let mut head = [0; 5];
        self.answers.read_exact(&mut head)?;
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let mut told = vec![0; length as usize];
        self.answers.read_exact(&mut told)?;
        let told = String::from_utf8(told).unwrap();
        Ok(match head[0] {
            b'A' => Verdict::Accepted(told),
            b'D' => Verdict::Duplicate,
            b'S' => Verdict::Surrogate,
            _ => Verdict::Refused(told),
        })
    }
}
