//! The guard: a proxy on this machine for the `https` connections of a wrapped command. It counts
//! those to providers, which should have been calls to loomrec, and passes on all others.

mod connection;
mod context;
mod escapes;
mod request;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rand::RngExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use connection::GuardConnection;
use context::{GuardContext, GuardLogin, NeededLogin};
use escapes::HostCounts;
use loomrec_engine::route::RouteTable;
use loomrec_engine::upstream::TunnelConnector;

pub use context::{AcceptedTunnel, EscapePolicy, InterceptionPolicy, ProxyClient, TellUser};
pub use escapes::{Escape, EscapeRemedy, FailedTunnel, GuardReport, HostCount, TunnelFailure};

/// The name in the URL of the guard.
const USER: &str = "loomrec";

/// Takes the tunnels whose end loomrec is. Set once, when the server has started.
type TakeTunnel = Box<dyn Fn(AcceptedTunnel, SocketAddr) + Send + Sync>;

/// A guard: what decides about the connections of a program whose proxy loomrec is.
#[derive(Clone, Debug)]
pub struct Guard(Arc<GuardContext>);

/// A guard with a port of its own, which was started.
pub struct RunningGuard {
    guard: Guard,
    url: String,
    take_tunnel: Arc<OnceLock<TakeTunnel>>,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Guard {
    /// Creates a guard beside the listener of loomrec. Its connections go through the proxy that
    /// loomrec's own environment names. With `interception`, tunnels to the hosts of upstreams end
    /// at loomrec.
    pub fn new(
        policy: EscapePolicy,
        routes: Arc<RouteTable>,
        listener: SocketAddr,
        interception: Option<InterceptionPolicy>,
    ) -> Self {
        let connector = TunnelConnector::from_environment();
        let hosts = HostCounts::default();
        let context = GuardContext { policy, listener, routes, connector, interception, hosts };
        Self(Arc::new(context))
    }

    /// Serves a connection that came to loomrec's listener: a tunnel, or a refusal. Returns a tunnel
    /// whose end loomrec is.
    pub async fn serve(
        &self,
        connection: TcpStream,
        client: ProxyClient<'_>,
    ) -> Option<AcceptedTunnel> {
        let login = NeededLogin::OfListener(client);
        GuardConnection::new(connection, &self.0, login).serve_request().await
    }

    /// Counts a tunnel that ended before its first request, and says so for the first one. `reason`
    /// follows "its client".
    pub fn note_failed_tunnel(&self, host: &str, reason: &str, failure: TunnelFailure) {
        self.0.note_failed(host, reason, failure);
    }

    /// Returns the hosts that were contacted.
    pub fn host_report(&self) -> GuardReport {
        self.0.hosts.host_report()
    }
}

impl RunningGuard {
    /// Starts a guard on a free port of `address`.
    ///
    /// # Errors
    /// A port that cannot be opened.
    pub async fn start(address: IpAddr, guard: Guard) -> io::Result<Self> {
        let socket = TcpListener::bind((address, 0)).await?;
        let login = GuardLogin { name: USER.to_owned(), password: draw_password() };
        let url = format!("http://{}:{}@{}", login.name, login.password, socket.local_addr()?);
        let (stop, stopped) = oneshot::channel();
        let take_tunnel = Arc::default();
        let port = GuardPort {
            context: Arc::clone(&guard.0),
            login: Arc::new(login),
            take_tunnel: Arc::clone(&take_tunnel),
        };
        let task = tokio::spawn(serve_connections(socket, port, stopped));
        Ok(Self { guard, url, take_tunnel, task, stop })
    }

    /// Returns the URL of the proxy, with a name and a password that were drawn for this run: other
    /// users of this machine must not get through the guard.
    pub fn proxy_url(&self) -> &str {
        &self.url
    }

    /// Has tunnels whose end loomrec is taken by `take`, with the address of the client. Called once.
    pub fn take_tunnels_by(&self, take: TakeTunnel) {
        // A second one would have no tunnels.
        drop(self.take_tunnel.set(take));
    }

    /// Ends its connections. Returns the hosts that were contacted.
    pub async fn end_connections(self) -> GuardReport {
        drop(self.stop);
        // A panic of the task has been printed already.
        drop(self.task.await);
        self.guard.host_report()
    }
}

/// What the connections to the port of a guard share.
#[derive(Clone)]
struct GuardPort {
    context: Arc<GuardContext>,
    login: Arc<GuardLogin>,
    take_tunnel: Arc<OnceLock<TakeTunnel>>,
}

impl GuardPort {
    async fn serve_client(self, client: TcpStream, peer: SocketAddr) {
        let login = NeededLogin::OfRun(&self.login);
        let tunnel = GuardConnection::new(client, &self.context, login).serve_request().await;
        if let (Some(tunnel), Some(take)) = (tunnel, self.take_tunnel.get()) {
            take(tunnel, peer);
        }
    }
}

/// Draws a password of 128 random bits.
fn draw_password() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

/// Serves connections until the run ends, and then closes them.
async fn serve_connections(
    listener: TcpListener,
    port: GuardPort,
    mut stopped: oneshot::Receiver<()>,
) {
    let places = Arc::new(Semaphore::new(port.context.policy.most_connections()));
    let mut connections = JoinSet::new();
    let accept = async || {
        // The semaphore is never closed.
        let place = Arc::clone(&places).acquire_owned().await.ok();
        (listener.accept().await, place)
    };
    loop {
        tokio::select! {
            (accepted, place) = accept() => match accepted {
                Ok((client, peer)) => {
                    let port = port.clone();
                    connections.spawn(async move {
                        port.serve_client(client, peer).await;
                        drop(place);
                    });
                }
                // Out of file descriptors, or a client that has left. Both pass.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            Some(_) = connections.join_next() => {}
            _ = &mut stopped => break,
        }
    }
    connections.shutdown().await;
}
