//! Accepting connections, and serving each until it ends.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Sleep;

use super::connection_activity::{ConnectionActivity, ConnectionVerdict};
use super::connection_context::ConnectionContext;
use super::connection_turn::{ConnectionTurn, closed, next_turn};
use super::half_close::client_left;
use super::interception::{ListenerEntrance, OpenedStream};
use super::limit::Admission;
use super::open_connections::OpenConnections;
use super::peer::ConnectionPeer;
use super::response_control::ResponseControl;
use super::server_threads::ServerThreads;
use super::session::SessionTable;
use super::socket::{ClientSocket, ClientStream};
use super::tunnel_host::TunnelHost;
use super::{Proxy, fault, handler, keep_awake, refused_connection};
use crate::guard::AcceptedTunnel;
use loomrec_telemetry::log;

/// How long open responses may go on after the signal to stop.
const GRACE: Duration = Duration::from_secs(10);
/// How long a client above the limit of connections has to receive its refusal.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that was started.
pub struct RunningServer {
    task: JoinHandle<()>,
    connections: OpenConnections,
    answering: ConnectionProxy,
    threads: Arc<ServerThreads>,
}

impl RunningServer {
    /// Returns its connections.
    pub fn connections(&self) -> OpenConnections {
        self.connections.clone()
    }

    /// Returns what serves the tunnels that a guard accepts at a port of its own, each with the
    /// address of its client.
    pub fn tunnel_taker(&self) -> impl Fn(AcceptedTunnel, SocketAddr) + Send + Sync + 'static {
        let (answering, threads) = (self.answering.clone(), Arc::clone(&self.threads));
        let connections = self.connections.clone();
        move |AcceptedTunnel { client: stream, host }, peer| {
            let incoming =
                IncomingConnection { stream, peer, tunnel: Some(Arc::new(TunnelHost::new(host))) };
            accept(incoming, &answering, &threads, &connections);
        }
    }

    /// Returns once it has ended.
    pub async fn ended(self) {
        // A panic of the task has been printed already.
        drop(self.task.await);
    }
}

/// What answers the requests of connections.
#[derive(Clone)]
pub struct ConnectionProxy {
    /// Answers them.
    pub proxy: Arc<Proxy>,
    /// The sessions that it assigns them to, if each has a recording.
    pub sessions: Option<Arc<SessionTable>>,
    /// How connections begin.
    pub entrance: ListenerEntrance,
}

/// An accepted connection, or a tunnel that the guard accepted.
struct IncomingConnection {
    stream: TcpStream,
    peer: SocketAddr,
    /// The host of the tunnel that it is.
    tunnel: Option<Arc<TunnelHost>>,
}

/// A connection whose next bytes are HTTP.
struct HttpConnection<S> {
    stream: S,
    peer: ConnectionPeer,
    /// The host of the tunnel that it is.
    tunnel: Option<Arc<TunnelHost>>,
}

/// Starts a task that serves connections of `listener` on `threads` until `stop` receives a message
/// or its sender is dropped, and then lets open responses finish within bounds.
pub fn start(
    listener: TcpListener,
    answering: ConnectionProxy,
    threads: Arc<ServerThreads>,
    stop: oneshot::Receiver<()>,
) -> RunningServer {
    let [closing, over] = [(); 2].map(|()| Arc::new(watch::channel(false).0));
    let connections = OpenConnections { closing, over };
    let own = (connections.clone(), answering.clone(), Arc::clone(&threads));
    let task = tokio::spawn(async move {
        let (connections, answering, threads) = own;
        run(listener, &answering, &threads, (&connections, stop)).await;
    });
    RunningServer { task, connections, answering, threads }
}

async fn run(
    listener: TcpListener,
    answering: &ConnectionProxy,
    threads: &ServerThreads,
    (connections, mut stop): (&OpenConnections, oneshot::Receiver<()>),
) {
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let incoming = IncomingConnection { stream, peer, tunnel: None };
                    accept(incoming, answering, threads, connections);
                }
                // Out of file descriptors, or a client that left before it was accepted. Neither is
                // a reason to stop. Both are a reason to pause.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            _ = &mut stop => break,
        }
    }
    // The server says that it is not ready before it refuses connections.
    answering.proxy.faults.stop();
    drop(listener);
    answering.proxy.telemetry.journal.end_following();
    // Connections that are open after the grace time are cut when the run ends.
    connections.closing.send_replace(true);
    drop(tokio::time::timeout(GRACE, connections.closing.closed()).await);
}

/// Assigns a connection to a thread, or closes it if there are too many.
fn accept(
    IncomingConnection { stream, peer, tunnel }: IncomingConnection,
    answering: &ConnectionProxy,
    threads: &ServerThreads,
    connections: &OpenConnections,
) {
    let proxy = &answering.proxy;
    let Some(admission) = proxy.connections.admit() else {
        return refused_connection::count_excess(proxy);
    };
    // If Nagle's algorithm cannot be turned off, that costs time, not correctness.
    drop(stream.set_nodelay(true));
    let number = proxy.faults.accepted();
    log::accepted(number);
    let (Ok(stream), Some(place)) = (stream.into_std(), threads.assign()) else { return };
    let answering = answering.clone();
    let phase = (connections.closing.subscribe(), Arc::clone(&connections.over));
    let runtime = place.runtime().clone();
    runtime.spawn(async move {
        // A socket that the thread cannot watch is closed: the client sees the connection end.
        if let Ok(stream) = TcpStream::from_std(stream) {
            let incoming = IncomingConnection { stream, peer, tunnel };
            serve(incoming, number, admission, answering, phase).await;
        }
        drop(place);
    });
}

/// Serves one connection until it is over, after the handshake if there is TLS. A fault that strikes
/// a connection strikes it before the handshake.
async fn serve(
    IncomingConnection { stream, peer, tunnel }: IncomingConnection,
    number: u64,
    admission: Admission,
    answering: ConnectionProxy,
    (closing, over): (watch::Receiver<bool>, Arc<watch::Sender<bool>>),
) {
    let proxy = &answering.proxy;
    if let Some(decided) = proxy.faults.decider().at_accept(number) {
        // In a box, as what is below: an idle connection keeps the memory of each branch.
        let struck = fault::apply_to_connection(Arc::clone(proxy), stream, number, decided);
        return Box::pin(struck).await;
    }
    let peer = ConnectionPeer::new(peer, stream.local_addr().ok());
    let connection = HttpConnection { stream, peer, tunnel };
    let phase = (closing, over);
    match answering.entrance.is_plain() {
        true => serve_stream(connection, number, admission, answering, phase).await,
        // What waits for a handshake takes more memory than a plain connection.
        false => Box::pin(serve_opened(connection, number, admission, answering, phase)).await,
    }
}

/// Opens a connection, and serves it until it is over.
async fn serve_opened(
    HttpConnection { stream, peer, mut tunnel }: HttpConnection<TcpStream>,
    number: u64,
    admission: Admission,
    answering: ConnectionProxy,
    (mut closing, over): (watch::Receiver<bool>, Arc<watch::Sender<bool>>),
) {
    let (proxy, entrance) = (&answering.proxy, &answering.entrance);
    let mut time = (!admission.is_served()).then(|| Box::pin(tokio::time::sleep(REFUSAL_TIMEOUT)));
    let bounds = (proxy.config.client_timeout, proxy.config.control_token.as_deref());
    let opening = Box::pin(entrance.open(&mut tunnel, stream, &peer, bounds));
    let opened = tokio::select! {
        opened = opening => opened,
        () = closed(&mut closing) => None,
        () = expired(&mut time) => None,
    };
    let phase = (closing, over);
    match opened {
        Some(OpenedStream::Plain(stream)) => {
            let connection = HttpConnection { stream, peer, tunnel };
            serve_stream(connection, number, admission, answering, phase).await;
        }
        Some(OpenedStream::Tls(stream)) => {
            let connection = HttpConnection { stream: *stream, peer, tunnel };
            serve_stream(connection, number, admission, answering, phase).await;
        }
        None => log::closed(number),
    }
}

/// Serves the requests of one connection until it is over.
async fn serve_stream<S: ClientStream>(
    HttpConnection { stream, peer, tunnel }: HttpConnection<S>,
    number: u64,
    admission: Admission,
    answering: ConnectionProxy,
    (closing, over): (watch::Receiver<bool>, Arc<watch::Sender<bool>>),
) {
    let ConnectionProxy { proxy, sessions, .. } = answering;
    let socket = ClientSocket::new(stream);
    let connection = socket.connection();
    let is_served = admission.is_served();
    let caller = ConnectionContext::new(
        Arc::clone(&proxy),
        (Arc::new(peer), number),
        connection.clone(),
        is_served,
    );
    let caller = Arc::new(caller.with_sessions(sessions).in_tunnel(tunnel));
    let mut open = proxy.telemetry.journal.open();
    let silence = proxy.config.client_timeout;
    let mut over = over.subscribe();
    let mut task = tokio::spawn(converse(socket, Arc::clone(&caller), silence, closing));
    let mut time = (!is_served).then(|| Box::pin(tokio::time::sleep(REFUSAL_TIMEOUT)));
    // The connection has a separate task: each of these happens once, so they need not be polled
    // again and again while requests come and go.
    tokio::select! {
        _ = &mut task => {}
        () = connection.abandoned() => end(task).await,
        () = client_left(&connection, &caller.peer, proxy.engine.goes_upstream()) => {
            end(task).await;
        }
        () = closed(&mut over) => {
            connection.end_with_run();
            end(task).await;
        }
        () = expired(&mut time) => {
            connection.cut();
            end(task).await;
        }
        () = open.closing() => {
            connection.cut();
            end(task).await;
        }
    }
    drop(admission);
    log::closed(number);
    let of_session = caller.leave_session();
    if !connection.is_cut() {
        let proxy = of_session.as_ref().unwrap_or(&proxy);
        fault::note_client_left(proxy, number);
    }
}

/// Answers the requests of a connection until it ends, until its client has been silent for too
/// long, or until the run ends. No HTTP state is kept while the client is silent: it takes much
/// more memory than the connection itself.
async fn converse<S: ClientStream>(
    mut socket: ClientSocket<S>,
    caller: Arc<ConnectionContext>,
    silence: Duration,
    mut closing: watch::Receiver<bool>,
) {
    let connection = socket.connection();
    let mut patience = ConnectionActivity::default();
    // How many requests had arrived when a part of a further one was read.
    let mut begun = None;
    loop {
        if begun.is_none() && !is_heard(&mut socket, silence, &mut closing).await {
            return;
        }
        let own = Arc::clone(&caller);
        let service = service_fn(move |request| {
            keep_awake::note_work();
            let caller = Arc::clone(&own);
            let control = ResponseControl::begin(&caller.connection);
            async move { handler::handle(&caller, control, request).await }
        });
        let mut http = Box::new(
            http1::Builder::new()
                // Do not add a date that the upstream did not send.
                .auto_date_header(false)
                // Chunks that are ready together go out together, each with its own framing. A
                // vectored write would take only a few of them.
                .writev(false)
                .serve_connection(TokioIo::new(socket), service),
        );
        let mut is_closing = false;
        loop {
            match next_turn(&mut http, &mut closing, is_closing).await {
                ConnectionTurn::Over => {
                    if let Some(after_http) = connection.after_http().take() {
                        let parts = http.into_parts();
                        let mut socket = parts.io.into_inner();
                        socket.put_back(parts.read_buf);
                        // The connection counts as open until what happened on it is reported.
                        after_http(Box::new(socket), closing.clone()).await;
                    }
                    return;
                }
                // Nothing of an answer is on its way, at most a part of a request.
                ConnectionTurn::Closing if !connection.is_answering() => return,
                ConnectionTurn::Closing => {
                    is_closing = true;
                    Pin::new(&mut *http).graceful_shutdown();
                }
                ConnectionTurn::Check => {
                    match patience.update(&connection, Instant::now(), silence) {
                        ConnectionVerdict::Leave => return,
                        ConnectionVerdict::Rest if !is_closing && begun != connection.idle() => {
                            break;
                        }
                        ConnectionVerdict::Rest | ConnectionVerdict::Wait => {}
                    }
                }
            }
        }
        let parts = http.into_parts();
        begun = connection.idle().filter(|_| !parts.read_buf.is_empty());
        socket = parts.io.into_inner();
        socket.put_back(parts.read_buf);
        caller.forget();
    }
}

/// Whether the client sends something, or leaves, before it has been silent for too long and before
/// the run ends.
async fn is_heard<S: ClientStream>(
    socket: &mut ClientSocket<S>,
    silence: Duration,
    closing: &mut watch::Receiver<bool>,
) -> bool {
    tokio::select! {
        readable = socket.readable() => readable.is_ok(),
        () = closed(closing) => false,
        () = tokio::time::sleep(silence) => false,
    }
}

/// Returns when the time of a connection above the limit is over. Never returns for any other.
async fn expired(time: &mut Option<Pin<Box<Sleep>>>) {
    match time {
        Some(sleep) => sleep.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Aborts a task, and waits until everything that it held is dropped.
async fn end(task: JoinHandle<()>) {
    task.abort();
    drop(task.await);
}
