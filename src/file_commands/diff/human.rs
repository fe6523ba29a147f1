//! The comparison for people: a block for each call that changed.

use owo_colors::OwoColorize as _;

use super::call::{CallState, CallSummary, ComparedCall, shorten_line};
use super::total::DiffTotals;
use super::value::{ValueChange, shown_place, uncounted_line, value_change};
use loomrec_cli::terminal;
use loomrec_curation::comparison::text::{DiffLine, LineKind};
use loomrec_curation::comparison::{CallDifference, CallHalf, PairedBy};

/// At most this many characters are shown of an answer that only one side has.
const BRIEF: usize = 100;
/// At most this many differences are shown for one half of a call.
const SHOWN: usize = 40;

/// Writes the blocks.
pub(super) struct HumanDiff {
    old: String,
    new: String,
    any: bool,
    repeating: RepeatingCalls,
}

/// Adjacent calls whose changes earlier calls show.
#[derive(Default)]
struct RepeatingCalls {
    count: usize,
    /// The keys of the first one.
    first: String,
    /// The keys of the last one.
    last: String,
}

impl HumanDiff {
    pub(super) fn new(old: &str, new: &str) -> Self {
        let safe = |label: &str| terminal::printable_line(label).into_owned();
        Self { old: safe(old), new: safe(new), any: false, repeating: RepeatingCalls::default() }
    }

    /// Returns the block of a call. The first block is preceded by the names of the recordings.
    /// Returns `None` for a call without differences that count. A line before the next block stands
    /// for calls whose changes were shown before.
    pub(super) fn call(&mut self, call: &ComparedCall) -> Option<String> {
        if call.state == CallState::Same {
            return None;
        }
        if call.only_repeats() {
            self.repeating.add(call);
            return None;
        }
        let mut out = std::mem::take(&mut self.repeating).repeat_line();
        if !std::mem::replace(&mut self.any, true) {
            out.push_str(&format!("{} {}\n", "---".red(), self.old.bold()));
            out.push_str(&format!("{} {}\n", "+++".green(), self.new.bold()));
        }
        out.push('\n');
        out.push_str(&self.format_call(call));
        Some(out)
    }

    /// Formats the block of a call.
    pub(super) fn format_call(&self, call: &ComparedCall) -> String {
        let mut out = String::new();
        let keys = terminal::printable_line(&call.key_text()).into_owned();
        let words = terminal::printable_line(call.call_description()).into_owned();
        match call.state {
            CallState::OnlyOld => {
                let only = format!("only in {}", self.old);
                out.push_str(&format!("{} {}  {words}  {}\n", "-".red(), keys.red(), only.red()));
            }
            CallState::OnlyNew => {
                let only = format!("only in {}", self.new);
                let sign = "+".green();
                out.push_str(&format!("{sign} {}  {words}  {}\n", keys.green(), only.green()));
            }
            _ => {
                let by = match call.by {
                    Some(PairedBy::Nearest) => "  (nearest request)",
                    Some(PairedBy::Conversation) => "  (next in the conversation)",
                    Some(PairedBy::Place) => "  (at the same place)",
                    _ => "",
                };
                out.push_str(&format!(
                    "{} {}  {words}{}\n",
                    "~".yellow(),
                    keys.bold(),
                    by.dimmed()
                ));
            }
        }
        if let (CallState::OnlyOld | CallState::OnlyNew, Some(summary)) =
            (call.state, call.shown_summary())
        {
            out.push_str(&format_unpaired(summary));
        }
        for (part, title) in [(CallHalf::Request, "request"), (CallHalf::Answer, "answer")] {
            let mut found = call.differences_in(part).peekable();
            let repeated = if part == CallHalf::Request { call.repeated } else { 0 };
            if found.peek().is_some() || repeated > 0 {
                out.push_str(&format!("  {}\n", title.cyan()));
            }
            let counted = found.filter(|difference| difference.counts);
            counted.take(SHOWN).for_each(|difference| write_difference(&mut out, difference));
            let more = call.count_differences(part).saturating_sub(SHOWN);
            if more > 0 {
                let line = format!("… and {more} more places; --json has them");
                out.push_str(&format!("    {}\n", line.dimmed()));
            }
            if repeated > 0 {
                let places = if repeated == 1 { "place" } else { "places" };
                let line = format!("… {repeated} more {places} as in calls before this one");
                out.push_str(&format!("    {}\n", line.dimmed()));
            }
            if let Some(values) = uncounted_line(call.differences_in(part)) {
                let line = format!("(not counted: {})", terminal::printable_line(&values));
                out.push_str(&format!("    {}\n", line.dimmed()));
            }
        }
        out
    }

    /// Returns the last line.
    pub(super) fn closing_text(&self, total: &DiffTotals) -> String {
        let before = if self.any { "\n" } else { "" };
        let repeating = self.repeating.repeat_line();
        format!("{repeating}{before}{}\n", total.summary_line(&self.old, &self.new).bold())
    }
}

impl RepeatingCalls {
    fn add(&mut self, call: &ComparedCall) {
        self.count += 1;
        self.last = call.key_text();
        if self.count == 1 {
            self.first.clone_from(&self.last);
        }
    }

    /// Returns an empty line and a line about the calls; an empty text if there are no calls.
    fn repeat_line(&self) -> String {
        let (calls, to) = match self.count {
            0 => return String::new(),
            1 => ("1 call changed".to_owned(), String::new()),
            count => (format!("{count} calls changed"), format!(" … {}", self.last)),
        };
        let keys = terminal::printable_line(&format!("{}{to}", self.first)).into_owned();
        format!("\n{} {}  {calls} only as shown above\n", "~".yellow(), keys.dimmed())
    }
}

/// Formats a call that only one side has.
fn format_unpaired(summary: &CallSummary) -> String {
    let answer = terminal::printable_line(&shorten_line(&summary.answer, BRIEF)).into_owned();
    format!("    {}\n", answer.dimmed())
}

/// Formats one difference in a few lines.
fn write_difference(out: &mut String, difference: &CallDifference) {
    let place = terminal::printable_line(shown_place(difference)).into_owned();
    match value_change(difference) {
        ValueChange::Short(old, new) => {
            let (old, new) = (terminal::printable_line(&old), terminal::printable_line(&new));
            out.push_str(&format!("    {place}: {} → {}\n", old.red(), new.green()));
        }
        ValueChange::Lines(lines) => {
            out.push_str(&format!("    {place}\n"));
            lines.iter().for_each(|line| out.push_str(&format_line(line)));
        }
    }
}

/// Formats a line with its sign. Changed parts are highlighted by reversed colours.
pub(super) fn format_line(line: &DiffLine) -> String {
    let mut text = String::new();
    for piece in &line.pieces {
        let words = terminal::printable_line(&piece.text).into_owned();
        text.push_str(&match (line.kind, piece.changed) {
            (LineKind::Old, true) => words.red().reversed().to_string(),
            (LineKind::Old, false) => words.red().to_string(),
            (LineKind::New, true) => words.green().reversed().to_string(),
            (LineKind::New, false) => words.green().to_string(),
            (LineKind::Same, _) => words,
            (LineKind::Gap, _) => words.dimmed().to_string(),
        });
    }
    let sign = match line.kind {
        LineKind::Old => "-".red().to_string(),
        LineKind::New => "+".green().to_string(),
        LineKind::Same | LineKind::Gap => " ".to_owned(),
    };
    format!("      {sign} {text}\n").replace(" \n", "\n")
}
