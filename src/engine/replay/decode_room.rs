//! The memory limit for decoded answers, all of them together.
//!
//! A compressed answer of a few kilobytes may decode to many megabytes, which stay in memory until
//! the client has read them. Each answer is bounded alone, but with slow clients they would add up.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use loomrec_recording::encoding::{DecodeError, LARGEST};

/// The most bytes that all decoded answers may take at one time.
const ROOM: usize = 512 << 20;
/// The unit of reservations, in bytes.
const UNIT: usize = 1024;
/// How many times a body is in memory while it is decoded, at most: in a growing buffer, and in its
/// copy.
const WHILE_DECODING: usize = 3;
/// The most that a byte of deflate decodes to.
const DEFLATE_RATIO: usize = 1032;
/// How long an answer waits for room.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why an answer is not delivered.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeliveryError {
    /// It cannot be sent in the form that the call asks for, for this reason.
    #[error("{0}")]
    OtherForm(String),
    /// Its body decodes to too many bytes.
    #[error("the body {}, and the caller asks for it in another form", DecodeError::TooLarge)]
    TooLarge,
    /// There is no room for it now. It needs this many units.
    #[error(
        "no memory for decoded answers was free for a minute: let clients read their answers, or \
         accept the encoding that was recorded"
    )]
    NoRoom(u32),
}

impl From<String> for DeliveryError {
    fn from(why: String) -> Self {
        Self::OtherForm(why)
    }
}

/// The memory for decoded answers.
#[derive(Clone, Debug)]
pub(super) struct DecodeRoom {
    free: Arc<Semaphore>,
    units: u32,
}

/// A reserved part of the room. Dropping it gives the part back.
#[derive(Debug)]
pub(super) struct ReservedRoom(OwnedSemaphorePermit);

impl Default for DecodeRoom {
    fn default() -> Self {
        Self::new(ROOM)
    }
}

impl DecodeRoom {
    /// Returns room for `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let units = units(bytes);
        Self { free: Arc::new(Semaphore::new(units as usize)), units }
    }

    /// Reserves the most that decoding `length` bytes of this coding can take.
    ///
    /// # Errors
    /// [`DeliveryError::NoRoom`] if that much is not free.
    pub(super) fn reserve(
        &self,
        coding: &str,
        length: usize,
    ) -> Result<ReservedRoom, DeliveryError> {
        let needed = units(WHILE_DECODING * most_decoded(coding, length)).min(self.units);
        let permit = Arc::clone(&self.free).try_acquire_many_owned(needed);
        permit.map(ReservedRoom).map_err(|_| DeliveryError::NoRoom(needed))
    }

    /// Waits until `units` units were free. Returns `false` if that takes too long.
    pub(super) async fn wait(&self, units: u32) -> bool {
        let free = tokio::time::timeout(PATIENCE, self.free.acquire_many(units)).await;
        matches!(free, Ok(Ok(_)))
    }
}

impl ReservedRoom {
    /// Keeps what `bytes` bytes need, and gives the rest back.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        let rest = self.0.num_permits().saturating_sub(units(bytes) as usize);
        drop(self.0.split(rest));
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

fn most_decoded(coding: &str, length: usize) -> usize {
    let is_deflate =
        ["gzip", "x-gzip", "deflate"].iter().any(|name| coding.eq_ignore_ascii_case(name));
    match is_deflate {
        true => LARGEST.min(length.saturating_mul(DEFLATE_RATIO)),
        false => LARGEST,
    }
}

#[cfg(test)]
#[path = "decode_room_tests.rs"]
mod tests;
