//! The parts of a request that an earlier request of its conversation had already.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{HistoryBlock, history_blocks, holds_messages};
use super::continued_call::ContinuedCall;
use super::part_hash::PartHash;
use crate::hunk::find_hunks;
use loomrec_identity::Json;
use loomrec_recording::Entry;

/// Which parts of a request are as in an earlier one. Marks for the provider's cache do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedParts {
    members: BTreeSet<String>,
    elements: BTreeMap<String, Vec<bool>>,
    left_out: usize,
    missing: Vec<String>,
}

impl CarriedParts {
    /// Compares the requests of a call and of the earlier one that it continues; `None` if one of
    /// them is no JSON object.
    pub fn of_entries(call: ContinuedCall, earlier: &Entry, now: &Entry) -> Option<Self> {
        Self::of_bodies(call, earlier.request_body()?, now.request_body()?)
    }

    /// Compares the bodies of a call and of the earlier one that it continues; `None` if one of them
    /// is not a JSON object.
    pub fn of_bodies(call: ContinuedCall, earlier: &[u8], now: &[u8]) -> Option<Self> {
        let read = |body| loomrec_identity::parse(body).ok().filter(Json::is_object);
        let (earlier, now) = (read(earlier)?, read(now)?);
        let mut parts = Self::default();
        // Where the provider holds the history, each request has new messages only.
        if !call.is_stored {
            parts.add_history(&history_blocks(&earlier), &history_blocks(&now));
        }
        for (name, value) in now.as_object().unwrap_or_default() {
            parts.add_member(&name.as_str(), earlier.get(&name.as_str()), value);
        }
        let gone = earlier.as_object().unwrap_or_default().iter();
        let gone = gone.filter(|(name, _)| now.get(&name.as_str()).is_none());
        parts.missing = gone.map(|(name, _)| name.as_str().into_owned()).collect();
        Some(parts)
    }

    /// Finds the blocks of the history that both have, in their order.
    fn add_history(&mut self, earlier: &[HistoryBlock], now: &[HistoryBlock]) {
        let hashes = |blocks: &[HistoryBlock]| blocks.iter().map(|block| block.hash).collect();
        let (before, after): (Vec<PartHash>, Vec<PartHash>) = (hashes(earlier), hashes(now));
        for hunk in find_hunks(&before, &after) {
            if !hunk.same {
                self.left_out += hunk.old.len();
            }
            for block in &now[hunk.new] {
                match block.element {
                    Some(_) => {
                        self.elements.entry(block.member.to_owned()).or_default().push(hunk.same)
                    }
                    None if hunk.same => {
                        self.members.insert(block.member.to_owned());
                    }
                    None => {}
                }
            }
        }
    }

    /// Compares a member that is no part of the history: as a whole, or element by element.
    fn add_member(&mut self, name: &str, earlier: Option<&Json<'_>>, now: &Json<'_>) {
        let Some(earlier) = earlier.filter(|_| !holds_messages(name)) else { return };
        if PartHash::of_meaning(earlier) == PartHash::of_meaning(now) {
            self.members.insert(name.to_owned());
            return;
        }
        let (Some(before), Some(after)) = (earlier.as_array(), now.as_array()) else { return };
        let hashes = |items: &[Json<'_>]| items.iter().map(PartHash::of_meaning).collect();
        let (before, after): (Vec<PartHash>, Vec<PartHash>) = (hashes(before), hashes(after));
        let hunks = find_hunks(&before, &after).into_iter();
        let carried = hunks.flat_map(|hunk| hunk.new.map(move |_| hunk.same));
        self.elements.insert(name.to_owned(), carried.collect());
    }

    /// Whether a member of the body is as it was.
    pub fn has_member(&self, name: &str) -> bool {
        self.members.contains(name)
    }

    /// Returns for each element of a member that is a list whether the earlier request has it;
    /// `None` if the elements were not compared.
    pub fn carried_elements(&self, name: &str) -> Option<&[bool]> {
        self.elements.get(name).map(Vec::as_slice)
    }

    /// Returns how many blocks of the earlier request's history this one does not have.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns the names of the members that only the earlier request has.
    pub fn missing_members(&self) -> &[String] {
        &self.missing
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const CALL: ContinuedCall = ContinuedCall { earlier: 0, turn: 2, is_stored: false };

    fn between(earlier: Value, now: Value) -> CarriedParts {
        let (earlier, now) = (earlier.to_string(), now.to_string());
        CarriedParts::of_bodies(CALL, earlier.as_bytes(), now.as_bytes()).unwrap()
    }

    fn say(role: &str, text: &str) -> Value {
        json!({ "role": role, "content": text })
    }

    #[test]
    fn carried_parts_are_those_that_mean_the_same() {
        let marked = json!([{ "type": "text", "text": "hi", "cache_control": { "type": "e" } }]);
        let earlier = json!({
            "model": "m", "tools": [{ "name": "a" }, { "name": "b" }], "top_k": 1, "stop": ["x"],
            "system": [{ "text": "one" }, { "text": "two" }],
            "messages": [{ "role": "user", "content": marked }, say("assistant", "old")],
        });
        let now = json!({
            "model": "m", "tools": [{ "name": "a" }, { "name": "c" }, { "name": "b" }],
            "stop": ["x"], "temperature": 1, "system": [{ "text": "new" }, { "text": "two" }],
            "messages": [say("user", "hi"), say("assistant", "new"), say("user", "more")],
        });
        let parts = between(earlier, now);
        assert!(parts.has_member("model") && parts.has_member("stop"));
        assert!(!parts.has_member("temperature") && !parts.has_member("tools"));
        assert_eq!(parts.carried_elements("tools"), Some(&[true, false, true][..]));
        assert_eq!(parts.carried_elements("system"), Some(&[false, true][..]));
        assert_eq!(parts.carried_elements("messages"), Some(&[true, false, false][..]));
        assert_eq!((parts.left_out(), parts.missing_members()), (1, &["top_k".to_owned()][..]));
    }

    #[test]
    fn message_that_moved_into_the_list_is_carried() {
        let earlier = json!({ "message": "one", "chat_history": [] });
        let history =
            json!([{ "role": "USER", "message": "one" }, { "role": "CHATBOT", "message": "a" }]);
        let parts = between(earlier, json!({ "message": "two", "chat_history": history }));
        assert_eq!(parts.carried_elements("chat_history"), Some(&[true, false][..]));
        assert!(!parts.has_member("message"));
        let parts = between(json!({ "input": "one" }), json!({ "input": [say("user", "one")] }));
        assert_eq!((parts.carried_elements("input"), parts.left_out()), (Some(&[true][..]), 0));
    }

    #[test]
    fn messages_are_new_where_the_provider_holds_the_history() {
        let call = ContinuedCall { is_stored: true, ..CALL };
        let body = br#"{"input":"go on","instructions":"be brief"}"#;
        let parts = CarriedParts::of_bodies(call, body, body).unwrap();
        assert!(parts.has_member("instructions") && !parts.has_member("input"));
        let list = br#"{"input":[{"role":"user","content":"go on"}]}"#;
        let parts = CarriedParts::of_bodies(call, list, list).unwrap();
        assert_eq!((parts.carried_elements("input"), parts.left_out()), (None, 0));
    }

    #[test]
    fn body_that_is_no_object_has_no_parts() {
        for odd in [&b"[]"[..], b"", b"no JSON", b"1"] {
            assert_eq!(CarriedParts::of_bodies(CALL, odd, b"{}"), None);
            assert_eq!(CarriedParts::of_bodies(CALL, b"{}", odd), None);
        }
        let odd = between(json!({ "messages": 7, "input": [1] }), json!({ "messages": [null] }));
        assert_eq!(odd.carried_elements("messages"), Some(&[false][..]));
    }
}
