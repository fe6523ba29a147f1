//! The conversation workload: how long it takes to compare two runs of a long conversation, and to
//! show a call of one. Each request repeats the history, so the size grows with the square of the
//! turns.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::fault::Fault;
use crate::plan::Scale;

/// Its name among the workloads.
pub const NAME: &str = "conversation";
/// The number of turns.
const TURNS: usize = 200;
/// The turn that is shown.
const SHOWN: usize = 150;
/// How often each command is run.
const REPEATS: usize = 5;

/// The results.
pub struct Compared {
    /// The number of turns of each run.
    pub turns: usize,
    /// The size of one recording in bytes.
    pub bytes: u64,
    /// The times of `loomrec diff` of two runs of which an early message differs, in seconds.
    pub changed: Vec<f64>,
    /// The times of `loomrec diff` of two runs in which all messages differ, in seconds.
    pub parted: Vec<f64>,
    /// The times of `loomrec show` of a late call, in seconds.
    pub show: Vec<f64>,
}

/// Makes three recordings, and runs the commands on them in turn.
///
/// # Errors
/// A recording that cannot be written, or a command that does not find what there is.
pub fn run(scale: &Scale, folder: &Path) -> Result<Compared, Fault> {
    crate::say(&format!("bench: conversation: {TURNS} turns"));
    let failed = |source| Fault::Io { what: "compare recordings", source };
    let path = |name: &str| folder.join(name);
    let [first, edited, other] = ["first.json", "edited.json", "other.json"].map(path);
    let (text, key) = recording(words);
    std::fs::write(&first, &text).map_err(failed)?;
    let edit = |at| if at == 2 { "Something else.".to_owned() } else { words(at) };
    std::fs::write(&edited, recording(edit).0).map_err(failed)?;
    let (apart, _) = recording(|at| format!("{} In another run.", words(at)));
    std::fs::write(&other, apart).map_err(failed)?;
    let (changed, parted, show) = Default::default();
    let bytes = text.len() as u64;
    let mut compared = Compared { turns: TURNS, bytes, changed, parted, show };
    for _ in 0..scale.rounds.min(REPEATS) {
        compared.changed.push(timed("diff", [first.as_os_str(), edited.as_os_str()], 1)?);
        compared.parted.push(timed("diff", [first.as_os_str(), other.as_os_str()], 1)?);
        compared.show.push(timed("show", [first.as_os_str(), key.as_ref()], 0)?);
    }
    Ok(compared)
}

/// Returns the text of a message: about as much as an agent says, or a tool returns.
fn words(at: usize) -> String {
    format!("What was said or returned at place {at}. ").repeat(8)
}

/// Returns a recording of a conversation with these texts, and the key of the shown call.
fn recording(text: impl Fn(usize) -> String) -> (String, String) {
    let texts: Vec<String> = (0..2 * TURNS).map(text).collect();
    let tool = |at: usize| json!({ "name": format!("tool_{at}"), "description": words(at) });
    let tools: Value = (0..20).map(tool).collect();
    let mut file = Map::new();
    let mut shown = String::new();
    for turn in 1..=TURNS {
        let role = |at: usize| ["user", "assistant"][at % 2];
        let message = |(at, text): (usize, &String)| json!({ "role": role(at), "content": text });
        let messages: Vec<Value> = texts[..2 * turn - 1].iter().enumerate().map(message).collect();
        let body = json!({ "model": "claude-sonnet-4", "max_tokens": 64, "tools": tools,
            "messages": messages });
        let key: String =
            Sha256::digest(body.to_string()).iter().map(|byte| format!("{byte:02x}")).collect();
        let headers = json!({ "content-type": "application/json" });
        let request =
            json!({ "method": "POST", "path": "/v1/messages", "headers": headers, "body": body });
        let answer = &texts[2 * turn - 1];
        let entry = json!({ "upstream": "anthropic", "content": answer, "request": request });
        if turn == SHOWN {
            shown.clone_from(&key);
        }
        file.insert(key, entry);
    }
    file.insert("_version".to_owned(), json!(2));
    (Value::Object(file).to_string(), shown)
}

/// Returns how long a command takes, in seconds.
fn timed(command: &'static str, args: [&std::ffi::OsStr; 2], code: i32) -> Result<f64, Fault> {
    let began = Instant::now();
    let mut loomrec = Command::new(env!("CARGO_BIN_EXE_loomrec"));
    let loomrec = loomrec.arg(command).args(args).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = |source| Fault::Io { what: "compare recordings", source };
    let ended = loomrec.status().map_err(failed)?;
    if ended.code() != Some(code) {
        let detail = format!("loomrec {command} ended with {ended}");
        return Err(Fault::Child { name: "loomrec", detail });
    }
    Ok(began.elapsed().as_secs_f64())
}
