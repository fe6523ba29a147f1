//! The comparison of a single call, for commands that show one call after the other.

use super::call::{CallState, CallSummary, ComparedCall};
use super::human::{HumanDiff, shown};
use loomrec_curation::comparison::text::{LineKind, lines};
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
    pub(crate) fn of(
        old: Option<ComparedTake<'_>>,
        new: ComparedTake<'_>,
        scope: &DiffScope,
        redactor: &Redactor,
    ) -> Self {
        let fresh = ComparedSide::of(new.0, new.2);
        let new_summary = summarize(new, &fresh, &scope.rules);
        let call = match old {
            Some(old) => {
                let before = ComparedSide::of(old.0, old.2);
                let mut shown = ShownDifferences::default();
                let found = comparison::new_differences(&before, &fresh, scope, &mut shown);
                let old_summary = summarize(old, &before, &scope.rules);
                ComparedCall::of_pair((old_summary, new_summary), None, found)
            }
            None => ComparedCall::alone(CallState::OnlyNew, None, Some(new_summary)),
        };
        Self(call.clean(redactor))
    }

    /// Whether the new answer says the same as the old one.
    pub(crate) fn has_same_answer(&self) -> bool {
        self.0.old.is_some() && self.0.count(CallHalf::Answer) == 0
    }

    /// Returns the key, or the old and the new key if they differ.
    pub(crate) fn keys(&self) -> String {
        self.0.keys()
    }

    /// Describes the call: upstream, operation, model.
    pub(crate) fn words(&self) -> &str {
        self.0.words()
    }

    /// Formats the block for people, as `diff` does it for two recordings with these names.
    pub(crate) fn text(&self, old: &str, new: &str) -> String {
        HumanDiff::new(old, new).block(&self.0)
    }
}

fn summarize(
    take: ComparedTake<'_>,
    side: &ComparedSide<'_>,
    rules: &IdentityRules,
) -> CallSummary {
    CallSummary::of(&CallDigest::of(take.0.clone(), take.1, take.2, rules), side)
}

/// Compares two texts line by line, with likely secrets removed.
pub(crate) fn raw(old: &str, new: &str, redactor: &Redactor) -> String {
    let clean = |text: &str| {
        let clean = redactor.redact(text.as_bytes(), &CallCredentials::default());
        String::from_utf8_lossy(&clean).into_owned()
    };
    let mut found = lines(&clean(old), &clean(new));
    if old.is_empty() {
        found.retain(|line| line.kind == LineKind::New);
        for piece in found.iter_mut().flat_map(|line| &mut line.pieces) {
            piece.changed = false;
        }
    }
    found.iter().map(shown).collect()
}
