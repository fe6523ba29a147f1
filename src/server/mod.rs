//! The server: accepts connections, places each request, has an engine answer it.
//!
//! [`run`] owns nothing but its connections: the caller gives the bound listener
//! and the signal to stop, so tests bind port 0 and commands decide when to end.

pub mod access;
mod account;
mod asked;
mod authority;
mod caller;
pub mod clock;
mod coded;
pub mod control;
mod cors;
mod credential;
mod door;
pub mod fault;
pub mod handler;
mod head;
pub mod inspector;
pub mod journal;
mod known;
mod live;
pub mod log;
mod memo;
pub mod metric;
pub mod observe;
pub mod respond;
pub mod route;
mod script;
pub mod seen;
pub mod socket;
pub mod span;
mod stream;
pub mod tally;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use http::HeaderName;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::record::Recorder;
use crate::recording::redact::Redactor;
use crate::replay::{Missed, RecordingMismatchError, Replayer};
use crate::upstream::Client;
use access::AccessPolicy;
use caller::Caller;
use fault::Faults;
use inspector::Inspector;
use journal::Journal;
use metric::Metrics;
use observe::Observer;
use route::Routes;
use seen::Seen;
use socket::{Connection, Socket};
use span::Spans;
use tally::Tally;

/// A client has twice this time to send a request's head, and a little more. One
/// timer for each connection: hyper's own would be set and taken back at every request.
const SILENCE: Duration = Duration::from_secs(30);
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
    /// What may call, and by which names.
    pub access: AccessPolicy,
    /// Request bodies above this many bytes are refused.
    pub max_body: usize,
    /// Pass the client's own `accept-encoding` on, instead of `identity`.
    pub keep_encoding: bool,
    /// Lets callers that are not on this machine use the control paths.
    pub control_token: Option<String>,
    /// The header that names a call's step where [`observe::STEP_HEADER`] does not.
    pub step_header: Option<HeaderName>,
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
    /// A call is over.
    Call(&'a Seen),
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
    /// What is made of a request before an engine has it.
    pub observer: Observer,
    /// The recording engine, where this run records.
    pub recorder: Option<Arc<Recorder>>,
    /// The replaying engine, where this run replays.
    pub replayer: Option<Replayer>,
    /// What a miss gets, where this run does not record it.
    pub on_miss: OnMiss,
    /// Where requests without a recorded answer are kept, where they are.
    pub missed: Option<Arc<Missed>>,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// The counts.
    pub tally: Arc<Tally>,
    /// The same and more, for scrapers.
    pub metrics: Arc<Metrics>,
    /// A line for each call.
    pub journal: Journal,
    /// A span for each call, where they are made.
    pub spans: Spans,
    /// What is kept for those who look at the run in a browser.
    pub inspector: Inspector,
    /// Told at once of what went wrong.
    pub notify: OnNotice,
    /// The last arrival time given out, in microseconds since 1970.
    pub clock: AtomicI64,
}

impl Gateway {
    /// What the run does, in a word.
    pub fn mode(&self) -> &'static str {
        match (&self.recorder, &self.replayer) {
            (Some(_), Some(_)) => "new_episodes",
            (Some(_), None) => "record",
            (None, _) => "replay",
        }
    }

    /// A call is over: everybody who counts or writes down calls learns of it here, once.
    /// What is left in its place is of no use.
    pub(crate) fn over(&self, seen: &mut Seen) {
        log::call(seen);
        self.metrics.over(seen);
        (self.notify)(Notice::Call(seen));
        let seen = self.journal.add(seen);
        self.spans.add(&seen);
    }
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
    gateway.faults.stop();
    gateway.journal.end_following();
    // Whoever is still connected after the grace time is cut off when the run ends.
    drop(tokio::time::timeout(GRACE, graceful.shutdown()).await);
}

/// Serves one connection in a task of its own.
fn serve(stream: TcpStream, peer: SocketAddr, gateway: Arc<Gateway>, graceful: &GracefulShutdown) {
    // A refusal to turn off Nagle's algorithm costs time, not correctness.
    drop(stream.set_nodelay(true));
    let number = gateway.faults.accepted();
    log::accepted(number);
    if let Some(decided) = gateway.faults.decider().at_accept(number) {
        tokio::spawn(fault::suffer(gateway, stream, number, decided));
        return;
    }
    let socket = Socket::new(stream);
    let connection = socket.connection();
    let caller = Arc::new(Caller::new(Arc::clone(&gateway), (peer, number), socket.connection()));
    let service = service_fn(move |request| {
        let caller = Arc::clone(&caller);
        caller.connection.begin();
        async move { handler::handle(&caller, request).await }
    });
    let serving = http1::Builder::new()
        // A date that the upstream did not send is none of ours to add.
        .auto_date_header(false)
        // Chunks that are ready together go out together, each framed as it was:
        // queued for a vectored write, only a few of them would.
        .writev(false)
        .serve_connection(TokioIo::new(socket), service);
    let serving = graceful.watch(serving);
    let mut open = gateway.journal.open();
    let attended = Arc::clone(&connection);
    let mut task = tokio::spawn(async move { attend(serving, &attended, SILENCE).await });
    // A task of its own: what it waits for comes once, and is not looked for again and again
    // while requests come and go.
    tokio::spawn(async move {
        tokio::select! {
            _ = &mut task => {}
            () = connection.abandoned() => end(task).await,
            () = open.last_word() => {
                connection.cut();
                end(task).await;
            }
        }
        log::closed(number);
        if !connection.is_cut() {
            fault::left(&gateway, number);
        }
    });
}

/// Ends a task, and waits until all that it held is gone.
async fn end(task: JoinHandle<()>) {
    task.abort();
    drop(task.await);
}

/// Serves a connection until it is over, or its client has had no request for us, or has
/// not taken a text of our own, for too long.
async fn attend(serving: impl Future, connection: &Connection, silence: Duration) {
    let mut serving = std::pin::pin!(serving);
    let (mut seen, mut stuck) = ([None; 2], None);
    // A connection's end is the client's business, and a recorded cut is an error here.
    while tokio::time::timeout(silence, serving.as_mut()).await.is_err() {
        // An answer that its client is slow to take is not over.
        let idle = connection.idle().filter(|_| !connection.is_full());
        if idle.is_some() && seen == [idle; 2] {
            break;
        }
        seen = [seen[1], idle];
        let before = std::mem::replace(&mut stuck, connection.stuck());
        if stuck.is_some() && stuck == before {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    #[tokio::test]
    async fn connection_is_left_when_no_request_comes() {
        let connection = Connection::default();
        connection.begin();
        connection.end();
        attend(std::future::pending::<()>(), &connection, SHORT).await;
    }

    /// A socket whose other end takes nothing any more, and that end.
    async fn full() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut socket = Socket::new(listener.accept().await.unwrap().0);
        let more = async { while socket.write(&[b'x'; 1 << 16]).await.is_ok() {} };
        assert!(tokio::time::timeout(SHORT * 20, more).await.is_err());
        (socket, other)
    }

    #[tokio::test]
    async fn connection_is_left_when_a_text_of_ours_is_not_taken() {
        let (mut socket, mut other) = full().await;
        let connection = socket.connection();
        connection.begin();
        connection.end();
        let attended = || attend(std::future::pending::<()>(), &connection, SHORT);
        // A call may be answered as slowly as its client likes.
        assert!(tokio::time::timeout(SHORT * 20, attended()).await.is_err());
        connection.asks_for_ours(true);
        attended().await;
        // One that is read, however slowly, is not.
        let before = connection.stuck();
        other.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
        socket.write_all(b"x").await.unwrap();
        assert!(before.is_some() && connection.stuck().is_none());
    }

    #[tokio::test]
    async fn connection_is_kept_when_a_request_is_being_answered_or_others_come() {
        let connection = Connection::default();
        connection.begin();
        let attended = attend(std::future::pending::<()>(), &connection, SHORT);
        assert!(tokio::time::timeout(SHORT * 20, attended).await.is_err());
        connection.end();
        let coming = async {
            for _ in 0..100 {
                tokio::time::sleep(SHORT / 5).await;
                connection.begin();
                connection.end();
            }
        };
        let attended = attend(std::future::pending::<()>(), &connection, SHORT * 4);
        tokio::select! {
            () = attended => panic!("left although requests came"),
            () = coming => {}
        }
    }
}
