//! Which takes calls have used: of the run, or of one open session.

use std::sync::Arc;

use super::matcher::Matcher;
use super::pool::SessionCursor;
use super::session_usage::SessionUsage;
use super::take::ReplayTake;

impl Matcher {
    /// Returns a matcher of the same takes for a session that begins. None of them is used in it.
    /// Takes that were recorded in a session of this name come first.
    #[must_use]
    pub fn for_session(&self, name: &str) -> Self {
        let usage = SessionUsage::new(self.names.find(name));
        Self { recorded: Arc::clone(&self.recorded), usage: Some(usage) }
    }

    /// Undoes [`Matcher::find`]: the take could not be given to this call, and a later call can get
    /// it.
    pub fn release(&self, take: usize, session: Option<&str>) {
        let Some((home, position)) = self.home(take) else { return };
        if self.with_cursor(home, session, |progress| progress.release(position)) {
            self.takes[take].take_back();
            self.usage.iter().for_each(|usage| usage.take_back(take));
        }
    }

    /// Uses up a take that was given back, unless another call has it by now.
    pub fn consume(&self, take: usize, session: Option<&str>) {
        let Some((home, position)) = self.home(take) else { return };
        if self.with_cursor(home, session, |progress| progress.consume(position)) {
            self.serve(take);
        }
    }

    /// Returns the group of a take, and its position there.
    fn home(&self, take: usize) -> Option<(u32, usize)> {
        let home = *self.homes.get(take)?;
        let group = self.groups.get(home as usize)?;
        Some((home, group.position(take as u32)? as usize))
    }

    /// Runs `then` on the cursor of a session in a group.
    pub(super) fn with_cursor<T>(
        &self,
        group: u32,
        session: Option<&str>,
        then: impl FnOnce(&mut SessionCursor) -> T,
    ) -> T {
        match &self.usage {
            None => self.groups[group as usize].with_progress(session, then),
            Some(usage) => usage.with_cursor(group, session, then),
        }
    }

    /// Counts one more call that a take answers. Returns which one it is, from 1. A call of an open
    /// session counts for the run as well.
    pub(super) fn serve(&self, take: usize) -> u32 {
        let nth = self.takes[take].serve();
        self.usage.as_ref().map_or(nth, |usage| usage.serve(take))
    }

    /// Returns how many calls a take answered.
    pub(super) fn served(&self, take: usize) -> u64 {
        match &self.usage {
            None => self.takes[take].served(),
            Some(usage) => usage.served(take).into(),
        }
    }

    /// Whether a take answered any call.
    pub(super) fn is_used(&self, take: usize) -> bool {
        self.served(take) > 0
    }

    /// Returns the takes that answered no call, in file order.
    pub fn unused(&self) -> impl Iterator<Item = &ReplayTake> {
        let takes = self.takes.iter().enumerate();
        takes.filter(|(index, _)| !self.is_used(*index)).map(|(_, take)| take)
    }

    /// Returns how many takes were served more than once, and by how many further calls.
    pub fn served_again(&self) -> (u64, u64) {
        let further = (0..self.takes.len()).map(|take| self.served(take).saturating_sub(1));
        further
            .filter(|calls| *calls > 0)
            .fold((0, 0), |(takes, all), calls| (takes + 1, all + calls))
    }

    /// Starts over, for one session or for all: every take is unused again.
    pub fn reset(&self, session: Option<&str>) {
        match &self.usage {
            None => self.groups.iter().for_each(|group| group.reset(session)),
            Some(usage) => usage.reset(session),
        }
    }
}
