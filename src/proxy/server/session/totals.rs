//! What became of the sessions of a run.

use std::collections::BTreeMap;

use super::limits::SessionJudge;
use super::{SessionInfo, SessionReport};

/// How many sessions are listed.
const MOST_LISTED: usize = 1000;

/// A session that ended, its verdict, and what was wrong with it.
pub type ListedSession = (SessionInfo, &'static str, Vec<String>);

/// A session that its framework has left.
#[derive(Clone, Debug)]
pub struct LeftSession {
    /// The session.
    pub info: SessionInfo,
    /// What was wrong with it.
    pub complaints: Vec<String>,
}

/// What became of the sessions of a run.
#[derive(Clone, Debug, Default)]
pub struct SessionTotals {
    /// Who judges those that control calls began.
    pub judge: SessionJudge,
    /// How many were opened.
    pub opened: u64,
    /// How many were not opened: there were too many, the server was about to stop, or the request for
    /// one was wrong.
    pub refused: u64,
    /// How many ended because they had no call for too long.
    pub expired: u64,
    /// How many were ended without a report, since their framework had left them.
    pub abandoned: u64,
    /// How many calls they had.
    pub calls: u64,
    /// How many ended.
    pub ended: u64,
    /// How many failed of those that the run judges.
    pub failed: u64,
    /// How many connections to upstreams they opened.
    pub upstream_connections: u64,
    /// How long the answers that they served took when they were recorded, in milliseconds.
    pub recorded_ms: f64,
    /// The first that ended, with their verdicts and complaints.
    pub listed: Vec<ListedSession>,
    /// The first that control calls began and none ended.
    pub left_open: Vec<LeftSession>,
    /// Why sessions could not be closed, by their names.
    pub close_errors: BTreeMap<String, String>,
}

impl SessionTotals {
    /// Returns the totals of a run that begins.
    pub(super) fn new(judge: SessionJudge) -> Self {
        Self { judge, ..Self::default() }
    }

    /// Whether the run fails if this session fails.
    pub fn judges(&self, info: &SessionInfo) -> bool {
        self.judge.judges(info.begun_by)
    }

    /// Counts a session that ended, with its report and why it could not be closed.
    pub(super) fn add_ended(
        &mut self,
        info: &SessionInfo,
        report: &SessionReport,
        error: Option<&String>,
    ) {
        // A session whose faults never happened has tested nothing, so it counts, too.
        let failed = !report.complaints.is_empty() || error.is_some();
        self.ended += 1;
        self.failed += u64::from(failed && self.judges(info));
        self.upstream_connections += report.upstream_connections;
        self.recorded_ms += report.recorded_ms;
        if self.listed.len() < MOST_LISTED {
            self.listed.push((info.clone(), report.verdict, report.complaints.clone()));
        }
        if let Some(error) = error
            && self.close_errors.len() < MOST_LISTED
        {
            self.close_errors.insert(info.name.clone(), error.clone());
        }
    }

    /// Notes a session that its framework has left.
    pub(super) fn add_left_open(&mut self, info: &SessionInfo, complaints: Vec<String>) {
        self.abandoned += 1;
        self.failed += u64::from(!complaints.is_empty());
        if self.left_open.len() < MOST_LISTED {
            self.left_open.push(LeftSession { info: info.clone(), complaints });
        }
    }
}
