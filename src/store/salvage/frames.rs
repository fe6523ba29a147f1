//! The salvaged entries of a log, in the order in which a compaction would write them.

use std::collections::HashMap;

use super::SalvagedPart;
use crate::log::FramePlace;
use loomrec_recording::EntryName;
use loomrec_recording::log_codec::PackedHead;

/// The entries of a log while it is read.
#[derive(Default)]
pub(super) struct FrameReader {
    saved: Vec<(SalvagedPart, Option<String>)>,
    /// The indexes of the entries of each name.
    of: HashMap<EntryName, Vec<usize>>,
}

impl FrameReader {
    /// Adds an entry. A log holds what one run recorded, so none of its entries replaces another.
    pub(super) fn add(&mut self, head: PackedHead, frame: FramePlace) {
        let PackedHead { name, recorded_at, .. } = head;
        self.of.entry(name.clone()).or_default().push(self.saved.len());
        let (at, length) = (frame.at, u64::from(frame.len));
        self.saved.push((SalvagedPart { file: 0, name, take: 0, at, length }, recorded_at));
    }

    /// Returns the entries, with the takes of a name numbered by their times.
    pub(super) fn finish(self) -> Vec<SalvagedPart> {
        let Self { mut saved, of } = self;
        for takes in of.into_values() {
            let mut takes = takes;
            // A take without a time comes after those that have one.
            takes.sort_by_key(|at| {
                let time = saved.get(*at).and_then(|(_, time)| time.clone());
                (time.is_none(), time)
            });
            for (number, at) in takes.into_iter().enumerate() {
                if let Some((saved, _)) = saved.get_mut(at) {
                    saved.take = number + 1;
                }
            }
        }
        saved.into_iter().map(|(saved, _)| saved).collect()
    }
}
