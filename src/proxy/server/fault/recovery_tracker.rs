//! Tracks each fault: when it happened, when its client noticed, and when the same call was
//! next answered without a fault.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::super::Proxy;
use super::open_faults::OpenFault;
use crate::telemetry::journal::FaultMark;
use loomrec_engine::clock::arrival;
use loomrec_fault::{CallFault, CallKey};

/// Notes that a fault has happened to a call on this connection, or to the connection itself.
pub(super) fn note_fault(proxy: &Proxy, connection: u64, fault: &CallFault) {
    let watch = &proxy.faults.watch;
    watch.keep(|| json!({ "outcome": "faulted", "fault": fault.to_json() }));
    let open = OpenFault { id: fault.id, connection, noticed: false };
    watch.open().entry(fault.key.clone()).or_default().push(open);
    watch.count.fetch_add(1, Ordering::AcqRel);
    mark(proxy, fault.id, "fired", None);
}

/// Notes that a call of this key has arrived: its client has noticed the faults of the previous
/// ones.
pub(super) fn note_retry(proxy: &Proxy, key: &CallKey) {
    let watch = &proxy.faults.watch;
    if !watch.is_open() {
        return;
    }
    let mut seen = Vec::new();
    for key in [key, &CallKey::Connection] {
        let mut open = watch.open();
        for fault in open.get_mut(key).into_iter().flatten().filter(|fault| !fault.noticed) {
            fault.noticed = true;
            seen.push(fault.id);
        }
    }
    seen.into_iter().for_each(|id| mark(proxy, id, "noticed", Some("again")));
}

/// Notes that the whole of an error was sent to the client of a fault: it has noticed.
pub(super) fn note_error_sent(proxy: &Proxy, key: &CallKey, id: u64) {
    let mut open = proxy.faults.watch.open();
    let faults = open.get_mut(key).into_iter().flatten();
    let Some(fault) = faults.into_iter().find(|fault| fault.id == id && !fault.noticed) else {
        return;
    };
    fault.noticed = true;
    drop(open);
    mark(proxy, id, "noticed", Some("error"));
}

/// Notes that a connection has ended, and that its client ended it.
pub(in crate::server) fn note_client_left(proxy: &Proxy, connection: u64) {
    let watch = &proxy.faults.watch;
    if !watch.is_open() {
        return;
    }
    let mut seen = Vec::new();
    for fault in watch.open().values_mut().flatten() {
        if fault.connection == connection && !fault.noticed {
            fault.noticed = true;
            seen.push(fault.id);
        }
    }
    seen.sort_unstable();
    seen.into_iter().for_each(|id| mark(proxy, id, "noticed", Some("left")));
}

/// Notes that the client of a delayed call left before the whole answer was sent, so it did not get
/// its answer. Returns whether the fault had happened by then.
pub(super) fn given_up(proxy: &Proxy, key: &CallKey, id: u64) -> bool {
    let mut open = proxy.faults.watch.open();
    let fault = open.get_mut(key).and_then(|faults| faults.iter_mut().find(|it| it.id == id));
    let Some(fault) = fault else { return false };
    let noticed = std::mem::replace(&mut fault.noticed, true);
    drop(open);
    if !noticed {
        mark(proxy, id, "noticed", Some("left"));
    }
    mark(proxy, id, "given_up", None);
    true
}

/// Notes that a call got its true answer, good or bad, in spite of a fault: there is nothing to
/// recover from.
pub(super) fn settle(proxy: &Proxy, key: &CallKey, id: u64) {
    let watch = &proxy.faults.watch;
    if !watch.is_open() {
        return;
    }
    let mut open = watch.open();
    let Some(faults) = open.get_mut(key) else { return };
    let before = faults.len();
    faults.retain(|fault| fault.id != id);
    watch.count.fetch_sub(before - faults.len(), Ordering::AcqRel);
    if faults.is_empty() {
        open.remove(key);
    }
}

/// Notes that a call of this key got a good answer, whole.
pub(super) fn recovered(proxy: &Proxy, key: &CallKey) {
    let watch = &proxy.faults.watch;
    for key in [key, &CallKey::Connection] {
        let faults = watch.open().remove(key).unwrap_or_default();
        watch.count.fetch_sub(faults.len(), Ordering::AcqRel);
        faults.into_iter().for_each(|fault| mark(proxy, fault.id, "recovered", None));
    }
}

fn mark(proxy: &Proxy, fault: u64, what: &'static str, by: Option<&'static str>) {
    let at = arrival(&proxy.clock);
    let mark = FaultMark { at, fault, what, by, at_ms: proxy.faults.now_ms() };
    proxy.faults.watch.keep(|| mark.to_json());
    proxy.telemetry.journal.mark(mark);
}
