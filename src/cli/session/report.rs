//! The receipts of sessions, and that of a run which sums them up.

use crate::cli::receipt::{Receipt, SessionsReceipt};
use crate::cli::server_run::RunResult;
use crate::guard::EscapePolicy;
use crate::server::session::{SessionBegin, SessionReport};

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
    let is_failed = |verdict: &str| verdict == "failed";
    let failed = totals
        .listed
        .iter()
        .filter(|(info, verdict, _)| info.begun_by == SessionBegin::Call && is_failed(verdict));
    for (info, _, complaints) in failed.take(NAMED) {
        receipt.complaints.push(format!("session {}: {}", info.name, complaints.join("; ")));
    }
    if totals.failed > NAMED as u64 {
        receipt.complaints.push(format!("sessions that failed: {}", totals.failed));
    }
    for (name, error) in totals.close_errors.iter().take(NAMED) {
        receipt.complaints.push(format!("session {name}: {error}"));
    }
    if receipt.refused > 0 {
        receipt.complaints.push(format!("calls refused: {}", receipt.refused));
    }
    let is_empty = totals.opened == 0 && receipt.refused == 0 && receipt.escapes.is_empty();
    if ran.cmd_exit.is_some() && is_empty && !allow_empty {
        let text = "no session was opened (--allow-empty permits that): the command made no call \
                    here";
        receipt.complaints.push(text.to_owned());
    }
    for info in totals.left_open.iter().take(NAMED) {
        let unfinished = match info.mode.records() {
            true => format!("; what it recorded is in {}.unfinished", info.recording),
            false => String::new(),
        };
        receipt.notes.push(format!("session {} was not ended{unfinished}", info.name));
    }
    receipt.sessions = Some(SessionsReceipt::new(totals));
    receipt
}
