//! Connections that end without an answer.

use std::fmt;
use std::sync::Arc;

use super::super::Gateway;
use super::super::socket::Connection;
use crate::fault;
use crate::recording::entry::Cut;

/// A call that is left without an answer: its connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned;

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fault left the call without an answer")
    }
}

impl std::error::Error for Abandoned {}

/// How a fault ends a connection, in the words of recordings.
pub(super) fn cut(cut: fault::Cut) -> Cut {
    match cut {
        fault::Cut::Close => Cut::Close,
        fault::Cut::Reset => Cut::Reset,
    }
}

/// Says nothing for so long, then ends the connection. A client that leaves before
/// ends the wait; so does the run's end.
pub(super) async fn keep(
    gateway: &Arc<Gateway>,
    connection: &Connection,
    for_ms: u64,
    then: Cut,
) -> Abandoned {
    gateway.faults.pause(for_ms).await;
    connection.cut();
    if then == Cut::Reset {
        connection.reset_at_end();
    }
    Abandoned
}
