//! The answers of a server of tools, as responses over HTTP: JSON if the response is all that the
//! server sent, else a stream of events.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use super::open_requests::AnswerMessage;

/// The body of an answer.
pub(super) enum ToolAnswerBody {
    /// The bytes that are left of a whole body.
    Whole(Bytes),
    /// The messages of a stream, each an event.
    Events {
        /// The first message, if it is not sent yet.
        first: Option<Bytes>,
        /// The others; `None` after the last.
        rest: Option<mpsc::Receiver<AnswerMessage>>,
    },
}

impl ToolAnswerBody {
    /// Returns a response with a body of JSON.
    pub(super) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response<Self> {
        response_with_body(status, "application/json", Self::Whole(body.into()))
    }

    /// Returns a response whose messages are events.
    pub(super) fn event_response(
        first: Bytes,
        rest: mpsc::Receiver<AnswerMessage>,
    ) -> Response<Self> {
        let body = Self::Events { first: Some(first), rest: Some(rest) };
        response_with_body(StatusCode::OK, "text/event-stream", body)
    }
}

fn response_with_body(
    status: StatusCode,
    media: &'static str,
    body: ToolAnswerBody,
) -> Response<ToolAnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// Returns the event of a message.
fn message_event(line: &[u8]) -> Bytes {
    let mut event = BytesMut::with_capacity(line.len() + 32);
    event.extend_from_slice(b"event: message\ndata: ");
    event.extend_from_slice(line);
    event.extend_from_slice(b"\n\n");
    event.freeze()
}

impl Body for ToolAnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let (first, rest) = match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Self::Whole(bytes) => return Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Events { first, rest } => (first, rest),
        };
        if let Some(line) = first.take() {
            return Poll::Ready(Some(Ok(Frame::data(message_event(&line)))));
        }
        let Some(messages) = rest else { return Poll::Ready(None) };
        messages.poll_recv(context).map(|message| {
            let Some(AnswerMessage { line, is_last }) = message else {
                *rest = None;
                return Some(Err(io::Error::other("the server ended within its answer")));
            };
            if is_last {
                *rest = None;
            }
            Some(Ok(Frame::data(message_event(&line))))
        })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Events { .. } => SizeHint::new(),
        }
    }
}
