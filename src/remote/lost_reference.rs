//! What is known of a reference that is lost or damaged.

/// A reference that is lost or damaged. The message reads after "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "find the newest state of {url}: {path} names it, and {problem}, although the store has states \
     ({states}); `loomrec merge {url}@{newest}` goes on from the one that was written last \
     ({written})"
)]
pub struct LostReference {
    /// The recording.
    pub url: String,
    /// The reference's path in the bucket.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
    /// How many states the store has.
    pub states: usize,
    /// The state that was written last.
    pub newest: String,
    /// When that was.
    pub written: String,
}
