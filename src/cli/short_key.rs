//! Keys of takes, for people.

use super::terminal;
use loomrec_recording::EntryName;

/// Returns the key of a take for people: a hash is cut to its first digits.
pub fn short_key(name: &EntryName, take: usize) -> String {
    match name {
        EntryName::Step(_) => terminal::line(&name.take_key(take)).into_owned(),
        EntryName::Hash(hash) if take > 1 => format!("{}#{take}", hash.short()),
        EntryName::Hash(hash) => hash.short().to_owned(),
    }
}
