//! The store of missed requests: keeps the requests that no recording answers, to be sent live
//! later.
//!
//! [`MissedRequests::add_request`] appends a request to a separate recording as soon as it is
//! missed, so that a run that is killed loses none. [`MissedRequests::finish_file`] then decides
//! which takes the requests replace: only at the end of the run is it known which takes no call
//! asked for.

mod place;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::matcher::Matcher;
use super::mismatch::RecordingMismatchError;
use super::reason::MissReason;
use loomrec_identity::{ClientPreset, IdentityRules, RunValueFinder};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;
use loomrec_recording::{Entry, EntryName, PendingChange, PendingKind, RecordingMeta};
use loomrec_store::{
    FrameEncoder, LogItem, Recording, RecordingAppender, RecordingChanges, RunChoice, StoreError,
    TakeChange,
};
use place::RequestToAnswer;

/// The requests that were missed in a run.
#[derive(Debug)]
pub struct MissedRequests {
    path: PathBuf,
    /// The rules that the first recording makes keys under: that recording is to hold the requests.
    rules: IdentityRules,
    /// The values of this run.
    run_values: RunValueFinder,
    encoder: FrameEncoder,
    place: usize,
    /// The most times that one request is kept: as often as any request was recorded.
    most: usize,
    state: Mutex<KeptMisses>,
}

/// What was kept so far.
#[derive(Debug)]
struct KeptMisses {
    /// `None` once it is closed.
    recorder: Option<RecordingAppender>,
    /// How often each request was kept, and in which sessions.
    kept: HashMap<RequestToAnswer, MissedCopies>,
}

#[derive(Debug, Default)]
struct MissedCopies {
    count: usize,
    sessions: BTreeSet<Option<String>>,
}

impl MissedRequests {
    /// Starts the file anew, for calls that `matcher` does not answer. `run_values` finds the
    /// values that are kept with them.
    ///
    /// # Errors
    /// The file exists and holds something else, or it cannot be written.
    pub fn create_file(
        path: &Path,
        matcher: &Matcher,
        run_values: RunValueFinder,
    ) -> Result<Self, MissedError> {
        let first = matcher.sources.first().ok_or(MissedError::NoRecording)?;
        let rules = first.recording.meta().rules().clone();
        match Recording::open_merged(path) {
            Ok(old) if old.meta().waits_for() == Some(PendingKind::Answers) => {}
            Err(StoreError::Missing { .. }) => {}
            Ok(_) => return Err(MissedError::Other { path: path.to_owned() }),
            Err(error) => return Err(error.into()),
        }
        let meta = RecordingMeta::for_pending(&rules, PendingKind::Answers);
        loomrec_store::create_recording(
            path,
            &meta,
            std::iter::empty::<Result<_, StoreError>>(),
            true,
        )?;
        let recorder = RecordingAppender::open(path, &RunChoice::New, &rules)?;
        let (encoder, place) = (recorder.encoder(false), recorder.place_in_run());
        let state = Mutex::new(KeptMisses { recorder: Some(recorder), kept: HashMap::new() });
        let most = matcher.groups.iter().map(|group| group.takes().len()).max().unwrap_or(1);
        let path = path.to_owned();
        Ok(Self { path, rules, run_values, encoder, place, most, state })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the place of this recorder in its run: see [`RecordingAppender::place_in_run`].
    pub fn place_in_run(&self) -> usize {
        self.place
    }

    fn lock_state(&self) -> MutexGuard<'_, KeptMisses> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a missed request, which must not hold any of `secrets`. `error` says why it was
    /// missed. Blocks on the file.
    ///
    /// # Errors
    /// The storage fails, or the request holds a credential.
    pub fn add_request(
        &self,
        observed: &NormalizedRequest,
        secrets: &Arc<CallCredentials>,
        error: &RecordingMismatchError,
        recorded_at: String,
    ) -> Result<(), StoreError> {
        let Some(reason) = pending_reason(error.reason) else { return Ok(()) };
        let key = observed.key_under(&self.rules);
        let name = match observed.step.as_deref().map(EntryName::from_step_id) {
            None => EntryName::Hash(key.clone()),
            Some(Ok(step)) => step,
            // No recording can hold this step.
            Some(Err(_)) => return Ok(()),
        };
        let mut state = self.lock_state();
        let asked = RequestToAnswer::new(name.clone(), error.key.clone(), observed);
        let copies = state.kept.entry(asked).or_default();
        let repeats = matches!(error.reason, MissReason::Drifted | MissReason::Unknown);
        let fresh = !copies.sessions.contains(&observed.session);
        let wanted = fresh || (repeats && copies.count < self.most);
        if !wanted {
            return Ok(());
        }
        let mut entry = Entry {
            model: observed.call.model.clone(),
            request_hash: Some(key),
            provider: Some(observed.call.provider.name().to_owned()),
            upstream: Some(observed.upstream.clone()),
            session: observed.session.clone(),
            recorded_at: Some(recorded_at),
            preset: observed.client_preset().map(ClientPreset::name_and_version),
            run_values: observed.run_values(&self.run_values),
            ..observed.to_unanswered()
        };
        PendingChange { reason: reason.to_owned(), replaces: None }.add_to(&mut entry);
        let mut frame = self.encoder.encode(&LogItem::new(name, entry, Arc::clone(secrets)))?;
        copies.count += 1;
        copies.sessions.insert(observed.session.clone());
        match &mut state.recorder {
            Some(recorder) => recorder.append_frames(std::slice::from_mut(&mut frame)),
            None => Ok(()),
        }
    }

    /// Closes the file, writes into it which takes the requests replace, and returns the number of
    /// requests. If there are none, removes the file.
    ///
    /// # Errors
    /// The storage fails. The missed requests are still in the file, or in its log.
    pub fn finish_file(&self, matcher: &Matcher) -> Result<usize, StoreError> {
        if let Some(mut recorder) = self.lock_state().recorder.take() {
            recorder.close()?;
        }
        let missed = Recording::open(&self.path)?;
        let calls = place::calls_with_takes(&missed, matcher, &self.rules)?;
        let count = calls.iter().filter(|call| call.stays).count();
        if count == 0 {
            drop(missed);
            let failed = |source| StoreError::Write { path: self.path.clone(), source };
            return fs::remove_file(&self.path).map(|()| 0).map_err(failed);
        }
        let mut changes = RecordingChanges::new()?;
        let mut names: Vec<&EntryName> = Vec::new();
        let mut takes: HashMap<&EntryName, Vec<TakeChange>> = HashMap::new();
        for call in &calls {
            let known = takes.entry(&call.name).or_insert_with(|| {
                names.push(&call.name);
                Vec::new()
            });
            if !call.stays {
                continue;
            }
            let mut entry = missed.read_entry(&call.place)?;
            call.pending.add_to(&mut entry);
            if call.pending.replaces.is_some() {
                // The new take must answer the calls that the old one answered.
                entry.session.clone_from(&call.session);
            }
            known.push(TakeChange::Entry(Box::new(entry)));
        }
        for name in names {
            changes.set_takes(name.clone(), takes.remove(name).unwrap_or_default())?;
        }
        missed.rewrite(&changes)?;
        Ok(count)
    }
}

/// Returns the word of a pending call for why it was missed; `None` if a new answer does not help.
fn pending_reason(reason: MissReason) -> Option<&'static str> {
    Some(match reason {
        MissReason::Drifted => "drifted",
        MissReason::Unknown => "unknown",
        MissReason::Exhausted => "exhausted",
        MissReason::Incomplete => "incomplete",
        MissReason::OtherForm => "other_form",
        MissReason::OtherSession => "other_session",
        MissReason::OtherUpstream => "other_upstream",
        MissReason::OtherPath => "other_path",
        MissReason::OtherRules => return None,
    })
}

/// The error of missed requests that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum MissedError {
    /// There is no recording.
    #[error("store missed requests: no recording is being replayed")]
    NoRecording,
    /// The file holds something else.
    #[error(
        "store missed requests in {}: the file holds another recording that would be overwritten; \
         name another file",
        path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}
