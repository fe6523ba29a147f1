//! The ranges in which two sequences are equal or different.
//!
//! The work is bounded. Sequences that are too long to be compared in detail count as different,
//! except for the part that both share at the beginning and at the end.

use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The most pieces, of both sides together, that are compared with each other.
const COMPARED: usize = 4000;

/// A range in which two sequences are equal or different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) same: bool,
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Returns the hunks of two sequences in order. Together they cover both.
pub(crate) fn find_hunks<T: Hash + Ord>(old: &[T], new: &[T]) -> Vec<Hunk> {
    let room = old.len().min(new.len());
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let ends = old.iter().rev().zip(new.iter().rev());
    let end = ends.take(room - start).take_while(|(one, other)| one == other).count();
    let (from, to) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut out = Vec::new();
    push(&mut out, true, 0..start, 0..start);
    if from.is_empty() || to.is_empty() || from.len() + to.len() > COMPARED {
        push(&mut out, false, start..start + from.len(), start..start + to.len());
    } else {
        let (mut at, mut other) = (start, start);
        // Only the positions of equal parts are used.
        for op in capture_diff_slices(Algorithm::Myers, from, to) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                let (one, two) = (old_index + start, new_index + start);
                push(&mut out, false, at..one, other..two);
                push(&mut out, true, one..one + len, two..two + len);
                (at, other) = (one + len, two + len);
            }
        }
        push(&mut out, false, at..old.len() - end, other..new.len() - end);
    }
    push(&mut out, true, old.len() - end..old.len(), new.len() - end..new.len());
    out
}

/// Adds a hunk. Joins it with the previous one if both are equal or both are different.
fn push(out: &mut Vec<Hunk>, same: bool, old: Range<usize>, new: Range<usize>) {
    if old.is_empty() && new.is_empty() {
        return;
    }
    match out.last_mut().filter(|last| last.same == same) {
        Some(last) => {
            last.old.end = old.end;
            last.new.end = new.end;
        }
        None => out.push(Hunk { same, old, new }),
    }
}
