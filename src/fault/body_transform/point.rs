//! The place in a body at which a fault strikes.

use super::text_events::TextEvents;
use crate::{FaultObstacle, FaultPoint};
use loomrec_provider::Operation;
use loomrec_provider::framing::{EventEnd, EventSplitter, Framing};

/// A place in a body that passes.
#[derive(Debug)]
pub(super) enum BodyPoint {
    /// After this many more chunks.
    Chunks(usize),
    /// After this many more events that carry data.
    Events(usize, EventSplitter),
    /// After this many more events that carry text.
    Texts(usize, TextEvents),
    /// After this many more bytes.
    Bytes(u64),
    /// In the middle of the first chunk.
    Middle,
    /// The place has been found.
    Found,
}

impl BodyPoint {
    /// The place that `after` names.
    ///
    /// # Errors
    /// If such a body has no such place.
    pub(super) fn new(
        after: FaultPoint,
        operation: Operation,
        framing: Option<Framing>,
        announced: Option<u64>,
    ) -> Result<Self, FaultObstacle> {
        let framed = || framing.ok_or(FaultObstacle::NoStream);
        Ok(match (after, framing) {
            (FaultPoint::Chunks(chunks), _) => Self::Chunks(chunks),
            (FaultPoint::Bytes(bytes), _) => Self::Bytes(bytes),
            (FaultPoint::Events(events), _) => Self::Events(events, EventSplitter::new(framed()?)),
            (FaultPoint::TextEvents(events), _) => {
                Self::Texts(events, TextEvents::new(operation, framed()?))
            }
            (FaultPoint::Default, Some(framing)) => Self::Events(1, EventSplitter::new(framing)),
            (FaultPoint::Default, None) => {
                announced.map_or(Self::Middle, |all| Self::Bytes(all / 2))
            }
        })
    }

    /// Where in this chunk the place is, from 0 to its length. Returns it only once.
    pub(super) fn find(&mut self, chunk: &[u8]) -> Option<usize> {
        let found = match self {
            Self::Found => None,
            Self::Middle => Some(chunk.len() / 2),
            Self::Chunks(0) | Self::Events(0, _) | Self::Texts(0, _) => Some(0),
            Self::Chunks(more) => {
                *more -= 1;
                (*more == 0).then_some(chunk.len())
            }
            Self::Bytes(more) => {
                let here = usize::try_from(*more).ok().filter(|here| *here <= chunk.len());
                *more = more.saturating_sub(chunk.len() as u64);
                here
            }
            Self::Events(more, splitter) => {
                let mut found = None;
                splitter.split(chunk, |EventEnd { at, carries }| {
                    *more = more.saturating_sub(usize::from(carries));
                    if *more == 0 && found.is_none() {
                        found = Some(at);
                    }
                });
                found
            }
            Self::Texts(more, events) => {
                let mut found = None;
                events.split(chunk, |at, has_text| {
                    *more = more.saturating_sub(usize::from(has_text));
                    if *more == 0 && found.is_none() {
                        found = Some(at);
                    }
                });
                found
            }
        };
        if found.is_some() {
            *self = Self::Found;
        }
        found
    }

    /// How much of the body is missing up to the place. In the middle of a chunk, none is.
    pub(super) fn units_left(&self) -> u64 {
        match self {
            Self::Chunks(more) | Self::Events(more, _) | Self::Texts(more, _) => *more as u64,
            Self::Bytes(more) => *more,
            Self::Middle | Self::Found => 0,
        }
    }

    /// Takes the end of the body. Returns whether the place is there.
    pub(super) fn reach_end(&mut self) -> bool {
        let is_here = match self {
            Self::Chunks(more) => *more == 0,
            Self::Bytes(more) => *more == 0,
            Self::Events(0, _) | Self::Texts(0, _) => true,
            Self::Events(more, splitter) => {
                let is_open = splitter.open_event().is_some_and(|open| open.carries);
                *more = more.saturating_sub(usize::from(is_open));
                *more == 0
            }
            Self::Texts(more, _) => *more == 0,
            Self::Middle | Self::Found => false,
        };
        if is_here {
            *self = Self::Found;
        }
        is_here
    }
}
