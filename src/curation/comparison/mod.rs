//! Comparison of two recordings, call by call.
//!
//! [`pair_calls()`] pairs the calls of the two recordings by their [`CallDigest`]s, without holding
//! the calls. [`call_differences()`] compares two calls within a [`DiffScope`].
//! [`text::changed_lines`] shows the changes in a text.
//!
//! Properties that change with each recording of the same call (times, the chunks of a stream) are
//! reported, but do not [count](CallDifference::counts). Ids and dates that a provider
//! generates anew for each answer are not compared.

mod answer;
mod body;
mod difference;
mod message_list;
mod pair;
mod request;
mod response;
mod row;
pub mod scope;
mod sent;
mod shown;
mod side;
pub mod text;
mod value;
pub mod value_change;

pub use difference::{CallDifference, CallHalf, MOST};

pub use pair::{CallDigest, CallPair, PairedBy, pair_calls};
pub use row::{ComparisonRow, ordered_rows};
pub use scope::{DiffScope, ScopeError};
pub use shown::ShownDifferences;
pub use side::ComparedSide;
pub use value_change::ValueChange;

/// The differences between two calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundDifferences {
    /// First those of the request, then those of the answer. At most [`MOST`] of each.
    pub differences: Vec<CallDifference>,
    /// The number of further differences of the request that an earlier call has shown.
    pub repeated: usize,
}

impl FoundDifferences {
    /// Whether the calls count as the same.
    pub fn is_same(&self) -> bool {
        self.repeated == 0 && !self.differences.iter().any(|difference| difference.counts)
    }
}

/// Returns the differences between two calls.
pub fn call_differences(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    scope: &DiffScope,
) -> Vec<CallDifference> {
    new_differences(a, b, scope, &mut ShownDifferences::default()).differences
}

/// Returns the differences between two calls that no earlier call has shown, and adds them to those
/// that were.
pub fn new_differences(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    scope: &DiffScope,
    shown: &mut ShownDifferences,
) -> FoundDifferences {
    let mut all = FoundDifferences::default();
    if scope.requests {
        let mut request = request::unshown_differences(a, b, scope, shown);
        all.differences.append(&mut request.found);
        all.repeated = request.repeated;
        shown.add(request);
    }
    if scope.answers {
        let mut found = Vec::new();
        answer::add_differences(a, b, &mut found);
        response::add_differences(a, b, &mut found);
        sent::add_differences(a, b, &mut found);
        found.truncate(MOST);
        found.retain(|difference| !scope.leaves_out(&difference.place));
        all.differences.append(&mut found);
    }
    all
}

#[cfg(test)]
mod tests;
