//! Faults of connections on which nothing has been requested yet.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use super::super::{Proxy, socket};
use super::recovery_tracker;
use loomrec_fault::{CallFault, CallKey, DecidedFault, Fault};
use loomrec_telemetry::call_record::SendEnd;
use loomrec_telemetry::journal::ConnectionFault;

/// Applies a fault to `stream` before any request on it was read.
pub(in crate::server) async fn apply_to_connection(
    proxy: Arc<Proxy>,
    mut stream: TcpStream,
    number: u64,
    decided: DecidedFault,
) {
    let faults = &proxy.faults;
    let id = faults.watch.next_fault_number();
    faults.decider.count_fired(&decided);
    let key = CallKey::Connection;
    let tracked = recovery_tracker::note_connection(&proxy);
    let reported = Arc::new(CallFault::new(id, &decided, key));
    let (at, fault) = (proxy.clock.next_arrival_time(), Arc::clone(&reported));
    proxy.telemetry.journal.add_connection_fault(ConnectionFault { at, connection: number, fault });
    recovery_tracker::note_fault(&proxy, number, &reported, &tracked);
    proxy.telemetry.metrics.count_fault(decided.fault.name(), decided.source.as_str(), None);
    let wait = match decided.fault {
        Fault::Timeout { after_ms } => after_ms,
        Fault::Hang { max_ms } | Fault::Wedged { max_ms } => max_ms,
        _ => 0,
    };
    let left = tokio::select! {
        () = socket::read_to_end(&mut stream) => true,
        () = tokio::time::sleep(Duration::from_millis(wait)), if wait > 0 => false,
        () = std::future::ready(()), if wait == 0 => false,
        () = faults.wait_until_left() => false,
    };
    if left {
        recovery_tracker::note_client_left(&proxy, number);
        return;
    }
    recovery_tracker::note_over(&proxy, &reported, SendEnd::Aborted);
    if matches!(decided.fault, Fault::ConnectionReset | Fault::Disconnect) {
        // Lingering for no time makes the close a reset.
        drop(socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)));
        return;
    }
    socket::close_after_reading(&mut stream).await;
}
