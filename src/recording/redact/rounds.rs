//! Repeated redaction of a text until nothing more is found.

use std::borrow::Cow;

/// The most times that a text is searched. Removing something may reveal another credential that
/// was joined to it, and so was not a word by itself.
pub(super) const ROUNDS: usize = 4;

/// Calls `clean` on a text repeatedly, until it finds nothing more. Returns the result.
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
