//! Faults that change a response body as it passes: where it stops, how its chunks are cut and
//! paced, what one event carries, and what its headers announce.
//!
//! A [`BodyTransform`] is fed the true body, a chunk at a time, and returns [`BodyStep`]s. It
//! neither waits nor closes connections itself. Bytes that the fault does not touch go out at once,
//! in the chunks in which they came. Events are found even where they span chunks. At most two
//! events are held, and none that is longer than [`HELD`].

mod encoding;
mod garble;
mod length;
mod malformed;
mod pace;
mod point;
mod step;
mod stop;
mod stop_place;
mod text_events;

pub use step::BodyStep;
use step::{HELD, TransformOutput};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};

use super::rewrite::NotApplicable;
use super::{Fault, FaultObstacle};
use encoding::FakeEncoding;
use garble::EventGarbler;
use length::FalseLength;
use loomrec_provider::{Framing, ResponseFormat};
pub(super) use malformed::MALFORMED;
use malformed::ReplacedAnswer;
use pace::PacedBody;
use stop::StoppedBody;

/// A fault applied to one body.
#[derive(Debug)]
pub struct BodyTransform {
    work: BodyChange,
    out: TransformOutput,
}

/// What is done to the body.
#[derive(Debug)]
enum BodyChange {
    Stop(StoppedBody),
    Pace(PacedBody),
    Garble(EventGarbler),
    Replace(ReplacedAnswer),
    Length(FalseLength),
    Encoding(FakeEncoding),
}

impl BodyTransform {
    /// The transform that `fault` applies to a body. `framing` is `None` if the body is not a
    /// stream, and `announced` if its length is not announced. `roll`, from 0 to 1, decides at which
    /// event of a stream [`Fault::Malformed`] begins.
    ///
    /// A body with a content encoding counts as no stream, because its events cannot be found.
    ///
    /// # Errors
    /// Why the fault does nothing to such a body.
    pub fn new(
        fault: &Fault,
        format: &ResponseFormat<'_>,
        framing: Option<Framing>,
        announced: Option<u64>,
        roll: f64,
    ) -> Result<Self, FaultObstacle> {
        let work = match fault {
            Fault::StreamTruncate(truncate) => BodyChange::Stop(StoppedBody::from_truncation(
                truncate, format, framing, announced,
            )?),
            Fault::StreamStall { after, for_ms } => {
                let operation = format.operation;
                BodyChange::Stop(StoppedBody::with_pause(
                    *after, *for_ms, operation, framing, announced,
                )?)
            }
            Fault::Throttle { bytes_per_second } => {
                BodyChange::Pace(PacedBody::with_rate(*bytes_per_second))
            }
            Fault::Slice { bytes, delay_ms } => {
                BodyChange::Pace(PacedBody::with_slices(*bytes, *delay_ms))
            }
            Fault::StreamGarble { chunk, how } => {
                let framing = framing.ok_or(FaultObstacle::NoStream)?;
                BodyChange::Garble(EventGarbler::new(*chunk, *how, framing)?)
            }
            Fault::WrongLength { by } => BodyChange::Length(FalseLength::new(*by, announced)?),
            Fault::BadEncoding => BodyChange::Encoding(FakeEncoding::default()),
            Fault::Malformed { whole } => match framing {
                // A stream that is on its way is not replaced.
                Some(_) if *whole => return Err(FaultObstacle::LiveStream),
                Some(framing) => {
                    BodyChange::Garble(EventGarbler::with_malformed_events(framing, roll))
                }
                None => BodyChange::Replace(ReplacedAnswer),
            },
            Fault::Timeout { .. }
            | Fault::Hang { .. }
            | Fault::Wedged { .. }
            | Fault::Slow { .. }
            | Fault::RecoverAfter { .. }
            | Fault::HttpError(_)
            | Fault::MalformedResponse { .. }
            | Fault::ConnectionReset
            | Fault::ConnectionDrop
            | Fault::PartialResponse { .. }
            | Fault::ToolCallFault { .. }
            | Fault::ToolResultFault { .. }
            | Fault::Drop
            | Fault::RateLimit
            | Fault::Disconnect => {
                return Err(NotApplicable::Body { fault: fault.name() }.into());
            }
        };
        Ok(Self { work, out: TransformOutput::default() })
    }

    /// Changes the status and headers to fit the changed body. Must be called before the body is
    /// fed.
    ///
    /// `total` is the body's true length, if it is known though not announced: a false length is
    /// computed from it.
    pub fn change_head(
        &mut self,
        status: &mut StatusCode,
        headers: &mut HeaderMap,
        total: Option<u64>,
    ) {
        match &mut self.work {
            BodyChange::Stop(stop) if stop.ends_well() => drop(headers.remove(CONTENT_LENGTH)),
            BodyChange::Garble(_) => drop(headers.remove(CONTENT_LENGTH)),
            BodyChange::Stop(_) | BodyChange::Pace(_) => {}
            BodyChange::Replace(_) => malformed::change_head(status, headers),
            BodyChange::Length(length) => length.change_head(headers, total),
            BodyChange::Encoding(_) => encoding::change_head(headers),
        }
    }

    /// Takes a chunk of the true body. Ignores chunks after the last step was decided.
    pub fn feed(&mut self, chunk: Bytes) {
        if self.out.over || chunk.is_empty() {
            return;
        }
        match &mut self.work {
            BodyChange::Stop(stop) => stop.feed(chunk, &mut self.out),
            BodyChange::Pace(pace) => pace.feed(chunk),
            BodyChange::Garble(garbler) => garbler.feed(&chunk, &mut self.out),
            BodyChange::Replace(replaced) => replaced.feed(&mut self.out),
            BodyChange::Length(length) => length.feed(chunk, &mut self.out),
            BodyChange::Encoding(encoding) => encoding.feed(chunk, &mut self.out),
        }
    }

    /// Takes the clean end of the true body.
    pub fn finish(&mut self) {
        if self.out.over {
            return;
        }
        match &mut self.work {
            BodyChange::Stop(stop) => stop.finish(&mut self.out),
            BodyChange::Pace(pace) => pace.finish(),
            BodyChange::Garble(garbler) => garbler.finish(&mut self.out),
            BodyChange::Replace(replaced) => replaced.finish(&mut self.out),
            BodyChange::Length(length) => length.finish(&mut self.out),
            BodyChange::Encoding(encoding) => encoding.finish(&mut self.out),
        }
    }

    /// Takes the cut of the true body: sends the bytes that are held of it, and no end.
    pub fn send_held_bytes(&mut self) {
        if self.out.over {
            return;
        }
        match &mut self.work {
            BodyChange::Garble(garbler) => garbler.send_held_bytes(&mut self.out),
            BodyChange::Length(length) => length.send_held_bytes(&mut self.out),
            _ => {}
        }
    }

    /// Returns the next step; `None` until there is more of the true body.
    pub fn next_step(&mut self) -> Option<BodyStep> {
        if self.out.steps.is_empty()
            && let BodyChange::Pace(pace) = &mut self.work
        {
            pace.send_next_piece(&mut self.out);
        }
        self.out.steps.pop_front()
    }

    /// Whether the fault has happened. It has not if the body ended before its place.
    pub fn has_struck(&self) -> bool {
        self.out.struck
    }

    /// Returns why the fault has not happened, once the body has ended.
    pub fn obstacle(&self) -> FaultObstacle {
        match &self.work {
            BodyChange::Stop(stop) => stop.obstacle(),
            BodyChange::Pace(pace) => pace.obstacle(),
            BodyChange::Garble(garbler) => garbler.obstacle(),
            BodyChange::Length(_) => FaultObstacle::TrueLength,
            // These happen to every body that is read to its end.
            BodyChange::Replace(_) | BodyChange::Encoding(_) => FaultObstacle::ClientLeft,
        }
    }

    /// Whether each piece must be sent by itself, before the next one is taken.
    pub fn is_paced(&self) -> bool {
        matches!(self.work, BodyChange::Pace(_))
    }

    /// Whether the last step has been decided, so that no more of the true body is
    /// needed. There may be steps that have not been taken yet.
    pub fn is_over(&self) -> bool {
        self.out.over
    }
}

#[cfg(test)]
mod tests;
