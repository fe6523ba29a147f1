//! The receipt's part about sessions.

use std::path::Path;

use serde_json::{Value, json};

use loomrec_proxy::server::session::{LeftSession, SessionTotals};
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::RunCounters;

/// How many sessions are named to people.
const NAMED: usize = 10;

/// The receipt's part about sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionsReceipt {
    totals: SessionTotals,
    /// The calls that sessions answered and those that they missed, if the rest of the receipt does
    /// not count them.
    calls: Option<SessionCallCounts>,
}

#[derive(Clone, Copy, Debug)]
struct SessionCallCounts {
    served: u64,
    missed: u64,
}

impl SessionsReceipt {
    /// Returns the part for a run with these sessions.
    pub fn new(totals: SessionTotals) -> Self {
        Self { totals, calls: None }
    }

    /// Adds the calls of sessions that share the recording of their run, from the counters that they
    /// add up in.
    pub fn with_calls(self, counters: &RunCounters) -> Self {
        let (served, missed) =
            (RunCounters::counter_value(&counters.served), counters.missed_calls());
        Self { calls: Some(SessionCallCounts { served, missed }), ..self }
    }

    /// Returns the words for the first line.
    pub fn summary_part(&self) -> String {
        let SessionTotals { opened, failed, .. } = &self.totals;
        let noun = if *opened == 1 { "session" } else { "sessions" };
        match (failed, self.calls) {
            (0, None) => format!("{opened} {noun}"),
            (failed, None) => format!("{opened} {noun}, {failed} failed"),
            (_, Some(SessionCallCounts { served, missed })) => {
                format!("{opened} {noun} ({served} served, {missed} missed)")
            }
        }
    }

    /// Returns the notes about sessions that a framework began and never ended.
    pub fn unended_notes(&self) -> Vec<String> {
        let note = |LeftSession { info, .. }: &LeftSession| {
            let unfinished = match info.mode.is_recording() {
                true => {
                    let unfinished = RecordingLocation::from(Path::new(&info.recording));
                    format!("; what it recorded is in {}", unfinished.unfinished_file().display())
                }
                false => String::new(),
            };
            format!("session {} was not ended{unfinished}", info.name)
        };
        self.totals.left_open.iter().take(NAMED).map(note).collect()
    }

    /// Returns what is wrong with the sessions that the run judges, and with recordings that could
    /// not be written.
    pub fn complaints(&self) -> Vec<String> {
        let totals = &self.totals;
        let ended = totals.listed.iter().filter(|(info, _, _)| totals.judges(info));
        let ended = ended.map(|(info, _, complaints)| (info, complaints));
        // Nobody else judges a session that its framework has left.
        let left = totals.left_open.iter().map(|left| (&left.info, &left.complaints));
        let failed = ended.chain(left).filter(|(_, complaints)| !complaints.is_empty());
        let named = failed
            .take(NAMED)
            .map(|(info, complaints)| format!("session {}: {}", info.name, complaints.join("; ")));
        let mut all: Vec<String> = named.collect();
        // Not every session that failed is listed.
        let unnamed = totals.failed.saturating_sub(all.len() as u64);
        if unnamed > 0 {
            all.push(format!("further sessions that failed: {unnamed}"));
        }
        let errors = totals.close_errors.iter().take(NAMED);
        all.extend(errors.map(|(name, error)| format!("session {name}: {error}")));
        all
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        let SessionTotals { opened, ended, failed, listed, left_open, .. } = &self.totals;
        let listed = listed.iter().map(|(info, verdict, complaints)| {
            json!({
                "name": info.name,
                "recording": info.recording,
                "mode": info.mode.as_str(),
                "verdict": verdict,
                "complaints": complaints,
            })
        });
        let left_open: Vec<&str> = left_open.iter().map(|left| left.info.name.as_str()).collect();
        let mut part = json!({
            "opened": opened,
            "ended": ended,
            "failed": failed,
            "listed": listed.collect::<Value>(),
            "left_open": left_open,
        });
        if let Some(SessionCallCounts { served, missed }) = self.calls {
            part["served"] = served.into();
            part["missed"] = missed.into();
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_proxy::server::session::{
        ListedSession, SessionBegin, SessionInfo, SessionJudge, SessionMode,
    };

    fn complaints_of(totals: &SessionTotals) -> Vec<String> {
        SessionsReceipt::new(totals.clone()).complaints()
    }

    fn ended(name: &str, begun_by: SessionBegin, complaint: &str) -> ListedSession {
        let info = SessionInfo {
            prefix: name.to_owned(),
            name: name.to_owned(),
            recording: format!("{name}.json"),
            mode: SessionMode::Replay,
            begun_by,
            exists: true,
        };
        (
            info,
            "failed",
            Some(complaint.to_owned()).filter(|text| !text.is_empty()).into_iter().collect(),
        )
    }

    #[test]
    fn session_that_failed_is_a_complaint_even_if_it_is_not_listed() {
        let good = ended("good", SessionBegin::Call, "");
        let judged = ended("judged", SessionBegin::Control, "missed");
        let totals = SessionTotals { listed: vec![good, judged], ..SessionTotals::default() };
        assert_eq!(complaints_of(&totals), Vec::<String>::new());
        let strict = SessionTotals { judge: SessionJudge::Run, failed: 1, ..totals.clone() };
        assert_eq!(complaints_of(&strict), ["session judged: missed"]);
        let late = SessionTotals { failed: 1, ..totals.clone() };
        assert_eq!(complaints_of(&late), ["further sessions that failed: 1"]);
        let bad = |number: usize| ended(&format!("s{number}"), SessionBegin::Call, "missed");
        let (info, _, complaints) = ended("left", SessionBegin::Control, "missed");
        let left_open = vec![LeftSession { info, complaints }];
        let left = SessionTotals { failed: 1, left_open, ..totals.clone() };
        assert_eq!(complaints_of(&left), ["session left: missed"]);
        let many = SessionTotals { failed: 12, listed: (0..12).map(bad).collect(), ..totals };
        let all = complaints_of(&many);
        assert_eq!(all.len(), NAMED + 1);
        assert_eq!(
            (all[0].as_str(), all[10].as_str()),
            ("session s0: missed", "further sessions that failed: 2")
        );
    }
}
