//! The server: accepts connections, places each request, has an engine answer it.
//!
//! [`run`] owns nothing but its connections: the caller gives the bound listener
//! and the signal to stop, so tests bind port 0 and commands decide when to end.

mod asked;
pub mod control;
pub mod handler;
pub mod journal;
mod live;
pub mod observe;
pub mod respond;
pub mod route;
pub mod socket;
pub mod tally;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};

use crate::record::Recorder;
use crate::recording::redact::Redactor;
use crate::replay::{RecordingMismatchError, Replayer};
use crate::upstream::Client;
use journal::Journal;
use route::Routes;
use socket::Socket;
use tally::Tally;

/// A client must have sent its request's head within this time.
const HEADER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long open responses may go on after the signal to stop.
const GRACE: Duration = Duration::from_secs(10);

/// What a call without a recorded answer gets.
#[derive(Clone, Debug)]
pub enum OnMiss {
    /// A mismatch error.
    Error,
    /// The placeholder answer.
    Default,
    /// The live upstream's answer, not recorded.
    Forward(Client),
}

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// Request bodies above this many bytes are refused.
    pub max_body: usize,
    /// Pass the client's own `accept-encoding` on, instead of `identity`.
    pub keep_encoding: bool,
    /// Lets callers that are not on this machine use the control paths.
    pub control_token: Option<String>,
}

/// Something the person at the terminal should hear of at once.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A call without a recorded answer.
    Missed(&'a RecordingMismatchError),
    /// An upstream gave no answer, or a request could not be placed or was too large.
    Refused(&'a str),
    /// An exchange could not be kept; said once for each reason.
    Unkept(&'a str),
    /// Something that is well again, or was put right, and is worth knowing.
    Warning(&'a str),
    /// A call was answered: its line in the journal.
    Call(&'a serde_json::Value),
    /// An exchange was kept, but not whole: it will not be replayed.
    Incomplete(&'a str),
}

/// Told of every [`Notice`].
pub type OnNotice = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

/// Everything a request needs.
pub struct Gateway {
    /// Behaviour.
    pub config: Config,
    /// Where requests go.
    pub routes: Routes,
    /// What must never be stored or shown.
    pub redactor: Arc<Redactor>,
    /// The recording engine, where this run records.
    pub recorder: Option<Arc<Recorder>>,
    /// The replaying engine, where this run replays.
    pub replayer: Option<Replayer>,
    /// What a miss gets, where this run does not record it.
    pub on_miss: OnMiss,
    /// The counts.
    pub tally: Arc<Tally>,
    /// A line for each call.
    pub journal: Journal,
    /// Told at once of what went wrong.
    pub notify: OnNotice,
    /// The last arrival time given out, in microseconds since 1970.
    pub clock: AtomicI64,
}

/// Serves connections of `listener` until `stop` is ready, then lets open
/// responses finish within bounds.
pub async fn run(listener: TcpListener, gateway: Arc<Gateway>, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => serve(stream, peer, Arc::clone(&gateway), &graceful),
                // Out of file descriptors, or a client gone before it was accepted:
                // neither is a reason to stop, both are a reason to breathe.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    // Whoever is still connected after the grace time is cut off with the process.
    drop(tokio::time::timeout(GRACE, graceful.shutdown()).await);
}

/// Serves one connection in a task of its own.
fn serve(stream: TcpStream, peer: SocketAddr, gateway: Arc<Gateway>, graceful: &GracefulShutdown) {
    // A refusal to turn off Nagle's algorithm costs time, not correctness.
    drop(stream.set_nodelay(true));
    let socket = Socket::new(stream);
    let connection = socket.connection();
    let service = service_fn(move |request| {
        let gateway = Arc::clone(&gateway);
        let connection = Arc::clone(&connection);
        async move {
            let response = handler::handle(&gateway, request, peer).await;
            Ok::<_, Infallible>(respond::tie(response, connection))
        }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        // A date that the upstream did not send is none of ours to add.
        .auto_date_header(false)
        // Chunks that are ready together go out together, each framed as it was:
        // queued for a vectored write, only a few of them would.
        .writev(false)
        .serve_connection(TokioIo::new(socket), service);
    let serving = graceful.watch(serving);
    tokio::spawn(async move {
        // A connection's end is the client's business, and a recorded cut is an error here.
        drop(serving.await);
    });
}
