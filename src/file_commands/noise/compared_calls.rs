//! The calls of two recordings, compared under the rules and values that they have already.

use std::collections::{BTreeMap, BTreeSet};

use super::super::diff::OpenedRecording;
use super::super::ls::{QUESTION, question_of};
use loomrec_cli::exit::CommandFailure;
use loomrec_curation::comparison::{CallDigest, CallPair, PairedBy};
use loomrec_curation::noise::{
    CarriedIds, NoiseRefusal, PairedRequest, RequestPair, UnexplainedDifference,
};
use loomrec_identity::{IdentityRules, RunValues};
use loomrec_recording::EntryName;

/// The most bytes of requests that differ.
const MOST_BYTES: usize = 512 << 20;

/// The calls of two recordings, compared.
#[derive(Debug, Default)]
pub(super) struct ComparedCalls {
    /// The number of calls that both have.
    pub(super) both: usize,
    /// The number of those that are exactly the same.
    pub(super) same: usize,
    /// The number of those that are the same with the values of the run.
    pub(super) bound: usize,
    /// The names of these values, and the number of calls that need each.
    pub(super) names: BTreeMap<String, usize>,
    /// The requests that differ.
    pub(super) pairs: Vec<RequestPair>,
    /// The calls that cannot be compared.
    pub(super) unpaired: Vec<UnexplainedDifference>,
    /// The values of the other run.
    pub(super) values: RunValues,
}

impl ComparedCalls {
    /// Compares the calls that belong together. If the other file holds missed requests, it need
    /// not have all calls of the recording.
    pub(super) fn from_pairs(
        old: &OpenedRecording,
        new: &OpenedRecording,
        pairs: &[CallPair],
        rules: &IdentityRules,
        is_missed: bool,
    ) -> Result<Self, CommandFailure> {
        let mut compared = Self { both: pairs.len(), ..Self::default() };
        let (mut size, mut carried) = (0, CarriedIds::default());
        for pair in pairs {
            let other = new.read_entry(pair.new)?;
            for (name, text) in other.run_values.iter() {
                compared.values.set(name, text);
            }
            carried.add_differing_ids(&old.read_entry(pair.old)?, &other);
        }
        for pair in pairs {
            if pair.by == PairedBy::RequestHash {
                compared.same += 1;
                continue;
            }
            let recorded = old.read_entry(pair.old)?;
            let recorded = PairedRequest::from_entry(recorded, &CarriedIds::default());
            let other = PairedRequest::from_entry(new.read_entry(pair.new)?, &carried);
            let pair = match (recorded, other) {
                (Some(recorded), Some(other)) => RequestPair::new(recorded, other),
                _ => {
                    let place = call_name(&old.known[pair.old]);
                    compared.note_refusal(NoiseRefusal::NoRequest, place, [None, None]);
                    continue;
                }
            };
            match pair.bind(rules) {
                Some(bound) if bound.values.is_empty() && bound.ids.is_empty() => {
                    compared.same += 1
                }
                Some(bound) => {
                    compared.bound += 1;
                    for name in bound.values.into_keys().chain(bound.ids.into_keys()) {
                        *compared.names.entry(name).or_default() += 1;
                    }
                }
                None => {
                    size += pair.byte_size();
                    compared.pairs.push(pair);
                }
            }
            if size > MOST_BYTES {
                return Err(CommandFailure::usage(format!(
                    "the requests that differ have more than {} MiB: compare recordings of fewer \
                     calls",
                    MOST_BYTES >> 20
                )));
            }
        }
        if !is_missed {
            let paired: BTreeSet<usize> = pairs.iter().map(|pair| pair.old).collect();
            compared.add_unpaired(old, &paired, |text| [Some(text), None])?;
        }
        let paired: BTreeSet<usize> = pairs.iter().map(|pair| pair.new).collect();
        compared.add_unpaired(new, &paired, |text| [None, Some(text)])?;
        Ok(compared)
    }

    fn add_unpaired(
        &mut self,
        opened: &OpenedRecording,
        paired: &BTreeSet<usize>,
        sides: impl Fn(String) -> [Option<String>; 2],
    ) -> Result<(), CommandFailure> {
        for (at, known) in opened.known.iter().enumerate().filter(|(at, _)| !paired.contains(at)) {
            let asks = question_of(&opened.read_entry(at)?, QUESTION).unwrap_or_default();
            self.note_refusal(NoiseRefusal::Unpaired, call_name(known), sides(asks));
        }
        Ok(())
    }

    fn note_refusal(
        &mut self,
        reason: NoiseRefusal,
        place: String,
        [recorded, now]: [Option<String>; 2],
    ) {
        self.unpaired.push(UnexplainedDifference { reason, place, recorded, now, calls: 1 });
    }
}

/// Returns the name of a call for people.
fn call_name(known: &CallDigest) -> String {
    match &known.name {
        EntryName::Hash(hash) if known.take <= 1 => hash.short_form().to_owned(),
        name => name.take_key(known.take),
    }
}
