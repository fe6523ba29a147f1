//! A step of a body, and where the steps are put together.

use super::super::ConnectionCut;
use bytes::Bytes;
use std::collections::VecDeque;

/// The longest event that is changed, in bytes; a longer one passes as it is.
pub(super) const HELD: usize = 16 << 20;

/// What is to be done next for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyStep {
    /// These bytes of the body go out, as a chunk.
    Send(Bytes),
    /// Nothing for so many milliseconds.
    Wait(u64),
    /// Nothing more, on an open connection, until the client leaves.
    Stall,
    /// The connection ends here.
    Cut(ConnectionCut),
    /// The body ends here, and well.
    End,
    /// These bytes go out behind a body whose announced length is full.
    Behind(Bytes),
}

/// What has been decided and not yet been taken.
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

    /// The fault happens.
    pub(super) fn strike(&mut self) {
        self.struck = true;
    }

    /// Nothing follows this.
    pub(super) fn last(&mut self, step: BodyStep) {
        self.steps.push_back(step);
        self.over = true;
    }
}
