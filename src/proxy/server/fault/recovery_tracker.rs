//! Tracks each fault: when it happened, when its client noticed, and when the program had recovered
//! from it, and by what means.

use serde_json::json;

use super::super::Proxy;
use super::open_faults::FaultProgress;
use super::tracked_call::{ToolRequests, TrackedCall};
use loomrec_engine::IncomingCall;
use loomrec_fault::CallFault;
use loomrec_fault::recovery::RecoveryMeans;
use loomrec_telemetry::call_record::SendEnd;
use loomrec_telemetry::journal::FaultMark;

/// Notes that a fault has happened to a call on this connection, or to the connection itself.
pub(super) fn note_fault(proxy: &Proxy, connection: u64, fault: &CallFault, tracked: &TrackedCall) {
    let watch = &proxy.faults.watch;
    watch.keep_line(|| json!({ "outcome": "faulted", "fault": fault.to_json() }));
    let at = write_mark(proxy, fault.id, "fired", None);
    watch.add(fault, connection, tracked, at);
}

/// Notes that a call has arrived.
pub(super) fn note_arrival(proxy: &Proxy, call: &IncomingCall) -> TrackedCall {
    let watch = &proxy.faults.watch;
    let recorded = proxy.engine.recorded_key(&call.parsed);
    let mut tracked = TrackedCall::from_arrival(call, recorded, &proxy.faults.rules);
    if watch.change_open(|open| open.may_be_elsewhere(&tracked.key)) {
        tracked.find_work(call);
    }
    let cancelled = watch.is_open().then(|| ToolRequests::cancelled_by(call)).flatten();
    let progress = watch.change_open(|open| {
        let left = cancelled.iter().flat_map(|cancelled| open.note_cancelled(cancelled));
        let mut progress: Vec<FaultProgress> = left.collect();
        progress.extend(open.note_arrival(&tracked));
        progress
    });
    report_progress(proxy, progress);
    tracked
}

/// Notes that a connection on which nothing was asked has come. Its client has noticed the faults of
/// the connections before it.
pub(super) fn note_connection(proxy: &Proxy) -> TrackedCall {
    let tracked = TrackedCall::from_connection(proxy.clock.next_arrival_time());
    report_progress(proxy, proxy.faults.watch.change_open(|open| open.note_arrival(&tracked)));
    tracked
}

/// Notes that the whole of an error was sent to the client of a fault: it has noticed.
pub(super) fn note_error_sent(proxy: &Proxy, id: u64) {
    report_progress(proxy, proxy.faults.watch.change_open(|open| open.note_noticed(id, "error")));
}

/// Notes that a connection has ended, and that its client ended it.
pub(in crate::server) fn note_client_left(proxy: &Proxy, connection: u64) {
    report_progress(proxy, proxy.faults.watch.change_open(|open| open.note_left(connection)));
}

/// Notes that the call of a fault, or its connection, is over, and how it ended.
pub(in crate::server) fn note_over(proxy: &Proxy, fault: &CallFault, end: SendEnd) {
    let (at, left) = (proxy.clock.next_arrival_time(), end == SendEnd::ClientLeft);
    let noticed_by = match end {
        // The end of the connection tells of it.
        SendEnd::ClientLeft => None,
        _ if fault.only_delays => None,
        SendEnd::Complete => Some("sent"),
        // The end of the run ends every call, and no fault of it.
        SendEnd::Aborted => (!proxy.faults.is_stopping()).then_some("cut"),
    };
    let progress = proxy.faults.watch.change_open(|open| {
        let noticed = noticed_by.map(|by| open.note_noticed(fault.id, by));
        let over = open.note_over(fault.id, left, at);
        noticed.into_iter().flatten().chain(over).collect()
    });
    report_progress(proxy, progress);
}

/// Notes that the client of a delayed call left before the whole answer was sent, so it did not get
/// its answer. Returns whether the fault had happened by then.
pub(super) fn give_up(proxy: &Proxy, id: u64) -> bool {
    let watch = &proxy.faults.watch;
    if !watch.change_open(|open| open.is_open(id)) {
        return false;
    }
    report_progress(proxy, watch.change_open(|open| open.note_noticed(id, "left")));
    write_mark(proxy, id, "given_up", None);
    true
}

/// Notes that a call got its true answer in spite of a fault, and whether that is a good one: there
/// is nothing more to recover from.
pub(super) fn settle_fault(proxy: &Proxy, id: u64, is_good: bool) {
    let was_open = proxy.faults.watch.change_open(|open| {
        let was_open = open.is_open(id);
        open.remove(id);
        was_open
    });
    if was_open && is_good {
        report_progress(proxy, vec![FaultProgress::Recovered(id, RecoveryMeans::SameCall)]);
    }
}

/// Notes that a call got a good answer, whole.
pub(super) fn note_answer(proxy: &Proxy, tracked: &TrackedCall) {
    report_progress(proxy, proxy.faults.watch.change_open(|open| open.note_answer(tracked)));
}

/// Notes the program's word that it reported a clean error, in this session, and in this step if one
/// is named. Returns the faults that it has recovered from so, and those whose calls it still waits
/// for.
pub(in crate::server) fn note_report(
    proxy: &Proxy,
    session: Option<&str>,
    step: Option<&str>,
) -> (Vec<u64>, Vec<u64>) {
    let (progress, waiting) =
        proxy.faults.watch.change_open(|open| open.note_report(session, step));
    let recovered = progress.iter().filter_map(|step| match step {
        FaultProgress::Recovered(id, _) => Some(*id),
        FaultProgress::Noticed(..) => None,
    });
    let recovered = recovered.collect();
    report_progress(proxy, progress);
    (recovered, waiting)
}

/// Writes what has become of faults into the journal.
fn report_progress(proxy: &Proxy, progress: Vec<FaultProgress>) {
    for step in progress {
        match step {
            FaultProgress::Noticed(id, by) => write_mark(proxy, id, "noticed", Some(by)),
            FaultProgress::Recovered(id, by) => {
                write_mark(proxy, id, "recovered", Some(by.as_str()))
            }
        };
    }
}

/// Writes a line of the journal about a fault, and returns its time.
fn write_mark(proxy: &Proxy, fault: u64, what: &'static str, by: Option<&'static str>) -> i64 {
    let at = proxy.clock.next_arrival_time();
    let mark = FaultMark { at, fault, what, by, at_ms: proxy.faults.now_ms() };
    proxy.faults.watch.keep_line(|| mark.to_json());
    proxy.telemetry.journal.add_fault_mark(mark);
    at
}
