//! The calls of one run. They are read once to see what there is to do, and again when each call's
//! turn comes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::destination::{CallDestinations, RecordedOrigins};
use super::filter::RerecordFilter;
use super::new_answers::{NewAnswersFile, WaitingAnswer};
use super::plan::RerecordPlan;
use super::request::{RequestMaker, UnsendableCall};
use super::route::NoRoute;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::terminal;
use loomrec_engine::record::rerecord::{RequestLane, RerecordRequest};
use loomrec_identity::{RequestKey, RunValueFinder};
use loomrec_recording::pending::ReplacedTake;
use loomrec_recording::{CallScope, Entry, EntryName, PendingChange};
use loomrec_store::{Recording, StoredEntry, TakeRef};

/// The reason that is noted for a recorded call that was sent again.
const RERECORDED: &str = "rerecorded";

/// The files that requests are read from.
pub(super) struct RequestSources {
    /// The recording.
    pub(super) file: Recording,
    /// The requests that a replay missed. `None` if recorded calls are sent again.
    pub(super) pending: Option<Recording>,
}

/// A call that is to be sent.
#[derive(Clone, Debug)]
pub(super) struct CallToSend {
    /// The position of its request: in the pending file if there is one.
    place: TakeRef,
    /// Its name in that file.
    name: EntryName,
    /// Its name for messages.
    pub(super) label: String,
    /// The metadata of its new answer.
    pending: PendingChange,
    /// The take of the recording that it is compared with.
    before: Option<(EntryName, TakeRef)>,
}

/// The calls of a run, sorted by what can be done with them.
#[derive(Default)]
pub(super) struct CollectedCalls {
    /// The calls to send, by upstream and name.
    pub(super) lanes: Vec<RequestLane<CallToSend>>,
    /// Calls that cannot be sent, by reason.
    pub(super) unsendable: BTreeMap<UnsendableCall, Vec<String>>,
    /// Calls that no longer fit the recording: it has changed since the replay.
    pub(super) stale: Vec<String>,
    /// The number of calls that have a new answer already.
    pub(super) done: usize,
    /// Calls whose place another new answer has already taken.
    pub(super) taken: Vec<String>,
    /// The plan for the calls that will be sent.
    pub(super) plan: RerecordPlan,
    /// Where they will be sent.
    pub(super) destinations: CallDestinations,
    /// The keys that sending them needs, if nothing is sent.
    pub(super) missing_keys: BTreeSet<NoRoute>,
}

impl CollectedCalls {
    /// Formats the plan for people: where calls go, how many, and their cost.
    pub(super) fn to_text(&self) -> String {
        format!("{}{}", self.destinations.to_text(), self.plan.to_text())
    }

    /// Formats the plan for people where nothing is sent.
    pub(super) fn dry_run_text(&self) -> String {
        let mut text = format!("{}\nnothing was sent (--dry-run)\n", self.to_text());
        for why in &self.missing_keys {
            let why = why.to_string();
            text.push_str(&format!("not ready to send: {}\n", terminal::printable_line(&why)));
        }
        text
    }

    /// Adds the plan of another recording's calls.
    pub(super) fn add_plan(&mut self, other: &Self) {
        self.plan.add_all(&other.plan);
        self.destinations.add_all(&other.destinations);
        self.missing_keys.extend(other.missing_keys.iter().cloned());
    }

    /// Returns how many calls cannot be sent.
    pub(super) fn unsendable_calls(&self) -> u64 {
        self.unsendable.values().map(|keys| keys.len() as u64).sum()
    }

    /// Returns the plan as JSON.
    pub(super) fn plan_json(&self) -> Value {
        let mut plan = self.plan.to_json();
        plan["upstreams"] = self.destinations.to_json();
        plan["missing_keys"] = self.missing_keys.iter().map(NoRoute::to_string).collect();
        plan
    }
}

impl RequestSources {
    /// Builds the request of an item again, with everything that is needed to send it.
    ///
    /// # Errors
    /// The reason why that is impossible, in words.
    pub(super) fn build_request(
        &self,
        item: &CallToSend,
        maker: &RequestMaker,
    ) -> Result<RerecordRequest, String> {
        let read = |recording: &Recording, place: &TakeRef| {
            recording
                .read_entry(place)
                .map_err(|error| format!("failed to {}", error.error_chain()))
        };
        let entry = read(self.pending.as_ref().unwrap_or(&self.file), &item.place)?;
        let before = match &item.before {
            Some((name, place)) => Some((name.clone(), read(&self.file, place)?)),
            None => None,
        };
        let made = maker.make(&item.name, &entry).map_err(|why| why.to_string())?;
        Ok(RerecordRequest {
            observed: made.observed,
            key: made.key,
            name: made.name,
            forward: made.forward,
            secrets: made.secrets,
            run_values: Arc::new(RunValueFinder::for_entry(&entry.run_values)),
            pending: item.pending.clone(),
            before,
        })
    }

    /// Collects the calls to send.
    ///
    /// # Errors
    /// An entry that cannot be read; a key that matches no name, or several.
    pub(super) fn collect_calls(
        &self,
        maker: &RequestMaker,
        choice: &mut RerecordFilter,
        new: &NewAnswersFile,
        plan: RerecordPlan,
    ) -> Result<CollectedCalls, CommandFailure> {
        let mut gathering = CallCollection {
            maker,
            new,
            collected: CollectedCalls { plan, ..CollectedCalls::default() },
            lanes: HashMap::new(),
        };
        match &self.pending {
            None => {
                let mut recorded = RecordedOrigins::default();
                for stored in self.file.entries() {
                    let stored = stored?;
                    recorded.add(&stored.entry);
                    if !choice.is_match(&stored.name, stored.take, &stored.entry) {
                        continue;
                    }
                    let replaced =
                        ReplacedTake::from_entry(&stored.name, stored.take, &stored.entry);
                    let pending =
                        PendingChange { reason: RERECORDED.to_owned(), replaces: Some(replaced) };
                    let before = Some((stored.name.clone(), stored.place));
                    gathering.add_call(&stored, pending, before, &stored.entry);
                }
                gathering.collected.destinations.set_recorded(recorded);
            }
            Some(pending) => self.collect_pending(pending, choice, &mut gathering)?,
        }
        choice.check_keys()?;
        Ok(gathering.collected)
    }

    fn collect_pending(
        &self,
        pending: &Recording,
        choice: &mut RerecordFilter,
        gathering: &mut CallCollection<'_>,
    ) -> Result<(), CommandFailure> {
        let mut known = KnownTakes::from_recording(&self.file)?;
        let recorded = std::mem::take(&mut known.recorded);
        gathering.collected.destinations.set_recorded(recorded);
        for stored in pending.entries() {
            let stored = stored?;
            let said = PendingChange::from_entry(&stored.entry)
                .unwrap_or_else(|| PendingChange { reason: "unknown".to_owned(), replaces: None });
            let chosen = choice.is_match(&stored.name, stored.take, &stored.entry);
            if !chosen || !choice.takes_reason(&said.reason) {
                continue;
            }
            let Some(replaces) = &said.replaces else {
                if said.reason != "exhausted" && known.has_entry(&stored) {
                    gathering.collected.stale.push(stored.name.take_key(stored.take));
                } else {
                    gathering.add_call(&stored, said, None, &stored.entry);
                }
                continue;
            };
            let place = known.takes.get(&(replaces.name.clone(), replaces.take));
            let Some(place) = place else {
                gathering.collected.stale.push(stored.name.take_key(stored.take));
                continue;
            };
            let old = self.file.read_entry(place)?;
            if !replaces.is_same_take(&replaces.name, replaces.take, &old) {
                gathering.collected.stale.push(stored.name.take_key(stored.take));
                continue;
            }
            let before = Some((replaces.name.clone(), *place));
            gathering.add_call(&stored, said, before, &old);
        }
        Ok(())
    }
}

/// What a recording holds.
struct KnownTakes {
    takes: HashMap<(EntryName, usize), TakeRef>,
    /// The scopes in which each request was recorded.
    scopes: HashMap<(EntryName, RequestKey), HashSet<CallScope>>,
    recorded: RecordedOrigins,
}

impl KnownTakes {
    fn from_recording(file: &Recording) -> Result<Self, CommandFailure> {
        let (mut takes, mut recorded) = (HashMap::new(), RecordedOrigins::default());
        let mut scopes: HashMap<_, HashSet<_>> = HashMap::new();
        for stored in file.entries() {
            let StoredEntry { name, take, entry, place } = stored?;
            recorded.add(&entry);
            if let Some(hash) = &entry.request_hash {
                let known = scopes.entry((name.clone(), hash.clone())).or_default();
                known.insert(CallScope::from_entry(&entry));
            }
            takes.insert((name, take), place);
        }
        Ok(Self { takes, scopes, recorded })
    }

    /// Whether a missed call has been recorded meanwhile.
    fn has_entry(&self, stored: &StoredEntry) -> bool {
        let Some(hash) = stored.entry.request_hash.clone() else { return false };
        let known = self.scopes.get(&(stored.name.clone(), hash));
        let scope = CallScope::from_entry(&stored.entry);
        known.into_iter().flatten().any(|known| known.answers_call(&scope))
    }
}

/// The state of collecting.
struct CallCollection<'a> {
    maker: &'a RequestMaker,
    new: &'a NewAnswersFile,
    collected: CollectedCalls,
    /// The index of each name's lane.
    lanes: HashMap<EntryName, usize>,
}

impl CallCollection<'_> {
    /// Adds a call. `old` is the entry from which the number of tokens is estimated.
    fn add_call(
        &mut self,
        stored: &StoredEntry,
        pending: PendingChange,
        before: Option<(EntryName, TakeRef)>,
        old: &Entry,
    ) {
        let collected = &mut self.collected;
        let label = take_label(&stored.name, stored.take);
        let made = match self.maker.make(&stored.name, &stored.entry) {
            Ok(made) => made,
            Err(why) => return collected.unsendable.entry(why).or_default().push(label),
        };
        match self.new.waiting_answer(&pending, &made) {
            None => {}
            Some(WaitingAnswer::ToThisRequest) => {
                collected.done += 1;
                return;
            }
            Some(WaitingAnswer::ToAnother) => return collected.taken.push(label),
        }
        collected.plan.add_call(&made, old);
        collected.missing_keys.extend(made.missing_key);
        let upstream = made.observed.upstream;
        let is_explicit = self.maker.gateways.is_explicit(&upstream);
        collected.destinations.add(&upstream, &made.forward.base, is_explicit);
        let (place, name) = (stored.place, stored.name.clone());
        let item = CallToSend { place, name: name.clone(), label, pending, before };
        let next = collected.lanes.len();
        let lane = *self.lanes.entry(name).or_insert(next);
        if lane == next {
            collected.lanes.push(RequestLane { upstream, items: Vec::new() });
        }
        collected.lanes[lane].items.push(item);
    }
}

/// Returns a short name of a take for messages.
pub(super) fn take_label(name: &EntryName, take: usize) -> String {
    let short = match name {
        EntryName::Step(id) => id.clone(),
        EntryName::Hash(hash) => hash.short_form().to_owned(),
    };
    if take > 1 { format!("{short}#{take}") } else { short }
}
