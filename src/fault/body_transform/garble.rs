//! Streams with one event broken, or each event from one on.

use bytes::Bytes;

use super::malformed::MALFORMED;
use super::{BodyStep, HELD, TransformOutput};
use crate::event::{EventParts, terminator, with_broken_data, with_data};
use crate::{FaultObstacle, GarbleKind, PlaceUnit};
use loomrec_provider::framing::{EventEnd, EventSplitter, Framing, OpenEvent};

/// [`crate::Fault::Malformed`] begins to break a stream at one of its first events; this is their
/// number.
const BEGINNINGS: f64 = 4.0;

/// A stream that passes with some of its events changed.
#[derive(Debug)]
pub(super) struct EventGarbler {
    framing: Framing,
    splitter: EventSplitter,
    how: GarbleChange,
    /// The index of the event to change, from 0.
    at: usize,
    /// Events that have ended and carried something.
    index: usize,
    /// The beginning of an event that may have to be changed.
    held: Vec<u8>,
    /// The event that changes places with the next one, and the bytes after it that carry nothing.
    waiting: Vec<u8>,
    /// Where the event itself ends in `waiting`.
    waiting_event: usize,
    /// Which separator is left out after an event that was dropped or lacks its end.
    joins: JoinState,
    /// Whether an event was too long to be held.
    gave_up: bool,
    /// Whether the body ended within an event.
    ends_in_event: bool,
}

/// Which change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GarbleChange {
    One(GarbleKind),
    /// Each event from the first changed one on carries a text that does not parse.
    Malformed,
}

/// Whether the next byte that is not blank is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinState {
    No,
    /// It is left out if it is a comma.
    Comma,
    /// It is left out if it separates or closes; the fault strikes then.
    End,
}

impl EventGarbler {
    /// Returns an error if the framing has no checksum that could be wrong.
    pub(super) fn new(at: usize, how: GarbleKind, framing: Framing) -> Result<Self, FaultObstacle> {
        if how == GarbleKind::Checksum && framing != Framing::EventStream {
            return Err(FaultObstacle::NoChecksum);
        }
        Ok(Self::with_change(GarbleChange::One(how), at, framing))
    }

    /// A stream whose events are broken from one on that `roll` selects.
    pub(super) fn with_malformed_events(framing: Framing, roll: f64) -> Self {
        Self::with_change(GarbleChange::Malformed, (roll * BEGINNINGS) as usize, framing)
    }

    fn with_change(how: GarbleChange, at: usize, framing: Framing) -> Self {
        Self {
            framing,
            splitter: EventSplitter::new(framing),
            how,
            at,
            index: 0,
            held: vec![],
            waiting: vec![],
            waiting_event: 0,
            joins: JoinState::No,
            gave_up: false,
            ends_in_event: false,
        }
    }

    /// Returns why no event was changed.
    pub(super) fn obstacle(&self) -> FaultObstacle {
        let has = self.index as u64 + u64::from(self.ends_in_event);
        let needs =
            self.at as u64 + u64::from(self.how == GarbleChange::One(GarbleKind::Reordered));
        match self.how {
            _ if self.gave_up => FaultObstacle::LargeEvent { mib: HELD >> 20 },
            GarbleChange::One(GarbleKind::MissingTerminator) if has > needs => {
                FaultObstacle::NoTerminator
            }
            _ => FaultObstacle::TooShort {
                has,
                unit: PlaceUnit::Events,
                what: "last event it needs, counted from 0,",
                place: needs,
            },
        }
    }

    /// Whether the current event may have to be changed.
    fn can_change_event(&self) -> bool {
        let reordered = self.how == GarbleChange::One(GarbleKind::Reordered);
        let last = self.at.saturating_add(usize::from(reordered));
        let far = self.how == GarbleChange::Malformed || self.index <= last;
        !self.gave_up && self.index >= self.at && far
    }

    pub(super) fn feed(&mut self, chunk: &Bytes, out: &mut TransformOutput) {
        let mut ends = vec![];
        self.splitter.split(chunk, |EventEnd { at, carries }| ends.push((at, carries)));
        let mut sending = GarbledChunk::new(chunk);
        let mut from = 0;
        for (at, carries) in ends {
            if self.can_change_event() {
                self.held.extend_from_slice(&chunk[from..at]);
                let event = std::mem::take(&mut self.held);
                sending.add_bytes(self.change_event(event, carries, true, out));
            } else {
                self.pass_part(from..at, &mut sending, out);
            }
            self.index += usize::from(carries);
            from = at;
        }
        if !self.can_change_event() {
            self.pass_part(from..chunk.len(), &mut sending, out);
        } else if self.held.len() + self.waiting.len() + chunk.len() - from > HELD {
            self.gave_up = true;
            sending.add_bytes(std::mem::take(&mut self.waiting));
            sending.add_bytes(std::mem::take(&mut self.held));
            sending.add_part(from..chunk.len());
        } else {
            self.held.extend_from_slice(&chunk[from..]);
        }
        sending.send_to(out);
    }

    /// Lets a part of a chunk pass, without the separator that is left out.
    fn pass_part(
        &mut self,
        range: std::ops::Range<usize>,
        sending: &mut GarbledChunk<'_>,
        out: &mut TransformOutput,
    ) {
        let part = &sending.chunk[range.clone()];
        if self.joins != JoinState::No
            && let Some(blank) = part.iter().position(|byte| !byte.is_ascii_whitespace())
        {
            let gone = match self.joins {
                JoinState::End => matches!(part[blank], b',' | b']'),
                _ => part[blank] == b',',
            };
            if gone && self.joins == JoinState::End {
                out.mark_struck();
            }
            self.joins = JoinState::No;
            if gone {
                sending.add_part(range.start..range.start + blank);
                sending.add_part(range.start + blank + 1..range.end);
                return;
            }
        }
        sending.add_part(range);
    }

    /// What is sent for an event that was held; `finished` says whether its end has come.
    fn change_event(
        &mut self,
        event: Vec<u8>,
        carries: bool,
        finished: bool,
        out: &mut TransformOutput,
    ) -> Vec<u8> {
        if !carries {
            if self.waiting.is_empty() {
                return event;
            }
            self.waiting.extend_from_slice(&event);
            return vec![];
        }
        match self.how {
            GarbleChange::Malformed => {
                out.mark_struck();
                with_data(self.framing, &event, MALFORMED, self.index == 0)
            }
            GarbleChange::One(how) => self.garble_event(how, event, finished, out),
        }
    }

    /// The garbled event, or nothing if it has to wait for the next one.
    fn garble_event(
        &mut self,
        how: GarbleKind,
        event: Vec<u8>,
        finished: bool,
        out: &mut TransformOutput,
    ) -> Vec<u8> {
        let (framing, first) = (self.framing, self.index == 0);
        let parts = EventParts::from_event(framing, &event, first);
        match how {
            GarbleKind::Reordered if self.waiting.is_empty() => {
                (self.waiting_event, self.waiting) = (event.len(), event);
                return vec![];
            }
            GarbleKind::MissingTerminator if framing == Framing::Array => {
                self.joins = JoinState::End;
                return event;
            }
            GarbleKind::MissingTerminator if parts.end.is_empty() => return event,
            _ => out.mark_struck(),
        }
        match how {
            GarbleKind::BrokenData => with_broken_data(framing, &event, first),
            GarbleKind::Duplicated => {
                let end = if finished { parts.end } else { terminator(framing) };
                let between: &[u8] = if framing == Framing::Array { b"," } else { b"" };
                let EventParts { before, itself, .. } = parts;
                [before, itself, end, between, itself, parts.end].concat()
            }
            GarbleKind::Reordered => {
                let waiting = std::mem::take(&mut self.waiting);
                let (earlier, between) = waiting.split_at(self.waiting_event);
                let earlier = EventParts::from_event(framing, earlier, self.at == 0);
                swapped_events(framing, earlier, between, parts)
            }
            GarbleKind::Dropped if framing == Framing::Array && first => {
                self.joins = JoinState::Comma;
                parts.before.to_vec()
            }
            GarbleKind::Dropped => vec![],
            GarbleKind::MissingTerminator => [parts.before, parts.itself].concat(),
            GarbleKind::Checksum => {
                let wrong = parts.end.iter().map(|byte| !byte);
                parts.before.iter().chain(parts.itself).copied().chain(wrong).collect()
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut TransformOutput) {
        let open = self.splitter.open_event();
        self.ends_in_event = open.as_ref().is_some_and(|open| open.carries);
        if let Some(OpenEvent { carries, finished, .. }) = open
            && self.can_change_event()
        {
            let event = std::mem::take(&mut self.held);
            let event = self.change_event(event, carries, finished, out);
            out.send(event.into());
        }
        self.send_held_bytes(out);
        if self.how == GarbleChange::Malformed && !out.struck {
            // The stream ended before the event that was rolled.
            let before = if open.is_some() { terminator(self.framing) } else { b"" };
            let event = self.extra_event();
            out.mark_struck();
            out.send([before, &event].concat().into());
        }
        out.end_with(BodyStep::End);
    }

    /// An additional event that does not parse.
    fn extra_event(&self) -> Vec<u8> {
        let frame = loomrec_provider::EventFrame::exception("internalServerException", ().into());
        match self.framing {
            Framing::Sse => format!("data: {MALFORMED}\n\n").into_bytes(),
            Framing::Lines => format!("{MALFORMED}\n").into_bytes(),
            Framing::Array => MALFORMED.into(),
            Framing::EventStream => {
                let message = Framing::EventStream.write_events(&[frame]).concat();
                with_data(self.framing, &message, MALFORMED, false)
            }
        }
    }

    /// Sends the bytes that are held, unchanged.
    pub(super) fn send_held_bytes(&mut self, out: &mut TransformOutput) {
        out.send(std::mem::take(&mut self.waiting).into());
        out.send(std::mem::take(&mut self.held).into());
    }
}

/// Two events in each other's places, with the bytes between them that carry nothing.
fn swapped_events(
    framing: Framing,
    earlier: EventParts<'_>,
    between: &[u8],
    later: EventParts<'_>,
) -> Vec<u8> {
    let [first, second] = [(later, earlier), (earlier, later)].map(|(what, place)| {
        // The checksum of a message moves with it; any other end stays in its place.
        let end = if framing == Framing::EventStream { what.end } else { place.end };
        [place.before, what.itself, end].concat()
    });
    [&first, between, &second].concat()
}

/// What is sent for one chunk of the true body: at most one chunk.
struct GarbledChunk<'a> {
    chunk: &'a Bytes,
    /// The bytes that have been put together.
    built: Vec<u8>,
    /// The unchanged part of the chunk that follows `built`.
    run: std::ops::Range<usize>,
}

impl<'a> GarbledChunk<'a> {
    fn new(chunk: &'a Bytes) -> Self {
        Self { chunk, built: vec![], run: 0..0 }
    }

    /// Adds a part of the chunk.
    fn add_part(&mut self, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        if self.run.end == range.start && !self.run.is_empty() {
            self.run.end = range.end;
            return;
        }
        self.copy_run();
        self.run = range;
    }

    /// Adds bytes that are not part of the chunk.
    fn add_bytes(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.copy_run();
            self.built.extend_from_slice(&bytes);
        }
    }

    fn copy_run(&mut self) {
        self.built.extend_from_slice(&self.chunk[std::mem::take(&mut self.run)]);
    }

    fn send_to(mut self, out: &mut TransformOutput) {
        if self.built.is_empty() {
            return out.send(self.chunk.slice(self.run));
        }
        self.copy_run();
        out.send(self.built.into());
    }
}
