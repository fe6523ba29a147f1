//! Bodies that stop or pause at a place.

use bytes::Bytes;
use serde_json::Value;

use super::point::BodyPoint;
use super::stop_place::StopPlace;
use super::{BodyStep, TransformOutput};
use crate::{ConnectionCut, FaultObstacle, FaultPoint, Truncation, TruncationEnd};
use loomrec_provider::framing::{EventEnd, EventFrame, EventSplitter, Framing};
use loomrec_provider::{Operation, ResponseFormat, StreamError};

/// The status of an error within a stream if the fault gives none.
const ERROR: u16 = 500;

/// A body that stops at a place.
#[derive(Debug)]
pub(super) struct StoppedBody {
    point: BodyPoint,
    /// The place, as it is reported.
    place: StopPlace,
    then: StopAction,
    sent: u64,
    announced: Option<u64>,
}

/// What happens at the place.
#[derive(Debug)]
enum StopAction {
    Cut(ConnectionCut),
    Stall,
    Pause(u64),
    /// The body ends cleanly, unless it ends there anyway. The flag says whether the place has been
    /// reached at the end of a chunk.
    End(bool),
    Error(Box<StreamErrorEvent>),
    /// Nothing; the fault has struck.
    Pass,
}

/// An error as the last event of a stream.
#[derive(Debug)]
struct StreamErrorEvent {
    framing: Framing,
    frame: EventFrame,
    /// Finds where events end: the error is sent after the end of one.
    splitter: EventSplitter,
    /// How many events that carry data have ended.
    events: u64,
    /// Whether the place has been reached.
    due: bool,
}

impl StoppedBody {
    /// For a stream that is cut short.
    pub(super) fn from_truncation(
        truncate: &Truncation,
        format: &ResponseFormat<'_>,
        framing: Option<Framing>,
        announced: Option<u64>,
    ) -> Result<Self, FaultObstacle> {
        let then = match truncate.raise {
            TruncationEnd::Reset => StopAction::Cut(ConnectionCut::Reset),
            TruncationEnd::Close => StopAction::Cut(ConnectionCut::Close),
            TruncationEnd::Stall => StopAction::Stall,
            TruncationEnd::CleanEof => StopAction::End(false),
            TruncationEnd::ErrorEvent => {
                let framing = framing.ok_or(FaultObstacle::NoStream)?;
                StopAction::Error(Box::new(StreamErrorEvent::new(truncate, format, framing)))
            }
        };
        let point = BodyPoint::new(truncate.after, format.operation, framing, announced)?;
        let place = StopPlace::new("cut", truncate.after, framing, announced);
        Ok(Self { point, place, then, sent: 0, announced })
    }

    /// For a stream that pauses or stalls.
    pub(super) fn with_pause(
        after: FaultPoint,
        for_ms: Option<u64>,
        operation: Operation,
        framing: Option<Framing>,
        announced: Option<u64>,
    ) -> Result<Self, FaultObstacle> {
        let then = for_ms.map_or(StopAction::Stall, StopAction::Pause);
        let point = BodyPoint::new(after, operation, framing, announced)?;
        let place = StopPlace::new("pause", after, framing, announced);
        Ok(Self { point, place, then, sent: 0, announced })
    }

    /// Whether the fault ends the body cleanly, with another length than the true one.
    pub(super) fn ends_well(&self) -> bool {
        matches!(self.then, StopAction::End(_) | StopAction::Error(_))
    }

    /// Returns why the body did not stop.
    pub(super) fn obstacle(&self) -> FaultObstacle {
        self.place.obstacle(self.point.units_left())
    }

    pub(super) fn feed(&mut self, chunk: Bytes, out: &mut TransformOutput) {
        if let StopAction::Error(error) = &mut self.then {
            return error.feed(self.point.find(&chunk), &chunk, out);
        }
        if matches!(self.then, StopAction::End(true)) {
            out.mark_struck();
            return out.end_with(BodyStep::End);
        }
        let Some(place) = self.point.find(&chunk) else {
            self.sent += chunk.len() as u64;
            return out.send(chunk);
        };
        self.sent += place as u64;
        out.send(chunk.slice(..place));
        match &mut self.then {
            StopAction::End(due) if place == chunk.len() => *due = true,
            StopAction::End(_) => {
                out.mark_struck();
                out.end_with(BodyStep::End);
            }
            _ => {
                self.stop_body(out);
                if !out.over {
                    out.send(chunk.slice(place..));
                }
            }
        }
    }

    /// Stops the body, unless all announced bytes have been sent: the client would not notice.
    fn stop_body(&mut self, out: &mut TransformOutput) {
        let then = std::mem::replace(&mut self.then, StopAction::Pass);
        if self.announced.is_some_and(|announced| self.sent >= announced) {
            return;
        }
        match then {
            StopAction::Cut(cut) => out.end_with(BodyStep::Cut(cut)),
            StopAction::Stall => out.end_with(BodyStep::Stall),
            StopAction::Pause(ms) => out.steps.push_back(BodyStep::Wait(ms)),
            StopAction::End(_) | StopAction::Error(_) | StopAction::Pass => return,
        }
        out.mark_struck();
    }

    pub(super) fn finish(&mut self, out: &mut TransformOutput) {
        let here = self.point.reach_end();
        if let StopAction::Error(error) = &mut self.then {
            error.due |= here;
            error.finish(out);
        } else if here {
            self.stop_body(out);
        }
        if !out.over {
            out.end_with(BodyStep::End);
        }
    }
}

impl StreamErrorEvent {
    fn new(truncate: &Truncation, format: &ResponseFormat<'_>, framing: Framing) -> Self {
        let status = truncate.status_code.unwrap_or(ERROR);
        let message = truncate.message.as_deref().unwrap_or(match status {
            429 => "Rate limit reached.",
            503 | 529 => "Overloaded",
            _ => "The server had an error while processing your request.",
        });
        let frame = loomrec_provider::stream_error(&StreamError {
            format,
            status,
            kind: None,
            message,
            place: 0,
        });
        Self { framing, frame, splitter: EventSplitter::new(framing), events: 0, due: false }
    }

    /// Takes a chunk, and the position of the place in it, if it is there.
    fn feed(&mut self, place: Option<usize>, chunk: &Bytes, out: &mut TransformOutput) {
        let from = if self.due { Some(0) } else { place };
        self.due |= place.is_some();
        let mut behind = from.filter(|from| *from == 0 && self.splitter.open_event().is_none());
        let mut events = 0;
        self.splitter.split(chunk, |EventEnd { at, carries }| {
            if behind.is_some_and(|behind| at > behind) {
                return;
            }
            events += u64::from(carries);
            if from.is_some_and(|from| at >= from) {
                behind = behind.or(Some(at));
            }
        });
        self.events += events;
        let Some(behind) = behind else { return out.send(chunk.clone()) };
        out.send(chunk.slice(..behind));
        self.send_error(b"", out);
    }

    /// Sends the error, after `before`, which ends the previous event.
    fn send_error(&mut self, before: &[u8], out: &mut TransformOutput) {
        if let Some(Value::Object(data)) = &mut self.frame.data
            && data.contains_key("sequence_number")
        {
            data.insert("sequence_number".to_owned(), self.events.into());
        }
        let written = self.framing.write_events(std::slice::from_ref(&self.frame)).concat();
        let event = match self.framing {
            Framing::Array if self.events > 0 => [b",\r\n", &written[1..]].concat(),
            _ => [before, &written].concat(),
        };
        out.send(event.into());
        out.mark_struck();
        out.end_with(BodyStep::End);
    }

    /// Takes the end of the true body.
    fn finish(&mut self, out: &mut TransformOutput) {
        if !self.due {
            return;
        }
        match (self.splitter.open_event(), self.framing) {
            (None, _) => self.send_error(b"", out),
            (Some(open), Framing::Sse) => {
                self.events += u64::from(open.carries);
                self.send_error(if open.finished { b"" } else { b"\n\n" }, out);
            }
            (Some(open), Framing::Lines) => {
                self.events += u64::from(open.carries);
                self.send_error(b"\n", out);
            }
            // No event can follow a closed array or an unfinished message.
            (Some(_), Framing::Array | Framing::EventStream) => {}
        }
    }
}
