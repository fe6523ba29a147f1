//! The file of new answers (FILE.new) and its contents that already wait for review.

use std::collections::HashMap;

use super::request::SendableRequest;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::serve_setup;
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::pending::ReplacedTake;
use loomrec_recording::{CallScope, EntryName, PendingChange, PendingKind, RecordingMeta};
use loomrec_store::{Recording, RecordingLocation, StoreError};

/// The file of new answers.
pub(super) struct NewAnswersFile {
    path: RecordingLocation,
    exists: bool,
    /// The answers that replace a take, by that take.
    replacing: HashMap<(EntryName, usize), Vec<NewAnswer>>,
    /// The other answers, by their own name.
    adding: HashMap<EntryName, Vec<NewAnswer>>,
}

/// A new answer.
struct NewAnswer {
    name: EntryName,
    key: Option<RequestKey>,
    /// Its scope, without its session.
    scope: CallScope,
    replaces: Option<ReplacedTake>,
}

/// What waits in the place of a call.
pub(super) enum WaitingAnswer {
    /// An answer to this very request.
    ToThisRequest,
    /// Only answers to other requests.
    ToAnother,
}

impl NewAnswersFile {
    /// Reads the file, if it exists.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds something else.
    pub(super) fn open(path: &RecordingLocation, output: &Output) -> Result<Self, CommandFailure> {
        let (path, replacing, adding) = (path.to_owned(), HashMap::new(), HashMap::new());
        let mut new = Self { path, exists: true, replacing, adding };
        if matches!(Recording::open(&new.path), Err(StoreError::Missing { .. })) {
            return Ok(Self { exists: false, ..new });
        }
        let recording = serve_setup::open_to_change(&new.path, output)?;
        if recording.meta().waits_for() != Some(PendingKind::Review) {
            return Err(CommandFailure::usage(format!(
                "{} holds no new answers: it is another recording; name a file of their own with -o",
                new.path.display()
            )));
        }
        for stored in recording.entries() {
            let stored = stored?;
            let replaces =
                PendingChange::from_entry(&stored.entry).and_then(|pending| pending.replaces);
            let place = replaces.as_ref().map(place_of);
            let scope = CallScope { session: None, ..CallScope::from_entry(&stored.entry) };
            let key = stored.entry.request_hash;
            let one = NewAnswer { name: stored.name, key, scope, replaces };
            match place {
                Some(place) => new.replacing.entry(place).or_default().push(one),
                None => new.adding.entry(one.name.clone()).or_default().push(one),
            }
        }
        Ok(new)
    }

    /// Returns what waits in the place of a call, if anything does.
    pub(super) fn waiting_answer(
        &self,
        pending: &PendingChange,
        call: &SendableRequest,
    ) -> Option<WaitingAnswer> {
        let found = match &pending.replaces {
            Some(replaces) => self.replacing.get(&place_of(replaces)),
            None => self.adding.get(&call.name),
        };
        let scope = CallScope {
            session: None,
            upstream: Some(call.observed.upstream.clone()),
            form: Some(call.observed.call_form()),
        };
        let is_same = |one: &NewAnswer| {
            one.name == call.name
                && one.key.as_ref() == Some(&call.key)
                && one.scope.agrees_with(&scope)
                && one.replaces == pending.replaces
        };
        match found {
            Some(all) if all.iter().any(is_same) => Some(WaitingAnswer::ToThisRequest),
            // A new call does not take the place of an existing take.
            Some(_) if pending.replaces.is_some() => Some(WaitingAnswer::ToAnother),
            _ => None,
        }
    }

    /// Creates the file if it does not exist. Returns whether it is new.
    ///
    /// # Errors
    /// A failure of storage; another process that records into the file.
    pub(super) fn create_if_missing(&self, rules: &IdentityRules) -> Result<bool, StoreError> {
        if self.exists {
            return Ok(false);
        }
        let meta = RecordingMeta::for_pending(rules, PendingKind::Review);
        let none = std::iter::empty::<Result<_, StoreError>>();
        loomrec_store::create_recording(&self.path, &meta, none, false)?;
        Ok(true)
    }
}

fn place_of(replaced: &ReplacedTake) -> (EntryName, usize) {
    (replaced.name.clone(), replaced.take)
}
