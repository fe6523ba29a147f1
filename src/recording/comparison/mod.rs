//! What changed between two recordings, call by call.
//!
//! [`pairs()`] says which call of the one is which of the other, from what is
//! [`CallDigest`] of each without holding it; [`differences()`] compares two calls,
//! within a [`DiffScope`]; [`text::lines`] is what changed in a text, for people.
//!
//! What changes with each recording of the same call (times, how a stream was cut
//! into chunks) is told and does not [count](CallDifference::counts) unless it is asked
//! to; ids and dates that a provider makes up anew for each answer are not compared.

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

/// The places where two calls differ: those of the request, then those of the answer;
/// at most [`MOST`] of either.
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
