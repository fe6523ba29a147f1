//! The loader: reads recordings, entry by entry, into the matcher.

use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use super::bound_requests::BoundRequests;
use super::group::TakeGroup;
use super::loaded_entry::{LoadedEntry, loaded_entries};
use super::loaded_takes::{LoadedTakes, ReplaySource};
use super::matcher::Matcher;
use super::mode::RecordedMode;
use super::name_ids::NameId;
use super::pool::Repeat;
use super::recorded_ends::{RecordedEnds, RecordedSpan, TakeSpan};
use super::replay_terms::ReplayTerms;
use super::take::{ReplayTake, TakeLabels, TakeOrigin};
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_provider::RecognisedCall;
use loomrec_recording::{Entry, EntryName, UncheckedReason};
use loomrec_store::{Recording, StoreError, StoredEntry};

/// Recordings of fewer entries are read by one thread.
const ALONE: usize = 128;
/// How many entries are passed between threads at one time.
const BATCH: usize = 16;
/// How many such batches may wait.
const AHEAD: usize = 4;
/// A recording of more takes is large: its small answers are prepared only when a call gets them.
const LARGE: usize = 50_000;
/// Room for this many names beside those of steps: of sessions, upstreams and mounts.
const OTHER_NAMES: usize = 64;
/// The largest entry of a large recording whose text is kept, in bytes.
const SMALL: u64 = 1024;

/// The error of a recording that cannot be replayed. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The recording could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An entry answers calls that cannot be checked.
    #[error(
        "replay {} strictly: its entry {entry:?} {}; {}, or let such entries answer with \
         --allow-unchecked", file.display(), why.as_str(), why.remedy()
    )]
    Unchecked {
        /// The recording's file that holds the entry.
        file: PathBuf,
        /// The entry.
        entry: String,
        /// Why it cannot be checked.
        why: UncheckedReason,
    },
    /// There are more recordings than a take can name.
    #[error("replay {0} recordings at once: {MOST_SOURCES} are the most; merge some of them")]
    TooMany(usize),
    /// An entry declares an invalid fault.
    #[error("read the recording {}: in {entry:?}, {why}; fix or remove it", file.display())]
    Fault {
        /// The recording's file that holds the entry.
        file: PathBuf,
        /// The entry.
        entry: String,
        /// What is wrong with it.
        why: String,
    },
}

/// A take holds the number of its recording in 16 bits.
const MOST_SOURCES: usize = 1 << 16;

/// The rules of a recording, as indexes into the matcher's.
#[derive(Clone, Copy)]
struct RuleIndexes {
    /// The rules that its keys were made under.
    stored: usize,
    /// The rules that requests are compared under.
    effective: usize,
    /// Whether entries that cannot be checked are refused.
    refuse_unchecked: bool,
}

impl Matcher {
    /// Loads `sources`.
    ///
    /// # Errors
    /// The first entry that cannot be read or used, or too many sources.
    pub fn new(sources: Vec<ReplaySource>, terms: ReplayTerms<'_>) -> Result<Self, LoadError> {
        LoadedTakes::load(sources, terms).map(Self::of_run)
    }
}

impl LoadedTakes {
    /// Loads `sources`.
    ///
    /// # Errors
    /// The first entry that cannot be read or used, or too many sources.
    fn load(sources: Vec<ReplaySource>, terms: ReplayTerms<'_>) -> Result<Self, LoadError> {
        if sources.len() > MOST_SOURCES {
            return Err(LoadError::TooMany(sources.len()));
        }
        let ReplayTerms { faults_use_takes, keeps_end_order, is_of_session, .. } = terms;
        let mut matcher =
            Self { faults_use_takes, keeps_end_order, is_of_session, ..Self::default() };
        matcher.adapter.allows_messages = terms.allow_messages;
        matcher.exact_scope = terms.exact_scope;
        let here = terms.run_values.cloned().unwrap_or_default();
        matcher.bound = BoundRequests::new(here)
            .with_states(terms.repository)
            .without_presets(terms.ignores_presets);
        matcher.reserve_takes(sources.iter().map(|source| source.recording.most_takes()).sum());
        for (index, source) in sources.iter().enumerate() {
            let meta = source.recording.meta();
            matcher.recorded_keys.begin_recording(meta);
            let default = if meta.is_loomrec() { Repeat::Error } else { Repeat::Last };
            matcher.repeat.push(terms.repeat.unwrap_or(default));
            matcher.labels.push(source.label.clone());
            let effective = terms
                .rules
                .map_or_else(|| meta.rules().clone(), |rules| meta.rules().united_with(rules));
            let makes_same_keys = meta.rules().makes_keys_of(&effective);
            let stored = (!makes_same_keys).then(|| matcher.rule_index(meta.rules()));
            let effective = matcher.rule_index(&effective);
            let stored = stored.unwrap_or(effective);
            matcher.rules_by_source.push(effective);
            if index == 0 {
                matcher.explaining_rules = effective;
            }
            let rules = RuleIndexes { stored, effective, refuse_unchecked: terms.refuse_unchecked };
            matcher.read_recording(index, rules, &source.recording)?;
        }
        if let (true, Some(rules)) = (sources.is_empty(), terms.rules) {
            // The calls of a script are counted under these.
            matcher.explaining_rules = matcher.rule_index(rules);
        }
        matcher.ends = Arc::new(RecordedEnds::new(std::mem::take(&mut matcher.spans)));
        matcher.bound.bind_added_entries();
        matcher.sources = sources;
        matcher.takes.shrink_to_fit();
        matcher.groups.shrink_to_fit();
        matcher.homes.shrink_to_fit();
        Ok(matcher)
    }

    /// Adds every entry of a recording. The entries of a large one are read ahead on a separate
    /// thread.
    fn read_recording(
        &mut self,
        source: usize,
        rules: RuleIndexes,
        recording: &Recording,
    ) -> Result<(), LoadError> {
        let small = if recording.most_takes() > LARGE { SMALL } else { 0 };
        let mut entries = loaded_entries(recording, small);
        let mut count = 0;
        for entry in entries.by_ref().take(ALONE) {
            self.add_entry((source, recording), rules, entry?)?;
            count += 1;
        }
        if count < ALONE {
            return Ok(());
        }
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        std::thread::scope(|scope| {
            let ahead = move || {
                loop {
                    let batch: Vec<_> = entries.by_ref().take(BATCH).collect();
                    if batch.is_empty() || sender.send(batch).is_err() {
                        return;
                    }
                }
            };
            let named = std::thread::Builder::new().name("loomrec-read".to_owned());
            if named.spawn_scoped(scope, ahead).is_err() {
                // The system has no thread to spare, so read here.
                let rest = loaded_entries(recording, small).skip(ALONE);
                return self.add_all((source, recording), rules, rest);
            }
            self.add_all((source, recording), rules, receiver.into_iter().flatten())
        })
    }

    fn add_all(
        &mut self,
        (source, recording): (usize, &Recording),
        rules: RuleIndexes,
        entries: impl Iterator<Item = Result<LoadedEntry, StoreError>>,
    ) -> Result<(), LoadError> {
        for entry in entries {
            self.add_entry((source, recording), rules, entry?)?;
        }
        Ok(())
    }

    /// Adds one entry of a recording.
    fn add_entry(
        &mut self,
        (source, recording): (usize, &Recording),
        rules: RuleIndexes,
        loaded: LoadedEntry,
    ) -> Result<(), LoadError> {
        let LoadedEntry { stored, name: at, text, is_misstated } = loaded;
        let StoredEntry { name, take: number, entry, place } = stored;
        self.recorded_keys.note_entry(&entry);
        let effective = self.rules_for(source, &entry, rules.effective);
        let rules = RuleIndexes { effective, ..rules };
        let (call, made) = self.recognise_entry(&entry, rules).unzip();
        let made = made.flatten();
        self.servers.note_call(&entry, call.as_ref());
        let unchecked = self.why_unchecked(&name, &entry, call.as_ref(), made.as_ref(), rules);
        let unchecked = unchecked.or(is_misstated.then_some(UncheckedReason::OtherAnswer));
        if let Some(why) = unchecked.filter(|_| rules.refuse_unchecked) {
            let (file, entry) = (recording.file_of(&place), name.take_key(number));
            return Err(LoadError::Unchecked { file, entry, why });
        }
        let key = self.entry_key(&name, &entry, call.as_ref(), made, rules);
        let under = self.take_labels(&name, &entry);
        self.note_hash(&entry, key.as_ref());
        self.adapter.note_entry(&name, &entry);
        if key.is_none() && under.step.is_none() {
            return Ok(());
        }
        let bindable = self.bound.read_entry(&entry, call.as_ref(), &self.rules[rules.effective]);
        let form = RecordedMode::from_entry(&entry, call.as_ref());
        let sketch = call.as_ref().and_then(|call| entry.request_sketch(call));
        let text = text.and_then(|text| self.texts.push(&text));
        let host = entry.provider_host().map(|host| self.names.insert(host));
        let origin = TakeOrigin { source, name: at, place, text, host };
        let span = if self.keeps_end_order { RecordedSpan::from_entry(&entry) } else { None };
        self.edited += usize::from(entry.edited_at.is_some());
        self.openings.note_opening(self.takes.len(), &entry, &self.rules[rules.effective]);
        let take = ReplayTake::new((&name, number), origin, under, form, sketch, entry);
        let mut take = take.map_err(|why| LoadError::Fault {
            file: recording.file_of(&place),
            entry: name.take_key(number),
            why,
        })?;
        if !recording.meta().is_loomrec() {
            self.repeat_fault(&mut take);
        }
        self.spans.extend(span.map(|span| TakeSpan {
            take: self.takes.len() as u32,
            source: source as u32,
            session: under.session,
            span,
        }));
        self.has_undelivered |= take.is_undelivered();
        self.has_declared_fault |= take.declared_fault().is_some();
        self.takes.push(if unchecked.is_some() { take.without_check() } else { take });
        self.put_in_group(key, under.step);
        if let (Some(bindable), Some(group)) = (bindable, self.homes.last()) {
            let rules = &self.rules[rules.effective];
            self.bound.add_entry(bindable, rules, *group, self.takes.len() as u32 - 1);
        }
        Ok(())
    }

    /// Puts the last take into the group of its key, or else of its step.
    fn put_in_group(&mut self, key: Option<(usize, RequestKey)>, step: Option<NameId>) {
        let take = self.takes.len() as u32 - 1;
        let Self { groups, groups_by_key, steps, .. } = self;
        let new = || {
            groups.push(TakeGroup::new(take));
            groups.len() as u32 - 1
        };
        let (group, is_new) = match (key, step) {
            (Some(key), _) => groups_by_key.find_or(&key, new),
            (None, Some(step)) => steps.unchecked_or(step, new),
            (None, None) => return,
        };
        if let Some(step) = step {
            steps.push(step, take);
        }
        let session_of = |take: u32| self.takes.get(take as usize)?.under.session;
        if !is_new {
            let group = &mut groups[group as usize];
            let version = |take: u32| self.takes.get(take as usize)?.has_version;
            self.has_both_versions |= version(group.takes()[0]) != version(take);
            group.push(take, session_of);
        }
        self.homes.push(group);
    }

    /// Makes room for this many takes. Memory that is not touched is not used.
    fn reserve_takes(&mut self, takes: usize) {
        self.takes.reserve_exact(takes);
        self.homes.reserve_exact(takes);
        self.groups.reserve_exact(takes);
        self.groups_by_key.reserve(takes);
        self.names.reserve(takes + OTHER_NAMES);
        self.steps.reserve(takes + OTHER_NAMES);
    }

    /// Returns what an entry's request asks for. Also returns its key, if that was made for the
    /// index of exact requests.
    fn recognise_entry(
        &mut self,
        entry: &Entry,
        rules: RuleIndexes,
    ) -> Option<(RecognisedCall, Option<RequestKey>)> {
        // Keys under several sets of rules are made when they are needed.
        let is_open = self.rules.len() == 1 && !self.recalled.is_full();
        let Some(print) = is_open.then(|| entry.request_print()).flatten() else {
            return Some((entry.recognise_call()?, None));
        };
        let request = entry.read_request()?;
        let key = request.compute_key(&self.rules[rules.effective]);
        self.recalled.insert_request(print, &request.call, key.clone());
        Some((request.call, Some(key)))
    }

    /// Returns why an entry cannot be checked. `made` is the key of its request under the effective
    /// rules, if it was made already.
    fn why_unchecked(
        &self,
        name: &EntryName,
        entry: &Entry,
        call: Option<&RecognisedCall>,
        made: Option<&RequestKey>,
        rules: RuleIndexes,
    ) -> Option<UncheckedReason> {
        let stored = &self.rules[rules.stored];
        let made = made.filter(|_| rules.stored == rules.effective).cloned();
        let real = made.or_else(|| entry.compute_key(call?, stored));
        entry.unchecked_reason(name, real.as_ref(), stored)
    }

    /// Returns the key of an entry's request, and the rules it is made under. `made` is the key
    /// under the effective rules, if it was made already.
    fn entry_key(
        &self,
        name: &EntryName,
        entry: &Entry,
        call: Option<&RecognisedCall>,
        made: Option<RequestKey>,
        rules: RuleIndexes,
    ) -> Option<(usize, RequestKey)> {
        let named = match name {
            EntryName::Hash(key) => Some(key),
            EntryName::Step(_) => None,
        };
        let recorded = named.or(entry.request_hash.as_ref()).cloned();
        let index = rules.effective;
        let Some(key) = made.or_else(|| entry.compute_key(call?, &self.rules[index])) else {
            // Without its request, a hash is used as it is. Rules that differ only in headers do
            // not affect it.
            let [stored, effective] = [rules.stored, rules.effective].map(|at| &self.rules[at]);
            let same = stored.ignored_places() == effective.ignored_places();
            let index = if same { rules.effective } else { rules.stored };
            return recorded.map(|key| (index, key));
        };
        // A recorded hash that differs from the request's key is used, unless it is a key that
        // older versions made from fewer headers. Then the key of the request is used.
        let believed = recorded.filter(|recorded| {
            index == rules.stored
                && *recorded != key
                && !entry.earlier_keys(&self.rules[index]).contains(recorded)
        });
        Some((index, believed.unwrap_or(key)))
    }

    /// Stores the hash that an entry states for its request, unless its key under the default rules
    /// is the same.
    fn note_hash(&mut self, entry: &Entry, key: Option<&(usize, RequestKey)>) {
        let Some(hash) = &entry.request_hash else { return };
        let is_key = |(rules, key): &(usize, RequestKey)| {
            key == hash && self.rules[*rules].makes_keys_of(&IdentityRules::default())
        };
        if !key.is_some_and(is_key) {
            self.hashes.insert(&hash.to_bytes());
        }
    }

    /// Returns the names that an entry was recorded under.
    fn take_labels(&mut self, name: &EntryName, entry: &Entry) -> TakeLabels {
        if let Some(upstream) = &entry.upstream
            && !self.upstreams.contains(upstream)
        {
            self.upstreams.insert(upstream.clone());
        }
        self.origins.note_entry(entry);
        let mount = entry.request_path().map(loomrec_provider::chat_mount);
        TakeLabels {
            step: name.step_id().map(|step| self.names.insert(step)),
            session: entry.session.as_deref().map(|session| self.names.insert(session)),
            upstream: entry.upstream.as_deref().map(|upstream| self.names.insert(upstream)),
            mount: mount.map(|mount| self.names.insert(mount)),
        }
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
