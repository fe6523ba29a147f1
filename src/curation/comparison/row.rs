//! The calls of two recordings side by side. The order follows both recordings as far as possible.

use super::pair::CallPair;

/// One line of the comparison: a call of both recordings, or of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonRow {
    /// A call that both have.
    Both(CallPair),
    /// A call that only the first has.
    Old(usize),
    /// A call that only the second has.
    New(usize),
}

/// Returns all calls, each once, in the order of the first recording. A call that only the second
/// has comes after the call that it follows there.
pub fn ordered_rows(old: usize, new: usize, pairs: &[CallPair]) -> Vec<ComparisonRow> {
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
