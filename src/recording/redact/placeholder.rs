//! The replacements of redacted text: a mark, or a numbered placeholder.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::MARK;

/// What replaces a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RedactionMark {
    /// `[REDACTED]`.
    Plain,
    /// The placeholder of the rules with this name, for this value.
    Named { name: usize, value: Vec<u8> },
    /// A placeholder that is in the text already.
    Placeholder { name: usize, number: u32 },
    /// An empty value. The original spelled out a text from which something was removed.
    Emptied(&'static str),
}

/// The placeholder number of each value that was found by rules with a name: `<EMAIL:1>`.
///
/// Numbers are assigned in order of first appearance, first in the request and then in its answer.
/// They depend only on the exchange, so record and replay assign the same ones. The values are held
/// to recognise them again, and are never printed.
#[derive(Clone, Default)]
pub struct Placeholders {
    numbers: HashMap<(usize, Vec<u8>), u32>,
    used: HashSet<(usize, u32)>,
    /// For each name, the lowest number that may still be free.
    next: HashMap<usize, u32>,
}

impl Placeholders {
    /// Returns the text for a mark. `names` are the names of the rules.
    pub(super) fn mark_text(&mut self, mark: &RedactionMark, names: &[String]) -> String {
        match mark {
            RedactionMark::Plain => MARK.to_owned(),
            RedactionMark::Named { name, value } => {
                let number = self.value_number(*name, value);
                format!("<{}:{number}>", names[*name])
            }
            RedactionMark::Placeholder { name, number } => {
                self.used.insert((*name, *number));
                String::new()
            }
            RedactionMark::Emptied(empty) => (*empty).to_owned(),
        }
    }

    /// Returns the number of a value: the one it has already, or the lowest free one.
    fn value_number(&mut self, name: usize, value: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(&(name, value.to_vec())) {
            return *number;
        }
        let next = self.next.entry(name).or_insert(1);
        while !self.used.insert((name, *next)) {
            *next += 1;
        }
        self.numbers.insert((name, value.to_vec()), *next);
        *next
    }
}

impl fmt::Debug for Placeholders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Placeholders({})", self.numbers.len())
    }
}

/// Returns the placeholders with these names in a text: range, index of the name, and number.
pub(super) fn find_placeholders<'t>(
    text: &'t [u8],
    names: &'t [String],
) -> impl Iterator<Item = (std::ops::Range<usize>, usize, u32)> + 't {
    memchr::memchr_iter(b'<', text).filter_map(move |at| {
        let rest = &text[at + 1..];
        let (name, number) = names.iter().enumerate().find_map(|(index, name)| {
            let number = rest.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
            Some((index, number))
        })?;
        let digits = number.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
        let value: u32 = std::str::from_utf8(&number[..digits]).ok()?.parse().ok()?;
        let plain = digits > 0 && number[0] != b'0' && number.get(digits) == Some(&b'>');
        let length = 1 + names[name].len() + 1 + digits + 1;
        plain.then_some((at..at + length, name, value))
    })
}

#[cfg(test)]
#[path = "placeholder_tests.rs"]
mod tests;
