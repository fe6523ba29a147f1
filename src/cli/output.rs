//! What people read on the terminal: messages on stderr, results on stdout.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use indicatif::ProgressBar;
use owo_colors::OwoColorize;
use serde_json::{Map, Value, json};

use super::args::LogFormat;
use super::terminal;
use crate::replay::RecordingMismatchError;
use crate::server::UserNotice;
use crate::telemetry::journal::line;
use crate::telemetry::log;

/// Writes messages to stderr, in colour on a terminal, above the live line where
/// there is one.
#[derive(Clone, Debug)]
pub struct Output {
    format: LogFormat,
    quiet: bool,
    verbose: bool,
    live: Option<Arc<ProgressBar>>,
}

impl Output {
    /// An output of this format; `quiet` leaves errors only, `verbose` adds a line
    /// for each call.
    pub fn new(format: LogFormat, quiet: bool, verbose: bool) -> Self {
        Self { format, quiet, verbose, live: None }
    }

    /// The same, with messages going above `live`.
    pub fn above(&self, live: Arc<ProgressBar>) -> Self {
        Self { live: Some(live), ..self.clone() }
    }

    /// Whether a live line may be drawn.
    pub fn may_draw(&self) -> bool {
        !self.quiet && self.format == LogFormat::Human && io::stderr().is_terminal()
    }

    /// Something worth knowing.
    pub fn info(&self, text: &str) {
        if !self.quiet {
            self.emit("info", &terminal::message(text), text);
        }
    }

    /// Something that is not as it should be, and does no harm.
    pub fn warning(&self, text: &str) {
        let human = format!("{} {}", "loomrec:".yellow().bold(), terminal::message(text));
        self.emit("warning", &human, text);
    }

    /// Something that went wrong.
    pub fn error(&self, text: &str) {
        let human = format!("{} {}", "loomrec:".red().bold(), terminal::message(text));
        self.emit("error", &human, text);
    }

    /// A report of several lines and in colour, each part of which went through
    /// [`terminal::line`].
    pub fn report(&self, text: &str) {
        if !self.quiet {
            self.emit("info", text, &anstream::adapter::strip_str(text).to_string());
        }
    }

    /// A report, printed although it is to be quiet.
    pub fn failed_report(&self, text: &str) {
        self.emit("error", text, &anstream::adapter::strip_str(text).to_string());
    }

    /// What the server has to say.
    pub fn notice(&self, notice: &UserNotice<'_>) {
        match notice {
            // The log has told it: one line is enough.
            UserNotice::Call(seen) if self.verbose && !log::tells_calls() => self.call(&line::of(seen)),
            UserNotice::Call(_) => {}
            UserNotice::Missed(error) => self.mismatch(error),
            UserNotice::Refused(text) => self.error(text),
            UserNotice::Incomplete(text) => self.error(text),
            UserNotice::Warning(text) => self.warning(text),
            UserNotice::Unkept(text) => self.error(&format!(
                "an exchange is NOT in the recording: failed to {text}; traffic goes on, the exit code will be 5"
            )),
        }
    }

    /// A call, as its line in the journal tells it.
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
            LogFormat::Human => self.human_line(&terminal::line(&human)),
            LogFormat::Json => self.json_line(&json!({ "level": "debug", "call": line })),
        }
    }

    /// An event of the log.
    pub fn event(&self, level: &str, time: &str, target: &str, mut fields: Map<String, Value>) {
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
        self.human_line(&terminal::line(&text));
    }

    /// A mismatch, one difference a line. Whatever it quotes stays on its line.
    fn mismatch(&self, error: &RecordingMismatchError) {
        if self.format == LogFormat::Json {
            return self.json_line(&json!({ "level": "error", "mismatch": error.to_json() }));
        }
        let mut text =
            format!("{} {}: ", "RecordingMismatchError".red().bold(), error.reason.as_str().bold());
        let (method, path, upstream) = (&error.method, &error.path, &error.upstream);
        let request = error.key.short();
        let mut called = format!("{method} {path} to {upstream}, request {request}");
        if let Some(step) = &error.step {
            called.push_str(&format!(", step {step:?}"));
        }
        text.push_str(&terminal::line(&called));
        if let Some(detail) = &error.detail {
            text.push_str(&format!("\n  {}", terminal::line(detail)));
        }
        if let Some(near) = &error.nearest {
            text.push_str(&format!("\n  nearest recorded call: {}", terminal::line(&near.label())));
            for difference in near.differences.iter().take(8) {
                let (recorded, now) = difference.shortened();
                text.push_str(&format!(
                    "\n    {}\n      {} {}\n      {} {}",
                    terminal::line(&difference.place).bold(),
                    "recorded".red(),
                    terminal::line(&recorded),
                    "now     ".green(),
                    terminal::line(&now),
                ));
            }
        }
        for note in error.header_notes() {
            text.push_str(&format!("\n  {}", terminal::line(&note)));
        }
        text.push_str(&format!("\n  {}", terminal::line(&error.remedy())));
        self.human_line(&text);
    }

    fn emit(&self, level: &str, human: &str, plain: &str) {
        match self.format {
            LogFormat::Human => self.human_line(human),
            LogFormat::Json => self.json_line(&json!({ "level": level, "message": plain })),
        }
    }

    /// Text for people, of which a terminal acts on colours alone.
    fn human_line(&self, text: &str) {
        self.write_line(&terminal::styled(text));
    }

    fn json_line(&self, value: &Value) {
        self.write_line(&terminal::json(&value.to_string()));
    }

    /// A line on stderr. A stderr that is gone is no reason to fail.
    fn write_line(&self, text: &str) {
        let print = || drop(writeln!(anstream::stderr().lock(), "{text}"));
        match &self.live {
            Some(live) => live.suspend(print),
            None => print(),
        }
    }
}

/// Writes a result to stdout. A reader that has closed it had enough: that is
/// success.
///
/// # Errors
/// Any other failure to write.
pub fn stdout(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
