//! The receipt's part about sessions.

use serde_json::{Value, json};

use crate::server::session::SessionTotals;

/// The receipt's part about sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionsReceipt(SessionTotals);

impl SessionsReceipt {
    /// Returns the part for a run with these sessions.
    pub fn new(totals: SessionTotals) -> Self {
        Self(totals)
    }

    /// Returns the words for the first line.
    pub fn text(&self) -> String {
        let SessionTotals { opened, failed, .. } = &self.0;
        let noun = if *opened == 1 { "session" } else { "sessions" };
        match failed {
            0 => format!("{opened} {noun}"),
            failed => format!("{opened} {noun}, {failed} failed"),
        }
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        let SessionTotals { opened, ended, failed, listed, left_open, .. } = &self.0;
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
        json!({
            "opened": opened,
            "ended": ended,
            "failed": failed,
            "listed": listed.collect::<Value>(),
            "left_open": left_open,
        })
    }
}
