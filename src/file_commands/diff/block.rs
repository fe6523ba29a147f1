//! The comparison of a single call, for commands that show one call after the other.

use super::call::{CallState, CallSummary, ComparedCall};
use super::human::{HumanDiff, format_line};
use loomrec_curation::comparison::text::{LineKind, changed_lines};
use loomrec_curation::comparison::{
    self, CallDigest, CallHalf, ComparedSide, DiffScope, ShownDifferences,
};
use loomrec_identity::IdentityRules;
use loomrec_recording::redact::{CallCredentials, Redactor};
use loomrec_recording::{Entry, EntryName};

/// One side of the comparison: name, take number and entry.
pub(crate) type ComparedTake<'e> = (&'e EntryName, usize, &'e Entry);

/// A compared call, without secrets.
pub(crate) struct Block(ComparedCall);

impl Block {
    /// Compares two entries that belong to the same call. Without `old`, the call is new.
    pub(crate) fn from_takes(
        old: Option<ComparedTake<'_>>,
        new: ComparedTake<'_>,
        scope: &DiffScope,
        redactor: &Redactor,
    ) -> Self {
        let fresh = ComparedSide::from_entry(new.0, new.2);
        let new_summary = summarize_take(new, &fresh, &scope.rules);
        let call = match old {
            Some(old) => {
                let before = ComparedSide::from_entry(old.0, old.2);
                let mut shown = ShownDifferences::default();
                let found = comparison::new_differences(&before, &fresh, scope, &mut shown);
                let old_summary = summarize_take(old, &before, &scope.rules);
                ComparedCall::of_pair((old_summary, new_summary), None, found)
            }
            None => ComparedCall::from_one_side(CallState::OnlyNew, None, Some(new_summary)),
        };
        Self(call.without_secrets(redactor))
    }

    /// Whether the new answer says the same as the old one.
    pub(crate) fn has_same_answer(&self) -> bool {
        self.0.old.is_some() && self.0.count_differences(CallHalf::Answer) == 0
    }

    /// Returns the key, or the old and the new key if they differ.
    pub(crate) fn key_text(&self) -> String {
        self.0.key_text()
    }

    /// Describes the call: upstream, operation, model.
    pub(crate) fn call_description(&self) -> &str {
        self.0.call_description()
    }

    /// Formats the block for people, as `diff` does it for two recordings with these names.
    pub(crate) fn to_text(&self, old: &str, new: &str) -> String {
        HumanDiff::new(old, new).format_call(&self.0)
    }
}

fn summarize_take(
    take: ComparedTake<'_>,
    side: &ComparedSide<'_>,
    rules: &IdentityRules,
) -> CallSummary {
    CallSummary::from_digest(&CallDigest::from_entry(take.0.clone(), take.1, take.2, rules), side)
}

/// Compares two texts line by line, with likely secrets removed.
pub(crate) fn compare_texts(old: &str, new: &str, redactor: &Redactor) -> String {
    let clean = |text: &str| {
        let clean = redactor.redact_bytes(text.as_bytes(), &CallCredentials::default());
        String::from_utf8_lossy(&clean).into_owned()
    };
    let mut found = changed_lines(&clean(old), &clean(new));
    if old.is_empty() {
        found.retain(|line| line.kind == LineKind::New);
        for piece in found.iter_mut().flat_map(|line| &mut line.pieces) {
            piece.changed = false;
        }
    }
    found.iter().map(format_line).collect()
}
