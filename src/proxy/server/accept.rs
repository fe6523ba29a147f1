//! Accepting connections, and serving each until it ends.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Sleep;

use super::connection_context::ConnectionContext;
use super::connection_number::ConnectionNumber;
use super::connection_turn::wait_until_closing;
use super::half_close::client_left;
use super::http1_connection::answer_requests;
use super::http2::{self, StreamPipe};
use super::interception::{ListenerEntrance, OpenedStream};
use super::limit::Admission;
use super::open_connections::OpenConnections;
use super::peer::ConnectionPeer;
use super::server_threads::ServerThreads;
use super::session::SessionTable;
use super::socket::{ClientSocket, ClientStream, ConnectionHandle};
use super::tunnel_host::TunnelHost;
use super::{Proxy, fault, refused_connection};
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
    pub fn open_connections(&self) -> OpenConnections {
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
            assign_connection(incoming, &answering, &threads, &connections);
        }
    }

    /// Returns once it has ended.
    pub async fn wait_until_ended(self) {
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
    peer: Arc<ConnectionPeer>,
    /// The host of the tunnel that it is.
    tunnel: Option<Arc<TunnelHost>>,
}

/// Starts a task that serves connections of `listener` on `threads` until `stop` receives a message
/// or its sender is dropped, and then lets open responses finish within bounds.
pub fn start_server(
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
        accept_connections(listener, &answering, &threads, (&connections, stop)).await;
    });
    RunningServer { task, connections, answering, threads }
}

async fn accept_connections(
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
                    assign_connection(incoming, answering, threads, connections);
                }
                // Out of file descriptors, or a client that left before it was accepted. Neither is
                // a reason to stop. Both are a reason to pause.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            _ = &mut stop => break,
        }
    }
    // The server says that it is not ready before it refuses connections.
    answering.proxy.faults.end_hanging_faults();
    drop(listener);
    answering.proxy.telemetry.journal.end_following();
    // Connections that are open after the grace time are cut when the run ends.
    connections.closing.send_replace(true);
    drop(tokio::time::timeout(GRACE, connections.closing.closed()).await);
}

/// Assigns a connection to a thread, or closes it if there are too many.
fn assign_connection(
    IncomingConnection { stream, peer, tunnel }: IncomingConnection,
    answering: &ConnectionProxy,
    threads: &ServerThreads,
    connections: &OpenConnections,
) {
    let proxy = &answering.proxy;
    let Some(admission) = proxy.connections.admit_connection() else {
        return refused_connection::count_excess(proxy);
    };
    // If Nagle's algorithm cannot be turned off, that costs time, not correctness.
    drop(stream.set_nodelay(true));
    let number = proxy.faults.next_connection_number();
    log::note_accepted(number);
    let (Ok(stream), Some(place)) = (stream.into_std(), threads.assign_thread()) else { return };
    let answering = answering.clone();
    let phase = (connections.closing.subscribe(), Arc::clone(&connections.over));
    let runtime = place.runtime().clone();
    runtime.spawn(async move {
        // A socket that the thread cannot watch is closed: the client sees the connection end.
        if let Ok(stream) = TcpStream::from_std(stream) {
            let incoming = IncomingConnection { stream, peer, tunnel };
            serve_connection(incoming, number, admission, answering, phase).await;
        }
        drop(place);
    });
}

/// Serves one connection until it is over, after the handshake if there is TLS. A fault that strikes
/// a connection strikes it before the handshake.
async fn serve_connection(
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
    let peer = Arc::new(ConnectionPeer::new(peer, stream.local_addr().ok()));
    let connection = HttpConnection { stream, peer, tunnel };
    let number = ConnectionNumber::from_accepted(number);
    let phase = (closing, over);
    match answering.entrance.is_plain() {
        true => drop(serve_stream(connection, number, admission, answering, phase).await),
        // What waits for a handshake takes more memory than a plain connection.
        false => Box::pin(serve_opened(connection, number, admission, answering, phase)).await,
    }
}

/// Opens a connection, and serves it until it is over.
async fn serve_opened(
    HttpConnection { stream, peer, mut tunnel }: HttpConnection<TcpStream>,
    number: ConnectionNumber,
    admission: Admission,
    answering: ConnectionProxy,
    (mut closing, over): (watch::Receiver<bool>, Arc<watch::Sender<bool>>),
) {
    let (proxy, entrance) = (&answering.proxy, &answering.entrance);
    let mut time = (!admission.is_served()).then(|| Box::pin(tokio::time::sleep(REFUSAL_TIMEOUT)));
    let bounds = (proxy.config.client_timeout, proxy.config.control_token.as_deref());
    let opening = Box::pin(entrance.open_connection(&mut tunnel, stream, &peer, bounds));
    let opened = tokio::select! {
        opened = opening => opened,
        () = wait_until_closing(&mut closing) => None,
        () = wait_until_expired(&mut time) => None,
    };
    let phase = (closing.clone(), over);
    match opened {
        Some(OpenedStream::Plain(stream)) => {
            let connection = HttpConnection { stream, peer, tunnel };
            serve_stream(connection, number, admission, answering, phase).await;
        }
        Some(OpenedStream::Tls(stream)) => {
            let intercepted = entrance.interception.clone().zip(tunnel.clone());
            let connection = HttpConnection { stream: *stream, peer, tunnel };
            let ended = serve_stream(connection, number, admission, answering, phase).await;
            let is_unused = !*closing.borrow() && !ended.is_cut() && ended.is_unused();
            if let Some((interception, host)) = intercepted.filter(|_| is_unused) {
                interception.note_no_call(&host);
            }
        }
        None => log::note_closed(number.accepted),
    }
}

/// Serves the requests of one connection until it is over. Returns what is known of it then.
async fn serve_stream<S: ClientStream>(
    HttpConnection { stream, peer, tunnel }: HttpConnection<S>,
    number: ConnectionNumber,
    admission: Admission,
    answering: ConnectionProxy,
    (closing, over): (watch::Receiver<bool>, Arc<watch::Sender<bool>>),
) -> Arc<ConnectionHandle> {
    let ConnectionProxy { proxy, sessions, .. } = answering;
    let socket = ClientSocket::new(stream);
    let connection = socket.connection_handle();
    let is_served = admission.is_served();
    let caller =
        ConnectionContext::new(Arc::clone(&proxy), (peer, number), connection.clone(), is_served);
    let caller = Arc::new(caller.with_sessions(sessions).in_tunnel(tunnel));
    let mut open = proxy.telemetry.journal.open_connection();
    let mut is_over = over.subscribe();
    let mut task = tokio::spawn(serve_requests(socket, Arc::clone(&caller), (closing, over)));
    let mut time = (!is_served).then(|| Box::pin(tokio::time::sleep(REFUSAL_TIMEOUT)));
    // The connection has a separate task: each of these happens once, so they need not be polled
    // again and again while requests come and go.
    tokio::select! {
        _ = &mut task => {}
        () = connection.wait_until_abandoned() => abort_task(task).await,
        () = client_left(&connection, &caller.peer, proxy.engine.goes_upstream()) => {
            abort_task(task).await;
        }
        () = wait_until_closing(&mut is_over) => {
            connection.end_with_run();
            abort_task(task).await;
        }
        () = wait_until_expired(&mut time) => {
            connection.note_cut();
            abort_task(task).await;
        }
        () = open.wait_until_closing() => {
            connection.note_cut();
            abort_task(task).await;
        }
    }
    drop(admission);
    log::note_closed(number.accepted);
    let of_session = caller.leave_session();
    if !connection.is_cut() {
        let proxy = of_session.as_ref().unwrap_or(&proxy);
        fault::note_client_left(proxy, number.unique_id());
    }
    connection
}

/// Answers the requests of a connection, over HTTP/1.1 or HTTP/2.
async fn serve_requests<S: ClientStream>(
    socket: ClientSocket<S>,
    caller: Arc<ConnectionContext>,
    (mut closing, over): (watch::Receiver<bool>, Arc<watch::Sender<bool>>),
) {
    let silence = caller.proxy.config.client_timeout;
    let socket = answer_requests(socket, Arc::clone(&caller), silence, &mut closing).await;
    if let Some(socket) = socket {
        let phase = (closing.clone(), over);
        let open = move |stream, pipe| open_stream(stream, pipe, &caller, &phase);
        Box::pin(http2::serve_streams(socket, silence, &mut closing, open)).await;
    }
}

/// Serves a stream of a connection as a connection of its own, or drops it if there are too many.
fn open_stream(
    stream: u32,
    pipe: StreamPipe,
    caller: &ConnectionContext,
    (closing, over): &(watch::Receiver<bool>, Arc<watch::Sender<bool>>),
) {
    let Some(admission) = caller.proxy.connections.admit_connection() else {
        return refused_connection::count_excess(&caller.proxy);
    };
    let answering = ConnectionProxy {
        proxy: Arc::clone(&caller.proxy),
        sessions: caller.sessions.clone(),
        entrance: ListenerEntrance::default(),
    };
    let place = HttpConnection {
        stream: pipe,
        peer: Arc::clone(&caller.peer),
        tunnel: caller.tunnel.clone(),
    };
    let number = caller.number.of_stream(stream);
    let phase = (closing.clone(), Arc::clone(over));
    tokio::spawn(serve_stream(place, number, admission, answering, phase));
}

/// Returns when the time of a connection above the limit is over. Never returns for any other.
async fn wait_until_expired(time: &mut Option<Pin<Box<Sleep>>>) {
    match time {
        Some(sleep) => sleep.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Aborts a task, and waits until everything that it held is dropped.
async fn abort_task(task: JoinHandle<()>) {
    task.abort();
    drop(task.await);
}
