//! The limits of a server's sessions.

use std::time::Duration;

use super::request::SessionBegin;

/// How many sessions may be open at the same time: far more than a runner has workers, at no more
/// than 250 KiB each.
pub(super) const MOST_OPEN: usize = 1000;

/// The limits of a server's sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// How long a session that a call opened may have no call.
    pub idle: Duration,
    /// How long a session that a control call began may have no call.
    pub control_idle: Duration,
    /// What becomes of calls of other sessions.
    pub outside: OutsideCalls,
    /// Who judges the sessions that control calls began.
    pub judge: SessionJudge,
}

/// Who judges the sessions that control calls began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionJudge {
    /// The test framework that ends them.
    #[default]
    Framework,
    /// The run: it fails if one of them fails.
    Run,
}

impl SessionJudge {
    /// Whether the run fails if a session fails that was begun like this.
    pub(super) fn judges(self, begun_by: SessionBegin) -> bool {
        begun_by == SessionBegin::Call || self == Self::Run
    }
}

/// What becomes of a call whose session is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideCalls {
    /// It opens the session.
    OpenSession,
    /// The run answers it.
    AnswerInRun,
    /// It is refused: only control calls begin sessions.
    Refuse,
}
