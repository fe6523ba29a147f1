//! Room for decoded answers: what all of them together may take of memory.
//!
//! A compressed answer of a few kilobytes may decode to many megabytes, which stay until
//! its client has read them. Each is bounded by itself; slow clients would add them up.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use loomrec_recording::encoding::{DecodeError, LARGEST};

/// What all decoded answers may take at once.
const ROOM: usize = 512 << 20;
/// What is reserved at once.
const UNIT: usize = 1024;
/// While a body is decoded it stands in memory up to three times: in a buffer that grows, and
/// in its copy.
const WHILE_DECODING: usize = 3;
/// The most that a byte of deflate decodes to.
const DEFLATE_RATIO: usize = 1032;
/// How long an answer waits for room.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why an answer is not delivered.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeliveryError {
    /// It cannot be given in the form that is asked for: why.
    #[error("{0}")]
    OtherForm(String),
    /// Its body decodes to too many bytes.
    #[error("the body {}, and the caller asks for it in another form", DecodeError::TooLarge)]
    TooLarge,
    /// There is no room for it now; it needs as many units.
    #[error(
        "other calls have had all the memory for decoded answers for a minute: read their \
         answers, or accept the encoding that was recorded"
    )]
    NoRoom(u32),
}

impl From<String> for DeliveryError {
    fn from(why: String) -> Self {
        Self::OtherForm(why)
    }
}

/// The room.
#[derive(Debug)]
pub(super) struct DecodeRoom {
    free: Arc<Semaphore>,
    units: u32,
}

/// A part of the room, given back when this is dropped.
#[derive(Debug)]
pub(super) struct ReservedRoom(OwnedSemaphorePermit);

impl Default for DecodeRoom {
    fn default() -> Self {
        Self::new(ROOM)
    }
}

impl DecodeRoom {
    /// Room for so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let units = units(bytes);
        Self { free: Arc::new(Semaphore::new(units as usize)), units }
    }

    /// Reserves what decoding `length` bytes of this coding takes at most.
    ///
    /// # Errors
    /// [`DeliveryError::NoRoom`] where so much is not free.
    pub(super) fn reserve(
        &self,
        coding: &str,
        length: usize,
    ) -> Result<ReservedRoom, DeliveryError> {
        let needed = units(WHILE_DECODING * most_decoded(coding, length)).min(self.units);
        let permit = Arc::clone(&self.free).try_acquire_many_owned(needed);
        permit.map(ReservedRoom).map_err(|_| DeliveryError::NoRoom(needed))
    }

    /// Waits until so many units were free; `false` where that takes too long.
    pub(super) async fn wait(&self, units: u32) -> bool {
        let free = tokio::time::timeout(PATIENCE, self.free.acquire_many(units)).await;
        matches!(free, Ok(Ok(_)))
    }
}

impl ReservedRoom {
    /// Keeps what so many bytes need, and gives the rest back.
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
