//! The verify workload: how long it takes to verify a recording, compared with the time in which
//! Python reads it and writes it again as JSON.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::child::Server;
use crate::fault::Fault;
use crate::peer::Setting;
use crate::plan::Scale;
use crate::round;
use crate::sample::Kind;
use crate::system::{System, recording};

/// Its name among the workloads.
pub const NAME: &str = "verify";
/// The number of entries in the recording.
const ENTRIES: usize = 10_000;
/// How often each command is run.
const REPEATS: usize = 7;

/// The results.
pub struct Verified {
    /// The number of calls in the recording.
    pub entries: usize,
    /// The size of the recording in bytes.
    pub bytes: u64,
    /// The times of `loomrec verify`, in seconds.
    pub ours: Vec<f64>,
    /// The times of `python3 -m json.tool`, in seconds. Empty if there is no Python.
    pub python: Vec<f64>,
}

/// Makes a recording, and runs both commands on it in turn.
///
/// # Errors
/// A recording that cannot be made, or in which a problem is found.
pub async fn run(scale: &Scale, folder: &Path) -> Result<Verified, Fault> {
    let entries = ENTRIES.min(scale.many);
    crate::say(&format!("bench: verify: {entries} entries"));
    let nowhere = Setting { folder, origin: "", kind: Kind::Call, authority: None };
    let origin = Server::start(System::Hyper.launch(&nowhere)?)?;
    let own = folder.join("verify");
    let failed = |source| Fault::Io { what: "verify a recording", source };
    std::fs::create_dir_all(&own).map_err(failed)?;
    let making = scale.making * 3;
    round::make(System::Record, Kind::Call, entries, origin.address(), &own, making).await?;
    let file = recording(&own);
    let bytes = std::fs::metadata(&file).map_err(failed)?.len();
    let mut verified = Verified { entries, bytes, ours: Vec::new(), python: Vec::new() };
    for _ in 0..scale.rounds.min(REPEATS) {
        let mut ours = Command::new(env!("CARGO_BIN_EXE_loomrec"));
        let time = timed(ours.args(["verify", "--strict"]).arg(&file)).map_err(failed)?;
        let time = time.ok_or_else(|| Fault::Child {
            name: "loomrec verify",
            detail: "it found something wrong with a recording of loomrec's".to_owned(),
        })?;
        verified.ours.push(time.as_secs_f64());
        let mut python = Command::new("python3");
        // On a machine without Python there is no ratio.
        if let Ok(Some(time)) = timed(python.args(["-m", "json.tool"]).arg(&file)) {
            verified.python.push(time.as_secs_f64());
        }
    }
    drop(std::fs::remove_dir_all(own));
    Ok(verified)
}

/// Returns how long a command takes, or `None` if it fails.
fn timed(command: &mut Command) -> std::io::Result<Option<Duration>> {
    let began = Instant::now();
    let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(ended.success().then(|| began.elapsed()))
}
