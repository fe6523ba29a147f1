//! Searching a text again until nothing more is found.

use std::borrow::Cow;

/// How often a text is searched at most. What is removed may bring another credential to
/// light: one that was glued to it, and so no word of its own.
pub(super) const ROUNDS: usize = 4;

/// A text that `clean` changes until it finds nothing more.
pub(super) fn until_clean(
    text: &[u8],
    mut clean: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Cow<'_, [u8]> {
    let Some(mut left) = clean(text) else { return Cow::Borrowed(text) };
    for _ in 1..ROUNDS {
        match clean(&left) {
            Some(cleaner) => left = cleaner,
            None => break,
        }
    }
    Cow::Owned(left)
}
