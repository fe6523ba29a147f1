//! Differences between the messages of two requests. Messages that were inserted or removed do not
//! make those after them differ.

use std::borrow::Cow;

use super::shown::{RequestDifferences, ShownDifferences};
use super::{CallHalf, MOST, value};
use crate::history::{LISTS, PartHash, list_items};
use crate::hunk::find_hunks;
use loomrec_identity::{
    IdentityRules, Json, PlacePattern, PlaceToken, RequestDelta, body_deltas, canonical,
};

/// The messages of two requests.
pub(super) struct MessageLists<'j, 's> {
    /// The member that holds them in both.
    member: &'static str,
    old: &'j [Json<'s>],
    new: &'j [Json<'s>],
}

/// A message of one request, and the one of the other that it corresponds to.
type MessagePair = (Option<usize>, Option<usize>);

impl<'j, 's> MessageLists<'j, 's> {
    /// Returns the messages of two requests; `None` if they are not in one list in both, or if a
    /// rule leaves out something in it, which names places by their index.
    pub(super) fn from_bodies(
        old: &'j Json<'s>,
        new: &'j Json<'s>,
        rules: &IdentityRules,
    ) -> Option<Self> {
        let has_list =
            |member: &str| list_items(old, member).is_some() && list_items(new, member).is_some();
        let member = LISTS.into_iter().find(|member| has_list(member))?;
        let is_named = |place: &PlacePattern| match place.tokens().first() {
            Some(PlaceToken::Name(name)) => name == member,
            Some(PlaceToken::Any) => true,
            None => false,
        };
        if rules.ignored_places().iter().any(is_named) {
            return None;
        }
        Some(Self { member, old: list_items(old, member)?, new: list_items(new, member)? })
    }

    /// Returns rules that leave the messages out.
    pub(super) fn rules_without(&self, rules: &IdentityRules) -> Option<IdentityRules> {
        let place = PlacePattern::parse(&format!("/{}", self.member)).ok()?;
        Some(rules.with_ignored([place]))
    }

    /// Adds the differences that no earlier call has shown, in the order of places.
    pub(super) fn add_differences(&self, shown: &ShownDifferences, out: &mut RequestDifferences) {
        let hashes = |items: &[Json<'_>]| items.iter().map(PartHash::of_exact).collect();
        let (before, after): (Vec<PartHash>, Vec<PartHash>) = (hashes(self.old), hashes(self.new));
        let mut found = Vec::new();
        for (old, new) in self.differing_messages(&before, &after) {
            // The mark for a cache moves from a message to the next, call by call.
            let meaning = |item: &Json<'_>| PartHash::of_meaning(item);
            let key = [old.map(|at| meaning(&self.old[at])), new.map(|at| meaning(&self.new[at]))];
            if shown.has_messages(key) {
                out.repeated += 1;
                continue;
            }
            let left = MOST.saturating_sub(found.len());
            found.extend(self.message_deltas(old, new, left));
            if found.len() >= MOST {
                break;
            }
            out.note_messages(key);
        }
        let place = format!("/{}", self.member);
        let is_after = |known: &super::CallDifference| {
            known.place.starts_with('/') && known.place.as_str() > place.as_str()
        };
        let at = out.found.iter().position(is_after).unwrap_or(out.found.len());
        let found = found
            .into_iter()
            .map(|delta| value::difference_from_delta(CallHalf::Request, &place, delta));
        out.found.splice(at..at, found);
        out.found.truncate(MOST);
    }

    /// Returns the messages that differ, in order.
    fn differing_messages(&self, before: &[PartHash], after: &[PartHash]) -> Vec<MessagePair> {
        let mut pairs = Vec::new();
        for hunk in find_hunks(before, after).into_iter().filter(|hunk| !hunk.same) {
            let (old, new) = (&self.old[hunk.old.clone()], &self.new[hunk.new.clone()]);
            let roles = |items: &[Json<'s>]| items.iter().map(role_or_type).collect::<Vec<_>>();
            for part in find_hunks(&roles(old), &roles(new)) {
                let old = part.old.map(|at| Some(hunk.old.start + at));
                let new = part.new.map(|at| Some(hunk.new.start + at));
                match part.same {
                    true => pairs.extend(old.zip(new)),
                    false => {
                        pairs.extend(old.map(|old| (old, None)));
                        pairs.extend(new.map(|new| (None, new)));
                    }
                }
            }
        }
        pairs
    }

    /// Returns the differences between two messages, at most `most`, with places below the list.
    fn message_deltas(
        &self,
        old: Option<usize>,
        new: Option<usize>,
        most: usize,
    ) -> Vec<RequestDelta> {
        let Some(at) = new.or(old) else { return Vec::new() };
        let (old, new) = (old.map(|at| &self.old[at]), new.map(|at| &self.new[at]));
        let mut found = match (old, new) {
            (Some(old), Some(new)) => body_deltas(old, new, &IdentityRules::default(), most),
            (recorded, now) => vec![RequestDelta {
                pointer: String::new(),
                recorded: recorded.map(canonical::value_text),
                now: now.map(canonical::value_text),
            }],
        };
        for delta in &mut found {
            delta.pointer.insert_str(0, &format!("/{at}"));
        }
        found
    }
}

/// Returns who speaks in a message, or what kind of item it is.
fn role_or_type<'s>(item: &Json<'s>) -> Option<Cow<'s, str>> {
    item.get("role").or_else(|| item.get("type")).and_then(Json::as_str)
}
