//! What `loomrec noise` found, for people and as JSON.

use serde_json::{Value, json};

use super::compared_calls::ComparedCalls;
use loomrec_cli::preset::{PRESETS, Preset};
use loomrec_cli::terminal;
use loomrec_cli::terminal::quote_word;
use loomrec_curation::noise::{NoiseProposal, ProposedRule, UnexplainedDifference};
use loomrec_identity::NormalizeRule;
use loomrec_recording::redact::{CallCredentials, Redactor};

/// How many characters of a text are shown.
const SHOWN: usize = 60;
/// How many differences are shown to people.
const MOST_SHOWN: usize = 40;

/// What was found.
pub(super) struct NoiseReport<'r> {
    /// The recording, as the user named it.
    pub(super) file: &'r str,
    /// What it is compared with.
    pub(super) other: &'r str,
    /// Whether that was named by `--pending`.
    pub(super) is_pending: bool,
    /// Whether the rules were written.
    pub(super) applied: bool,
    pub(super) compared: &'r ComparedCalls,
    pub(super) proposal: &'r NoiseProposal,
    pub(super) redactor: &'r Redactor,
}

impl NoiseReport<'_> {
    /// Returns the report for people.
    pub(super) fn to_text(&self) -> String {
        let Self { compared, proposal, .. } = self;
        let mut lines = vec![self.count_text()];
        if !proposal.rules.is_empty() {
            lines.push(String::new());
            lines.push(format!("rules for {}:", self.file));
        }
        for proposed in &proposal.rules {
            lines.push(format!("  {}", normalize_flag(&proposed.rule)));
            lines.push(format!("      {}", self.rule_example(proposed)));
        }
        if !proposal.values.is_empty() {
            lines.push(String::new());
            lines.push("values that both runs should name (a recording cannot add them):".into());
        }
        for value in &proposal.values {
            let [recorded, now] = &value.texts;
            let (name, calls) = (&value.name, format_count(value.calls, "call"));
            lines.push(format!("  --var {name}={}", self.clean_text(recorded)));
            lines.push(format!(
                "      {calls}; in the other run --var {name}={}",
                self.clean_text(now)
            ));
        }
        if !proposal.unexplained.is_empty() {
            lines.push(String::new());
            lines.push("not explained:".to_owned());
        }
        for difference in proposal.unexplained.iter().take(MOST_SHOWN) {
            lines.extend(self.difference_lines(difference));
        }
        if let Some(more @ 1..) = proposal.unexplained.len().checked_sub(MOST_SHOWN) {
            lines.push(format!("  … and {more} more; --json has them"));
        }
        if compared.pairs.is_empty() && proposal.unexplained.is_empty() {
            lines.push("nothing differs that needs a rule".to_owned());
        }
        lines.extend(self.next());
        lines.iter().map(|line| format!("{}\n", terminal::printable_line(line))).collect()
    }

    /// Returns how many calls are equal, and why.
    fn count_text(&self) -> String {
        let ComparedCalls { both, same, bound, names, pairs, .. } = self.compared;
        let mut text = format!("{} in both: {same} the same", format_count(*both, "call"));
        if *bound > 0 {
            let names: Vec<&str> = names.keys().map(String::as_str).collect();
            text.push_str(&format!(", {bound} with the other run's {}", names.join(", ")));
        }
        let explained = self.proposal.explained;
        if explained > 0 {
            text.push_str(&format!(", {explained} with what is proposed"));
        }
        match pairs.len().saturating_sub(explained) {
            0 => text,
            left => format!("{text}, {left} different"),
        }
    }

    /// Returns how much a rule explains, with an example.
    fn rule_example(&self, proposed: &ProposedRule) -> String {
        let [recorded, now] = &proposed.example;
        let (calls, places) =
            (format_count(proposed.calls, "call"), format_count(proposed.places, "place"));
        let preset = preset_with_rule(&proposed.rule);
        let preset = preset.map(|preset| format!("; in the preset {}", preset.name));
        let (recorded, now) = (self.clean_text(recorded), self.clean_text(now));
        format!("{calls}, {places}: {recorded:?} and {now:?}{}", preset.unwrap_or_default())
    }

    fn difference_lines(&self, difference: &UnexplainedDifference) -> Vec<String> {
        let UnexplainedDifference { reason, place, recorded, now, calls } = difference;
        let calls = if *calls > 1 { format!(" ({calls} calls)") } else { String::new() };
        let mut lines = vec![format!("  {}: {place}{calls}", reason.reason_text())];
        for (side, text) in [("recorded", recorded), ("now", now)] {
            if let Some(text) = text {
                lines.push(format!("      {side:8} {:?}", self.clean_text(text)));
            }
        }
        lines
    }

    /// Returns what to do next.
    fn next(&self) -> Vec<String> {
        if self.proposal.rules.is_empty() {
            return Vec::new();
        }
        let (file, other) = (quote_word(self.file), quote_word(self.other));
        let with = if self.is_pending { "--pending" } else { &other };
        let count = format_count(self.proposal.rules.len(), "rule");
        vec![
            String::new(),
            match self.applied {
                true => format!("wrote {count} into {file}"),
                false => format!("next: loomrec noise {file} {with} --apply"),
            },
        ]
    }

    /// Returns the report as JSON.
    pub(super) fn to_json(&self) -> Value {
        let Self { compared, proposal, .. } = self;
        let texts = |texts: &[String; 2]| json!({ "recorded": self.clean_text(&texts[0]), "now": self.clean_text(&texts[1]) });
        let rule = |proposed: &ProposedRule| {
            json!({
                "rule": proposed.rule.to_string(),
                "calls": proposed.calls,
                "places": proposed.places,
                "example": texts(&proposed.example),
                "preset": preset_with_rule(&proposed.rule).map(|preset| preset.name),
            })
        };
        let difference = |difference: &UnexplainedDifference| {
            let clean = |text: &Option<String>| text.as_ref().map(|text| self.clean_text(text));
            json!({
                "reason": difference.reason.as_str(),
                "place": difference.place,
                "recorded": clean(&difference.recorded),
                "now": clean(&difference.now),
                "calls": difference.calls,
            })
        };
        let values = proposal.values.iter();
        let values = values.map(|value| {
            json!({ "name": value.name, "calls": value.calls, "texts": texts(&value.texts) })
        });
        json!({
            "file": self.file,
            "other": self.other,
            "calls": {
                "both": compared.both,
                "same": compared.same,
                "bound": compared.bound,
                "explained": proposal.explained,
                "values": compared.names,
            },
            "rules": proposal.rules.iter().map(rule).collect::<Value>(),
            "values": values.collect::<Value>(),
            "unexplained": proposal.unexplained.iter().map(difference).collect::<Value>(),
            "applied": self.applied,
        })
    }

    /// Returns a text without likely secrets, cut if it is long.
    fn clean_text(&self, text: &str) -> String {
        let clean = self.redactor.redact_bytes(text.as_bytes(), &CallCredentials::default());
        let clean = String::from_utf8_lossy(&clean);
        terminal::cut(&clean, SHOWN).into_owned()
    }
}

/// Returns the flag that sets a rule.
fn normalize_flag(rule: &NormalizeRule) -> String {
    format!("--normalize {}", quote_word(&rule.to_string()))
}

/// Returns the preset that has a rule.
fn preset_with_rule(rule: &NormalizeRule) -> Option<Preset> {
    PRESETS.into_iter().find(|preset| preset.normalize_rules().contains(rule))
}

fn format_count(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
