//! The socket at which a run reaches the server of a bridge.

use std::io;
use std::path::Path;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tempfile::TempPath;
use tokio::task::{JoinHandle, JoinSet};

use super::tool_server::ToolServer;
use loomrec_engine::tool_bridge::BridgeName;
use loomrec_os::LocalListener;

/// How many characters a name has.
const NAME_LENGTH: usize = 16;

/// A socket that is being served. It is removed with this.
pub(super) struct BridgeListener {
    name: String,
    task: JoinHandle<()>,
    _path: TempPath,
}

impl BridgeListener {
    /// Serves a server of tools at a new socket in this folder.
    ///
    /// # Errors
    /// A folder that is not there, or whose path is too long for a socket.
    pub(super) fn start(folder: &Path, server: &Arc<ToolServer>) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let socket = builder.prefix("").rand_bytes(NAME_LENGTH);
        let socket = socket.make_in(folder, loomrec_os::listen_at_local_socket)?;
        let (listener, path) = socket.into_parts();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if BridgeName::parse(&name).is_none() {
            return Err(io::Error::other("the name of the socket is invalid"));
        }
        let task = tokio::spawn(answer_connections(listener, Arc::clone(server)));
        Ok(Self { name, task, _path: path })
    }

    /// Returns the name of the socket.
    pub(super) fn socket_name(&self) -> &str {
        &self.name
    }
}

impl Drop for BridgeListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers connections until the task is ended. They end with it.
async fn answer_connections(listener: LocalListener, server: Arc<ToolServer>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let server = Arc::clone(&server);
        let service = service_fn(move |request| Arc::clone(&server).answer_request(request));
        let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        connections.spawn(async move {
            // How a connection ends is the run's business.
            drop(serving.await);
        });
        while connections.try_join_next().is_some() {}
    }
}
