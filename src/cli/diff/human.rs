//! The comparison for people: a block for each call that changed.

use owo_colors::OwoColorize as _;

use super::super::terminal;
use super::call::{Call, State, Told, brief};
use super::total::Total;
use super::value::{Change, change, name, uncounted};
use crate::comparison::text::{Kind, Line};
use crate::comparison::{By, Difference, Part};

/// Characters of an answer that is on one side only.
const BRIEF: usize = 100;
/// Differences of one half of a call.
const SHOWN: usize = 40;

/// Writes blocks.
pub(super) struct Human {
    old: String,
    new: String,
    any: bool,
}

impl Human {
    pub(super) fn new(old: &str, new: &str) -> Self {
        let safe = |label: &str| terminal::line(label).into_owned();
        Self { old: safe(old), new: safe(new), any: false }
    }

    /// The block of a call, and what is compared before the first of them; `None` where
    /// nothing is to be said of it.
    pub(super) fn call(&mut self, call: &Call) -> Option<String> {
        if call.state == State::Same {
            return None;
        }
        let mut out = String::new();
        if !std::mem::replace(&mut self.any, true) {
            out.push_str(&format!("{} {}\n", "---".red(), self.old.bold()));
            out.push_str(&format!("{} {}\n", "+++".green(), self.new.bold()));
        }
        out.push('\n');
        out.push_str(&self.block(call));
        Some(out)
    }

    /// The block of a call.
    pub(super) fn block(&self, call: &Call) -> String {
        let mut out = String::new();
        let keys = terminal::line(&call.keys()).into_owned();
        let words = terminal::line(call.words()).into_owned();
        match call.state {
            State::OnlyOld => {
                let only = format!("only in {}", self.old);
                out.push_str(&format!("{} {}  {words}  {}\n", "-".red(), keys.red(), only.red()));
            }
            State::OnlyNew => {
                let only = format!("only in {}", self.new);
                let sign = "+".green();
                out.push_str(&format!("{sign} {}  {words}  {}\n", keys.green(), only.green()));
            }
            _ => {
                let by = match call.by {
                    Some(By::Nearest) => "  (nearest request)",
                    Some(By::Place) => "  (at the same place)",
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
        if let (State::OnlyOld | State::OnlyNew, Some(told)) = (call.state, call.told()) {
            out.push_str(&only(told));
        }
        for (part, title) in [(Part::Request, "request"), (Part::Answer, "answer")] {
            let mut found = call.of(part).peekable();
            if found.peek().is_some() {
                out.push_str(&format!("  {}\n", title.cyan()));
            }
            let counted = found.filter(|difference| difference.counts);
            counted.take(SHOWN).for_each(|difference| block(&mut out, difference));
            let more = call.count(part).saturating_sub(SHOWN);
            if more > 0 {
                let line = format!("… and {more} more places; --json has them");
                out.push_str(&format!("    {}\n", line.dimmed()));
            }
            if let Some(told) = uncounted(call.of(part)) {
                let line = format!("(not counted: {})", terminal::line(&told));
                out.push_str(&format!("    {}\n", line.dimmed()));
            }
        }
        out
    }

    /// The last line.
    pub(super) fn end(&self, total: &Total) -> String {
        let before = if self.any { "\n" } else { "" };
        format!("{before}{}\n", total.words(&self.old, &self.new).bold())
    }
}

/// A call that one side has alone.
fn only(told: &Told) -> String {
    let answer = terminal::line(&brief(&told.answer, BRIEF)).into_owned();
    format!("    {}\n", answer.dimmed())
}

/// One difference, a few lines.
fn block(out: &mut String, difference: &Difference) {
    let place = terminal::line(name(difference)).into_owned();
    match change(difference) {
        Change::Short(old, new) => {
            let (old, new) = (terminal::line(&old), terminal::line(&new));
            out.push_str(&format!("    {place}: {} → {}\n", old.red(), new.green()));
        }
        Change::Lines(lines) => {
            out.push_str(&format!("    {place}\n"));
            lines.iter().for_each(|line| out.push_str(&shown(line)));
        }
    }
}

/// A line with its sign, what changed in it underlined by colour.
pub(super) fn shown(line: &Line) -> String {
    let mut text = String::new();
    for piece in &line.pieces {
        let words = terminal::line(&piece.text).into_owned();
        text.push_str(&match (line.kind, piece.changed) {
            (Kind::Old, true) => words.red().reversed().to_string(),
            (Kind::Old, false) => words.red().to_string(),
            (Kind::New, true) => words.green().reversed().to_string(),
            (Kind::New, false) => words.green().to_string(),
            (Kind::Same, _) => words,
            (Kind::Gap, _) => words.dimmed().to_string(),
        });
    }
    let sign = match line.kind {
        Kind::Old => "-".red().to_string(),
        Kind::New => "+".green().to_string(),
        Kind::Same | Kind::Gap => " ".to_owned(),
    };
    format!("      {sign} {text}\n").replace(" \n", "\n")
}
