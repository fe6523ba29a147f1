//! A connection over HTTP/1.1: its requests, one after the other.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;

use super::connection_activity::{ConnectionActivity, ConnectionVerdict};
use super::connection_context::ConnectionContext;
use super::connection_turn::{ConnectionTurn, next_turn, wait_until_closing};
use super::fault::AbandonedCall;
use super::http2;
use super::respond::{self, OutBody};
use super::response_control::ResponseControl;
use super::socket::{ClientSocket, ClientStream};
use super::unreadable_request::report_unreadable;
use super::{handler, keep_awake};

/// Answers the requests of a connection until it ends, until its client has been silent for too
/// long, or until the run ends. No HTTP state is kept while the client is silent: it takes much
/// more memory than the connection itself. Returns the socket of a client that begins with HTTP/2.
pub(super) async fn answer_requests<S: ClientStream>(
    mut socket: ClientSocket<S>,
    caller: Arc<ConnectionContext>,
    silence: Duration,
    closing: &mut watch::Receiver<bool>,
) -> Option<ClientSocket<S>> {
    let connection = socket.connection_handle();
    let mut patience = ConnectionActivity::default();
    // How many requests had arrived when a part of a further one was read.
    let mut begun = None;
    loop {
        if begun.is_none() && !is_heard(&mut socket, silence, closing).await {
            return None;
        }
        let own = Arc::clone(&caller);
        let service = service_fn(move |request| {
            keep_awake::note_work();
            let caller = Arc::clone(&own);
            let control = ResponseControl::begin_response(&caller.connection);
            async move { answer_request(&caller, control, request).await }
        });
        let mut http = Box::new(http1_builder().serve_connection(TokioIo::new(socket), service));
        let mut is_closing = false;
        loop {
            match next_turn(&mut http, closing, is_closing).await {
                ConnectionTurn::Over(ended) => {
                    let parts = http.into_parts();
                    if let Err(error) = &ended {
                        report_unreadable(&caller, error, &parts.read_buf);
                    }
                    let is_http2 = http2::begins_http2(&parts.read_buf);
                    let mut socket = parts.io.into_inner();
                    socket.put_back(parts.read_buf);
                    if let Some(after_http) = connection.after_http().take() {
                        // The connection counts as open until what happened on it is reported.
                        after_http(Box::new(socket), closing.clone()).await;
                        return None;
                    }
                    return is_http2.then_some(socket);
                }
                // Nothing of an answer is on its way, at most a part of a request.
                ConnectionTurn::Closing if !connection.is_answering() => return None,
                ConnectionTurn::Closing => {
                    is_closing = true;
                    Pin::new(&mut *http).graceful_shutdown();
                }
                ConnectionTurn::Check => {
                    match patience.check_silence(&connection, Instant::now(), silence) {
                        ConnectionVerdict::Leave => return None,
                        ConnectionVerdict::Rest
                            if !is_closing && begun != connection.requests_if_idle() =>
                        {
                            break;
                        }
                        ConnectionVerdict::Rest | ConnectionVerdict::Wait => {}
                    }
                }
            }
        }
        let parts = http.into_parts();
        begun = connection.requests_if_idle().filter(|_| !parts.read_buf.is_empty());
        socket = parts.io.into_inner();
        socket.put_back(parts.read_buf);
        caller.forget_request();
    }
}

/// Returns how connections are served.
fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        // Do not add a date that the upstream did not send.
        .auto_date_header(false)
        // Chunks that are ready together go out together, each with its own framing. A vectored
        // write would take only a few of them.
        .writev(false);
    builder
}

/// Answers a request, of a stream over HTTP/2 as its pipe carries it.
async fn answer_request(
    caller: &Arc<ConnectionContext>,
    control: ResponseControl,
    request: Request<Incoming>,
) -> Result<Response<OutBody>, AbandonedCall> {
    let response = handler::handle_request(caller, control, request).await?;
    Ok(match caller.number.is_of_stream() {
        true => respond::carry_trailers(response),
        false => response,
    })
}

/// Whether the client sends something, or leaves, before it has been silent for too long and before
/// the run ends.
async fn is_heard<S: ClientStream>(
    socket: &mut ClientSocket<S>,
    silence: Duration,
    closing: &mut watch::Receiver<bool>,
) -> bool {
    tokio::select! {
        readable = socket.wait_until_readable() => readable.is_ok(),
        () = wait_until_closing(closing) => false,
        () = tokio::time::sleep(silence) => false,
    }
}
