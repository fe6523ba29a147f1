//! The renderer of scripted streams: the events of the provider, with raw bytes and errors between
//! them, each at its time.

use bytes::Bytes;

use super::call::{CallContent, Inserted, StreamInsert};
use super::malformed::unparsable_bytes;
use crate::failure::{FailureForm, ScriptFailure};
use loomrec_provider::{EventFrame, Framing, Provider, ResponseFormat, StreamError};
use loomrec_recording::body::Chunk;
use loomrec_recording::entry::ResponseEnd;

/// A stream that is being put together.
struct StreamDraft<'a> {
    format: &'a ResponseFormat<'a>,
    shape: Provider,
    now: f64,
    frames: Vec<EventFrame>,
    /// The order of what is sent.
    order: Vec<(f64, StreamItem)>,
    end: ResponseEnd,
}

enum StreamItem {
    /// The next frame.
    Frame,
    Bytes(Bytes),
}

/// Returns the chunks of a stream, and how it ends.
///
/// # Errors
/// The reason why the call has no such stream.
pub(super) fn render_chunks(
    call: &CallContent<'_>,
    format: &ResponseFormat<'_>,
    shape: Provider,
    seed: &str,
) -> Result<(Vec<Chunk>, ResponseEnd), String> {
    let (frames, order) = (Vec::new(), Vec::new());
    let mut draft =
        StreamDraft { format, shape, now: 0.0, frames, order, end: ResponseEnd::Complete };
    let (mut content, mut ending) = (Vec::new(), Vec::new());
    if !call.is_bare() {
        let spoken =
            loomrec_provider::synthesize(format, &call.parts, &call.answer_without_parts(), seed);
        let spoken = spoken.map_err(|why| why.to_string())?;
        (content, ending) = (spoken.content, spoken.ending);
    }
    if !call.ends_well {
        // A stream that fails has no regular end, whatever its entries say.
        content.iter_mut().for_each(|(_, frame)| {
            *frame = loomrec_provider::without_end(frame.clone());
        });
        ending.clear();
    } else if call.errs_before_its_end()
        && let Some((part, frame)) = content.pop()
    {
        let (frame, end) = loomrec_provider::split_end(frame);
        content.push((part, frame));
        ending.splice(0..0, end);
    }
    // The opening of the stream is sent with the first part.
    let first = content.iter().find_map(|(part, _)| *part).map_or(call.end, |part| call.due[part]);
    let mut inserts = call.inserts.iter().peekable();
    for (part, frame) in content {
        // What is inserted comes before the first event of a later part.
        let reached = |insert: &&StreamInsert<'_>| part.is_some_and(|at| insert.parts_before <= at);
        while let Some(insert) = inserts.next_if(reached) {
            draft.insert(insert);
        }
        draft.add_frame(part.map_or(first, |part| call.due[part]), frame);
    }
    inserts.for_each(|insert| draft.insert(insert));
    ending.into_iter().for_each(|frame| draft.add_frame(call.end, frame));
    Ok(draft.into_chunks())
}

impl StreamDraft<'_> {
    /// Whether nothing can follow: the connection was cut, or the framing ends with an exception.
    fn is_over(&self) -> bool {
        self.end != ResponseEnd::Complete || self.frames.last().is_some_and(|last| last.exception)
    }

    fn add_frame(&mut self, due: f64, frame: EventFrame) {
        if !self.is_over() {
            self.now = self.now.max(due);
            self.frames.push(frame);
            self.order.push((self.now, StreamItem::Frame));
        }
    }

    fn send_bytes(&mut self, due: f64, bytes: Bytes) {
        if !self.is_over() {
            self.now = self.now.max(due);
            self.order.push((self.now, StreamItem::Bytes(bytes)));
        }
    }

    fn insert(&mut self, insert: &StreamInsert<'_>) {
        match insert.what {
            Inserted::Bytes(bytes) => self.send_bytes(insert.due, bytes.clone()),
            Inserted::Error(failure) => match failure.reason.form() {
                FailureForm::Told => {
                    let frame = self.event_of(failure);
                    self.add_frame(insert.due, frame);
                }
                FailureForm::Malformed => {
                    let bytes = unparsable_bytes(self.format, true);
                    self.send_bytes(insert.due, bytes);
                }
                FailureForm::Cut(after_ms, cut) => {
                    // An empty piece, so that the cut comes at its time.
                    self.send_bytes(insert.due + after_ms, Bytes::new());
                    self.end = ResponseEnd::UpstreamAbort(cut);
                }
            },
        }
    }

    fn event_of(&self, failure: &ScriptFailure) -> EventFrame {
        loomrec_provider::stream_error(&StreamError {
            format: self.format,
            status: failure.status(self.shape),
            kind: failure.kind(self.shape),
            message: failure.event_message(self.shape),
            place: self.frames.len() as u64,
        })
    }

    fn into_chunks(mut self) -> (Vec<Chunk>, ResponseEnd) {
        loomrec_provider::number_events(self.frames.iter_mut());
        let framing = self.format.framing;
        let mut events = framing.write_events(&self.frames);
        if self.end != ResponseEnd::Complete && framing == Framing::Array {
            // A list that was cut is not closed.
            events.last_mut().into_iter().for_each(|last| last.truncate(last.len() - 1));
        }
        let mut events = events.into_iter();
        let chunk = |(at_ms, item)| {
            let data = match item {
                StreamItem::Bytes(bytes) => bytes,
                StreamItem::Frame => events.next()?.into(),
            };
            Some(Chunk { at_ms, data })
        };
        (self.order.into_iter().filter_map(chunk).collect(), self.end)
    }
}
