//! A connection over HTTP/2. Each of its streams is served as a connection of its own over HTTP/1.1,
//! through a pipe in memory: what an answer, a fault or a cut is, is decided once. A connection that
//! ends before its answer does is a stream that is reset.

mod open_stream;
mod stream_exchange;
mod stream_pipe;
mod trailer_carrier;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::watch;

use super::connection_activity::{ConnectionActivity, ConnectionVerdict};
use super::connection_turn::{ConnectionTurn, next_turn};
use super::socket::{ClientSocket, ClientStream};
use open_stream::OpenStream;
pub(super) use stream_pipe::StreamPipe;
pub(super) use trailer_carrier::{announce_carrier, pack_trailers};

/// What a connection over HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocol, as TLS names it.
pub(super) const PROTOCOL: &[u8] = b"h2";

/// How many streams a client may have open at a time.
const MAX_STREAMS: u32 = 200;

/// The largest sum of a request's headers, in bytes. HTTP/1.1 takes less: a request with more is refused
/// where its stream is served, and counted. HTTP/2 would refuse it without a word.
const MAX_HEADERS: u32 = 1 << 20;

/// Whether a connection whose first bytes are these is one over HTTP/2.
pub(super) fn begins_http2(bytes: &[u8]) -> bool {
    bytes.starts_with(PREFACE)
}

/// Answers the streams of a connection until it ends, until its client has been silent for too long,
/// or until the run ends. `open` serves the stream of this number, from 1, over this pipe.
pub(super) async fn serve_streams<S: ClientStream>(
    socket: ClientSocket<S>,
    silence: Duration,
    closing: &mut watch::Receiver<bool>,
    open: impl Fn(u32, StreamPipe) + Clone + Send + 'static,
) {
    let connection = socket.connection_handle();
    let (numbers, own) = (Arc::new(AtomicU32::new(1)), Arc::clone(&connection));
    let service = service_fn(move |request: Request<Incoming>| {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let (stream, open) = (OpenStream::begin(&own), open.clone());
        stream_exchange::answer_stream(request, stream, move |pipe| open(number, pipe))
    });
    let mut http = Box::pin(
        http2::Builder::new(TokioExecutor::new())
            .auto_date_header(false)
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEADERS)
            .serve_connection(TokioIo::new(socket), service),
    );
    let (mut activity, mut is_closing) = (ConnectionActivity::default(), false);
    loop {
        match next_turn(&mut http, closing, is_closing).await {
            // The requests on its streams are reported where these are served.
            ConnectionTurn::Over(_) => return,
            ConnectionTurn::Closing => {
                is_closing = true;
                http.as_mut().graceful_shutdown();
            }
            ConnectionTurn::Check => {
                let verdict = activity.check_silence(&connection, Instant::now(), silence);
                if verdict == ConnectionVerdict::Leave {
                    return;
                }
            }
        }
    }
}
