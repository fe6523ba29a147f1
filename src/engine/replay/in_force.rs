//! The terms of a replay, beside the recorded requests: the rules of each recording, what repeats,
//! faults of entries, and entries that cannot be checked.

use super::matcher::Matcher;
use super::pool::Repeat;
use super::recorded_keys::RecordedKeys;
use super::take::ReplayTake;
use loomrec_fault::{DecidedFault, Fault, FaultSource};
use loomrec_identity::IdentityRules;

/// The terms that one recording is replayed under.
#[derive(Clone, Debug)]
pub struct SourceTerms<'a> {
    /// The recording, as the user named it.
    pub label: &'a str,
    /// The rules that it holds. They leave out headers that are part of keys now, and whose values
    /// the version that made it did not store.
    pub rules: IdentityRules,
    /// What a further identical call gets.
    pub repeat: Repeat,
    /// Whether loomrec wrote it.
    pub is_loomrec: bool,
}

/// A take whose entry declares a fault.
#[derive(Clone, Debug)]
pub struct FaultyTake<'a> {
    /// The recording, as the user named it.
    pub label: &'a str,
    /// The key of the take.
    pub entry: String,
    /// The types of the faults.
    pub declared: String,
    /// The fault; `None` if the entry declares rates of chaos alone.
    pub fault: Option<&'a Fault>,
}

impl Matcher {
    /// Returns how long the answers that it served took when they were recorded, in milliseconds.
    pub fn recorded_ms(&self) -> f64 {
        let took = |(index, take): (usize, &ReplayTake)| {
            take.latency_ms().unwrap_or(0.0) * self.answered_calls(index) as f64
        };
        self.takes.iter().enumerate().map(took).sum()
    }

    /// Returns the terms of each recording, in the order they were given.
    pub fn source_terms(&self) -> impl Iterator<Item = SourceTerms<'_>> {
        let sources = self.sources.iter().zip(&self.repeat).enumerate();
        sources.map(|(index, (source, repeat))| {
            let meta = source.recording.meta();
            SourceTerms {
                label: &source.label,
                rules: meta.rules().with_headers(&[], &self.not_stored_in(index)),
                repeat: *repeat,
                is_loomrec: meta.is_loomrec(),
            }
        })
    }

    /// Returns the key variables of the recorded programs.
    pub fn recorded_keys(&self) -> &RecordedKeys {
        &self.recorded_keys
    }

    /// Whether any entry declares a fault.
    pub fn has_declared_fault(&self) -> bool {
        self.has_declared_fault
    }

    /// Returns the takes whose entries declare a fault, each with its entry's key, its recording
    /// and what is declared.
    pub fn faulty_takes(&self) -> impl Iterator<Item = FaultyTake<'_>> {
        self.takes.iter().filter_map(|take| {
            let of_take = take.declared_fault()?;
            let (declared, fault) = (of_take.type_names(), of_take.rule().map(|rule| &rule.fault));
            let entry = self.name_of(take).take_key(take.number());
            Some(FaultyTake { label: &self.labels[take.source_index()], entry, declared, fault })
        })
    }

    /// Whether a fault uses up its take. A fault that an entry has instead of an answer does, unless
    /// the entry says that it comes again. Under
    /// `faults_use_takes`, so does any fault that the entry declares and that the client may take
    /// for a success.
    pub fn is_used_by(&self, take: &ReplayTake, decided: &DecidedFault) -> bool {
        let Some(declared_fault) = take.declared_fault() else { return false };
        let is_own = match decided.source {
            FaultSource::Entry => true,
            FaultSource::Chaos => {
                declared_fault.chaos_rates().is_some_and(|rates| rates.has_rate(&decided.rule))
            }
            _ => false,
        };
        let is_alone = declared_fault.is_alone() && decided.source == FaultSource::Entry;
        (is_alone && declared_fault.is_used_up_by(decided))
            || (is_own && self.faults_use_takes && decided.fault.may_succeed())
    }

    /// Returns how many calls were answered by takes that may answer another request than their
    /// entries show.
    pub fn unchecked_calls(&self) -> u64 {
        let takes = self.takes.iter().enumerate().filter(|(_, take)| take.is_unchecked());
        takes.map(|(index, _)| self.answered_calls(index)).sum()
    }

    /// Returns the takes that may answer another request than their entries show.
    pub fn unchecked_takes(&self) -> impl Iterator<Item = &ReplayTake> {
        self.takes.iter().filter(|take| take.is_unchecked())
    }
}
