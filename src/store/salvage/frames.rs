//! The entries of a log, put in the order in which a compaction would put them.

use std::collections::HashMap;

use super::SalvagedPart;
use crate::log::FramePlace;
use loomrec_recording::EntryName;
use loomrec_recording::log_codec::{PackedHead, TakeStanding};

/// The entries of a log while it is read.
#[derive(Default)]
pub(super) struct FrameReader {
    saved: Vec<(SalvagedPart, Option<String>)>,
    /// Which of them stand under a name.
    of: HashMap<EntryName, Vec<usize>>,
}

impl FrameReader {
    /// Adds an entry as a compaction would: the first of a run stands in the place of what
    /// earlier runs recorded under its name.
    pub(super) fn add(&mut self, head: PackedHead, frame: FramePlace) {
        let PackedHead { name, standing, recorded_at } = head;
        let of = self.of.entry(name.clone()).or_default();
        if standing == TakeStanding::First {
            of.clear();
        }
        of.push(self.saved.len());
        let (at, length) = (frame.at, u64::from(frame.len));
        self.saved.push((SalvagedPart { file: 0, name, take: 0, at, length }, recorded_at));
    }

    /// The entries, the takes of a name numbered by their times.
    pub(super) fn finish(self) -> Vec<SalvagedPart> {
        let Self { mut saved, of } = self;
        for takes in of.into_values() {
            let mut takes = takes;
            // One without a time stays behind those that have one.
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
        saved.into_iter().map(|(saved, _)| saved).filter(|saved| saved.take > 0).collect()
    }
}
