//! Comparison of two recordings, call by call.
//!
//! [`pairs()`] pairs the calls of the two recordings by their [`CallDigest`]s, without holding the
//! calls. [`differences()`] compares two calls within a [`DiffScope`]. [`text::lines`] shows the
//! changes in a text.
//!
//! Properties that change with each recording of the same call (times, the chunks of a stream) are
//! reported, but do not [count](CallDifference::counts) unless the scope says so. Ids and dates
//! that a provider generates anew for each answer are not compared.

mod answer;
mod body;
mod difference;
mod pair;
mod request;
mod response;
mod row;
pub mod scope;
mod side;
pub mod text;
mod value;

pub use difference::{CallDifference, CallHalf, MOST};

pub use pair::{CallDigest, CallPair, PairedBy, pairs};
pub use row::{ComparisonRow, rows};
pub use scope::{DiffScope, ScopeError};
pub use side::ComparedSide;

/// Returns the differences between two calls: first those of the request, then those of the answer.
/// At most [`MOST`] of each.
pub fn differences(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    scope: &DiffScope,
) -> Vec<CallDifference> {
    let mut found = Vec::new();
    if scope.requests {
        request::compare(a, b, scope, &mut found);
    }
    if scope.answers {
        let asked = found.len();
        answer::compare(a, b, &mut found);
        response::compare(a, b, scope, &mut found);
        found.truncate(asked + MOST);
    }
    found.retain(|difference| !scope.leaves_out(&difference.place));
    found
}

#[cfg(test)]
mod tests;
