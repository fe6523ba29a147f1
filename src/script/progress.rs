//! How far the sessions have come in a script.

use std::collections::BTreeMap;

/// The calls of a script, numbered through: first those for complete calls, which answer streams
/// too unless there are others for them; then those for streams alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallLayout {
    /// How many there are.
    pub(super) calls: usize,
    /// The index of the first one for streams alone, if there are such.
    pub(super) streams_from: Option<usize>,
}

/// The list of calls that answers a kind of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallList {
    Main = 0,
    Streams = 1,
}

impl CallLayout {
    fn list_for(self, streamed: bool) -> CallList {
        match self.streams_from {
            Some(_) if streamed => CallList::Streams,
            _ => CallList::Main,
        }
    }

    /// Returns the list that holds call number `call`, from 1.
    fn list_of(self, call: usize) -> CallList {
        match self.streams_from {
            Some(from) if call > from => CallList::Streams,
            _ => CallList::Main,
        }
    }

    /// Returns the index of a list's first call, and how many it has.
    fn start_and_count(self, list: CallList) -> (usize, usize) {
        match (list, self.streams_from) {
            (CallList::Main, None) => (0, self.calls),
            (CallList::Main, Some(from)) => (0, from),
            (CallList::Streams, from) => {
                let from = from.unwrap_or(self.calls);
                (from, self.calls - from)
            }
        }
    }

    /// Returns how many calls there are for complete calls, or for streams.
    pub(super) fn call_count(self, streamed: bool) -> usize {
        self.start_and_count(self.list_for(streamed)).1
    }
}

/// The turn of a call in a session.
#[derive(Debug, PartialEq)]
pub(super) enum SessionTurn {
    /// None yet: the call fails temporarily.
    Later,
    /// The scripted call with this index.
    Call(usize),
    /// The script is used up.
    Over,
}

/// How far one session has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptCursor {
    /// The session; `None` for calls without one.
    pub session: Option<String>,
    /// How many calls it has made, those that the script did not answer included.
    pub made: u64,
    /// How many calls of the script it has used up.
    pub index: usize,
    /// How many calls of `stream_script` it has used up, if there is one.
    pub stream_index: Option<usize>,
}

#[derive(Debug, Default)]
struct ScriptPosition {
    /// Calls made.
    made: u64,
    /// Scripted calls used up, of each list.
    used: [usize; 2],
}

impl ScriptPosition {
    fn to_cursor(&self, session: Option<&String>, layout: CallLayout) -> ScriptCursor {
        ScriptCursor {
            session: session.cloned(),
            made: self.made,
            index: self.used[CallList::Main as usize],
            stream_index: layout.streams_from.map(|_| self.used[CallList::Streams as usize]),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Progress {
    unnamed: ScriptPosition,
    named: BTreeMap<String, ScriptPosition>,
    /// The most calls that any session has used up, of each list.
    furthest: [usize; 2],
}

impl Progress {
    /// Returns the turn of the next call in a session, and uses it up. Calls before call number
    /// `until`, if it is given, come too early.
    pub(super) fn next_turn(
        &mut self,
        session: Option<&str>,
        streamed: bool,
        until: Option<u64>,
        layout: CallLayout,
    ) -> SessionTurn {
        let cursor = match session {
            None => &mut self.unnamed,
            Some(name) => self.named.entry(name.to_owned()).or_default(),
        };
        cursor.made += 1;
        if until.is_some_and(|until| cursor.made < until) {
            return SessionTurn::Later;
        }
        let list = layout.list_for(streamed);
        let (first, count) = layout.start_and_count(list);
        let used = &mut cursor.used[list as usize];
        if *used == count {
            return SessionTurn::Over;
        }
        *used += 1;
        let furthest = &mut self.furthest[list as usize];
        *furthest = (*furthest).max(*used);
        SessionTurn::Call(first + *used - 1)
    }

    /// Gives back call number `call`, from 1, unless the session has gone on since.
    pub(super) fn release_call(&mut self, session: Option<&str>, call: usize, layout: CallLayout) {
        let list = layout.list_of(call);
        let number = call - layout.start_and_count(list).0;
        let list = list as usize;
        let Some(cursor) = self.cursor_mut(session).filter(|cursor| cursor.used[list] == number)
        else {
            return;
        };
        cursor.used[list] -= 1;
        if self.furthest[list] == number {
            let used = self.named.values().chain([&self.unnamed]).map(|cursor| cursor.used[list]);
            self.furthest[list] = used.max().unwrap_or(0);
        }
    }

    /// Undoes [`Progress::release_call`].
    pub(super) fn consume_call(&mut self, session: Option<&str>, call: usize, layout: CallLayout) {
        let list = layout.list_of(call);
        let number = call - layout.start_and_count(list).0;
        let list = list as usize;
        let cursor = self.cursor_mut(session).filter(|cursor| cursor.used[list] + 1 == number);
        if let Some(cursor) = cursor {
            cursor.used[list] = number;
            self.furthest[list] = self.furthest[list].max(number);
        }
    }

    /// Starts over, for one session or for all.
    pub(super) fn reset(&mut self, session: Option<&str>) {
        match session {
            None => {
                self.unnamed = ScriptPosition::default();
                self.named.clear();
            }
            Some(name) => drop(self.named.remove(name)),
        }
    }

    /// Returns how many calls of the script any session has reached.
    pub(super) fn reached_calls(&self) -> usize {
        self.furthest.iter().sum()
    }

    /// Returns how far the sessions have come, `most` of them at most, and how many are left out.
    /// The calls without a session come first, then the sessions by name.
    pub(super) fn session_cursors(
        &self,
        most: usize,
        layout: CallLayout,
    ) -> (Vec<ScriptCursor>, usize) {
        let named = self.named.iter().map(|(name, cursor)| (Some(name), cursor));
        let all = [(None, &self.unnamed)].into_iter().chain(named);
        let shown =
            |(name, cursor): (Option<&String>, &ScriptPosition)| cursor.to_cursor(name, layout);
        let cursors = all.take(most).map(shown).collect();
        (cursors, (self.named.len() + 1).saturating_sub(most))
    }

    /// Returns how far a session has come; `None` if it has made no call.
    pub(super) fn cursor_of(&self, session: &str, layout: CallLayout) -> Option<ScriptCursor> {
        let (name, cursor) = self.named.get_key_value(session)?;
        Some(cursor.to_cursor(Some(name), layout))
    }

    /// Returns the cursor of a session that has made a call.
    fn cursor_mut(&mut self, session: Option<&str>) -> Option<&mut ScriptPosition> {
        match session {
            None => Some(&mut self.unnamed),
            Some(name) => self.named.get_mut(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: CallLayout = CallLayout { calls: 3, streams_from: Some(2) };

    #[test]
    fn streams_have_a_cursor_of_their_own_where_they_have_calls_of_their_own() {
        let mut progress = Progress::default();
        let mut turn = |streamed| progress.next_turn(None, streamed, None, BOTH);
        assert_eq!([turn(true), turn(false)], [SessionTurn::Call(2), SessionTurn::Call(0)]);
        assert_eq!(
            [turn(true), turn(false), turn(false)],
            [SessionTurn::Over, SessionTurn::Call(1), SessionTurn::Over]
        );
        assert_eq!(progress.reached_calls(), 3);
        let cursor = ScriptCursor { session: None, made: 5, index: 2, stream_index: Some(1) };
        assert_eq!(progress.session_cursors(9, BOTH), (vec![cursor], 0));
    }

    #[test]
    fn without_such_calls_both_kinds_share_one_cursor() {
        let layout = CallLayout { calls: 2, streams_from: None };
        let mut progress = Progress::default();
        let mut turn = |streamed| progress.next_turn(None, streamed, None, layout);
        assert_eq!(
            [turn(true), turn(false), turn(true)],
            [SessionTurn::Call(0), SessionTurn::Call(1), SessionTurn::Over]
        );
        assert_eq!((layout.call_count(true), layout.call_count(false)), (2, 2));
    }

    #[test]
    fn a_call_is_given_back_to_the_list_that_it_is_of() {
        let mut progress = Progress::default();
        progress.next_turn(Some("a"), false, None, BOTH);
        progress.next_turn(Some("a"), true, None, BOTH);
        progress.release_call(Some("a"), 3, BOTH);
        assert_eq!(progress.reached_calls(), 1);
        assert_eq!(progress.next_turn(Some("a"), true, None, BOTH), SessionTurn::Call(2));
        progress.release_call(Some("a"), 3, BOTH);
        progress.consume_call(Some("a"), 3, BOTH);
        assert_eq!(progress.next_turn(Some("a"), true, None, BOTH), SessionTurn::Over);
        progress.release_call(Some("a"), 1, BOTH);
        assert_eq!(progress.next_turn(Some("a"), false, None, BOTH), SessionTurn::Call(0));
    }

    #[test]
    fn no_more_sessions_are_told_than_asked_for() {
        let mut progress = Progress::default();
        for name in ["c", "a", "b"] {
            progress.next_turn(Some(name), false, Some(2), BOTH);
        }
        let (cursors, left_out) = progress.session_cursors(3, BOTH);
        let names: Vec<_> = cursors.iter().map(|cursor| cursor.session.as_deref()).collect();
        assert_eq!((names, left_out), (vec![None, Some("a"), Some("b")], 1));
        assert_eq!((cursors[1].made, cursors[1].index), (1, 0));
    }
}
