//! The receipts of sessions, and that of a run which sums them up.

use crate::receipt::{Receipt, SessionsReceipt};
use crate::server_run::RunResult;
use loomrec_proxy::guard::EscapePolicy;
use loomrec_proxy::server::session::{SessionBegin, SessionReport, SessionTotals};

/// How many sessions are named to people.
const NAMED: usize = 10;

/// Returns the report of a session with this receipt.
pub(super) fn of_session(receipt: Receipt) -> SessionReport {
    SessionReport {
        verdict: receipt.verdict(),
        upstream_connections: receipt.upstream_connections,
        recorded_ms: receipt.recorded_ms,
        complaints: receipt.complaints.clone(),
        receipt: receipt.to_json(),
        summary: anstream::adapter::strip_str(&receipt.text()).to_string(),
    }
}

/// Returns the receipt of a run with sessions.
pub(super) fn of_run(
    command: &'static str,
    ran: &RunResult,
    guard: Option<EscapePolicy>,
    allow_empty: bool,
) -> Receipt {
    let proxy = &ran.proxy;
    let totals = ran.sessions.as_ref().map(|sessions| sessions.totals()).unwrap_or_default();
    let mut receipt = Receipt::of(command, &proxy.telemetry.counters, &[]);
    receipt.cmd_exit = ran.cmd_exit;
    receipt.upstream_connections = totals.upstream_connections;
    receipt.recorded_ms = totals.recorded_ms;
    if let Some(policy) = guard {
        receipt.add_escapes(&ran.escapes, policy);
    }
    receipt.complaints.extend(complaints_of(&totals));
    // What could not be put in its place makes the recording incomplete.
    receipt.more.unfolded = totals.close_errors.values().next().cloned();
    if receipt.refused > 0 {
        receipt.complaints.push(format!("calls refused: {}", receipt.refused));
    }
    let is_empty = totals.opened == 0 && receipt.refused == 0 && receipt.escapes.is_empty();
    if ran.cmd_exit.is_some() && is_empty && !allow_empty {
        let text = "no session was opened (--allow-empty permits that): the command made no call \
                    here";
        receipt.complaints.push(text.to_owned());
    }
    let sessions = SessionsReceipt::new(totals);
    receipt.notes.extend(sessions.notes());
    receipt.sessions = Some(sessions);
    receipt
}

/// Returns what is wrong with the sessions of a run: with those that calls opened, and with
/// recordings that could not be written.
fn complaints_of(totals: &SessionTotals) -> Vec<String> {
    let failed = totals.listed.iter().filter(|(info, _, complaints)| {
        info.begun_by == SessionBegin::Call && !complaints.is_empty()
    });
    let named = failed
        .take(NAMED)
        .map(|(info, _, complaints)| format!("session {}: {}", info.name, complaints.join("; ")));
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

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_proxy::server::session::{ListedSession, SessionInfo, SessionMode};

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
        let late = SessionTotals { failed: 1, ..totals.clone() };
        assert_eq!(complaints_of(&late), ["further sessions that failed: 1"]);
        let bad = |number: usize| ended(&format!("s{number}"), SessionBegin::Call, "missed");
        let many = SessionTotals { failed: 12, listed: (0..12).map(bad).collect(), ..totals };
        let all = complaints_of(&many);
        assert_eq!(all.len(), NAMED + 1);
        assert_eq!(
            (all[0].as_str(), all[10].as_str()),
            ("session s0: missed", "further sessions that failed: 2")
        );
    }
}
