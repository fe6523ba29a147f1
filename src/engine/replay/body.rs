//! The body of a replayed response: the recorded chunks, one frame each, at their times, then the
//! recorded end.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::client_hold::{self, ClientHold};
use super::end_turn::EndTurn;
use super::latency::DeliverySchedule;
use super::mismatch::RecordingMismatchError;
use super::ready_response::ReadyResponse;
use loomrec_recording::body::Chunk;
use loomrec_recording::entry::{ClientLeft, RecordedCut, ResponseEnd};
use loomrec_script::ResponseDraft;

/// The largest frame of a body whose length is announced. Such a body has no boundaries on the
/// wire, so a larger piece is sent in several frames, and no connection buffers all of it.
const LARGEST: usize = 256 << 10;
/// A body of more pieces has its own reference count for its bytes. The count that all calls share
/// would move between processors for each piece.
const FEW: usize = 4;

/// The recorded chunks, one frame each, then the recorded end.
#[derive(Debug)]
pub struct ReplayBody {
    answer: Arc<ReadyResponse>,
    bytes: Bytes,
    /// Bytes returned so far.
    sent: usize,
    /// Pieces returned in full.
    done: usize,
    pace: Option<Box<DeliveryPace>>,
    /// What follows an answer whose recorded client left before its end.
    hold: Option<Box<ClientHold>>,
    /// Its turn among answers that overlapped in the recorded run.
    turn: Option<Box<EndTurn>>,
    /// Whether nothing follows.
    over: bool,
}

/// When the parts of a body are due.
#[derive(Debug)]
struct DeliveryPace {
    schedule: DeliverySchedule,
    arrived: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

/// Keeps an answer alive as long as parts of its body are in use.
struct HeldResponse(Arc<ReadyResponse>);

impl AsRef<[u8]> for HeldResponse {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl ReplayBody {
    /// Returns the body of `answer`. Scheduled parts are due from `arrived` on.
    pub(super) fn new(
        answer: Arc<ReadyResponse>,
        schedule: Option<DeliverySchedule>,
        arrived: Instant,
    ) -> Self {
        let bytes = match answer.pieces.len() {
            0..=FEW => answer.bytes.clone(),
            _ => Bytes::from_owner(HeldResponse(Arc::clone(&answer))),
        };
        let pace =
            schedule.map(|schedule| Box::new(DeliveryPace { schedule, arrived, timer: None }));
        let mut body =
            Self { answer, bytes, sent: 0, done: 0, pace, hold: None, turn: None, over: false };
        body.over = body.has_nothing_left();
        body
    }

    /// Holds the client at the end of the body until it leaves, as its recorded client did. If it
    /// waits for too long, that is the miss `error`, unless the stream is endless by its protocol.
    pub(super) fn hold_at_end(
        &mut self,
        left: ClientLeft,
        is_endless: bool,
        error: RecordingMismatchError,
    ) {
        let last_ms = self.answer.chunk_times().last().unwrap_or(0.0);
        let time = (!is_endless).then(|| client_hold::longest_hold(left, last_ms));
        self.hold = Some(Box::new(ClientHold::new(time, error)));
    }

    /// Has the body wait for its turn, if it has one.
    pub(super) fn wait_for(&mut self, turn: Option<Box<EndTurn>>) {
        self.turn = turn;
    }

    /// Waits for the turn of the first bytes. The head should not be sent before.
    pub async fn wait_for_turn(&mut self) {
        let Self { turn: Some(turn), answer, .. } = self else { return };
        poll_fn(|cx| turn.poll_piece(answer, 0, cx)).await;
    }

    /// Takes the turn. The call counts as open until it is dropped.
    pub fn take_turn(&mut self) -> Option<Box<EndTurn>> {
        self.turn.take()
    }

    /// Returns the miss of a client that waited for more than its recorded client got.
    pub fn outwaited_miss(&self) -> Option<Arc<RecordingMismatchError>> {
        self.hold.as_ref()?.outwaited_miss()
    }

    /// Returns a body of these chunks and trailers without delays. `announced` says that its head announces the
    /// length.
    pub fn from_chunks(
        chunks: Vec<Bytes>,
        announced: bool,
        trailers: HeaderMap,
        end: ResponseEnd,
    ) -> Self {
        let mut headers = HeaderMap::new();
        if announced {
            let length: usize = chunks.iter().map(Bytes::len).sum();
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        let chunks = chunks.into_iter().map(|data| Chunk { at_ms: 0.0, data }).collect();
        let status = StatusCode::OK;
        let delivery = ResponseDraft { status, reason: None, headers, chunks, trailers, end };
        Self::new(Arc::new(ReadyResponse::from_draft(delivery, None)), None, Instant::now())
    }

    /// Returns the same body with the bytes that `change` makes of all of it. The new chunks are
    /// spread over the same times.
    ///
    /// # Errors
    /// The unchanged body, and the reason why it cannot be changed.
    pub fn try_map_bytes<E>(
        self,
        change: impl FnOnce(&[u8]) -> Result<Vec<Vec<u8>>, E>,
    ) -> Result<Self, (Self, E)> {
        let chunks = match change(&self.answer.bytes) {
            Ok(chunks) => chunks.into_iter().map(Bytes::from).collect::<Vec<_>>(),
            Err(why) => return Err((self, why)),
        };
        let (count, announced) = (chunks.len(), self.answer.announced.is_some());
        let trailers = self.answer.trailers.as_deref().cloned().unwrap_or_default();
        let mut made = Self::from_chunks(chunks, announced, trailers, self.answer.end);
        made.pace = self.pace.map(|mut pace| {
            let times = std::mem::take(&mut pace.schedule.chunks);
            let at = |chunk: usize| times.get(chunk * times.len() / count.max(1)).copied();
            pace.schedule.chunks =
                (0..count).map(|chunk| at(chunk).unwrap_or(pace.schedule.end)).collect();
            pace
        });
        made.over = made.has_nothing_left();
        (made.hold, made.turn) = (self.hold, self.turn);
        Ok(made)
    }

    /// Returns the same body with its chunks changed. Their times stay.
    pub fn map_chunks(self, mut edit: impl FnMut(Bytes) -> Bytes) -> Self {
        let mut draft = self.answer.to_draft();
        for chunk in &mut draft.chunks {
            chunk.data = edit(std::mem::take(&mut chunk.data));
        }
        draft.correct_framing();
        let answer = Arc::new(ReadyResponse::from_draft(draft, None));
        Self { bytes: answer.bytes.clone(), answer, ..self }
    }

    /// Returns the whole body.
    pub fn whole_bytes(&self) -> Bytes {
        self.answer.bytes.clone()
    }

    /// Returns all chunks, as they were recorded.
    pub fn chunks(&self) -> impl Iterator<Item = Bytes> {
        let mut from = 0;
        self.answer.pieces.iter().map(move |piece| {
            let data = self.answer.bytes.slice(from..piece.end);
            from = piece.end;
            data
        })
    }

    /// Whether the body has no end: the connection is cut after it, or held until its client leaves.
    pub fn is_cut(&self) -> bool {
        !self.answer.is_whole()
    }

    /// Whether every byte of a whole answer was handed over. What may follow is the wait until the
    /// answer's end is due.
    pub fn is_handed_over(&self) -> bool {
        self.done == self.answer.pieces.len() && self.answer.is_whole()
    }

    /// Whether neither bytes nor a wait follow what was handed over.
    #[inline]
    fn has_nothing_left(&self) -> bool {
        self.is_handed_over()
            && (self.pace.is_none() || self.answer.announced.is_some())
            && self.answer.trailers.is_none()
    }

    /// Returns the total number of bytes.
    pub fn total_bytes(&self) -> u64 {
        self.answer.pieces.last().map_or(0, |piece| piece.end as u64)
    }

    /// Returns when the first byte is due. The head should not be sent before.
    pub fn first_due(&self) -> Option<Instant> {
        self.pace.as_ref().map(|pace| pace.due_time(0))
    }

    /// Returns the next bytes: a piece, or a part of a large one.
    #[inline]
    fn next(&mut self) -> Option<Bytes> {
        let end = self.answer.pieces.get(self.done)?.end;
        let until = match self.answer.announced {
            Some(_) => end.min(self.sent + LARGEST),
            None => end,
        };
        let data = match until {
            _ if until == self.sent => Bytes::new(),
            _ if until == self.bytes.len() => self.bytes.split_off(self.sent),
            _ => self.bytes.slice(self.sent..until),
        };
        self.sent = until;
        self.done += usize::from(until == end);
        Some(data)
    }
}

impl DeliveryPace {
    /// Returns when the piece of this index, or the end after the last one, is due.
    fn due_time(&self, piece: usize) -> Instant {
        self.arrived + self.schedule.chunks.get(piece).copied().unwrap_or(self.schedule.end)
    }

    /// Waits until a piece is due.
    fn poll(&mut self, piece: usize, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.due_time(piece);
        if due <= Instant::now() {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        timer.as_mut().poll(cx)
    }
}

impl Body for ReplayBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let done = self.done;
        if let Some(pace) = &mut self.pace {
            ready!(pace.poll(done, cx));
        }
        if let Self { turn: Some(turn), answer, .. } = &mut *self {
            ready!(turn.poll_piece(answer, done, cx));
        }
        if let Some(data) = self.next() {
            self.over = self.has_nothing_left();
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if let Some(hold) = &mut self.hold {
            ready!(hold.poll(cx));
            self.over = true;
            return Poll::Ready(Some(Err(RecordedCut::Close)));
        }
        self.over = true;
        let end = match self.answer.recorded_cut() {
            Some(cut) => Some(Err(cut)),
            None => self.answer.trailers.as_deref().cloned().map(Frame::trailers).map(Ok),
        };
        Poll::Ready(end)
    }

    fn is_end_stream(&self) -> bool {
        self.over
    }

    fn size_hint(&self) -> SizeHint {
        match (self.answer.announced, self.answer.is_whole()) {
            (Some(_), true) => {
                let whole = self.answer.pieces.last().map_or(0, |piece| piece.end);
                SizeHint::with_exact((whole - self.sent) as u64)
            }
            _ => SizeHint::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    fn body(chunks: &[&[u8]], announced: bool, end: ResponseEnd) -> ReplayBody {
        let chunk = |data: &&[u8]| Chunk { at_ms: 0.0, data: data.to_vec().into() };
        let mut headers = HeaderMap::new();
        if announced {
            let length: usize = chunks.iter().map(|chunk| chunk.len()).sum();
            headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let chunks = chunks.iter().map(chunk).collect();
        let (status, trailers) = (StatusCode::OK, HeaderMap::new());
        let delivery = ResponseDraft { status, reason: None, headers, chunks, trailers, end };
        ReplayBody::new(Arc::new(ReadyResponse::from_draft(delivery, None)), None, Instant::now())
    }

    async fn frames(mut body: ReplayBody) -> (Vec<Bytes>, Option<RecordedCut>) {
        let mut frames = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => frames.push(frame.into_data().unwrap()),
                Err(cut) => return (frames, Some(cut)),
            }
        }
        assert!(body.is_end_stream());
        (frames, None)
    }

    #[tokio::test]
    async fn chunks_come_as_they_were_cut_however_many_there_are() {
        for count in [0, 1, 2, FEW, FEW + 1, 300] {
            let texts: Vec<String> = (0..count).map(|at| format!("chunk {at}")).collect();
            let mut chunks: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            chunks.push(b"");
            assert_eq!(frames(body(&chunks, false, ResponseEnd::Complete)).await.0, chunks);
            let cut = ResponseEnd::UpstreamAbort(RecordedCut::Reset);
            let seen = frames(body(&chunks, false, cut)).await;
            assert_eq!(
                (seen.0, seen.1),
                (chunks.iter().map(|c| c.to_vec().into()).collect(), Some(RecordedCut::Reset))
            );
        }
    }

    #[tokio::test]
    async fn a_large_body_of_known_length_comes_in_parts_and_any_other_does_not() {
        let large = vec![7; 2 * LARGEST + 1];
        let known = body(&[b"a", &large], true, ResponseEnd::Complete);
        assert_eq!(known.size_hint().exact(), Some(large.len() as u64 + 1));
        let lengths: Vec<usize> = frames(known).await.0.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [1, LARGEST, LARGEST, 1]);
        let unknown = body(&[&large], false, ResponseEnd::Complete);
        assert_eq!(unknown.size_hint().exact(), None);
        assert_eq!(frames(unknown).await.0, [large]);
    }

    #[test]
    fn the_last_frame_ends_a_body_that_nothing_is_due_for() {
        assert!(body(&[], false, ResponseEnd::Complete).is_end_stream());
        assert!(!body(&[b"a"], false, ResponseEnd::Complete).is_end_stream());
        assert!(!body(&[], false, ResponseEnd::UpstreamAbort(RecordedCut::Close)).is_end_stream());
    }
}
