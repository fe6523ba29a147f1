//! Entries that answer calls which cannot be checked against a recorded request.
//!
//! An entry is checked if its request, or its hash, is exactly the one that its answer is served
//! for. A reader of the file then sees which call it answers.

use super::entry::{CHAOS, Entry};
use super::entry_name::EntryName;
use super::redact::{self, is_broken_by_redaction};
use loomrec_fault::{ChaosRates, EntryFaultRule};
use loomrec_identity::{IdentityRules, RequestKey};

/// How many digits of a damaged hash are left at least. Step ids with shortened hashes have fewer.
const LEAST_HASH: usize = 33;

/// Why an entry cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UncheckedReason {
    /// It has neither a request nor a hash. It answers any call of its step.
    AnyRequest,
    /// Its request does not have the hash that it is kept under or names.
    OtherRequest,
    /// Its key, which is read as a step id, is its hash with digits lost or added.
    DamagedKey,
    /// It has no request, and two hashes that differ.
    TwoHashes,
    /// The rules of its file, or redaction, leave nothing of its request.
    NothingLeft,
    /// Redaction broke its request.
    BrokenRequest,
    /// A member occurs twice in it.
    DuplicateMember,
    /// Its summary says other than the response that it serves.
    OtherAnswer,
    /// It holds no answer, and its fault may send one that its author chose.
    FaultAnswers,
}

impl UncheckedReason {
    /// Returns what is wrong with the entry. Reads after the entry's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AnyRequest => {
                "holds neither `request` nor `request_hash`, so it answers any call of its step"
            }
            Self::OtherRequest => {
                "answers another request than the one it shows: that does not hash to its key"
            }
            Self::DamagedKey => {
                "is kept under its hash with digits lost or added, which is read as a step id"
            }
            Self::TwoHashes => "is kept under a hash that differs from its `request_hash`",
            Self::NothingLeft => {
                "answers any question: the `ignore` rules of its file, or redaction, leave nothing \
                 of what it asks"
            }
            Self::BrokenRequest => {
                "answers other requests than the one it shows, since redaction removed more than a \
                 text from its request"
            }
            Self::DuplicateMember => "holds a member twice, and only the last is read",
            Self::OtherAnswer => {
                "shows another answer than it serves: its `content`, `tool_calls`, \
                 `finish_reason` or `model` is not what its `response` says (loomrec verify says \
                 which)"
            }
            Self::FaultAnswers => {
                "holds no answer, and its `fault` answers any number of calls without an error"
            }
        }
    }

    /// Returns what helps. A file keeps its rules, so a new recording into it has them too.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::NothingLeft => "delete the file, and record without that rule",
            _ => "record the call again",
        }
    }
}

impl Entry {
    /// Returns why this entry under `name` cannot be checked; `None` if it can. `real` is the key
    /// of its request under `rules`, the rules of its file; `None` if it has no request.
    pub fn unchecked_reason(
        &self,
        name: &EntryName,
        real: Option<&RequestKey>,
        rules: &IdentityRules,
    ) -> Option<UncheckedReason> {
        if self.is_ambiguous {
            return Some(UncheckedReason::DuplicateMember);
        }
        if self.answers_by_fault() {
            return Some(UncheckedReason::FaultAnswers);
        }
        let under = match name {
            EntryName::Hash(key) => Some(key),
            EntryName::Step(_) => None,
        };
        let said = self.request_hash.as_ref();
        if let (EntryName::Step(id), Some(key)) = (name, said.or(real))
            && is_damaged_hash(id, key.as_str())
        {
            return Some(UncheckedReason::DamagedKey);
        }
        let Some((body, real)) = self.request_body().zip(real) else {
            return match (under, said) {
                (None, None) => Some(UncheckedReason::AnyRequest),
                (Some(under), Some(said)) if under != said => Some(UncheckedReason::TwoHashes),
                _ => None,
            };
        };
        let mut others = under.into_iter().chain(said).filter(|key| *key != real).peekable();
        if others.peek().is_some() {
            let earlier = self.earlier_keys(rules);
            if others.any(|key| !earlier.contains(key)) {
                return Some(UncheckedReason::OtherRequest);
            }
        }
        if self.is_broken_by_redaction() {
            return Some(UncheckedReason::BrokenRequest);
        }
        leaves_nothing(body, rules).then_some(UncheckedReason::NothingLeft)
    }

    /// Whether redaction of raw bytes broke its request: a part of it is missing.
    pub fn is_broken_by_redaction(&self) -> bool {
        let body = self.request_type().zip(self.request_body());
        body.is_some_and(|(media, body)| is_broken_by_redaction(media, body))
    }

    /// Whether its fault takes the place of an answer, and may look like one.
    fn answers_by_fault(&self) -> bool {
        let Some(fault) = self.fault.as_ref().filter(|_| !self.has_answer()) else { return false };
        let by_chance = self.extra.get(CHAOS).and_then(|rates| ChaosRates::from_value(rates).ok());
        EntryFaultRule::from_value(fault).is_ok_and(|rule| rule.fault.may_succeed())
            || by_chance.is_some_and(|rates| rates.may_succeed())
    }
}

/// Whether a step id is a hash of which digits in one place were lost, or to which some were added.
fn is_damaged_hash(id: &str, hash: &str) -> bool {
    // The number of a take may follow.
    let id = id.split('#').next().unwrap_or_default();
    let shorter = id.len().min(hash.len());
    let same = |(one, other): &(u8, u8)| one == other;
    let front = id.bytes().zip(hash.bytes()).take_while(same).count();
    let back = id.bytes().rev().zip(hash.bytes().rev()).take_while(same).count();
    shorter >= LEAST_HASH && front + back >= shorter
}

/// Whether `rules` and redaction leave nothing of the body of a request.
fn leaves_nothing(body: &[u8], rules: &IdentityRules) -> bool {
    let is_redacted = redact::holds_mark(body);
    if rules.ignored_places().is_empty() && !is_redacted {
        return false;
    }
    match loomrec_identity::parse(body) {
        Ok(body) => rules.ignore_whole_question(&body, &|text| redact::is_only_marks(text)),
        Err(_) => std::str::from_utf8(body).is_ok_and(redact::is_only_marks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedRequest;
    use loomrec_identity::JsonPointer;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

    fn entry() -> Entry {
        let request = RecordedRequest {
            method: "POST".into(),
            path: "/v1/chat/completions".into(),
            body: BODY.into(),
            ..RecordedRequest::default()
        };
        Entry { request: Some(request), ..Entry::default() }
    }

    fn look(name: &EntryName, entry: &Entry, rules: &IdentityRules) -> Option<UncheckedReason> {
        let real = entry.request.as_ref().map(|request| request.recognise_with_key(rules).1);
        entry.unchecked_reason(name, real.as_ref(), rules)
    }

    fn other() -> RequestKey {
        RequestKey::parse(&"ab".repeat(32)).unwrap()
    }

    #[test]
    fn entry_is_checked_when_its_request_or_its_hash_is_the_one_it_answers() {
        let plain = IdentityRules::default();
        let (step, whole) = (EntryName::from_step_id("plan").unwrap(), entry());
        let key = whole.request.as_ref().unwrap().recognise_with_key(&plain).1;
        let hashed = Entry { request_hash: Some(key.clone()), ..whole.clone() };
        let alone = Entry { request_hash: Some(key.clone()), ..Entry::default() };
        for name in [step.clone(), EntryName::Hash(key)] {
            for entry in [&whole, &hashed, &alone] {
                assert_eq!(look(&name, entry, &plain), None, "{name} {entry:?}");
            }
        }
        assert_eq!(look(&step, &Entry::default(), &plain), Some(UncheckedReason::AnyRequest));
    }

    #[test]
    fn entry_is_not_checked_when_its_key_is_a_damaged_hash() {
        let plain = IdentityRules::default();
        let key = entry().request.as_ref().unwrap().recognise_with_key(&plain).1;
        let hash = key.as_str();
        let damaged = [
            hash[..61].to_owned(),
            hash[2..].to_owned(),
            format!("{}{}", &hash[..20], &hash[25..]),
            format!("{}#2", &hash[..63]),
            format!("{hash}0"),
        ];
        for id in &damaged {
            let name = EntryName::of_key(id).0;
            assert_eq!(look(&name, &entry(), &plain), Some(UncheckedReason::DamagedKey), "{id}");
        }
        for id in [&hash[..12], "plan", &other().as_str()[..61]] {
            assert_eq!(look(&EntryName::of_key(id).0, &entry(), &plain), None, "{id}");
        }
    }

    #[test]
    fn entry_is_not_checked_when_it_shows_another_request_than_it_answers() {
        let plain = IdentityRules::default();
        let lying = Entry { request_hash: Some(other()), ..entry() };
        let step = EntryName::from_step_id("plan").unwrap();
        for name in [step, EntryName::Hash(other())] {
            assert_eq!(look(&name, &lying, &plain), Some(UncheckedReason::OtherRequest));
        }
        let named = EntryName::Hash(other());
        assert_eq!(look(&named, &entry(), &plain), Some(UncheckedReason::OtherRequest));
        let two = Entry { request_hash: RequestKey::parse(&"cd".repeat(32)), ..Entry::default() };
        assert_eq!(look(&named, &two, &plain), Some(UncheckedReason::TwoHashes));
    }

    #[test]
    fn entry_is_not_checked_when_the_rules_leave_nothing_of_what_it_asks() {
        let step = EntryName::from_step_id("plan").unwrap();
        for (pointers, found) in [
            (&["/model"][..], None),
            (&["/messages"][..], Some(UncheckedReason::NothingLeft)),
            (&["/messages/0"][..], Some(UncheckedReason::NothingLeft)),
            (&["/messages/0/content"][..], Some(UncheckedReason::NothingLeft)),
            (&["/messages/1/content", "/metadata"][..], None),
        ] {
            let pointers = pointers.iter().map(|text| JsonPointer::parse(text).unwrap());
            let rules = IdentityRules::new(pointers.collect());
            assert_eq!(look(&step, &entry(), &rules), found, "{rules:?}");
        }
    }
}
