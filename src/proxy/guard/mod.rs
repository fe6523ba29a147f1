//! The guard: a proxy on this machine for the `https` connections of a wrapped command. It counts
//! those to providers, which should have been calls to loomrec, and passes on all others.

mod connection;
mod context;
mod escapes;
mod request;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use url::Url;

use connection::GuardConnection;
use context::GuardContext;
use escapes::EscapeCounts;
use loomrec_engine::route::RouteTable;
use loomrec_engine::upstream::{ProxyLogin, TunnelConnector};

pub use context::EscapePolicy;
pub use escapes::Escape;

/// How many connections are open at once. Others wait to be accepted.
const MOST_CONNECTIONS: usize = 256;

/// A guard that was started.
#[derive(Debug)]
pub struct RunningGuard {
    url: String,
    context: Arc<GuardContext>,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl RunningGuard {
    /// Starts a guard on a free port of `address`. Its connections go through the proxy that
    /// loomrec's own environment names.
    ///
    /// # Errors
    /// A port that cannot be opened.
    pub async fn start(
        address: SocketAddr,
        policy: EscapePolicy,
        routes: Arc<RouteTable>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let connector = TunnelConnector::from_environment();
        let login = connector.login();
        let url = url_with(listener.local_addr()?, login.as_ref());
        let escapes = EscapeCounts::default();
        let context = Arc::new(GuardContext { policy, routes, connector, login, escapes });
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(run(listener, Arc::clone(&context), stopped));
        Ok(Self { url, context, task, stop })
    }

    /// Returns the URL of the proxy. If the next proxy needs a name and a password, it has the same:
    /// other users of this machine must not get through that proxy by means of the guard.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends its connections. Returns the hosts that were contacted.
    pub async fn end(self) -> Vec<Escape> {
        drop(self.stop);
        // A panic of the task has been printed already.
        drop(self.task.await);
        self.context.escapes.list()
    }
}

fn url_with(address: SocketAddr, login: Option<&ProxyLogin>) -> String {
    let plain = format!("http://{address}");
    let (Some(login), Ok(mut url)) = (login, Url::parse(&plain)) else { return plain };
    // An address with a host can have both.
    let _ = url.set_username(&login.name);
    let _ = url.set_password(Some(&login.password));
    url.as_str().trim_end_matches('/').to_owned()
}

/// Serves connections until the run ends, and then closes them.
async fn run(
    listener: TcpListener,
    context: Arc<GuardContext>,
    mut stopped: oneshot::Receiver<()>,
) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
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
