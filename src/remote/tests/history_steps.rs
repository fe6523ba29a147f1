//! The steps of histories in tests.

use proptest::prelude::*;

/// How many requests a command may send that is not killed.
pub(super) const ENDLESS: i64 = i64::MAX;

/// A step of a history.
#[derive(Clone, Debug)]
pub(super) enum HistoryStep {
    Record { recorder: u8, calls: u32 },
    Compact { cache: u8, killed_after: i64 },
    CompactTwice { killed_after: i64, seed: i64 },
    Push { forgotten: usize, added: u32, killed_after: i64 },
    Collect { days: u64 },
    Purge,
    Fix { cache: u8 },
    Repair,
    DamageStore { which: usize, how: DamageKind, at: usize },
    DamageCache { which: usize, how: DamageKind, at: usize },
}

/// What becomes of an object or a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum DamageKind {
    Deleted,
    Flipped,
    Cut,
    Replaced,
}

fn any_damage() -> impl Strategy<Value = DamageKind> {
    prop_oneof![
        Just(DamageKind::Deleted),
        Just(DamageKind::Flipped),
        Just(DamageKind::Cut),
        Just(DamageKind::Replaced),
    ]
}

/// After how many requests a command is killed; most are not.
fn any_kill() -> impl Strategy<Value = i64> {
    prop_oneof![Just(ENDLESS), 0..40_i64]
}

pub(super) fn any_step() -> impl Strategy<Value = HistoryStep> {
    let damage = || (any::<usize>(), any_damage(), any::<usize>());
    prop_oneof![
        6 => (0..2_u8, 1..25_u32)
            .prop_map(|(recorder, calls)| HistoryStep::Record { recorder, calls }),
        4 => (0..2_u8, any_kill())
            .prop_map(|(cache, killed_after)| HistoryStep::Compact { cache, killed_after }),
        1 => (any_kill(), 0..100_i64)
            .prop_map(|(killed_after, seed)| HistoryStep::CompactTwice { killed_after, seed }),
        2 => (0..20_usize, 0..12_u32, any_kill()).prop_map(|(forgotten, added, killed_after)| {
            HistoryStep::Push { forgotten, added, killed_after }
        }),
        1 => (0..20_u64).prop_map(|days| HistoryStep::Collect { days }),
        1 => Just(HistoryStep::Purge),
        1 => (0..2_u8).prop_map(|cache| HistoryStep::Fix { cache }),
        1 => Just(HistoryStep::Repair),
        2 => damage().prop_map(|(which, how, at)| HistoryStep::DamageStore { which, how, at }),
        1 => damage().prop_map(|(which, how, at)| HistoryStep::DamageCache { which, how, at }),
    ]
}

/// Returns damaged bytes; `None` if nothing is left.
pub(super) fn damaged(
    content: &[u8],
    how: DamageKind,
    at: usize,
    other: Vec<u8>,
) -> Option<Vec<u8>> {
    let mut bytes = content.to_vec();
    let at = at % bytes.len().max(1);
    match how {
        DamageKind::Deleted => return None,
        DamageKind::Flipped => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0x10),
        DamageKind::Cut => bytes.truncate(at),
        DamageKind::Replaced => bytes = other,
    }
    Some(bytes)
}
