//! The guard: a proxy on this machine for the `https` connections of a wrapped command. It counts
//! those to providers, which should have been calls to loomrec, and passes on all others.

mod connection;
mod context;
mod escapes;
mod request;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use connection::GuardConnection;
use context::{GuardContext, GuardLogin};
use escapes::HostCounts;
use loomrec_engine::route::RouteTable;
use loomrec_engine::upstream::TunnelConnector;

pub use context::EscapePolicy;
pub use escapes::{Escape, GuardReport, PassedHost};

/// The name in the URL of the guard.
const USER: &str = "loomrec";

/// A guard that was started.
#[derive(Debug)]
pub struct RunningGuard {
    url: String,
    context: Arc<GuardContext>,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl RunningGuard {
    /// Starts a guard on a free port of `address`, beside the listener of loomrec. Its connections
    /// go through the proxy that loomrec's own environment names.
    ///
    /// # Errors
    /// A port that cannot be opened.
    pub async fn start(
        address: IpAddr,
        policy: EscapePolicy,
        routes: Arc<RouteTable>,
        listener: SocketAddr,
    ) -> io::Result<Self> {
        let socket = TcpListener::bind((address, 0)).await?;
        let connector = TunnelConnector::from_environment();
        let login = GuardLogin { name: USER.to_owned(), password: draw_password() };
        let url = format!("http://{}:{}@{}", login.name, login.password, socket.local_addr()?);
        let hosts = HostCounts::default();
        let context = Arc::new(GuardContext { policy, listener, routes, connector, login, hosts });
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(run(socket, Arc::clone(&context), stopped));
        Ok(Self { url, context, task, stop })
    }

    /// Returns the URL of the proxy, with a name and a password that were drawn for this run: other
    /// users of this machine must not get through the guard.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends its connections. Returns the hosts that were contacted.
    pub async fn end(self) -> GuardReport {
        drop(self.stop);
        // A panic of the task has been printed already.
        drop(self.task.await);
        self.context.hosts.report()
    }
}

/// Draws a password of 128 random bits.
fn draw_password() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

/// Serves connections until the run ends, and then closes them.
async fn run(
    listener: TcpListener,
    context: Arc<GuardContext>,
    mut stopped: oneshot::Receiver<()>,
) {
    let places = Arc::new(Semaphore::new(context.policy.most_connections()));
    let mut connections = JoinSet::new();
    let accept = async || {
        // The semaphore is never closed.
        let place = Arc::clone(&places).acquire_owned().await.ok();
        (listener.accept().await, place)
    };
    loop {
        tokio::select! {
            (accepted, place) = accept() => match accepted {
                Ok((client, _)) => {
                    let context = Arc::clone(&context);
                    connections.spawn(async move {
                        GuardConnection::new(client, &context).serve().await;
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
