//! Connections that end without an answer.

use std::fmt;
use std::sync::Arc;

use super::super::Proxy;
use super::super::response_control::ResponseControl;
use loomrec_recording::entry::RecordedCut;

/// A call that is left without an answer: its connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbandonedCall;

impl fmt::Display for AbandonedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fault left the call without an answer")
    }
}

impl std::error::Error for AbandonedCall {}

/// How a fault ends a connection, in the words of recordings.
pub(super) fn cut(cut: loomrec_fault::ConnectionCut) -> RecordedCut {
    match cut {
        loomrec_fault::ConnectionCut::Close => RecordedCut::Close,
        loomrec_fault::ConnectionCut::Reset => RecordedCut::Reset,
    }
}

/// Says nothing for so long, then ends the connection. A client that leaves before
/// ends the wait; so does the run's end.
pub(super) async fn keep(
    proxy: &Arc<Proxy>,
    control: &ResponseControl,
    for_ms: u64,
    then: RecordedCut,
) -> AbandonedCall {
    proxy.faults.pause(for_ms).await;
    control.cut();
    if then == RecordedCut::Reset {
        control.reset_at_end();
    }
    AbandonedCall
}
