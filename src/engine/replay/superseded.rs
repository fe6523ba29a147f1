//! Earlier takes of calls that a run recorded again with other values of the run: in another
//! directory, on another day.
//!
//! Such a call has another key, so it does not replace its earlier take by name. If both stayed, a
//! run elsewhere could be answered by either. Only the calls of known clients replace takes so.

use std::collections::{BTreeMap, BTreeSet};

use super::bound_requests::BoundRequests;
use loomrec_identity::RunValues;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::{Entry, EntryName};
use loomrec_store::{Recording, StoreError};

/// Returns the takes that a run with these values recorded again: for each name, their numbers.
/// `is_new` says whether an entry is of that run. A failed call replaces nothing, and neither
/// does one whose answer no client got.
///
/// # Errors
/// An entry that cannot be read.
pub fn superseded_takes(
    recording: &Recording,
    here: &RunValues,
    is_new: impl Fn(&Entry) -> bool,
) -> Result<BTreeMap<EntryName, BTreeSet<usize>>, StoreError> {
    let rules = recording.meta().rules();
    let mut bound = BoundRequests::new(here.clone());
    let (mut new, mut old): (Vec<NormalizedRequest>, Vec<(EntryName, usize)>) = Default::default();
    let mut new_names = BTreeSet::new();
    for stored in recording.entries() {
        let stored = stored?;
        let entry = stored.entry;
        // A step holds calls of several kinds, and replaces its earlier takes by its name. What no
        // known client asked may be another question.
        if entry.preset.is_none() || stored.name.step_id().is_some() {
            continue;
        }
        if is_new(&entry) {
            new_names.insert(stored.name);
            bound.add_state(&entry.run_values);
            if entry.has_request() && !entry.is_lesser_take() {
                new.push(NormalizedRequest::from_entry(&entry, &[]));
            }
            continue;
        }
        match old.last_mut() {
            Some((name, takes)) if *name == stored.name => *takes = (*takes).max(stored.take),
            _ => {
                let call = entry.recognise_call();
                if let Some(bindable) = bound.read_entry(&entry, call.as_ref(), rules) {
                    bound.add_entry(bindable, rules, old.len() as u32, 0);
                    old.push((stored.name, stored.take));
                }
            }
        }
    }
    bound.bind_added_entries();
    // The Nth call of the run replaces the Nth earlier one.
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for observed in &new {
        let look_ups = bound.look_ups(observed);
        for group in bound.groups_of(&look_ups) {
            *counts.entry(group).or_default() += 1;
        }
    }
    let replaced = counts.into_iter().filter_map(|(group, count)| {
        let (name, takes) = old.get(group as usize)?;
        let is_old = !new_names.contains(name);
        is_old.then(|| (name.clone(), (1..=count.min(*takes)).collect()))
    });
    Ok(replaced.collect())
}
