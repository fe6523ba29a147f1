//! A line of a journal as the `journal` command reads it, and the filter of lines.

use serde::Deserialize;
use serde_json::Value;

use super::super::args::JournalArgs;
use loomrec_cli::amount::{format_dollars, format_milliseconds};
use loomrec_cli::terminal::{cut, printable_line};
use loomrec_engine::AnswerSource;

/// The fields that are read of a line. Lines of an older loomrec have fewer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct JournalRow {
    v: Option<u64>,
    at: Option<String>,
    outcome: Option<String>,
    status: Option<u16>,
    source: Option<String>,
    method: Option<String>,
    path: Option<String>,
    pub(crate) upstream: Option<String>,
    pub(crate) model: Option<String>,
    session: Option<String>,
    connection: Option<u64>,
    pub(crate) head_ms: Option<f64>,
    pub(crate) first_byte_ms: Option<f64>,
    pub(crate) total_ms: Option<f64>,
    end: Option<String>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    kept: Option<bool>,
    answer: Option<String>,
    answer_reason: Option<String>,
    attempt: Option<u64>,
    fault: Option<Value>,
    mismatch: Option<RowMismatch>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RowMismatch {
    reason: Option<String>,
}

impl JournalRow {
    /// Parses a line.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        if text.trim_ascii_start().first() != Some(&b'{') {
            let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
            return Err(if is_json { "it is not an object" } else { "it is not JSON" }.to_owned());
        }
        let line: Self = serde_json::from_slice(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => format!("{error}").replace(" at line 1", ","),
            _ => "it is not JSON".to_owned(),
        })?;
        if line.outcome.is_none() {
            return Err("it has no outcome".to_owned());
        }
        match line.v {
            Some(version) if version > loomrec_telemetry::journal::line::VERSION => {
                Err(format!("it is of version {version}: read it with a newer loomrec"))
            }
            _ => Ok(line),
        }
    }

    /// Whether it is the line of a call, or of a connection fault.
    pub(crate) fn is_call(&self) -> bool {
        self.method.is_some() || self.connection.is_some()
    }

    /// Returns the outcome of the call.
    pub(crate) fn outcome(&self) -> &str {
        self.outcome.as_deref().unwrap_or_default()
    }

    /// Returns where the answer came from.
    pub(crate) fn source(&self) -> Option<&str> {
        self.source.as_deref().or_else(|| AnswerSource::from_outcome(self.outcome()).as_str())
    }

    /// Whether the call failed: an error, no answer, one that was not sent to its end, or one that
    /// was no success.
    pub(crate) fn has_failed(&self) -> bool {
        let ended = self.end.as_deref().is_none_or(|end| end == "complete");
        !ended
            || self.failed_answer().is_some()
            || self.kept == Some(false)
            || self.status.is_none_or(|status| status >= 400)
    }

    /// Returns the outcome of an answer that is no success.
    fn failed_answer(&self) -> Option<&str> {
        self.answer.as_deref().filter(|answer| *answer != "complete")
    }

    /// Returns the reason of the miss.
    pub(crate) fn miss_reason(&self) -> Option<&str> {
        self.mismatch.as_ref()?.reason.as_deref()
    }

    /// Returns the type of the call's fault.
    pub(crate) fn fault_type(&self) -> Option<&str> {
        self.fault.as_ref()?.get("type")?.as_str()
    }

    /// Formats the call on one line, for people.
    pub(super) fn format_row(&self, width: Option<usize>) -> String {
        let at = self.at.as_deref().unwrap_or("-");
        let at = at.get(..23).unwrap_or(at).replace('T', " ");
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let status = self.status.map_or_else(|| "---".to_owned(), |status| status.to_string());
        let time = self.total_ms.or(self.head_ms).map_or_else(String::new, format_milliseconds);
        let call = match self.connection {
            Some(number) => format!("connection {number}"),
            None => format!("{} {}", text(&self.method), text(&self.path)),
        };
        let row = format!(
            "{at}  {status:>3} {:<11}  {:<10}  {:<24}  {time:>9}  {call}{}",
            self.outcome(),
            text(&self.upstream),
            cut(&text(&self.model), 24),
            self.format_notes(),
        );
        let row = printable_line(&row);
        let row = row.trim_end();
        width.map_or_else(|| row.to_owned(), |width| cut(row, width).into_owned())
    }

    /// Formats the other noteworthy facts about the call.
    fn format_notes(&self) -> String {
        let mut notes = String::new();
        let mut note = |text: &str| {
            notes.push_str("  · ");
            notes.push_str(text);
        };
        if let (Some(input), Some(output)) = (self.input_tokens, self.output_tokens)
            && (input, output) != (0, 0)
        {
            note(&format!("{input}+{output} tokens"));
        }
        if let Some(cost) = self.cost_usd.filter(|cost| *cost > 0.0) {
            note(&format_dollars(cost));
        }
        if let Some(reason) = self.miss_reason() {
            note(reason);
        }
        if let Some(fault) = self.fault_type() {
            note(&format!("fault {fault}"));
        }
        if let Some(end) = self.end.as_deref().filter(|end| *end != "complete") {
            note(&end.replace('_', " "));
        }
        // An error status says the same.
        let hidden =
            self.failed_answer().filter(|_| self.status.is_some_and(|status| status < 400));
        if let Some(answer) = hidden {
            let answer = answer.replace('_', " ");
            match &self.answer_reason {
                Some(reason) => note(&format!("{answer}: {reason}")),
                None => note(&answer),
            }
        }
        if let Some(attempt) = self.attempt.filter(|attempt| *attempt > 1) {
            note(&format!("try {attempt}"));
        }
        if self.kept == Some(false) {
            note("NOT kept");
        }
        notes
    }
}

/// The filter of lines.
pub(super) struct RowFilter<'a> {
    args: &'a JournalArgs,
}

impl<'a> RowFilter<'a> {
    /// Creates the filter of `args`.
    pub(super) fn new(args: &'a JournalArgs) -> Self {
        Self { args }
    }

    /// Whether a line is a call that matches the filter.
    pub(super) fn is_match(&self, line: &JournalRow) -> bool {
        let args = self.args;
        let is =
            |sought: &Option<String>, there: &Option<String>| sought.is_none() || sought == there;
        line.is_call()
            && (!args.failed || line.has_failed())
            && is(&args.model, &line.model)
            && is(&args.upstream, &line.upstream)
    }
}
