//! The bare server: static bytes, the limit for every replay and the upstream of
//! every recording.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::fault::Fault;
use crate::role;
use crate::sample::{HEADER, Kind};

/// Between two events of a slow stream.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves until stdin is closed.
///
/// # Errors
/// What [`role::serve`] fails for.
pub fn run() -> Result<(), Fault> {
    let answers = Answers::default();
    role::serve(move |request| answer(answers.clone(), request))
}

/// Every answer, made once.
#[derive(Clone)]
struct Answers {
    call: Arc<[Bytes]>,
    events: Arc<[Bytes]>,
    whole: Arc<[Bytes]>,
    slow: Arc<[Bytes]>,
}

impl Default for Answers {
    fn default() -> Self {
        let chunks = |kind: Kind| kind.chunks().into();
        Self {
            call: chunks(Kind::Call),
            events: chunks(Kind::Events),
            whole: chunks(Kind::Whole),
            slow: chunks(Kind::Slow),
        }
    }
}

/// Answers one request with the bytes it names.
async fn answer(answers: Answers, request: Request<Incoming>) -> Response<Static> {
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(HEADER).and_then(|value| Kind::of(value.as_bytes()));
    let read = body.collect().await;
    let (Some(kind), Ok(_)) = (kind, read) else {
        let nothing = Static { chunks: Arc::new([]), sent: 0, known: true, timer: None };
        let mut response = Response::new(nothing);
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return response;
    };
    let (chunks, known) = match kind {
        Kind::Call => (answers.call, true),
        Kind::Events => (answers.events, false),
        Kind::Whole => (answers.whole, true),
        Kind::Slow => (answers.slow, false),
    };
    let timer = (kind == Kind::Slow).then(|| Box::pin(sleep_until(Instant::now() + PAUSE)));
    let mut response = Response::new(Static { chunks, sent: 0, known, timer });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind.media()));
    response
}

/// Chunks that were there from the start, a frame each.
struct Static {
    chunks: Arc<[Bytes]>,
    sent: usize,
    /// Whether the length is announced.
    known: bool,
    /// When the next chunk but the first is due, where that is not at once.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Body for Static {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(chunk) = self.chunks.get(self.sent).cloned() else { return Poll::Ready(None) };
        // The first goes without a look at the timer, which rounds up to milliseconds.
        if self.sent > 0
            && let Some(timer) = &mut self.timer
        {
            ready!(timer.as_mut().poll(cx));
            let due = timer.deadline() + PAUSE;
            timer.as_mut().reset(due);
        }
        self.sent += 1;
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.sent == self.chunks.len()
    }

    fn size_hint(&self) -> SizeHint {
        match self.known {
            true => {
                let left = self.chunks[self.sent..].iter().map(|chunk| chunk.len() as u64);
                SizeHint::with_exact(left.sum())
            }
            false => SizeHint::new(),
        }
    }
}
