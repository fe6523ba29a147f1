//! The steps of a changed body, and the queue of steps that have not been taken.

use super::super::ConnectionCut;
use bytes::Bytes;
use std::collections::VecDeque;

/// The longest event that is changed, in bytes; a longer one passes unchanged.
pub(super) const HELD: usize = 16 << 20;

/// What the server does next for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyStep {
    /// Send these bytes of the body as a chunk.
    Send(Bytes),
    /// Wait for this many milliseconds.
    Wait(u64),
    /// Send nothing more on the open connection, until the client leaves.
    Stall,
    /// Cut the connection.
    Cut(ConnectionCut),
    /// End the body cleanly.
    End,
    /// Send these bytes after a body whose announced length has been sent.
    Behind(Bytes),
}

/// The steps that have been decided and not yet taken.
#[derive(Debug, Default)]
pub(super) struct TransformOutput {
    pub(super) steps: VecDeque<BodyStep>,
    pub(super) struck: bool,
    pub(super) over: bool,
}

impl TransformOutput {
    pub(super) fn send(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.steps.push_back(BodyStep::Send(bytes));
        }
    }

    /// Notes that the fault has happened.
    pub(super) fn mark_struck(&mut self) {
        self.struck = true;
    }

    /// Adds the last step.
    pub(super) fn end_with(&mut self, step: BodyStep) {
        self.steps.push_back(step);
        self.over = true;
    }
}
