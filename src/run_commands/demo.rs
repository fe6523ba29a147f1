//! The `loomrec demo` command: records a small agent, replays it, and changes a prompt, all on this
//! machine and through the same engines as the commands.
//!
//! Everything that is shown has been checked: if the replay differs or the mismatch does not occur,
//! the demo fails and says so.

mod agent;
mod demo_check;
mod stage;
mod upstream;

use std::path::{Path, PathBuf};
use std::time::Duration;

use owo_colors::OwoColorize as _;
use serde_json::Value;

use super::args::DemoArgs;
use agent::{AgentCall, AgentRun, DemoAgent, KEY};
use demo_check::{check_demo, demo_failure};
use loomrec_cli::amount::format_milliseconds;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::print;
use loomrec_cli::terminal;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::RunCounters;
use stage::DemoServer;
use upstream::DemoUpstream;

/// The longest that the demo may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The agent's prompt, and the version of it with one word changed.
const PROMPT: &str = "What should I wear in Paris today?";
const CHANGED: &str = "What should I wear in Paris tomorrow?";
/// At most this many characters of an answer are shown.
const SHOWN: usize = 64;

/// Runs the command.
///
/// # Errors
/// A `--keep` file that exists already (2); a demo that does not show what it should (3).
pub async fn run(args: DemoArgs) -> Result<u8, CommandFailure> {
    if let Some(file) = args.keep.as_deref().filter(|file| file.exists()) {
        return Err(CommandFailure::usage(format!(
            "--keep {}: the file is there already; name a new one",
            file.display()
        )));
    }
    match tokio::time::timeout(LIMIT, play_scenes(args.keep.as_deref())).await {
        Ok(outcome) => outcome,
        Err(_) => Err(demo_failure("the demo did not end within a minute")),
    }
}

/// Plays the four scenes.
async fn play_scenes(keep: Option<&Path>) -> Result<u8, CommandFailure> {
    print_text(&format!(
        "{}\n\
         The upstream is built into loomrec and listens on 127.0.0.1:\n\
         no provider is contacted, no key is needed.\n",
        "loomrec demo: record, replay, and a prompt that changed".bold()
    ))?;
    // The folder is removed when it goes out of scope.
    let folder = tempfile::tempdir().map_err(|error| demo_failure(&error.to_string()))?;
    let file = keep.map_or_else(|| folder.path().join("demo.json"), PathBuf::from).into();
    let recorded = show_recording(&file).await?;
    show_replay(&file, &recorded).await?;
    show_changed_prompt(&file).await?;
    show_next_commands(keep)
}

/// Scene 1: the agent runs through loomrec against the built-in upstream.
async fn show_recording(file: &RecordingLocation) -> Result<AgentRun, CommandFailure> {
    print_heading(1, "Record: the program runs as usual, and its base URL points at loomrec")?;
    let upstream = DemoUpstream::start().await.map_err(|error| demo_failure(&error.to_string()))?;
    let stage = DemoServer::start_recording(file, &upstream.url()).await?;
    let run = DemoAgent::new(&stage.origin)?.run(PROMPT).await?;
    let proxy = stage.close().await;
    upstream.stop().await;
    for turn in &run.turns {
        print_text(&turn_text(turn))?;
    }
    let more = proxy.telemetry.counters.to_detail();
    if let Some(reason) = more.keep_errors.keys().next() {
        return Err(demo_failure(&format!("a call could not be kept: {reason}")));
    }
    let cassette = loomrec_store::load_recording(file)?;
    let text = std::fs::read_to_string(file.as_path())
        .map_err(|error| demo_failure(&error.to_string()))?;
    let (kept, calls) = (cassette.len(), run.turns.len());
    check_demo(run.first_failure().is_none() && calls == 3, "the agent did not come to its end")?;
    check_demo(kept == calls, &format!("{calls} calls were made and {kept} kept"))?;
    check_demo(!text.contains(KEY), "the program's key is in the recording")?;
    print_text(&format!(
        "   {} calls, {} tokens in, {} out, {}; the key that the program sent is not in the file\n",
        kept,
        more.input_tokens,
        more.output_tokens,
        format_milliseconds(run.total_ms).bold(),
    ))?;
    Ok(run)
}

/// Scene 2: the upstream is stopped, and the agent gets the same answers.
async fn show_replay(file: &RecordingLocation, recorded: &AgentRun) -> Result<(), CommandFailure> {
    print_heading(2, "Replay, strictly: the upstream is stopped, the same program runs again")?;
    let stage = DemoServer::start_replay(file).await?;
    let run = DemoAgent::new(&stage.origin)?.run(PROMPT).await?;
    let proxy = stage.close().await;
    for turn in &run.turns {
        print_text(&turn_text(turn))?;
    }
    let served = RunCounters::counter_value(&proxy.telemetry.counters.served);
    let calls = recorded.turns.len();
    check_demo(run.same_as(recorded), "the replay's transcript is not the recorded one")?;
    check_demo(served == calls as u64, &format!("{served} of {calls} calls were served"))?;
    // Neither the engine nor the miss policy of this run has an HTTP client.
    check_demo(stage::has_no_client(&proxy), "the replay could have reached an upstream")?;
    print_text(&format!(
        "   the same {} bytes in {calls} answers; upstream connections: {}; {} instead of {}\n",
        run.answer_bytes(),
        "0".bold(),
        format_milliseconds(run.total_ms).bold(),
        format_milliseconds(recorded.total_ms),
    ))
}

/// Scene 3: a changed prompt is never answered with another prompt's answer.
async fn show_changed_prompt(file: &RecordingLocation) -> Result<(), CommandFailure> {
    print_heading(3, "Change one word of the prompt (today, tomorrow) and replay")?;
    let stage = DemoServer::start_replay(file).await?;
    let run = DemoAgent::new(&stage.origin)?.run(CHANGED).await?;
    let proxy = stage.close().await;
    let failed =
        run.first_failure().ok_or_else(|| demo_failure("the changed prompt was answered"))?;
    let body: Value = serde_json::from_slice(&failed.body).unwrap_or_default();
    let message = body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    let explained = failed.status == 422
        && message.contains("RecordingMismatchError")
        && message.contains("/messages/1/content");
    check_demo(explained, "the mismatch does not say what differs")?;
    check_demo(proxy.telemetry.counters.missed_calls() == 1, "the mismatch was not counted")?;
    print_text(&format!(
        "   the call fails with HTTP {}, which the SDK raises as its own exception and does not \
         retry:\n",
        failed.status.red().bold()
    ))?;
    let mut text = String::new();
    for line in wrap_text(message, terminal::width().unwrap_or(100).clamp(40, 100) - 6) {
        text.push_str(&format!("     {}\n", terminal::printable_line(&line).red()));
    }
    print_text(&text)
}

/// Scene 4: the commands to type next.
fn show_next_commands(keep: Option<&Path>) -> Result<u8, CommandFailure> {
    print_heading(4, "On your own program")?;
    let file = "recordings/agent.json";
    let mut text = format!(
        "   loomrec record -r {file} -- python agent.py\n   \
         loomrec replay --strict -r {file} -- python agent.py\n   \
         loomrec ls {file}\n"
    );
    if let Some(keep) = keep {
        let keep = keep.display();
        text.push_str(&format!("\nThe demo's recording is kept: loomrec ls {keep}\n"));
    }
    print(&text)
}

/// Formats one call: its answer, and the times of it.
fn turn_text(turn: &AgentCall) -> String {
    let what = terminal::cut(&terminal::printable_line(&turn.said), SHOWN).into_owned();
    let first = format_milliseconds(turn.first_ms);
    let when = match turn.events {
        0 => format!("whole, {first}"),
        events => {
            format!(
                "stream of {events} events, first {first}, last {}",
                format_milliseconds(turn.last_ms)
            )
        }
    };
    format!("   {:<11} {what}\n{:<15}{}\n", turn.asked, "", when.dimmed())
}

/// Wraps a text into lines of at most `room` columns, unless a single word is longer.
fn wrap_text(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line)
                if terminal::column_count(line) + 1 + terminal::column_count(word) <= room =>
            {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Prints the heading of a scene.
fn print_heading(number: usize, text: &str) -> Result<(), CommandFailure> {
    print_text(&format!("\n{} {}\n", format!("{number}.").bold(), text.bold()))
}

/// Prints immediately, so that the user can follow the demo.
fn print_text(text: &str) -> Result<(), CommandFailure> {
    print(text).map(|_| ())
}

#[cfg(test)]
#[path = "demo/tests.rs"]
mod tests;
