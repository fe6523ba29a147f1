//! The bare server, which sends static bytes: the limit for every replay, and the upstream of every
//! recording.

use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_rustls::TlsAcceptor;

use crate::fault::Fault;
use crate::role::{self, Writes};
use crate::sample::Kind;
use crate::tls;

/// The pause between two events of a slow stream.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves one kind of answer until stdin is closed.
///
/// # Errors
/// The errors of [`role::serve`].
pub fn run(kind: Kind, writes: Writes) -> Result<(), Fault> {
    serve(kind, writes, None)
}

/// Serves over TLS. Writes the certificate of its authority to `file`.
///
/// # Errors
/// The errors of [`tls::acceptor`] and [`role::serve`].
pub fn run_tls(kind: Kind, file: &Path) -> Result<(), Fault> {
    serve(kind, Writes::Queued, Some(tls::acceptor(file)?))
}

fn serve(kind: Kind, writes: Writes, tls: Option<TlsAcceptor>) -> Result<(), Fault> {
    let chunks: Arc<[Bytes]> = kind.chunks().into();
    role::serve(None, writes, tls, move |request| {
        let chunks = Arc::clone(&chunks);
        async move {
            let read = request.into_body().collect().await;
            answer(kind, if read.is_ok() { chunks } else { Arc::new([]) })
        }
    })
}

/// Returns an answer of these chunks. Without chunks, the answer is an error.
pub fn answer(kind: Kind, chunks: Arc<[Bytes]>) -> Response<Static> {
    let found = !chunks.is_empty();
    let timer = (kind == Kind::Slow).then(|| Box::pin(sleep_until(Instant::now() + PAUSE)));
    let known = chunks.len() < 2;
    let mut response = Response::new(Static { chunks, sent: 0, known, timer });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind.media()));
    if !found {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

/// A body of chunks that are all available from the start, one frame each.
pub struct Static {
    chunks: Arc<[Bytes]>,
    sent: usize,
    /// Whether the length is announced.
    known: bool,
    /// When the next chunk is due, for a body with pauses. Not used for the first chunk.
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
        // The first chunk does not wait for the timer, which rounds up to milliseconds.
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
