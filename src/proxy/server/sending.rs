//! The sending of an answer: how much of it was sent, and how that ended.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use loomrec_engine::RequestSummary;
use loomrec_identity::media_type;
use loomrec_provider::{Framing, is_stream_finished};
use loomrec_recording::encoding;
use loomrec_telemetry::call_record::SendEnd;

/// How many of the last bytes of a stream are read at most, apart from the event or the chunk that they
/// begin in. The last event of a stream may hold the whole answer.
const MOST_READ: usize = 256 << 10;

/// The sending of an answer.
#[derive(Debug, Default)]
pub(super) struct Sending {
    /// The length of the body, if it is known.
    length: Option<u64>,
    /// Whether the answer has no body by its nature.
    is_bodiless: bool,
    /// When all of it was sent.
    pub(super) total: Option<Duration>,
    is_cut: bool,
    /// What was sent of a stream. `None` for other answers.
    stream: Option<SentStream>,
}

/// What was sent of a stream.
#[derive(Debug)]
struct SentStream {
    media: Box<str>,
    text: SentText,
}

/// The bytes that were sent, or what they can be found in.
#[derive(Debug)]
enum SentText {
    /// All bytes of a recorded answer, of which the first ones were sent.
    Recorded(Bytes),
    /// The last bytes that were sent.
    Tail(StreamTail),
}

/// The last bytes that were sent of a stream.
#[derive(Debug, Default)]
struct StreamTail {
    chunks: VecDeque<Bytes>,
    bytes: usize,
    /// Whether the beginning was dropped.
    is_cut: bool,
}

impl Sending {
    /// Begins the answer to `request`, with a body of this length. `recorded` returns the body's
    /// bytes if they are known in advance.
    pub(super) fn begin_answer(
        request: &RequestSummary,
        (status, headers): (StatusCode, &HeaderMap),
        length: Option<u64>,
        recorded: impl FnOnce() -> Option<Bytes>,
    ) -> Self {
        let is_bodiless = request.method == "HEAD" || matches!(status.as_u16(), 204 | 304);
        Self {
            length,
            is_bodiless,
            stream: SentStream::begin(headers, recorded),
            ..Self::default()
        }
    }

    /// Adds a piece that is sent.
    pub(super) fn note_sent(&mut self, data: &Bytes) {
        if let Some(SentStream { text: SentText::Tail(tail), .. }) = &mut self.stream {
            tail.add(data);
        }
    }

    /// Notes that the body ends in a cut.
    pub(super) fn note_cut(&mut self) {
        self.is_cut = true;
    }

    /// Whether the body ended in a cut of its own.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the client has its answer, of which this many bytes were sent. A client that closes
    /// after the end mark of a stream has it, too: what may follow is the end of the framing.
    pub(super) fn is_whole(&self, request: &RequestSummary, sent: u64) -> bool {
        self.is_bodiless
            || self.total.is_some()
            || self.length == Some(sent)
            || self.stream.as_ref().is_some_and(|stream| stream.is_finished(request, sent))
    }

    /// How the sending ended. `is_whole` says whether the client has its answer, and `is_ours` whether
    /// loomrec ended the connection.
    pub(super) fn send_end(&self, is_whole: bool, is_ours: bool) -> SendEnd {
        match () {
            () if self.is_cut => SendEnd::Aborted,
            () if is_whole => SendEnd::Complete,
            () if is_ours => SendEnd::Aborted,
            () => SendEnd::ClientLeft,
        }
    }
}

impl SentStream {
    /// Begins a stream. `None` if the answer is not a stream, or cannot be read.
    fn begin(headers: &HeaderMap, recorded: impl FnOnce() -> Option<Bytes>) -> Option<Self> {
        let media = headers.get(http::header::CONTENT_TYPE)?.to_str().ok()?;
        let is_read = Framing::of_media(media_type(media)).is_some()
            && encoding::coding_of(headers).is_none();
        if !is_read {
            return None;
        }
        let text =
            recorded().map_or_else(|| SentText::Tail(StreamTail::default()), SentText::Recorded);
        Some(Self { media: media.into(), text })
    }

    /// Whether the end mark of the stream is among the bytes that were sent, of this number.
    fn is_finished(&self, request: &RequestSummary, sent: u64) -> bool {
        let has_end = |text: &[u8]| is_stream_finished(request.operation, &self.media, text);
        match &self.text {
            SentText::Recorded(all) => {
                let sent = usize::try_from(sent).map_or(all.len(), |sent| sent.min(all.len()));
                let before = &all[..sent.saturating_sub(MOST_READ)];
                let newline = before.iter().rposition(|byte| *byte == b'\n');
                let from = newline.filter(|_| has_lines(&self.media)).map_or(0, |at| at + 1);
                has_end(&all[from..sent])
            }
            SentText::Tail(tail) => {
                tail.whole_events(&self.media).is_some_and(|text| has_end(&text))
            }
        }
    }
}

impl StreamTail {
    fn add(&mut self, data: &Bytes) {
        self.bytes += data.len();
        self.chunks.push_back(data.clone());
        while let Some(first) = self.chunks.front().map(Bytes::len)
            && self.bytes - first >= MOST_READ
        {
            self.bytes -= first;
            self.is_cut = true;
            self.chunks.pop_front();
        }
    }

    /// Returns the bytes from the first whole event on.
    fn whole_events(&self, media: &str) -> Option<Vec<u8>> {
        let mut text: Vec<u8> = self.chunks.iter().flatten().copied().collect();
        if self.is_cut {
            if !has_lines(media) {
                return None;
            }
            let newline = text.iter().position(|byte| *byte == b'\n');
            text.drain(..newline.map_or(text.len(), |at| at + 1));
        }
        Some(text)
    }
}

/// Whether a stream of this media type can be read from its middle: it consists of lines.
fn has_lines(media: &str) -> bool {
    matches!(Framing::of_media(media), Some(Framing::Sse | Framing::Lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_provider::{Operation, Provider};

    const END: &[u8] = b"data: [DONE]\n\n";

    /// Whether a stream counts as finished once so many of its bytes were sent.
    fn is_finished(stream: &[u8], sent: usize, is_recorded: bool) -> bool {
        let all = Bytes::copy_from_slice(stream);
        let headers = HeaderMap::from_iter([(
            http::header::CONTENT_TYPE,
            "text/event-stream".parse().unwrap(),
        )]);
        let recorded = is_recorded.then(|| all.clone());
        let mut sending =
            Sending { stream: SentStream::begin(&headers, || recorded), ..Sending::default() };
        for from in (0..sent).step_by(4096) {
            sending.note_sent(&all.slice(from..sent.min(from + 4096)));
        }
        let mut request =
            RequestSummary::from_refused("POST", "/v1/chat/completions", Provider::OPEN_AI);
        request.operation = Operation::CHAT_COMPLETIONS;
        sending.is_whole(&request, sent as u64)
    }

    #[test]
    fn a_stream_is_finished_at_its_end_mark_however_its_bytes_are_known() {
        let delta = br#"data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}"#;
        for events in [1, 20, 2 * MOST_READ / delta.len()] {
            let mut stream = [&delta[..], b"\n\n"].concat().repeat(events);
            let before = stream.len();
            stream.extend_from_slice(END);
            stream.extend_from_slice(b": later\n\n");
            for is_recorded in [true, false] {
                for sent in [0, before / 2, before, before + 5] {
                    assert!(!is_finished(&stream, sent, is_recorded), "{events} {sent}");
                }
                for sent in [before + END.len(), stream.len()] {
                    assert!(is_finished(&stream, sent, is_recorded), "{events} {sent}");
                }
            }
        }
    }
}
