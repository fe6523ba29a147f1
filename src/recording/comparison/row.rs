//! The calls of two recordings side by side, in an order that keeps that of both as
//! far as it can.

use super::pair::CallPair;

/// One line of the comparison: a call of both, or of one alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonRow {
    /// A call that both have.
    Both(CallPair),
    /// One that the first has alone.
    Old(usize),
    /// One that the second has alone.
    New(usize),
}

/// All calls, each once: in the order of the first, those that the second has alone
/// behind the call they follow there.
pub fn rows(old: usize, new: usize, pairs: &[CallPair]) -> Vec<ComparisonRow> {
    let mut of_old: Vec<Option<CallPair>> = vec![None; old];
    let mut is_paired = vec![false; new];
    for pair in pairs {
        of_old[pair.old] = Some(*pair);
        is_paired[pair.new] = true;
    }
    let mut out = Vec::with_capacity(old.max(new));
    let follow = |from: usize, out: &mut Vec<ComparisonRow>| {
        let alone = (from..new).take_while(|&at| !is_paired[at]);
        out.extend(alone.map(ComparisonRow::New));
    };
    follow(0, &mut out);
    for (at, pair) in of_old.into_iter().enumerate() {
        match pair {
            Some(pair) => {
                out.push(ComparisonRow::Both(pair));
                follow(pair.new + 1, &mut out);
            }
            None => out.push(ComparisonRow::Old(at)),
        }
    }
    out
}
