//! Responses while they are sent: one type for every kind of body, cuts carried out on the socket,
//! and the conclusion of a call when its answer is over.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use tokio::time::{Sleep, sleep};

use super::fault::FaultBody;
use super::http2::{announce_carrier, pack_trailers};
use super::open_call::OpenCall;
use super::response_control::{FlushMark, ResponseControl};
use loomrec_engine::replay::{EndTurn, RecordingMismatchError};
use loomrec_engine::{AnswerBody, error_response};
use loomrec_provider::Provider;
use loomrec_recording::entry::RecordedCut;
use loomrec_telemetry::journal::follow::JournalFollower;

/// How long a reset waits after the last bytes. A client that finds both at once may see the end
/// and not the reset (Node does). Upstreams leave it that time, so loomrec must too.
const BEFORE_RESET: Duration = Duration::from_millis(50);

/// The body of a response from any source.
pub enum ResponseBody {
    /// An engine's answer, or an error of loomrec's own.
    Answer(AnswerBody),
    /// An answer that a fault changes.
    Fault(Box<FaultBody>),
    /// The journal's lines, as they are written.
    Follow(Box<JournalFollower>),
}

impl ResponseBody {
    /// Returns an empty body.
    pub fn empty() -> Self {
        Self::Answer(AnswerBody::Full(Full::default()))
    }

    /// Returns the bytes of a recorded answer that nothing changes.
    fn recorded_bytes(&self) -> Option<Bytes> {
        match self {
            Self::Answer(AnswerBody::Replay(body)) => Some(body.whole_bytes()),
            _ => None,
        }
    }

    /// Takes the turn of the answer in the order in which answers end.
    fn take_turn(&mut self) -> Option<Box<EndTurn>> {
        match self {
            Self::Answer(AnswerBody::Replay(body)) => body.take_turn(),
            _ => None,
        }
    }

    /// Returns the miss of a client that waited for more than its recorded client got.
    fn outwaited_miss(&self) -> Option<Arc<RecordingMismatchError>> {
        let body = match self {
            Self::Answer(body) => body,
            Self::Fault(body) => body.changed_body(),
            Self::Follow(_) => return None,
        };
        match body {
            AnswerBody::Replay(body) => body.outwaited_miss(),
            _ => None,
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        match self.get_mut() {
            Self::Answer(body) => Pin::new(body).poll_frame(cx),
            Self::Fault(body) => Pin::new(body).poll_frame(cx),
            Self::Follow(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Answer(body) => body.is_end_stream(),
            Self::Fault(body) => body.is_end_stream(),
            Self::Follow(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Answer(body) => body.size_hint(),
            Self::Fault(body) => body.size_hint(),
            Self::Follow(body) => body.size_hint(),
        }
    }
}

/// A body that ends its connection in the way its control says. It is boxed because it is moved
/// often.
pub struct OutBody(Box<OutgoingResponse>);

/// A response while it is sent.
struct OutgoingResponse {
    body: ResponseBody,
    /// The call that this response answers.
    open: Option<Box<OpenCall>>,
    control: ResponseControl,
    /// A cut that waits until the bytes before it are written, and since when.
    cut: Option<(RecordedCut, FlushMark)>,
    before_reset: Option<Pin<Box<Sleep>>>,
    /// Whether its trailers go through a pipe.
    is_piped: bool,
}

impl OutgoingResponse {
    /// Counts the result of a poll, and concludes the call if nothing follows.
    fn count_frame(&mut self, frame: Option<&Frame<Bytes>>) {
        let Some(open) = &mut self.open else { return };
        if let Some(data) = frame.and_then(Frame::data_ref) {
            open.count_sent(data);
        }
        if frame.is_none() || self.body.is_end_stream() {
            open.note_all_sent();
            self.conclude_call();
        }
    }

    /// Returns a frame as it goes through a pipe.
    fn as_piped(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        match frame.trailers_ref().filter(|_| self.is_piped) {
            Some(trailers) => Frame::trailers(pack_trailers(trailers)),
            None => frame,
        }
    }

    /// Concludes the call.
    fn conclude_call(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        if let ResponseBody::Answer(AnswerBody::Replay(body)) = &self.body
            && body.is_handed_over()
        {
            open.note_all_sent();
        }
        let fault = match &mut self.body {
            ResponseBody::Fault(body) => Some(body.finish_body()),
            _ => None,
        };
        open.conclude(fault);
    }

    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        if self.cut.is_none() {
            ready!(self.control.poll_send(cx));
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                // An error makes the server drop what it has not written yet, so the cut waits
                // until everything before it has gone to the system.
                Some(Err(cut)) => {
                    self.cut = Some((cut, self.control.flush_mark()));
                    let outwaited = self.body.outwaited_miss();
                    self.open.iter_mut().for_each(|open| {
                        open.note_cut();
                        outwaited.iter().for_each(|error| open.set_hidden_miss(Arc::clone(error)));
                    });
                }
                Some(Ok(frame)) => {
                    self.count_frame(Some(&frame));
                    return Poll::Ready(Some(Ok(self.as_piped(frame))));
                }
                None => {
                    self.count_frame(None);
                    return Poll::Ready(None);
                }
            }
        }
        let Some((cut, since)) = self.cut else { return Poll::Ready(None) };
        self.control.note_cut();
        ready!(self.control.poll_flushed(since, cx));
        if cut == RecordedCut::Reset {
            let wait = self.before_reset.get_or_insert_with(|| Box::pin(sleep(BEFORE_RESET)));
            ready!(wait.as_mut().poll(cx));
            self.control.reset_at_end();
        }
        self.conclude_call();
        Poll::Ready(Some(Err(cut)))
    }
}

impl Drop for OutgoingResponse {
    fn drop(&mut self) {
        // The end of the body was never polled: either all of it was sent, or its client has left.
        self.conclude_call();
        self.control.end_response();
        if let Some(turn) = self.body.take_turn() {
            self.control.drop_when_flushed(turn);
        }
    }
}

impl Body for OutBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        self.get_mut().0.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.body.size_hint()
    }
}

/// Returns a response with a body of loomrec's own.
pub(super) fn full_response(
    status: StatusCode,
    media: &'static str,
    body: Vec<u8>,
) -> Response<ResponseBody> {
    error_response::response_with_body(status, media, body).map(ResponseBody::Answer)
}

/// Returns an error of loomrec's own in the format of `provider`.
pub(super) fn provider_error(
    provider: Provider,
    status: StatusCode,
    kind: &'static str,
    message: &str,
) -> Response<ResponseBody> {
    error_response::shaped_error(provider, status, kind, message).map(ResponseBody::Answer)
}

/// Prepares `response` for sending under `control`. The call that it answers is concluded when it
/// is over.
pub(super) fn prepare_response(
    response: Response<ResponseBody>,
    control: ResponseControl,
    mut open: Option<Box<OpenCall>>,
) -> Response<OutBody> {
    if let Some(open) = &mut open {
        let (head, body) = ((response.status(), response.headers()), response.body());
        open.begin_sending(head, body.size_hint().exact(), || body.recorded_bytes());
    }
    response.map(|body| {
        let (cut, before_reset, is_piped) = (None, None, false);
        OutBody(Box::new(OutgoingResponse { body, open, control, cut, before_reset, is_piped }))
    })
}

/// Has a response go through a pipe to a stream over HTTP/2.
pub(super) fn carry_trailers(mut response: Response<OutBody>) -> Response<OutBody> {
    if !response.body().is_end_stream() {
        announce_carrier(response.headers_mut());
    }
    response.body_mut().0.is_piped = true;
    response
}
