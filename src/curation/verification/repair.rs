//! Mechanical repair of an entry: corrects what follows from the rest of the entry, and nothing
//! else.

use super::answer::{self, DecodedBody};
use super::entry::{CheckedRequest, EntryChecker, key_of_its_time};
use loomrec_provider::Operation;
use loomrec_recording::redact::EntryPart;
use loomrec_recording::{Entry, EntryName};

/// A repaired entry.
#[derive(Clone, Debug, PartialEq)]
pub struct MendedEntry {
    /// The name under which it must be kept now.
    pub name: EntryName,
    /// The entry.
    pub entry: Entry,
    /// The repairs that were made, in words.
    pub done: Vec<String>,
}

/// Corrects the summary, the hash and the key of an entry, and removes known credentials. Returns
/// `None` if nothing has to be repaired. If the request and the hash do not match, `rehash` says
/// that the request is right.
pub fn mend_entry(
    name: &EntryName,
    entry: &Entry,
    checker: &EntryChecker,
    rehash: bool,
) -> Option<MendedEntry> {
    let asked = CheckedRequest::from_entry(entry, checker.rules.as_ref());
    let call = asked.as_ref().map(|asked| &asked.call);
    let operation = call.map_or(Operation::OTHER, |call| call.operation);
    let body = DecodedBody::from_entry(operation, entry);
    let whole = body.as_ref().and_then(DecodedBody::fully_decoded);
    let mut mended = MendedEntry { name: name.clone(), entry: entry.clone(), done: Vec::new() };
    if let Some(call) = call
        && let Some((summed, fields)) = answer::summed_up(entry, call, whole, &checker.redactor)
        && !fields.is_empty()
    {
        mended.entry = summed;
        mended.done.push(format!("took {} from the recorded answer", fields.join(", ")));
    }
    let real = asked.and_then(|asked| asked.key);
    let real = real.map(|real| match rehash {
        true => real,
        false => key_of_its_time(name, entry, &real, checker),
    });
    mended.hash(real, rehash);
    mended.remove_credentials(checker);
    (!mended.done.is_empty()).then_some(mended)
}

/// Returns the names of the headers of a response that redaction removed, and whether it changed
/// nothing else of the response.
fn removed_headers(before: &Entry, after: &Entry) -> (Vec<String>, bool) {
    let is_kept = |name: &str| after.answer_headers().iter().any(|(kept, _)| kept == name);
    let removed = before.answer_headers().iter().map(|(name, _)| name);
    let removed = removed.filter(|name| !is_kept(name)).cloned().collect();
    (removed, before.answers_like(after, is_kept))
}

impl MendedEntry {
    /// Corrects key and hash if the request leaves no doubt.
    fn hash(&mut self, real: Option<loomrec_identity::RequestKey>, rehash: bool) {
        let Some(real) = real else { return };
        let under = match &self.name {
            EntryName::Hash(under) => Some(under.clone()),
            EntryName::Step(_) => None,
        };
        let said = self.entry.request_hash.clone();
        // Two of the three must agree, unless the request is taken to be right.
        let sure = rehash || under.as_ref() == Some(&real) || said.as_ref() == Some(&real);
        if !sure {
            return;
        }
        if said.as_ref().is_some_and(|said| *said != real) {
            self.entry.request_hash = Some(real.clone());
            self.done.push(format!("set request_hash to {}, the request's", real.short_form()));
        }
        if under.is_some_and(|under| under != real) {
            self.done.push(format!("put it under {}, its hash", real.short_form()));
            self.name = EntryName::Hash(real);
        }
    }

    /// Removes known credentials, as `redact` does. If the hash matched the request, it is updated
    /// with the request.
    fn remove_credentials(&mut self, checker: &EntryChecker) {
        let key = |entry: &Entry| CheckedRequest::from_entry(entry, checker.rules.as_ref())?.key;
        let before = self.entry.clone();
        let cleaned = checker.redacted_entry(&self.name, &self.entry);
        if cleaned.changed.is_empty() {
            return;
        }
        let (removed, is_all) = removed_headers(&before, &cleaned.entry);
        if !removed.is_empty() {
            self.done
                .push(format!("removed {} from the headers of the answer", removed.join(", ")));
        }
        let is_cleaned = |part: &&EntryPart| **part != EntryPart::Answer || !is_all;
        let parts: Vec<_> =
            cleaned.changed.iter().filter(is_cleaned).map(|part| part.as_str()).collect();
        if !parts.is_empty() {
            self.done.push(format!("took credentials out of {}", parts.join(", ")));
        }
        self.entry = Entry { request_hash: before.request_hash.clone(), ..cleaned.entry };
        if let EntryName::Step(_) = &self.name {
            self.name = cleaned.name;
        }
        if !cleaned.changed.contains(&EntryPart::Request) {
            return;
        }
        let (Some(old), Some(new)) = (key(&before), key(&self.entry)) else { return };
        if old == new {
            return;
        }
        if self.entry.request_hash.as_ref() == Some(&old) {
            self.entry.request_hash = Some(new.clone());
            self.done.push(format!("set request_hash to {}, the request's", new.short_form()));
        }
        if self.name == EntryName::Hash(old) {
            self.done.push(format!("put it under {}, its hash", new.short_form()));
            self.name = EntryName::Hash(new);
        }
    }
}
