//! The order in which the texts of a request get their placeholder numbers.
//!
//! The order of members does not change a request, so this order depends on their names. Texts of
//! the whole call come first, its conversation last. So the texts of a conversation keep their
//! numbers when it grows.

use loomrec_identity::Json;

/// Members of a request that hold its conversation, or an equivalent of it.
const CONVERSATION: [&str; 6] =
    ["chat_history", "contents", "input", "message", "messages", "prompt"];

/// The canonical order of the strings of a JSON text.
pub(super) struct CanonicalOrder {
    /// The start of each string in the source, in the order of the source, and its rank.
    turns: Vec<(usize, usize)>,
}

impl CanonicalOrder {
    /// Returns the order for a body. It is the order of the source if the body is not a single JSON
    /// value.
    pub(super) fn of_body(body: &[u8]) -> Self {
        let mut places = Vec::new();
        if let Ok(json) = loomrec_identity::parse(body) {
            let is_conversation = |name: &str| CONVERSATION.contains(&name);
            for conversation in [false, true] {
                match json.as_object() {
                    Some(members) => members
                        .iter()
                        .filter(|(name, _)| is_conversation(&name.as_str()) == conversation)
                        .for_each(|(_, value)| add_places(value, &mut places)),
                    None if conversation => {}
                    None => add_places(&json, &mut places),
                }
            }
        }
        let base = body.as_ptr() as usize;
        let turn = |(turn, place): (usize, usize)| (place.saturating_sub(base), turn);
        let mut turns: Vec<_> = places.into_iter().enumerate().map(turn).collect();
        turns.sort_unstable();
        Self { turns }
    }

    /// Returns the sort key of the text at `at`.
    pub(super) fn sort_key(&self, at: usize) -> (usize, usize) {
        let behind = self.turns.partition_point(|(start, _)| *start <= at);
        let turn = behind.checked_sub(1).map_or(0, |last| self.turns[last].1);
        (turn, at)
    }
}

/// Adds the memory addresses of the strings of a value. The parser bounds the depth.
fn add_places(value: &Json<'_>, places: &mut Vec<usize>) {
    match value {
        Json::String(text) => places.push(text.source_address()),
        Json::Array(items) => items.iter().for_each(|item| add_places(item, places)),
        Json::Object(members) => members.iter().for_each(|(_, value)| add_places(value, places)),
        _ => {}
    }
}
