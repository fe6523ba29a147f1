//! The exchange on one stream: its request is sent through the pipe, and the answer comes back.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, COOKIE, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::{AbortHandle, JoinHandle};

use super::open_stream::OpenStream;
use super::stream_pipe::{StreamPipe, make_pipe};
use super::trailer_carrier::{remove_carrier, unpack_trailers};
use loomrec_engine::upstream::is_grpc;
use loomrec_recording::response_header::MOST_HEADERS;

/// The most headers of an answer: those that are replayed, and loomrec's own.
const MOST_ANSWER_HEADERS: usize = MOST_HEADERS + 100;

/// The body of an answer on a stream.
pub(super) struct StreamBody {
    body: Option<Incoming>,
    /// Reads the answer from the pipe. A stream that ends before its answer does ends it, too.
    reading: PipeReading,
    _stream: OpenStream,
}

/// The task that writes a request into the pipe, and reads the answer.
struct PipeReading {
    task: AbortHandle,
    is_over: bool,
}

impl PipeReading {
    fn from_task<T>(task: &JoinHandle<T>) -> Self {
        Self { task: task.abort_handle(), is_over: false }
    }
}

impl Drop for PipeReading {
    fn drop(&mut self) {
        if !self.is_over {
            self.task.abort();
        }
    }
}

/// Answers a request with what is written into the pipe that `serve` gets.
///
/// # Errors
/// The answer ends before it begins.
pub(super) async fn answer_stream(
    request: Request<Incoming>,
    stream: OpenStream,
    serve: impl FnOnce(StreamPipe),
) -> Result<Response<StreamBody>, hyper::Error> {
    let (client, server) = make_pipe();
    let mut builder = http1::Builder::new();
    builder.max_headers(MOST_ANSWER_HEADERS);
    let (mut sender, connection) = builder.handshake(TokioIo::new(client)).await?;
    let task = tokio::spawn(connection);
    let mut reading = PipeReading::from_task(&task);
    if request.method() == Method::CONNECT {
        // What a tunnel would carry belongs to HTTP/1.1 here.
        reading.task.abort();
        let mut refusal = Response::new(StreamBody { body: None, reading, _stream: stream });
        *refusal.status_mut() = StatusCode::NOT_IMPLEMENTED;
        return Ok(refusal);
    }
    serve(server);
    let mut response = sender.send_request(to_http1(request)).await?;
    remove_carrier(response.headers_mut());
    remove_grpc_length(response.headers_mut());
    Ok(response.map(|body| {
        reading.is_over = body.is_end_stream();
        StreamBody { body: Some(body), reading, _stream: stream }
    }))
}

/// Returns a request as HTTP/1.1 has it: the host and the cookies in a header each.
fn to_http1(request: Request<Incoming>) -> Request<Incoming> {
    let (mut parts, body) = request.into_parts();
    // It decides, whatever `host` says (RFC 9113, section 8.3.1).
    if let Some(authority) = parts.uri.authority()
        && let Ok(authority) = HeaderValue::from_str(authority.as_str())
    {
        parts.headers.insert(HOST, authority);
    }
    join_cookies(&mut parts.headers);
    let path = parts.uri.path_and_query().cloned();
    parts.uri = path.map_or_else(Uri::default, Uri::from);
    parts.version = Version::HTTP_11;
    Request::from_parts(parts, body)
}

/// Removes the length of an answer over gRPC without a body. The pipe has added it, and a client would
/// take it for a field of the service's own.
fn remove_grpc_length(headers: &mut HeaderMap) {
    if is_grpc(headers) {
        headers.remove(CONTENT_LENGTH);
    }
}

/// Joins the cookies of a request, each of which may have a header of its own in HTTP/2.
fn join_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if cookies.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
}

/// Returns a frame with the trailers that came through the pipe as they are sent.
fn with_own_trailers(frame: Frame<Bytes>) -> Frame<Bytes> {
    match frame.into_trailers() {
        Ok(fields) => Frame::trailers(unpack_trailers(&fields)),
        Err(frame) => frame,
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        let is_over = frame.is_none() || body.is_end_stream();
        self.reading.is_over |= is_over;
        Poll::Ready(frame.map(|frame| frame.map(with_own_trailers)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
