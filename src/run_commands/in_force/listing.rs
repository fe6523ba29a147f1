//! Lists of rules and entries for people, cut after the first.

use crate::args::NORMALIZE;

/// How many rules are shown to people: as many as one recording may have.
pub(super) const NAMED: usize = 256;

/// How many entries with faults are shown to people.
pub(super) const FAULTS_NAMED: usize = 100;

/// Lists the first rules and the source of each. Returns `None` for an empty list.
pub(super) fn list_rules(what: &str, rules: &[&(String, String)]) -> Option<String> {
    let shown = rules.iter().take(NAMED);
    let shown: Vec<_> =
        shown.map(|(rule, from)| format!("{} ({from})", plain_rule(rule))).collect();
    let more = remainder_text(rules.len(), NAMED);
    (!rules.is_empty()).then(|| format!("{what}: {}{more}", shown.join(", ")))
}

/// Returns a rule without the prefix that says what it does.
fn plain_rule(rule: &str) -> &str {
    rule.strip_prefix(NORMALIZE).unwrap_or(rule).trim_start_matches('+')
}

/// Lists the first of these.
pub(super) fn list_first(words: &[String]) -> String {
    let shown = words.iter().take(FAULTS_NAMED).cloned().collect::<Vec<_>>();
    format!("{}{}", shown.join("; "), remainder_text(words.len(), FAULTS_NAMED))
}

/// Returns how many of `count` were not named, as text.
pub(super) fn remainder_text(count: usize, named: usize) -> String {
    match count.saturating_sub(named) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}
