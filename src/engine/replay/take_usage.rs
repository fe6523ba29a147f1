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

    /// Undoes [`Matcher::find_take`]: the take could not be given to this call, and a later call
    /// can get it.
    pub fn release_take(&self, take: usize, session: Option<&str>) {
        let Some((home, position)) = self.group_and_position(take) else { return };
        if self.with_cursor(home, session, |progress| progress.release(position)) {
            self.takes[take].take_back();
            self.usage.iter().for_each(|usage| usage.take_back(take));
        }
    }

    /// Uses up a take that was given back, unless another call has it by now.
    pub fn consume_take(&self, take: usize, session: Option<&str>) {
        self.claim_take(take, session);
    }

    /// Uses up a take that no call has. Returns whether it did.
    pub(super) fn claim_take(&self, take: usize, session: Option<&str>) -> bool {
        let Some((home, position)) = self.group_and_position(take) else { return false };
        let is_claimed = self.with_cursor(home, session, |progress| progress.consume(position));
        if is_claimed {
            self.count_answered_call(take);
        }
        is_claimed
    }

    /// Gives a take back whose client left, if a client got nothing when the request was recorded:
    /// this call then counts as that one, and a later call can get the take. That happens once for
    /// each take of whose answer no client got anything, so no request is answered more often than
    /// it was recorded. Returns whether it happened.
    pub fn count_as_given_up(&self, take: usize, session: Option<&str>) -> bool {
        let Some((home, position)) = self.group_and_position(take).filter(|_| self.has_undelivered)
        else {
            return false;
        };
        let labels = self.takes[take].under;
        let given_up = |&(_, other): &(usize, &u32)| {
            let other = &self.takes[*other as usize];
            other.is_undelivered() && other.under == labels
        };
        let takes = self.groups[home as usize].takes().iter().enumerate();
        let given_up: Vec<usize> = takes.filter(given_up).map(|(position, _)| position).collect();
        let is_given_back = !self.takes[take].is_undelivered()
            && self.with_cursor(home, session, |progress| progress.exchange(position, &given_up));
        if is_given_back {
            self.takes[take].take_back();
            self.usage.iter().for_each(|usage| usage.take_back(take));
        }
        is_given_back
    }

    /// Returns the group of a take, and its position there.
    fn group_and_position(&self, take: usize) -> Option<(u32, usize)> {
        let home = *self.homes.get(take)?;
        let group = self.groups.get(home as usize)?;
        Some((home, group.position_of(take as u32)? as usize))
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
    pub(super) fn count_answered_call(&self, take: usize) -> u32 {
        let nth = self.takes[take].count_answered_call();
        self.usage.as_ref().map_or(nth, |usage| usage.count_answered_call(take))
    }

    /// Returns how many calls a take answered.
    pub(super) fn answered_calls(&self, take: usize) -> u64 {
        match &self.usage {
            None => self.takes[take].answered_calls(),
            Some(usage) => usage.answered_calls(take).into(),
        }
    }

    /// Whether a take answered any call.
    pub(super) fn is_used(&self, take: usize) -> bool {
        self.answered_calls(take) > 0
    }

    /// Returns the takes that answered no call, in file order. Those of whose answers no client got
    /// anything are not among them: a program that is answered at once has no use for them.
    pub fn unused_takes(&self) -> impl Iterator<Item = &ReplayTake> {
        let takes = self.takes.iter().enumerate();
        let is_left =
            |(index, take): &(usize, &ReplayTake)| !self.is_used(*index) && !take.is_undelivered();
        takes.filter(is_left).map(|(_, take)| take)
    }

    /// Whether there is a take of whose answer no client got anything.
    pub fn has_undelivered(&self) -> bool {
        self.recorded.has_undelivered
    }

    /// Returns how many takes have an answer that was edited by hand.
    pub fn edited_takes(&self) -> usize {
        self.recorded.edited
    }

    /// Returns how many bytes of its answer the client of a take got, if it left before the end.
    pub fn part_of(&self, take: usize) -> Option<u64> {
        self.takes.get(take)?.client_left()?.bytes
    }

    /// Returns how many takes there are of whose answers no client got anything.
    pub fn undelivered_count(&self) -> usize {
        match self.has_undelivered {
            true => self.takes.iter().filter(|take| take.is_undelivered()).count(),
            false => 0,
        }
    }

    /// Returns how many takes were served more than once, and by how many further calls.
    pub fn served_again(&self) -> (u64, u64) {
        let further = (0..self.takes.len()).map(|take| self.answered_calls(take).saturating_sub(1));
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
