//! Bodies that are sent slowly, in small pieces.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{BodyStep, TransformOutput};
use crate::FaultObstacle;

/// Pieces per second when the rate is limited.
const PIECES: u64 = 20;

/// A body in pieces. They are cut when they are taken, because there can be very many of them.
#[derive(Debug)]
pub(super) struct PacedBody {
    /// The most bytes in a piece.
    piece: usize,
    wait: PaceWait,
    chunks: VecDeque<Bytes>,
    /// Whether a part of the first chunk has been sent and the rest has not.
    within: bool,
    ended: bool,
}

/// How long to wait before each piece.
#[derive(Debug)]
enum PaceWait {
    /// As long as the rate requires.
    Rate { bytes_per_second: u64, sent: u64, waited_ms: u64 },
    /// A fixed time between two pieces.
    Between { ms: u64, begun: bool },
}

impl PacedBody {
    /// A body that is sent at a limited rate.
    pub(super) fn with_rate(bytes_per_second: u64) -> Self {
        let bytes_per_second = bytes_per_second.max(1);
        let piece = usize::try_from(bytes_per_second / PIECES).unwrap_or(usize::MAX);
        Self::new(piece, PaceWait::Rate { bytes_per_second, sent: 0, waited_ms: 0 })
    }

    /// A body that is sent in slices.
    pub(super) fn with_slices(bytes: usize, delay_ms: u64) -> Self {
        Self::new(bytes, PaceWait::Between { ms: delay_ms, begun: false })
    }

    fn new(piece: usize, wait: PaceWait) -> Self {
        Self { piece: piece.max(1), wait, chunks: VecDeque::new(), within: false, ended: false }
    }

    pub(super) fn feed(&mut self, chunk: Bytes) {
        self.chunks.push_back(chunk);
    }

    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    /// Returns why nothing was delayed or cut.
    pub(super) fn obstacle(&self) -> FaultObstacle {
        match &self.wait {
            PaceWait::Between { begun: true, .. } => {
                FaultObstacle::SmallChunks { bytes: self.piece }
            }
            PaceWait::Between { .. } | PaceWait::Rate { .. } => FaultObstacle::Empty,
        }
    }

    /// Adds the next piece, with the wait before it, or the end.
    pub(super) fn send_next_piece(&mut self, out: &mut TransformOutput) {
        let Some(chunk) = self.chunks.front_mut() else {
            if self.ended && !out.over {
                out.end_with(BodyStep::End);
            }
            return;
        };
        let piece = chunk.split_to(self.piece.min(chunk.len()));
        let whole = chunk.is_empty() && !self.within;
        self.within = !chunk.is_empty();
        if chunk.is_empty() {
            self.chunks.pop_front();
        }
        let ms = self.wait.milliseconds_before(piece.len());
        if ms > 0 {
            out.steps.push_back(BodyStep::Wait(ms));
        }
        if ms > 0 || !whole {
            out.mark_struck();
        }
        out.send(piece);
    }
}

impl PaceWait {
    /// How many milliseconds to wait before a piece of this length.
    fn milliseconds_before(&mut self, bytes: usize) -> u64 {
        match self {
            Self::Between { ms, begun } => {
                if std::mem::replace(begun, true) {
                    *ms
                } else {
                    0
                }
            }
            Self::Rate { bytes_per_second, sent, waited_ms } => {
                *sent = sent.saturating_add(bytes as u64);
                let due = (u128::from(*sent) * 1000).div_ceil(u128::from(*bytes_per_second));
                let due = u64::try_from(due).unwrap_or(u64::MAX);
                let ms = due.saturating_sub(*waited_ms);
                *waited_ms = due;
                ms
            }
        }
    }
}
