//! `loomrec record --prove`: records a program, replays it at once without any network, and
//! compares both runs: their exit codes, their calls and what they print.
//!
//! Each run is a process of its own, the very command that a user would type.

mod proof_run;
mod replay_line;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use owo_colors::OwoColorize as _;
use serde_json::Value;

use super::args::RecordArgs;
use loomrec_cli::exit::{CommandFailure, NO, UNEXPECTED};
use loomrec_cli::output::Output;
use loomrec_cli::terminal;
use proof_run::ProofRun;

/// The most bytes of a receipt.
const LARGEST_RECEIPT: u64 = 256 << 20;
/// How many characters of a line of output are shown.
const SHOWN: usize = 200;

/// Runs the command. `line` is the definition of the command line.
///
/// # Errors
/// A recording that cannot be proved; a process that cannot be started.
pub async fn run(args: &RecordArgs, line: &clap::Command) -> Result<u8, CommandFailure> {
    if args.serve.cmd.is_empty() {
        return Err(CommandFailure::usage(
            "--prove: give the command to record and replay after --",
        ));
    }
    let is_local = !args.recording.is_remote() && args.recording.remote_origin().is_none();
    if !is_local || args.recording.as_path().to_string_lossy().contains("{session}") {
        return Err(CommandFailure::usage(
            "--prove: record into one file on this machine: sessions and object stores are replayed \
             by a command of their own",
        ));
    }
    let output = Output::new(args.serve.log_format, args.serve.quiet, args.serve.verbose);
    let folder = tempfile::tempdir().map_err(run_failure)?;
    let (first, second) = (folder.path().join("record"), folder.path().join("replay"));
    let given = args.serve.receipt.clone();
    let receipt = given.clone().unwrap_or_else(|| first.clone());
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let record = replay_line::record_words(&words, given.is_none().then_some(&first));
    let recorded = ProofRun::run_recording(&record).await.map_err(run_failure)?;
    let before = read_receipt(&receipt)?;
    if before["verdict"] != "ok" && before["verdict"] != "command failed" {
        output.error("--prove: the recorded run did not end well, so nothing was proved");
        return Ok(recorded.code.max(NO));
    }
    let replay = replay_line::ReplayLine::from_words(&words, line, &second)?;
    let replayed = ProofRun::run_replay(&replay).await.map_err(run_failure)?;
    let complaints = match read_receipt(&second) {
        Ok(after) => run_differences((&recorded, &before), (&replayed, &after)),
        Err(_) => vec!["the replay did not start".to_owned()],
    };
    if complaints.is_empty() {
        let calls = answered_calls(&before);
        output.print_report(&format!(
            "loomrec prove: {}: calls replayed without network: {calls} · same exit code · same \
             output ({} bytes)",
            "ok".green().bold(),
            recorded.stdout.len()
        ));
        return Ok(recorded.code);
    }
    let mut text = format!("loomrec prove: {}", "failed".red().bold());
    for complaint in &complaints {
        text.push_str(&format!("\n  {}", terminal::printable_line(complaint).red()));
    }
    output.failed_report(&text);
    let said = String::from_utf8_lossy(&replayed.stderr);
    output.error(&format!("the replay said:\n{}", said.trim_end()));
    if said.contains(&*second.to_string_lossy()) {
        // A command that it proposes reads its receipt.
        let _kept = folder.keep();
    }
    Ok(NO)
}

/// Returns what differs between a recorded run and its replay.
fn run_differences(
    (recorded, before): (&ProofRun, &Value),
    (replayed, after): (&ProofRun, &Value),
) -> Vec<String> {
    let mut found = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    if !matches!(after["verdict"].as_str(), Some("ok" | "command failed")) {
        let why = after["complaints"].as_array().into_iter().flatten().map(text);
        found.push(format!(
            "the replay {}: {}",
            text(&after["verdict"]),
            why.collect::<Vec<_>>().join("; ")
        ));
    }
    if recorded.code != replayed.code && found.is_empty() {
        found.push(format!(
            "the exit code was {} when recorded, and {} when replayed",
            recorded.code, replayed.code
        ));
    }
    let (calls, replayed_calls) = (answered_calls(before), answered_calls(after));
    if calls != replayed_calls && found.is_empty() {
        found.push(format!("calls recorded: {calls}; calls replayed: {replayed_calls}"));
    }
    found.extend(different_output(&recorded.stdout, &replayed.stdout));
    found
}

/// Returns how many calls of a run were recorded or answered from a recording.
fn answered_calls(receipt: &Value) -> u64 {
    ["recorded", "served"].iter().filter_map(|member| receipt[member].as_u64()).sum()
}

/// Says where two outputs differ.
fn different_output(recorded: &[u8], replayed: &[u8]) -> Option<String> {
    if recorded == replayed {
        return None;
    }
    let lines = |bytes: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
    };
    let (before, after) = (lines(recorded), lines(replayed));
    let common = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
    let shown = |lines: &[String]| match lines.get(common) {
        Some(line) => format!("{:?}", line.chars().take(SHOWN).collect::<String>()),
        None => "nothing more".to_owned(),
    };
    Some(format!(
        "line {} of the output was {} when recorded, and {} when replayed",
        common + 1,
        shown(&before),
        shown(&after)
    ))
}

fn read_receipt(path: &Path) -> Result<Value, CommandFailure> {
    let failed = |why: String| {
        let path = terminal::path_line(&PathBuf::from(path));
        CommandFailure::new(
            UNEXPECTED,
            format!("--prove: failed to read the receipt {path}: {why}"),
        )
    };
    let text = loomrec_os::read_input(path, LARGEST_RECEIPT);
    let text = text.map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}

fn run_failure(error: std::io::Error) -> CommandFailure {
    CommandFailure::new(UNEXPECTED, format!("--prove: failed to run loomrec: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(different_output(b"a\nb\n", b"a\nb\n"), None);
        let told = different_output(b"a\nb\n", b"a\nc\n").unwrap();
        assert!(
            told.starts_with("line 2 of the output was \"b\" when recorded, and \"c\""),
            "{told}"
        );
        let told = different_output(b"a\n", b"a\nc\n").unwrap();
        assert!(told.contains("was nothing more when recorded"), "{told}");
    }
}
