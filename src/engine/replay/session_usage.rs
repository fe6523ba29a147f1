//! How far one open session has come in takes that it shares with other sessions.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::name_ids::NameId;
use super::pool::SessionCursor;

/// The progress of one open session. It holds only what the session has used, so a session costs
/// little, however large the recording is.
#[derive(Debug, Default)]
pub(super) struct SessionUsage {
    /// The name of the session, if takes were recorded in a session of this name: those come first.
    pub(super) name: Option<NameId>,
    progress: Mutex<SessionProgress>,
}

#[derive(Debug, Default)]
struct SessionProgress {
    /// By group, and by the session that the call names within this one.
    cursors: HashMap<(u32, Option<String>), SessionCursor>,
    /// How many calls of this session each take answered.
    served: HashMap<usize, u32>,
}

impl SessionUsage {
    /// Returns the usage of a session that begins.
    pub(super) fn new(name: Option<NameId>) -> Self {
        Self { name, progress: Mutex::default() }
    }

    fn lock_progress(&self) -> MutexGuard<'_, SessionProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `then` on the cursor of a group.
    pub(super) fn with_cursor<T>(
        &self,
        group: u32,
        session: Option<&str>,
        then: impl FnOnce(&mut SessionCursor) -> T,
    ) -> T {
        let key = (group, session.map(str::to_owned));
        then(self.lock_progress().cursors.entry(key).or_default())
    }

    /// Counts one more call that a take answers. Returns which one it is, from 1.
    pub(super) fn count_answered_call(&self, take: usize) -> u32 {
        let mut progress = self.lock_progress();
        let served = progress.served.entry(take).or_default();
        *served = served.saturating_add(1);
        *served
    }

    /// Undoes one [`Self::count_answered_call`].
    pub(super) fn take_back(&self, take: usize) {
        if let Some(served) = self.lock_progress().served.get_mut(&take) {
            *served = served.saturating_sub(1);
        }
    }

    /// Returns how many calls a take answered.
    pub(super) fn answered_calls(&self, take: usize) -> u32 {
        self.lock_progress().served.get(&take).copied().unwrap_or(0)
    }

    /// Starts over, for a session that calls name within this one, or for all.
    pub(super) fn reset(&self, session: Option<&str>) {
        let is_kept = |(_, named): &(u32, Option<String>)| {
            session.is_some_and(|session| named.as_deref() != Some(session))
        };
        self.lock_progress().cursors.retain(|key, _| is_kept(key));
    }
}
