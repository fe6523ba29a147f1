//! The receipts of sessions, and that of a run which sums them up.

use crate::receipt::{Receipt, SessionsReceipt};
use crate::server_run::RunResult;
use loomrec_proxy::guard::EscapePolicy;
use loomrec_proxy::server::session::SessionReport;

/// Returns the report of a session with this receipt.
pub(super) fn of_session(receipt: Receipt) -> SessionReport {
    SessionReport {
        verdict: receipt.run_verdict().as_str(),
        upstream_connections: receipt.upstream_connections,
        recorded_ms: receipt.recorded_ms,
        complaints: receipt.complaints.clone(),
        receipt: receipt.to_json(),
        summary: anstream::adapter::strip_str(&receipt.to_text()).to_string(),
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
    let mut receipt = Receipt::from_counters(command, &proxy.telemetry.counters, &[]);
    receipt.cmd_exit = ran.cmd_exit();
    receipt.upstream_connections = totals.upstream_connections;
    receipt.recorded_ms = totals.recorded_ms;
    if let Some(policy) = guard {
        receipt.add_escapes(&ran.hosts, policy);
    }
    let sessions = SessionsReceipt::new(totals.clone());
    receipt.complaints.extend(sessions.complaints());
    // What could not be put in its place makes the recording incomplete.
    receipt.more.unfolded = totals.close_errors.values().next().cloned();
    if receipt.refused > 0 {
        receipt.complaints.push(format!("calls refused: {}", receipt.refused));
    }
    let is_empty = totals.calls == 0 && receipt.refused == 0 && receipt.hosts.escapes.is_empty();
    if ran.cmd.is_some() && is_empty && !allow_empty {
        let text = match totals.opened {
            0 => {
                "no session was opened (--allow-empty permits that): the command made no call here"
            }
            _ => "no session had a call (--allow-empty permits that)",
        };
        receipt.complaints.push(text.to_owned());
    }
    receipt.notes.extend(sessions.unended_notes());
    receipt.sessions = Some(sessions);
    receipt
}
