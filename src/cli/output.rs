//! Output for people on the terminal: messages on stderr, results on stdout.

use std::convert::Infallible;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use indicatif::ProgressBar;
use owo_colors::OwoColorize;
use serde_json::{Map, Value, json};

use super::args::LogFormat;
use super::exit::{CommandFailure, UNEXPECTED};
use super::held_messages::{HeldMessages, ReleasedMessages};
use super::terminal;
use loomrec_engine::replay::RecordingMismatchError;
use loomrec_proxy::server::UserNotice;
use loomrec_telemetry::journal::line;
use loomrec_telemetry::log;

/// Writes messages to stderr, in colour on a terminal, and above the live line if there is one.
#[derive(Clone, Debug)]
pub struct Output {
    format: LogFormat,
    quiet: bool,
    verbose: bool,
    /// Whether statements about where calls go are printed although it is quiet.
    discloses: bool,
    live: Option<Arc<ProgressBar>>,
    /// Whether a command writes to the same terminal.
    shares_terminal: bool,
    /// The messages that wait while the command holds the terminal.
    held: Option<Arc<HeldMessages>>,
}

/// How often messages that wait for the terminal are looked at. It has to be free twice, since a
/// program that starts another one on its page leaves raw mode for a moment.
const RELEASE_INTERVAL: Duration = Duration::from_millis(200);

impl Output {
    /// Creates an output of this format. `quiet` leaves only errors, `verbose` adds a line for each
    /// call.
    pub fn new(format: LogFormat, quiet: bool, verbose: bool) -> Self {
        let discloses = false;
        Self { format, quiet, verbose, discloses, live: None, shares_terminal: false, held: None }
    }

    /// Returns the same output, which prints [`Self::disclose`]d text even if it is quiet: if only
    /// the settings file makes it so.
    pub fn with_disclosure(self, is_quiet_by_settings: bool) -> Self {
        Self { discloses: is_quiet_by_settings, ..self }
    }

    /// Returns the same output, which prints messages above `live`.
    pub fn above_line(&self, live: Arc<ProgressBar>) -> Self {
        Self { live: Some(live), ..self.clone() }
    }

    /// Returns the same output, which begins each message on a line of its own: a command writes to
    /// the same terminal, and may not have ended its line. While the command holds the terminal in
    /// raw mode, messages wait.
    pub fn beside_command(self) -> Self {
        let held = HeldMessages::begin().map(Arc::new);
        Self { shares_terminal: self.format == LogFormat::Human, held, ..self }
    }

    /// Prints messages that wait once the command has left raw mode. Never returns.
    pub async fn release_held(&self) -> Infallible {
        let Some(held) = &self.held else { return std::future::pending().await };
        let mut was_free = false;
        loop {
            tokio::time::sleep(RELEASE_INTERVAL).await;
            let is_free = held.can_release();
            if is_free && was_free {
                self.print_released(held.release());
            }
            was_free = is_free;
        }
    }

    /// Prints messages that waited while the command, which has ended, held the terminal. No
    /// message waits any more.
    pub fn end_holding(&self) {
        self.held.iter().for_each(|held| self.print_released(held.end()));
    }

    fn print_released(&self, released: ReleasedMessages) {
        released.messages.iter().for_each(|text| self.print_line(text));
        if released.left_out > 0 {
            self.warning(&format!(
                "messages that came while the command held the terminal, and are not shown: {}; \
                 --journal FILE has a line for each call",
                released.left_out
            ));
        }
    }

    /// Whether a live line may be drawn.
    pub fn may_draw(&self) -> bool {
        !self.quiet && self.format == LogFormat::Human && io::stderr().is_terminal()
    }

    /// Prints information.
    pub fn info(&self, text: &str) {
        if !self.quiet {
            self.print_message("info", &terminal::printable_message(text), text);
        }
    }

    /// Prints information that is of use only now: not while a command holds the terminal.
    pub fn transient_info(&self, text: &str) {
        if !self.held.as_ref().is_some_and(|held| held.is_holding()) {
            self.info(text);
        }
    }

    /// Prints where calls go, what is in force, or what is uploaded. A settings file cannot hide
    /// it.
    pub fn disclose(&self, text: &str) {
        if !self.quiet || self.discloses {
            self.print_message("info", &terminal::printable_message(text), text);
        }
    }

    /// Prints a warning about something harmless.
    pub fn warning(&self, text: &str) {
        let human = format!("{} {}", "loomrec:".yellow().bold(), terminal::printable_message(text));
        self.print_message("warning", &human, text);
    }

    /// Prints an error.
    pub fn error(&self, text: &str) {
        let human = format!("{} {}", "loomrec:".red().bold(), terminal::printable_message(text));
        self.print_message("error", &human, text);
    }

    /// Prints a coloured report of several lines. Each part of it must have gone through
    /// [`terminal::printable_line`].
    pub fn print_report(&self, text: &str) {
        if !self.quiet {
            self.emit_report("info", text);
        }
    }

    /// Prints a report, as [`Self::print_report`] does, that a settings file cannot hide.
    pub fn disclose_report(&self, text: &str) {
        if !self.quiet || self.discloses {
            self.emit_report("info", text);
        }
    }

    /// Prints a report even in quiet mode.
    pub fn failed_report(&self, text: &str) {
        self.emit_report("error", text);
    }

    /// Prints a notice of the server.
    pub fn print_notice(&self, notice: &UserNotice<'_>) {
        match notice {
            // If the log has already shown the call, one line is enough.
            UserNotice::Call(seen) if self.verbose && !log::tells_calls() => self.call(&line::from_call(seen)),
            UserNotice::Call(_) => {}
            UserNotice::Missed(error) => self.print_mismatch(error),
            UserNotice::Refused(text) => self.error(text),
            UserNotice::Incomplete(text) => self.error(text),
            UserNotice::Warning(text) => self.warning(text),
            UserNotice::Unkept(text) => self.error(&format!(
                "an exchange is NOT in the recording: failed to {text}; traffic goes on, the exit code will be 5"
            )),
        }
    }

    /// Prints a call, with the fields of its journal line.
    fn call(&self, line: &Value) {
        let text = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
        let human = format!(
            "{} {} {} {} to {} · {} · {} ms",
            line["status"],
            text("outcome"),
            text("method"),
            text("path"),
            text("upstream"),
            text("model"),
            line["head_ms"],
        );
        match self.format {
            LogFormat::Human => self.human_line(&terminal::printable_line(&human)),
            LogFormat::Json => self.json_line(&json!({ "level": "debug", "call": line })),
        }
    }

    /// Prints an event of the log.
    pub fn print_event(
        &self,
        level: &str,
        time: &str,
        target: &str,
        mut fields: Map<String, Value>,
    ) {
        let message = fields.remove("message");
        if self.format == LogFormat::Json {
            let mut line = Map::new();
            line.insert("level".to_owned(), level.into());
            line.insert("time".to_owned(), time.into());
            line.insert("target".to_owned(), target.into());
            line.extend(message.map(|message| ("message".to_owned(), message)));
            line.extend(fields);
            return self.json_line(&Value::Object(line));
        }
        let mut text = format!("{time} {:<5} {target}:", level.to_uppercase());
        if let Some(message) = message.as_ref().and_then(Value::as_str) {
            text.push_str(&format!(" {message}"));
        }
        for (name, value) in &fields {
            text.push_str(&format!(" {name}={value}"));
        }
        self.human_line(&terminal::printable_line(&text));
    }

    /// Prints a mismatch, one difference on each line. Quoted text stays on its line.
    fn print_mismatch(&self, error: &RecordingMismatchError) {
        if self.format == LogFormat::Json {
            return self.json_line(&json!({ "level": "error", "mismatch": error.to_json() }));
        }
        let mut text =
            format!("{} {}: ", "RecordingMismatchError".red().bold(), error.reason.as_str().bold());
        let (method, path, upstream) = (&error.method, &error.path, &error.upstream);
        let request = error.key.short_form();
        let rpc = error.rpc.as_ref().map(|rpc| format!(" {rpc}")).unwrap_or_default();
        let mut called = format!("{method} {path}{rpc} to {upstream}, request {request}");
        if let Some(step) = &error.step {
            called.push_str(&format!(", step {step:?}"));
        }
        text.push_str(&terminal::printable_line(&called));
        if let Some(detail) = &error.detail {
            text.push_str(&format!("\n  {}", terminal::printable_line(detail)));
        }
        if let Some(near) = &error.nearest {
            text.push_str(&format!(
                "\n  nearest recorded call: {}",
                terminal::printable_line(&near.label())
            ));
            for difference in near.differences.iter().take(8) {
                let (recorded, now) = difference.shortened_values();
                text.push_str(&format!(
                    "\n    {}\n      {} {}\n      {} {}",
                    terminal::printable_line(&difference.place).bold(),
                    "recorded".red(),
                    terminal::printable_line(&recorded),
                    "now     ".green(),
                    terminal::printable_line(&now),
                ));
            }
        }
        for note in error.header_notes() {
            text.push_str(&format!("\n  {}", terminal::printable_line(&note)));
        }
        text.push_str(&format!("\n  {}", terminal::printable_line(&error.remedy())));
        self.human_line(&text);
    }

    fn emit_report(&self, level: &str, text: &str) {
        self.print_message(level, text, &anstream::adapter::strip_str(text).to_string());
    }

    fn print_message(&self, level: &str, human: &str, plain: &str) {
        match self.format {
            LogFormat::Human => self.human_line(human),
            LogFormat::Json => self.json_line(&json!({ "level": level, "message": plain })),
        }
    }

    /// Prints text for people. Colours are the only escape sequences that reach the terminal.
    fn human_line(&self, text: &str) {
        self.write_line(&terminal::printable_styled(text));
    }

    fn json_line(&self, value: &Value) {
        self.write_line(&terminal::printable_json(&value.to_string()));
    }

    /// Writes a line to stderr, or keeps it while a command holds the terminal.
    fn write_line(&self, text: &str) {
        if let Some(held) = &self.held {
            let Some(released) = held.hold(text) else { return };
            self.print_released(released);
        }
        self.print_line(text);
    }

    /// Writes a line to stderr. A closed stderr is not a failure.
    fn print_line(&self, text: &str) {
        let line = if self.shares_terminal { terminal::fresh_line() } else { String::new() };
        let print = || drop(writeln!(anstream::stderr().lock(), "{line}{text}"));
        match &self.live {
            Some(live) => live.suspend(print),
            None => print(),
        }
    }
}

/// Writes a result to stdout. If the reader has closed it, that counts as success.
///
/// # Errors
/// Any other failure to write.
pub fn write_stdout(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a result.
///
/// # Errors
/// A stdout that cannot be written.
pub fn print(text: &str) -> Result<u8, CommandFailure> {
    write_stdout(text).map(|()| 0).map_err(stdout_failure)
}

/// Returns the failure for a stdout that cannot be written.
pub fn stdout_failure(error: io::Error) -> CommandFailure {
    CommandFailure::new(UNEXPECTED, format!("failed to write to stdout: {error}"))
}
