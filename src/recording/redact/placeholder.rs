//! What stands in the place of what was found: a mark, or a placeholder with a number.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::MARK;

/// What stands in the place of something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RedactionMark {
    /// `[REDACTED]`.
    Plain,
    /// The placeholder of the rules of this name, for this value.
    Named { name: usize, value: Vec<u8> },
    /// A placeholder that stands there already.
    Placeholder { name: usize, number: u32 },
    /// An empty value: what stood there spelled a text from which something was removed.
    Emptied(&'static str),
}

/// Which number each value has that was found by rules of a name: `<EMAIL:1>`.
///
/// Numbers are given by first appearance: in the request, and on from there in its answer.
/// Nothing but the exchange itself decides on them, so record and replay give the same.
/// The values are held to know them again, and are never printed.
#[derive(Clone, Default)]
pub struct Placeholders {
    numbers: HashMap<(usize, Vec<u8>), u32>,
    used: HashSet<(usize, u32)>,
    /// How far the numbers of each name are used without a gap.
    next: HashMap<usize, u32>,
}

impl Placeholders {
    /// What stands for a mark; `names` are those of the rules.
    pub(super) fn text(&mut self, mark: &RedactionMark, names: &[String]) -> String {
        match mark {
            RedactionMark::Plain => MARK.to_owned(),
            RedactionMark::Named { name, value } => {
                let number = self.number(*name, value);
                format!("<{}:{number}>", names[*name])
            }
            RedactionMark::Placeholder { name, number } => {
                self.used.insert((*name, *number));
                String::new()
            }
            RedactionMark::Emptied(empty) => (*empty).to_owned(),
        }
    }

    /// The number of a value: its own, or the lowest that is free.
    fn number(&mut self, name: usize, value: &[u8]) -> u32 {
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

/// Where placeholders of these names stand in a text, and their numbers.
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
