//! What a replay is answered under, beside the recorded requests themselves: for the
//! line behind the listening one, for the verdict and for the receipt.

use serde_json::{Value, json};

use super::args::ReplayArgs;
use super::terminal;
use crate::identity::Pointer;
use crate::replay::{Matcher, Repeat, SourceTerms};

/// How many rules are named to people.
const NAMED: usize = 5;

/// Rules, repeats and unchecked entries in force.
#[derive(Clone, Debug, Default)]
pub struct InForce {
    strict: bool,
    /// Each pointer that is left out of requests, and what says so.
    ignore: Vec<(String, String)>,
    /// How many patterns are redacted before anything is compared.
    redact: usize,
    /// Each recording whose takes are given again, how, and what says so.
    repeat: Vec<(String, &'static str, &'static str)>,
    /// How many entries cannot be checked.
    unchecked: usize,
    /// What `--strict` set aside.
    set_aside: Vec<String>,
}

impl InForce {
    /// What is in force when `matcher` answers.
    pub fn of(args: &ReplayArgs, matcher: &Matcher) -> Self {
        let typed = args.serve.ignore.iter().filter(|text| !text.is_empty());
        let mut ignore: Vec<_> = typed.map(|text| (text.clone(), "--ignore".to_owned())).collect();
        for terms in matcher.terms() {
            let rules = terms.rules.ignore().iter().map(Pointer::to_string);
            ignore.extend(rules.map(|rule| (rule, terms.label.to_owned())));
        }
        let said = if args.repeat.is_some() { "--repeat" } else { "it has no _loomrec" };
        let repeat = |terms: SourceTerms<'_>| {
            let word = match terms.repeat {
                Repeat::Error => return None,
                Repeat::Last => "last",
                Repeat::Cycle => "cycle",
            };
            Some((terms.label.to_owned(), word, said))
        };
        Self {
            strict: args.strict,
            redact: args.serve.redact.len(),
            repeat: matcher.terms().filter_map(repeat).collect(),
            unchecked: matcher.unchecked().count(),
            set_aside: Self::set_aside(args, matcher),
            ignore,
        }
    }

    /// What `--strict` set aside, and is not in force by a recording.
    fn set_aside(args: &ReplayArgs, matcher: &Matcher) -> Vec<String> {
        let mut told = args.set_aside.settings.clone();
        for (pointer, from) in &args.set_aside.ignore {
            let stands = |terms: SourceTerms<'_>| {
                terms.rules.ignore().iter().any(|rule| rule.to_string() == *pointer)
            };
            if !matcher.terms().all(stands) {
                told.push(format!("ignore {pointer} ({from})"));
            }
        }
        told
    }

    /// How many entries cannot be checked.
    pub fn unchecked(&self) -> usize {
        self.unchecked
    }

    /// The line for people; `None` where there is nothing to say.
    pub fn text(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.ignore.is_empty() {
            let named = self.ignore.iter().take(NAMED);
            let named: Vec<_> = named.map(|(rule, from)| format!("{rule} ({from})")).collect();
            let more = match self.ignore.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            parts.push(format!("ignored: {}{more}", named.join(", ")));
        }
        if self.redact > 0 {
            let s = if self.redact == 1 { "" } else { "s" };
            parts.push(format!("{} redaction pattern{s}", self.redact));
        }
        for (label, word, from) in self.repeat.iter().take(NAMED) {
            parts.push(format!("{label} repeats: {word} ({from})"));
        }
        if self.unchecked > 0 {
            parts.push(format!("entries that cannot be checked: {}", self.unchecked));
        }
        if !self.set_aside.is_empty() {
            parts.push(format!("set aside by --strict: {}", self.set_aside.join(", ")));
        }
        let line = format!("loomrec: in force: {}", parts.join(" · "));
        (!parts.is_empty()).then(|| terminal::line(&line).into_owned())
    }

    /// The same as JSON; `unchecked_calls` were answered by entries that cannot be
    /// checked.
    pub fn to_json(&self, unchecked_calls: u64) -> Value {
        let ignore = self.ignore.iter();
        let repeat = self.repeat.iter();
        json!({
            "strict": self.strict,
            "ignore": ignore
                .map(|(rule, from)| json!({ "pointer": rule, "from": from }))
                .collect::<Vec<_>>(),
            "redact": self.redact,
            "repeat": repeat
                .map(|(label, word, from)| json!({
                    "recording": label, "policy": word, "from": from,
                }))
                .collect::<Vec<_>>(),
            "unchecked": { "entries": self.unchecked, "calls": unchecked_calls },
            "set_aside": self.set_aside,
        })
    }
}
