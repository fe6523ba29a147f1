//! The `loomrec diff` command: what changed between two recordings, call by call.
//!
//! Both recordings are read once for digests of their calls. Paired calls are then read again, one
//! pair at a time, so that memory use does not grow with the size of the entries.

mod block;
mod call;
mod human;
mod json;
mod markdown;
mod opened_recording;
mod stat;
mod total;
mod value;

use super::args::{DiffArgs, LogFormat};
pub(super) use block::{Block, compare_texts};
use call::{CallState, CallSummary, ComparedCall};
use loomrec_cli::exit::{CommandFailure, NO, UNEXPECTED};
use loomrec_cli::output::{Output, stdout_failure};
use loomrec_cli::result_output::ResultOutput;
use loomrec_cli::serve_setup;
use loomrec_curation::comparison::{
    self, CallDigest, CallPair, ComparedSide, ComparisonRow, DiffScope, ShownDifferences,
    ordered_rows,
};
use loomrec_recording::Entry;
use loomrec_recording::redact::Redactor;
use loomrec_store::StoreError;
pub(super) use opened_recording::{OpenedRecording, pair_recordings};
use total::DiffTotals;

/// Runs the command.
///
/// # Errors
/// An `--ignore` that is not a valid place (2); a recording that is missing, damaged or too new
/// (4); a stdout that cannot be written.
pub fn run(args: &DiffArgs) -> Result<u8, CommandFailure> {
    let mut scope = DiffScope::default();
    for place in &args.ignore {
        let failure =
            |error| CommandFailure::usage(format!("failed to read --ignore: failed to {error}"));
        scope.leave_out(place).map_err(failure)?;
    }
    let output = Output::new(LogFormat::Human, false, false);
    let (old, new) = (
        serve_setup::open_to_read(&args.old, &output)?,
        serve_setup::open_to_read(&args.new, &output)?,
    );
    scope.rules = scope.rules.united_with(old.meta().rules()).united_with(new.meta().rules());
    let redactor = Redactor::new(&[])
        .map_err(|error| CommandFailure::new(UNEXPECTED, format!("failed to {error}")))?;
    let old = OpenedRecording::from_recording(&args.old, old, &scope.rules)?;
    let new = OpenedRecording::from_recording(&args.new, new, &scope.rules)?;
    let work = RecordingComparison { old, new, scope, redactor };
    let form = match (args.json, args.markdown, args.stat) {
        (true, ..) => DiffForm::Json,
        (_, true, _) => DiffForm::Markdown,
        (_, _, true) => DiffForm::Stat,
        _ => DiffForm::Human,
    };
    work.write_changes(form)
}

/// The format of the result.
#[derive(Clone, Copy, Debug)]
enum DiffForm {
    Human,
    Json,
    Markdown,
    Stat,
}

/// The comparison of two recordings.
struct RecordingComparison {
    old: OpenedRecording,
    new: OpenedRecording,
    scope: DiffScope,
    redactor: Redactor,
}

impl RecordingComparison {
    /// Writes the changes. Returns the exit code, which says whether there are any.
    fn write_changes(&self, form: DiffForm) -> Result<u8, CommandFailure> {
        let mut out = ResultOutput::open();
        let mut writer = DiffWriter::new(form, &self.old.label, &self.new.label);
        let mut total = DiffTotals::default();
        let mut shown = ShownDifferences::default();
        let mut is_read = out.write(&writer.opening_text()).map_err(stdout_failure)?;
        let pairs = pair_recordings(&self.old, &self.new, &self.scope.rules)?;
        for row in ordered_rows(self.old.known.len(), self.new.known.len(), &pairs) {
            let call = self.call(row, &mut shown)?;
            total.add(&call);
            // After the reader has closed stdout, the comparison continues for the exit code.
            if is_read && let Some(text) = writer.call(&call) {
                is_read = out.write(&text).map_err(stdout_failure)?;
            }
        }
        if is_read {
            out.write(&writer.closing_text(&total)).map_err(stdout_failure)?;
        }
        out.finish().map_err(stdout_failure)?;
        Ok(if total.is_same() { 0 } else { NO })
    }

    /// Compares one call. `shown` has the differences of the calls before it.
    fn call(
        &self,
        row: ComparisonRow,
        shown: &mut ShownDifferences,
    ) -> Result<ComparedCall, StoreError> {
        let call = match row {
            ComparisonRow::Both(pair) => self.compare_pair(pair, shown)?,
            ComparisonRow::Old(at) => {
                let old = Some(unpaired_summary(&self.old.known[at], &self.old.read_entry(at)?));
                ComparedCall::from_one_side(CallState::OnlyOld, old, None)
            }
            ComparisonRow::New(at) => {
                let new = Some(unpaired_summary(&self.new.known[at], &self.new.read_entry(at)?));
                ComparedCall::from_one_side(CallState::OnlyNew, None, new)
            }
        };
        Ok(call.without_secrets(&self.redactor))
    }

    /// Compares a call that both recordings have.
    fn compare_pair(
        &self,
        pair: CallPair,
        shown: &mut ShownDifferences,
    ) -> Result<ComparedCall, StoreError> {
        let (one, other) = (self.old.read_entry(pair.old)?, self.new.read_entry(pair.new)?);
        let (old, new) = (&self.old.known[pair.old], &self.new.known[pair.new]);
        let (a, b) = (
            ComparedSide::from_entry(&old.name, &one),
            ComparedSide::from_entry(&new.name, &other),
        );
        let found = comparison::new_differences(&a, &b, &self.scope, shown);
        let summaries = (CallSummary::from_digest(old, &a), CallSummary::from_digest(new, &b));
        Ok(ComparedCall::of_pair(summaries, Some(pair.by), found))
    }
}

/// Returns the summary of a call that only one recording has.
fn unpaired_summary(known: &CallDigest, entry: &Entry) -> CallSummary {
    CallSummary::from_digest(known, &ComparedSide::from_entry(&known.name, entry))
}

/// The writer for each format of the result.
enum DiffWriter {
    Human(human::HumanDiff),
    Json(json::JsonDiff),
    Markdown(markdown::MarkdownDiff),
    Stat(stat::DiffStat),
}

impl DiffWriter {
    fn new(form: DiffForm, old: &str, new: &str) -> Self {
        match form {
            DiffForm::Human => Self::Human(human::HumanDiff::new(old, new)),
            DiffForm::Json => Self::Json(json::JsonDiff::new(old, new)),
            DiffForm::Markdown => Self::Markdown(markdown::MarkdownDiff::new(old, new)),
            DiffForm::Stat => Self::Stat(stat::DiffStat::new(old, new)),
        }
    }

    /// Returns the text before all calls.
    fn opening_text(&self) -> String {
        match self {
            Self::Human(_) | Self::Markdown(_) | Self::Stat(_) => String::new(),
            Self::Json(json) => json.opening_text(),
        }
    }

    /// Returns the text of one call, or `None` if the format writes everything at the end.
    fn call(&mut self, call: &ComparedCall) -> Option<String> {
        match self {
            Self::Human(human) => human.call(call),
            Self::Json(json) => json.call(call),
            Self::Markdown(markdown) => {
                markdown.add(call);
                None
            }
            Self::Stat(stat) => {
                stat.add(call);
                None
            }
        }
    }

    /// Returns the text after all calls.
    fn closing_text(&self, total: &DiffTotals) -> String {
        match self {
            Self::Human(human) => human.closing_text(total),
            Self::Json(json) => json.closing_text(total),
            Self::Markdown(markdown) => markdown.to_markdown(total),
            Self::Stat(stat) => stat.to_text(total),
        }
    }
}
