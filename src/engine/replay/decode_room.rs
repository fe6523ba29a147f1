//! The memory limit for answers whose form is changed, all of them together.
//!
//! A compressed answer of a few kilobytes may decode to many megabytes, which stay in memory until
//! the client has read them. Each answer is bounded alone, but with slow clients they would add up.
//!
//! A reservation waits in line: the permits that it waited for are the ones that it keeps. No call
//! holds a reservation while it waits for another one.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use loomrec_recording::encoding::DecodeError;

/// The most bytes that small answers may take at one time.
const SMALL_ROOM: usize = 128 << 20;
/// The most bytes that all other answers may take at one time.
const LARGE_ROOM: usize = 384 << 20;
/// An answer of at most this many bytes is small. It never waits for larger ones.
pub(super) const SMALL: usize = 256 << 10;
/// The unit of reservations, in bytes.
const UNIT: usize = 1024;
/// How many times a body is in memory while its form is changed, at most: in a growing buffer, and
/// in its copy.
const WHILE_CHANGING: usize = 3;
/// The most threads that work on small answers, and on others. A decoder holds a window of its own.
const MOST_WORKERS: usize = 4;
/// How long a call waits for room, in all.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why an answer is not delivered.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeliveryError {
    /// It cannot be sent in the form that the call asks for, for this reason.
    #[error("{0}")]
    OtherForm(String),
    /// It holds a path of the recorded run that cannot be replaced.
    #[error(
        "the recorded answer holds a path of the recorded run where this run's path cannot take its \
         place: record it again here"
    )]
    UnclearPath,
    /// It is a stream with a response whose request the client did not make in this session.
    #[error(
        "the stream holds a response to a recorded request that this client has not made, or made \
         twice, since the run began"
    )]
    UnknownId,
    /// Its body decodes to too many bytes.
    #[error("the body {}, and the caller asks for it in another form", DecodeError::TooLarge)]
    TooLarge,
    /// There was no room for it in time.
    #[error(
        "no memory for answers in another form was free for a minute: let clients read their \
         answers, or accept the encoding that was recorded"
    )]
    NoRoom,
}

impl From<String> for DeliveryError {
    fn from(why: String) -> Self {
        Self::OtherForm(why)
    }
}

/// The memory for answers whose form is changed. Small answers have a part of their own.
#[derive(Clone, Debug)]
pub(super) struct DecodeRoom {
    small: RoomPart,
    large: RoomPart,
}

/// A part of the room, and the threads that may work in it.
#[derive(Clone, Debug)]
struct RoomPart {
    free: Arc<Semaphore>,
    units: u32,
    workers: Arc<Semaphore>,
}

/// How long a call waits for room. All of its reservations share it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoomPatience(Instant);

/// A reserved part of the room, and the turn of a thread to work in it. Dropping it gives both
/// back.
#[derive(Debug)]
pub(super) struct ReservedRoom {
    held: OwnedSemaphorePermit,
    /// Whether it is all that there is.
    is_all: bool,
    worker: Option<OwnedSemaphorePermit>,
}

impl Default for DecodeRoom {
    fn default() -> Self {
        Self::new(SMALL_ROOM, LARGE_ROOM)
    }
}

impl RoomPatience {
    /// Begins to wait.
    pub(super) fn start() -> Self {
        Self(Instant::now() + PATIENCE)
    }
}

impl DecodeRoom {
    /// Returns room for this many bytes of small answers, and of all others.
    pub(super) fn new(small: usize, large: usize) -> Self {
        Self { small: RoomPart::new(small), large: RoomPart::new(large) }
    }

    /// Reserves what it takes to make an answer of at most `bytes` bytes, and the turn to make it.
    /// Calls get them in the order in which they ask.
    ///
    /// # Errors
    /// [`DeliveryError::NoRoom`] if that takes longer than the patience of the call.
    pub(super) async fn reserve_room(
        &self,
        bytes: usize,
        patience: RoomPatience,
    ) -> Result<ReservedRoom, DeliveryError> {
        let part = if bytes <= SMALL { &self.small } else { &self.large };
        let needed = room_units(WHILE_CHANGING.saturating_mul(bytes)).min(part.units);
        let held = acquire_units(&part.free, needed, patience).await?;
        let worker = acquire_units(&part.workers, 1, patience).await?;
        Ok(ReservedRoom { held, is_all: needed == part.units, worker: Some(worker) })
    }
}

impl RoomPart {
    fn new(bytes: usize) -> Self {
        let units = room_units(bytes);
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let workers = Arc::new(Semaphore::new(cores.min(MOST_WORKERS)));
        Self { free: Arc::new(Semaphore::new(units as usize)), units, workers }
    }
}

impl ReservedRoom {
    /// Whether an answer of this many bytes fits, or no larger reservation exists.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.is_all || room_units(bytes) as usize <= self.held.num_permits()
    }

    /// Ends the work, keeps what an answer of `bytes` bytes needs, and gives the rest back.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        self.worker = None;
        let rest = self.held.num_permits().saturating_sub(room_units(bytes) as usize);
        drop(self.held.split(rest));
    }
}

async fn acquire_units(
    from: &Arc<Semaphore>,
    units: u32,
    patience: RoomPatience,
) -> Result<OwnedSemaphorePermit, DeliveryError> {
    let acquired = timeout_at(patience.0, Arc::clone(from).acquire_many_owned(units)).await;
    acquired.ok().and_then(Result::ok).ok_or(DeliveryError::NoRoom)
}

fn room_units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "decode_room_tests.rs"]
mod tests;
