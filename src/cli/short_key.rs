//! Keys of takes, for people.

use super::terminal;
use loomrec_recording::EntryName;

/// Returns the key of a take for people: a hash is cut to its first digits.
pub fn short_key(name: &EntryName, take: usize) -> String {
    match name {
        EntryName::Step(_) => terminal::printable_line(&name.take_key(take)).into_owned(),
        EntryName::Hash(hash) if take > 1 => format!("{}#{take}", hash.short_form()),
        EntryName::Hash(hash) => hash.short_form().to_owned(),
    }
}
