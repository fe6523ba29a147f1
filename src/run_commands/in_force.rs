//! The settings in force for replayed calls, besides the recorded requests themselves: for the line
//! after the listening message, for the verdict and for the receipt.

mod bound_values;
mod clients;
mod listing;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::args::{
    HEADER as WITHOUT, NORMALIZE, PARAMETER, REDACT, RecordArgs, ReplayArgs, ServeArgs,
    TrustedSetting, ignored_rule,
};
use loomrec_cli::serve_setup;
use loomrec_cli::settings::trusted_text;
use loomrec_cli::terminal;
use loomrec_dialect::plain_entry::BY_MESSAGES_TOOL;
use loomrec_engine::replay::{FaultyTake, Matcher, Repeat, SourceTerms};
use loomrec_identity::{BoundPair, NormalizeRule};
use loomrec_script::Script;

use clients::ClientChanges;
use listing::{FAULTS_NAMED, NAMED, list_first, list_rules, remainder_text};

/// The prefix of a rule that adds a header to identity.
const WITH: &str = "+header ";

/// The reason why takes repeat if no flag asks for it.
const DEFAULT_REPEAT: &str = "it has no _loomrec";

/// The source of what a control call asked for.
const BY_CONTROL: &str = "control call";

/// The most rules that are kept of sessions.
const RULES_KEPT: usize = 10_000;

/// How many rules for what clients make anew are shown to people. Presets have more, and `ls
/// --json` and the receipt have all of them.
const RENAMES_NAMED: usize = 3;

/// How many entries with faults are listed for programs.
const FAULTS_LISTED: usize = 10_000;

/// The rules, repeats and unchecked entries in force.
#[derive(Clone, Debug, Default)]
pub struct InForce {
    strict: bool,
    /// Each identity rule, as [`loomrec_identity::IdentityRules::rule_descriptions`] formats it, and its
    /// source.
    rules: Vec<(String, String)>,
    /// How many patterns are redacted before requests are compared.
    redact: usize,
    /// Each recording whose takes repeat, how they repeat, and the source of that setting.
    repeat: Vec<(String, &'static str, &'static str)>,
    /// How many entries declare faults.
    faults: usize,
    /// The first of them: the entry, its fault, and its recording.
    faulty: Vec<(String, String, String)>,
    /// The first pairs of entries that this run's values are not put into, and how many there are.
    unbound: (Vec<[String; 2]>, usize),
    /// The values of this run that are not the recorded ones.
    bound: BTreeSet<BoundPair>,
    /// How many entries cannot be checked.
    unchecked: usize,
    /// How many entries may answer calls that have only their messages in common.
    by_messages: usize,
    /// What is said of the script, in parts.
    script: Vec<String>,
    /// What `--strict` set aside.
    set_aside: Vec<String>,
    /// The typed flags that weaken a strict replay.
    typed: Vec<String>,
    /// What counts in a strict replay although it was not typed.
    untyped: Vec<String>,
    /// The settings of a file that hold because the user trusts it.
    trusted: Vec<TrustedSetting>,
    /// What clients added.
    clients: ClientChanges,
}

impl InForce {
    /// Returns what is in force when `matcher` answers a replay.
    pub fn of_replay(args: &ReplayArgs, matcher: &Matcher) -> Self {
        let said = if args.repeat.is_some() { "--repeat" } else { DEFAULT_REPEAT };
        Self {
            strict: args.strict,
            set_aside: Self::set_aside(args, matcher),
            typed: args.set_aside.typed.clone(),
            untyped: args.set_aside.untyped.clone(),
            ..Self::of_serve(&args.serve, said, matcher)
        }
    }

    /// Returns the same, with a script that answers what the recordings do not.
    #[must_use]
    pub fn with_script(mut self, script: Option<&Script>) -> Self {
        let Some(script) = script.filter(|script| script.rule_count() > 0 || self.strict) else {
            return self;
        };
        let (rules, calls) = (script.rule_count(), script.len());
        self.script.push(format!("a script written by hand: {rules} rules, {calls} calls"));
        let faulty = script.faulty_rules().map(|(name, declared)| format!("{name} ({declared})"));
        let faulty: Vec<String> = faulty.collect();
        if !faulty.is_empty() {
            self.script.push(format!("faults of rules: {}", list_first(&faulty)));
        }
        if !script.unplayed_notes().is_empty() {
            self.script.push(format!("not played: {}", list_first(script.unplayed_notes())));
        }
        self
    }

    /// Returns what is in force when `matcher` answers calls of a recording run.
    pub fn of_record(args: &RecordArgs, matcher: &Matcher) -> Self {
        Self::of_serve(&args.serve, DEFAULT_REPEAT, matcher)
    }

    /// Returns what is in force of a settings file that the user trusts. `None` if there is none.
    pub fn of_settings(serve: &ServeArgs) -> Option<Self> {
        let trusted = serve.from_settings.trusted.clone();
        (!trusted.is_empty()).then(|| Self { trusted, ..Self::default() })
    }

    /// `said` is the source of the setting that takes repeat.
    fn of_serve(serve: &ServeArgs, said: &'static str, matcher: &Matcher) -> Self {
        let identity = &serve.identity;
        let mut rules = given_rules(&identity.ignore, "--ignore", ignored_rule);
        rules.extend(given_rules(&identity.identity_header, "--identity-header", |name| {
            format!("{WITH}{}", name.to_ascii_lowercase())
        }));
        rules.extend(given_rules(&identity.normalize, "--normalize", |rule| {
            format!("{NORMALIZE}{rule}")
        }));
        if let Some(rule) = identity.tool_results.and_then(serve_setup::rule_of_results) {
            rules.push((format!("{NORMALIZE}{rule}"), "--tool-results".to_owned()));
        }
        rules.extend(given_rules(&identity.credential_param, "--credential-param", |name| {
            format!("{PARAMETER}{name}")
        }));
        for terms in matcher.source_terms() {
            let words = terms.rules.rule_descriptions().into_iter();
            rules.extend(words.map(|rule| (rule, terms.label.to_owned())));
        }
        let repeat = |terms: SourceTerms<'_>| {
            let word = match terms.repeat {
                Repeat::Error => return None,
                Repeat::Last => "last",
                Repeat::Cycle => "cycle",
            };
            Some((terms.label.to_owned(), word, said))
        };
        let unbound = || matcher.unbound_pairs();
        Self {
            redact: serve.redact.len(),
            repeat: matcher.source_terms().filter_map(repeat).collect(),
            faults: matcher.faulty_takes().count(),
            faulty: matcher.faulty_takes().take(FAULTS_LISTED).map(named_fault).collect(),
            unbound: (unbound().take(FAULTS_NAMED).collect(), unbound().count()),
            bound: matcher.bound_pairs(),
            unchecked: matcher.unchecked_takes().count(),
            by_messages: matcher.known_by_messages(),
            trusted: serve.from_settings.trusted.clone(),
            rules,
            ..Self::default()
        }
    }

    /// Returns what `--strict` set aside, without the rules that the recordings put in force
    /// anyway.
    fn set_aside(args: &ReplayArgs, matcher: &Matcher) -> Vec<String> {
        let mut told = args.set_aside.settings.clone();
        for (rule, from) in &args.set_aside.rules {
            let stands = |terms: SourceTerms<'_>| terms.rules.rule_descriptions().contains(rule);
            // The sessions of a run without a recording have theirs.
            if matcher.source_terms().next().is_none() || !matcher.source_terms().all(stands) {
                let word = if rule.starts_with(NORMALIZE) { "" } else { "ignore " };
                told.push(format!("{word}{rule} ({from})"));
            }
        }
        told
    }

    /// Returns the same, where these rules came from a control call and not from flags.
    #[must_use]
    pub fn by_control(mut self, rules: &[String]) -> Self {
        for (rule, from) in &mut self.rules {
            if from.starts_with("--") && rules.contains(rule) {
                BY_CONTROL.clone_into(from);
            }
        }
        self
    }

    /// Returns the same, with what clients changed until now, and the takes that were served more
    /// than once.
    #[must_use]
    pub fn with_clients(
        mut self,
        control: BTreeMap<String, u64>,
        served_again: (u64, u64),
    ) -> Self {
        if self.strict {
            (self.clients.control, self.clients.served_again) = (control, served_again);
        }
        self
    }

    /// Adds what is in force in a session with this recording, for a run that has no recording of
    /// its own.
    pub fn add_session(&mut self, recording: &str, session: &Self) {
        for rule in &session.rules {
            if self.rules.len() < RULES_KEPT && !self.rules.contains(rule) {
                self.rules.push(rule.clone());
            }
        }
        if !self.clients.add_recording(recording, self.strict) {
            return;
        }
        self.repeat.extend(session.repeat.iter().cloned());
        self.faults += session.faults;
        let free = FAULTS_LISTED.saturating_sub(self.faulty.len());
        self.faulty.extend(session.faulty.iter().take(free).cloned());
        self.bound.extend(session.bound.iter().cloned());
        self.unchecked += session.unchecked;
        self.by_messages += session.by_messages;
    }

    /// Returns how many entries cannot be checked.
    pub fn unchecked_entries(&self) -> usize {
        self.unchecked
    }

    /// Returns how many entries may answer calls that have only their messages in common.
    pub fn by_messages(&self) -> usize {
        self.by_messages
    }

    /// Returns the parts of the line that name rules.
    fn rule_parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let adds = |(rule, _): &&(String, String)| rule.starts_with(WITH);
        let of_results = [
            (NormalizeRule::tool_results_by_call(), "results of tools compared by their calls"),
            (NormalizeRule::tool_results_in_any_order(), "results of tools compared in any order"),
        ];
        let of_results = of_results.map(|(rule, text)| (format!("{NORMALIZE}{rule}"), text));
        let renames = |(rule, _): &&(String, String)| {
            rule.starts_with(NORMALIZE) && of_results.iter().all(|(known, _)| known != rule)
        };
        let redacts = |rule: &&(String, String)| rule.0.starts_with(REDACT);
        let others = |rule: &&(String, String)| {
            !adds(rule) && !redacts(rule) && !rule.0.starts_with(NORMALIZE)
        };
        let of = |is: &dyn Fn(&&(String, String)) -> bool| -> Vec<_> {
            self.rules.iter().filter(|rule| is(rule)).collect()
        };
        parts.extend(list_rules("ignored", &of(&others)));
        parts.extend(list_rules("also compared", &of(&adds)));
        parts.extend(list_rules("redacted before requests are compared", &of(&redacts)));
        let renamed = of(&renames);
        let title = "renamed if no recorded call is exactly the same";
        match renamed.as_slice() {
            few if few.len() <= RENAMES_NAMED => parts.extend(list_rules(title, few)),
            many => parts.push(format!("{title}: what {} rules find", many.len())),
        }
        for (known, text) in &of_results {
            let found = self.rules.iter().find(|(rule, _)| rule == known);
            parts.extend(found.map(|(_, from)| format!("{text} ({from})")));
        }
        parts
    }

    /// Returns the line for people, or `None` if there is nothing to say.
    pub fn summary_line(&self) -> Option<String> {
        let mut parts = self.rule_parts();
        if self.redact > 0 {
            let s = if self.redact == 1 { "" } else { "s" };
            parts.push(format!("{} redaction pattern{s}", self.redact));
        }
        for (label, word, from) in self.repeat.iter().take(NAMED) {
            parts.push(format!("{label} repeats: {word} ({from})"));
        }
        if self.faults > 0 {
            let faulty = self.faulty.iter().take(FAULTS_NAMED);
            let shown: Vec<_> = faulty.map(|(name, what, _)| format!("{name} ({what})")).collect();
            let more = remainder_text(self.faults, FAULTS_NAMED);
            parts.push(format!("faults of entries: {}{more}", shown.join(", ")));
        }
        parts.extend(bound_values::summary_part(&self.bound));
        let (unbound, count) = &self.unbound;
        if *count > 0 {
            let pairs: Vec<_> =
                unbound.iter().map(|[one, other]| format!("{one} and {other}")).collect();
            parts.push(format!(
                "entries that answer only exactly the same call, because this run's values would \
                 make them one call with different answers: {}{}",
                pairs.join(", "),
                remainder_text(*count, unbound.len())
            ));
        }
        if self.unchecked > 0 {
            parts.push(format!("entries that cannot be checked: {}", self.unchecked));
        }
        if self.by_messages > 0 {
            parts.push(format!(
                "entries that answer by the messages of a call alone, as {BY_MESSAGES_TOOL} does: {} \
                 (--allow-unchecked)",
                self.by_messages
            ));
        }
        parts.extend(self.script.iter().cloned());
        if !self.typed.is_empty() {
            parts.push(format!("weakened by flags: {}", self.typed.join(", ")));
        }
        if !self.untyped.is_empty() {
            parts.push(format!("not typed, and counts: {}", self.untyped.join(", ")));
        }
        parts.extend(trusted_text(&self.trusted));
        parts.extend(self.clients.summary_parts());
        if !self.set_aside.is_empty() {
            parts.push(format!("set aside by --strict: {}", self.set_aside.join(", ")));
        }
        let line = format!("loomrec: in force: {}", parts.join(" · "));
        (!parts.is_empty()).then(|| terminal::printable_line(&line).into_owned())
    }

    /// Returns the same as JSON. `unchecked_calls` is the number of calls that were answered by
    /// unchecked entries, `by_messages` the number of those that were found by their messages
    /// alone.
    pub fn to_json(&self, unchecked_calls: u64, by_messages: u64) -> Value {
        let of = |is: fn(&str) -> Option<&str>, member: &str| {
            let rules = self.rules.iter();
            let rules = rules.filter_map(|(rule, from)| Some((is(rule)?, from)));
            rules.map(|(rule, from)| json!({ member: rule, "from": from })).collect::<Vec<_>>()
        };
        let repeat = self.repeat.iter();
        json!({
            "strict": self.strict,
            "ignore": of(|rule| Some(rule).filter(|rule| rule.starts_with('/')), "pointer"),
            "ignore_headers": of(|rule| rule.strip_prefix(WITHOUT), "name"),
            "identity_headers": of(|rule| rule.strip_prefix(WITH), "name"),
            "normalize": of(|rule| rule.strip_prefix(NORMALIZE), "rule"),
            "credential_params": of(|rule| rule.strip_prefix(PARAMETER), "name"),
            "redact": self.redact,
            "repeat": repeat
                .map(|(label, word, from)| json!({
                    "recording": label, "policy": word, "from": from,
                }))
                .collect::<Vec<_>>(),
            "faults": {
                "entries": self.faults,
                "named": self.faulty.iter().map(|(entry, declared, recording)| json!({
                    "entry": entry, "recording": recording, "declared": declared,
                })).collect::<Vec<_>>(),
            },
            "bound": bound_values::to_json(&self.bound),
            "unbound": self.unbound.0,
            "unchecked": { "entries": self.unchecked, "calls": unchecked_calls },
            "by_messages": { "entries": self.by_messages, "calls": by_messages },
            "script": self.script,
            "set_aside": self.set_aside,
            "typed": self.typed,
            "untyped": self.untyped,
            "trusted_settings": self.trusted.iter().map(|it| json!({
                "name": it.name, "value": it.value, "from": it.place,
            })).collect::<Vec<_>>(),
            "control": self.clients.control_json(),
            "served_again": {
                "takes": self.clients.served_again.0,
                "calls": self.clients.served_again.1,
            },
        })
    }
}

/// Returns the rules of the values of a flag that are not empty, each with the flag.
fn given_rules(
    texts: &[String],
    flag: &str,
    rule: impl Fn(&str) -> String,
) -> Vec<(String, String)> {
    let texts = texts.iter().filter(|text| !text.is_empty());
    texts.map(|text| (rule(text), flag.to_owned())).collect()
}

/// Returns the entry with a fault, the fault, and the recording.
fn named_fault(take: FaultyTake<'_>) -> (String, String, String) {
    (take.entry, take.declared, take.label.to_owned())
}

#[cfg(test)]
#[path = "in_force_tests.rs"]
mod tests;
