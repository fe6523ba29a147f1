//! Sessions that end without their framework: they expire, or the run is over.

use std::sync::Arc;
use std::time::Duration;

use super::SessionBegin;
use super::open_session::OpenSession;
use super::table::{SessionTable, report_of};

impl SessionTable {
    /// Ends a session without its framework: with its report if the run judges it.
    async fn end_or_abandon(&self, session: &OpenSession) {
        match self.limits.judge.judges(session.info.begun_by) {
            // It may have been ended meanwhile.
            true => drop(self.end_session(&session.info.prefix, true).await),
            false => self.abandon_session(session).await,
        }
    }

    /// Ends the sessions that have had no call for too long.
    pub async fn end_idle(&self) {
        for session in self.open_sessions().await {
            let most = match session.info.begun_by {
                SessionBegin::Call => self.limits.idle,
                SessionBegin::Control => self.limits.control_idle,
            };
            if session.idle_time() >= most {
                self.change_totals(|totals| totals.expired += 1);
                self.end_or_abandon(&session).await;
            }
        }
    }

    /// Ends all sessions: the run is over. What a session of a control call has recorded is left in
    /// its unfinished file.
    pub async fn end_all(&self) {
        for session in self.open_sessions().await {
            self.end_or_abandon(&session).await;
        }
    }

    /// Ends a session that its framework has left, and leaves what it recorded where it is. Nobody
    /// else judges it, so the run fails if it failed.
    async fn abandon_session(&self, session: &OpenSession) {
        let prefix = &session.info.prefix;
        let mut place = self.lock_known(prefix).await;
        if let Some(close) = session.end_within(Duration::ZERO).await {
            drop(close);
            if let Some(record) = session.proxy.engine.record_engine() {
                // What is not compacted stays in the log.
                drop(record.finish_exchanges(Duration::ZERO).await);
            }
            let report = report_of(session).await;
            self.change_totals(|totals| {
                totals.calls += session.call_count();
                totals.add_left_open(&session.info, report.complaints);
            });
        }
        // Only now: a run that waits for its open sessions then reports this one.
        let is_own = |open: &Arc<OpenSession>| std::ptr::eq(&**open, session);
        if let Some(open) = place.as_mut().filter(|open| open.as_ref().is_some_and(is_own)) {
            **open = None;
            self.remove_slot(prefix);
        }
    }
}
