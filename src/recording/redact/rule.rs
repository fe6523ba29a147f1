//! The rules of `--redact`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use regex::bytes::Regex;

use super::RedactError;

/// A rule: a pattern, and the name of its placeholders if it has one.
#[derive(Clone, Debug)]
pub(super) struct RedactRule {
    pub(super) regex: Regex,
    /// The index of its name among the names of all rules.
    pub(super) name: Option<usize>,
    /// The rule as the user gave it.
    text: String,
    /// What it has matched so far: a combination of [`TEXT`] and [`ELSEWHERE`].
    matched: Arc<AtomicU8>,
}

/// It has matched a text.
const TEXT: u8 = 1;
/// It has matched the name of a member, or a number.
const ELSEWHERE: u8 = 2;

impl RedactRule {
    /// Records that it matched a text.
    pub(super) fn note_text(&self) {
        if self.matched.load(Ordering::Relaxed) & TEXT == 0 {
            self.matched.fetch_or(TEXT, Ordering::Relaxed);
        }
    }

    /// Records that it matched a member's name or a number.
    pub(super) fn note_elsewhere(&self) {
        self.matched.fetch_or(ELSEWHERE, Ordering::Relaxed);
    }

    /// Whether it has matched nothing yet.
    pub(super) fn is_unmatched(&self) -> bool {
        self.matched.load(Ordering::Relaxed) == 0
    }

    /// Returns the rule if it has matched only names and numbers.
    pub(super) fn text_if_ineffective(&self) -> Option<&str> {
        (self.matched.load(Ordering::Relaxed) == ELSEWHERE).then_some(&self.text)
    }
}

/// Checks patterns without keeping them.
///
/// # Errors
/// As [`super::Redactor::new`].
pub fn check_patterns(patterns: &[String]) -> Result<(), RedactError> {
    read_rules(patterns).map(drop)
}

/// Parses rules. Returns them, and their names.
pub(super) fn read_rules(
    patterns: &[String],
) -> Result<(Vec<RedactRule>, Vec<String>), RedactError> {
    let mut rules = Vec::with_capacity(patterns.len());
    let mut names: Vec<String> = Vec::new();
    for given in patterns {
        let (name, pattern) = split_name(given);
        let regex = super::compile_pattern(pattern)?;
        if regex.is_match(b"") {
            return Err(RedactError::Empty { pattern: pattern.to_owned() });
        }
        let name = name.map(|name| match names.iter().position(|known| known == name) {
            Some(known) => known,
            None => {
                names.push(name.to_owned());
                names.len() - 1
            }
        });
        rules.push(RedactRule { regex, name, text: given.clone(), matched: Arc::default() });
    }
    Ok((rules, names))
}

/// Splits `NAME=REGEX` into name and pattern. A name is a capital letter, followed by capital
/// letters, digits and `_`. Anything else is a pattern as a whole.
fn split_name(given: &str) -> (Option<&str>, &str) {
    let Some((name, pattern)) = given.split_once('=') else { return (None, given) };
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    match begins && name.bytes().all(is_part) {
        true => (Some(name), pattern),
        false => (None, given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_in_capitals_names_a_rule() {
        assert_eq!(split_name("EMAIL=[a-z]+@x"), (Some("EMAIL"), "[a-z]+@x"));
        assert_eq!(split_name("A_1=a=b"), (Some("A_1"), "a=b"));
        for pattern in ["user=[a-z]+", "(KEY)=x", "KEY[=]x", "KEY", "=x", "_A=x", "1A=x"] {
            assert_eq!(split_name(pattern), (None, pattern));
        }
    }
}
