//! Connections that end without an answer.

use std::fmt;
use std::sync::Arc;

use super::super::Proxy;
use super::super::open_call::OpenCall;
use super::super::response_control::ResponseControl;
use loomrec_recording::entry::RecordedCut;

/// A call that gets no answer because its connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbandonedCall;

impl fmt::Display for AbandonedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fault or a script left the call without an answer")
    }
}

impl std::error::Error for AbandonedCall {}

/// Converts a fault's end of a connection to the type that recordings use.
pub(super) fn to_recorded_cut(cut: loomrec_fault::ConnectionCut) -> RecordedCut {
    match cut {
        loomrec_fault::ConnectionCut::Close => RecordedCut::Close,
        loomrec_fault::ConnectionCut::Reset => RecordedCut::Reset,
    }
}

/// Stays silent for this long, then ends the connection. The wait ends early if the client leaves
/// or the run ends.
pub(super) async fn stay_silent(
    proxy: &Arc<Proxy>,
    control: &ResponseControl,
    for_ms: u64,
    then: RecordedCut,
) -> AbandonedCall {
    proxy.faults.wait_or_leave(for_ms).await;
    end_connection(control, then)
}

/// Ends the connection of a call whose answer is withheld.
pub(in crate::server) fn withhold_answer(
    control: &ResponseControl,
    open: &mut OpenCall,
    cut: RecordedCut,
) -> AbandonedCall {
    open.record_mut().status = None;
    end_connection(control, cut)
}

fn end_connection(control: &ResponseControl, cut: RecordedCut) -> AbandonedCall {
    control.note_cut();
    if cut == RecordedCut::Reset {
        control.reset_at_end();
    }
    AbandonedCall
}
