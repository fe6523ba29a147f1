//! The receipt's part about sessions.

use serde_json::{Value, json};

use loomrec_proxy::server::session::{SessionInfo, SessionTotals};
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
        let (served, missed) = (RunCounters::read(&counters.served), counters.missed());
        Self { calls: Some(SessionCallCounts { served, missed }), ..self }
    }

    /// Returns the words for the first line.
    pub fn text(&self) -> String {
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
    pub fn notes(&self) -> Vec<String> {
        let note = |info: &SessionInfo| {
            let unfinished = match info.mode.records() {
                true => format!("; what it recorded is in {}.unfinished", info.recording),
                false => String::new(),
            };
            format!("session {} was not ended{unfinished}", info.name)
        };
        self.totals.left_open.iter().take(NAMED).map(note).collect()
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
        let left_open: Vec<&str> = left_open.iter().map(|info| info.name.as_str()).collect();
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
