//! The state machine of a review: keys in, decisions and the next step out.

use super::apply::Verdict;
use super::key::ReviewKey;

/// One change of a review.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReviewItem {
    /// Its index among all changes.
    pub(super) change: usize,
    /// Whether it is in conflict, so that only `--force --accept` accepts it.
    pub(super) is_conflict: bool,
    /// Whether it would replace a successful take by a failed call. It is then accepted only
    /// individually.
    pub(super) is_failure: bool,
}

/// What to do after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// Show the screen.
    Show,
    /// End the review.
    End,
    /// End the review, also of the recordings that follow.
    Quit,
    /// End the review as interrupted.
    Interrupted,
    /// Suspend the process, so that the shell has the terminal.
    Suspend,
}

/// The state of a review.
#[derive(Debug)]
pub(super) struct ReviewState {
    items: Vec<ReviewItem>,
    verdicts: Vec<Option<Verdict>>,
    /// The index of the shown change.
    pub(super) at: usize,
    /// Whether it is shown as JSON.
    pub(super) as_json: bool,
    /// Whether the explanation of the keys is shown instead.
    pub(super) help: bool,
    /// The first line that is shown.
    pub(super) top: usize,
    /// A note about the last key, if it had no visible effect.
    pub(super) note: Option<&'static str>,
}

const CONFLICT: &str = "a conflict: only --force --accept takes it; r rejects it, s leaves it";
const UNKNOWN: &str = "no such key; ? explains them";

impl ReviewState {
    /// Creates a review of these changes.
    pub(super) fn new(items: Vec<ReviewItem>) -> Self {
        let verdicts = vec![None; items.len()];
        let (at, as_json, help, top, note) = Default::default();
        Self { items, verdicts, at, as_json, help, top, note }
    }

    /// Returns the shown change, or `None` if there are no changes.
    pub(super) fn shown_item(&self) -> Option<ReviewItem> {
        self.items.get(self.at).copied()
    }

    /// Returns the number of changes.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the decision about the shown change.
    pub(super) fn shown_verdict(&self) -> Option<Verdict> {
        self.verdicts.get(self.at).copied().flatten()
    }

    /// Returns how many changes are to be accepted, and how many to be rejected.
    pub(super) fn verdict_counts(&self) -> (usize, usize) {
        let of = |verdict| self.verdicts.iter().filter(|one| **one == Some(verdict)).count();
        (of(Verdict::Accept), of(Verdict::Reject))
    }

    /// Returns the decisions for all `count` changes.
    pub(super) fn all_verdicts(&self, count: usize) -> Vec<Option<Verdict>> {
        let mut all = vec![None; count];
        for (item, verdict) in self.items.iter().zip(&self.verdicts) {
            all[item.change] = *verdict;
        }
        all
    }

    /// Handles a key. `page` of the `lines` fit on the screen.
    pub(super) fn handle_key(&mut self, key: ReviewKey, page: usize, lines: usize) -> NextStep {
        self.note = None;
        let last = lines.saturating_sub(page);
        let step = page.saturating_sub(1).max(1);
        match key {
            ReviewKey::Interrupt => return NextStep::Interrupted,
            ReviewKey::Suspend => return NextStep::Suspend,
            ReviewKey::Close | ReviewKey::Char('q') => return NextStep::Quit,
            ReviewKey::Down | ReviewKey::Char('j') => self.top = (self.top + 1).min(last),
            ReviewKey::Up | ReviewKey::Char('k') => self.top = self.top.min(last).saturating_sub(1),
            ReviewKey::PageDown | ReviewKey::Char(' ') => self.top = (self.top + step).min(last),
            ReviewKey::PageUp | ReviewKey::Char('u') => {
                self.top = self.top.min(last).saturating_sub(step)
            }
            ReviewKey::Home | ReviewKey::Char('g') => self.top = 0,
            ReviewKey::End | ReviewKey::Char('G') => self.top = last,
            ReviewKey::Redraw => {}
            ReviewKey::Char('?') => self.set_help(!self.help),
            // Any other key closes the explanation.
            _ if self.help => self.set_help(false),
            ReviewKey::Char('a') => return self.decide_shown(Some(Verdict::Accept)),
            ReviewKey::Char('r') => return self.decide_shown(Some(Verdict::Reject)),
            ReviewKey::Char('s') => return self.decide_shown(None),
            ReviewKey::Char('A') => return self.decide_rest(Some(Verdict::Accept)),
            ReviewKey::Char('R') => return self.decide_rest(Some(Verdict::Reject)),
            ReviewKey::Char('S') => return NextStep::End,
            ReviewKey::Char('d') => {
                self.as_json = !self.as_json;
                self.top = 0;
            }
            ReviewKey::Char('b') if self.at == 0 => self.note = Some("this is the first change"),
            ReviewKey::Char('b') => self.go_to(self.at - 1),
            ReviewKey::Char(_) | ReviewKey::Other => self.note = Some(UNKNOWN),
        }
        NextStep::Show
    }

    fn set_help(&mut self, help: bool) {
        (self.help, self.top) = (help, 0);
    }

    fn go_to(&mut self, at: usize) {
        (self.at, self.top) = (at, 0);
    }

    /// Decides about the shown change, and goes on to the next.
    fn decide_shown(&mut self, verdict: Option<Verdict>) -> NextStep {
        if verdict == Some(Verdict::Accept)
            && self.shown_item().is_some_and(|item| item.is_conflict)
        {
            self.note = Some(CONFLICT);
            return NextStep::Show;
        }
        if let Some(decided) = self.verdicts.get_mut(self.at) {
            *decided = verdict;
        }
        if self.at + 1 >= self.items.len() {
            return NextStep::End;
        }
        self.go_to(self.at + 1);
        NextStep::Show
    }

    /// Decides about this change and all later ones without a decision.
    fn decide_rest(&mut self, verdict: Option<Verdict>) -> NextStep {
        for at in self.at..self.items.len() {
            let item = self.items[at];
            let is_refused =
                (item.is_conflict || item.is_failure) && verdict == Some(Verdict::Accept);
            // The shown change is included, even if it was decided before.
            if (self.verdicts[at].is_none() || at == self.at) && !is_refused {
                self.verdicts[at] = verdict;
            }
        }
        NextStep::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(conflicts: &[bool]) -> ReviewState {
        let item = |(change, is_conflict): (usize, &bool)| ReviewItem {
            change,
            is_conflict: *is_conflict,
            is_failure: false,
        };
        ReviewState::new(conflicts.iter().enumerate().map(item).collect())
    }

    /// Types characters. Returns the step after the last one.
    fn typed(session: &mut ReviewState, keys: &str) -> NextStep {
        let press = |_, key| session.handle_key(ReviewKey::Char(key), 10, 5);
        keys.chars().fold(NextStep::Show, press)
    }

    /// Returns the decisions, one letter for each change.
    fn told(session: &ReviewState) -> String {
        let letter = |verdict: &Option<Verdict>| match verdict {
            Some(Verdict::Accept) => 'a',
            Some(Verdict::Reject) => 'r',
            None => '-',
        };
        session.all_verdicts(session.len()).iter().map(letter).collect()
    }

    #[test]
    fn keys_decide_about_one_change_after_the_other() {
        for (keys, expected, next) in [
            ("ar", "ar--", NextStep::Show),
            ("aras", "ara-", NextStep::End),
            ("abr", "r---", NextStep::Show),
            ("arbbs", "-r--", NextStep::Show),
            ("q", "----", NextStep::Quit),
            ("aq", "a---", NextStep::Quit),
            ("sA", "-aaa", NextStep::End),
            ("rA", "raaa", NextStep::End),
            ("aR", "arrr", NextStep::End),
            ("rS", "r---", NextStep::End),
            ("aabA", "aaaa", NextStep::End),
            ("rrbbA", "araa", NextStep::End),
            ("bbb", "----", NextStep::Show),
            ("?aa", "a---", NextStep::Show),
            ("xd?d", "----", NextStep::Show),
        ] {
            let mut session = session(&[false; 4]);
            assert_eq!(typed(&mut session, keys), next, "{keys}");
            assert_eq!(told(&session), expected, "{keys}");
        }
    }

    #[test]
    fn conflict_is_not_accepted() {
        let mut session = session(&[true, false, true]);
        assert_eq!(typed(&mut session, "a"), NextStep::Show);
        assert_eq!((session.at, session.note), (0, Some(CONFLICT)));
        assert_eq!(typed(&mut session, "A"), NextStep::End);
        assert_eq!(told(&session), "-a-");
        assert_eq!(typed(&mut session, "R"), NextStep::End);
        assert_eq!(told(&session), "rar");
    }

    #[test]
    fn failed_call_in_the_place_of_a_good_one_is_accepted_by_itself_only() {
        for (keys, expected) in [("A", "a-a"), ("saA", "-aa"), ("sA", "--a"), ("R", "rrr")] {
            let mut session = session(&[false; 3]);
            session.items[1].is_failure = true;
            typed(&mut session, keys);
            assert_eq!(told(&session), expected, "{keys}");
        }
    }

    #[test]
    fn text_moves_within_its_lines() {
        let mut session = session(&[false, false]);
        for (key, top) in [
            (ReviewKey::Up, 0),
            (ReviewKey::Down, 1),
            (ReviewKey::Char(' '), 5),
            (ReviewKey::PageDown, 9),
            (ReviewKey::PageDown, 10),
            (ReviewKey::Char('k'), 9),
            (ReviewKey::Home, 0),
            (ReviewKey::End, 10),
            (ReviewKey::Char('u'), 6),
        ] {
            assert_eq!(session.handle_key(key, 5, 15), NextStep::Show);
            assert_eq!(session.top, top, "{key:?}");
        }
        session.handle_key(ReviewKey::Char('s'), 5, 15);
        assert_eq!(session.top, 0);
        for page in [0, 1, usize::MAX] {
            session.handle_key(ReviewKey::PageDown, page, 0);
            assert_eq!(session.top, 0);
        }
    }

    #[test]
    fn review_ends_when_it_is_left() {
        for (key, next) in [
            (ReviewKey::Interrupt, NextStep::Interrupted),
            (ReviewKey::Close, NextStep::Quit),
            (ReviewKey::Suspend, NextStep::Suspend),
        ] {
            let mut session = session(&[false, false]);
            typed(&mut session, "a?");
            assert_eq!(session.handle_key(key, 10, 5), next);
            assert_eq!(told(&session), "a-");
        }
    }
}
