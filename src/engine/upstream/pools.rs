//! Pools of upstream connections, one for each runtime.
//!
//! A connection is driven by a task of the runtime that opened it. A call that took a connection
//! of another runtime would wait for two threads to wake up for each piece of its answer.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::runtime::{Handle, Id};

use super::body::READ_BUFFER;
use super::connect::UpstreamConnector;
use super::tls::HttpVersion;

/// The most headers of a request and of an upstream's answer. hyper's own limit is 100.
const MOST_HEADERS: usize = 500;

/// A pool of connections to all upstreams.
type UpstreamPool = Client<UpstreamConnector, Full<Bytes>>;

/// The pools of a runtime.
#[derive(Debug)]
struct PoolPair {
    http1: UpstreamPool,
    http2: UpstreamPool,
}

/// The pools of all runtimes that send.
#[derive(Debug)]
pub(super) struct RuntimePools {
    connector: UpstreamConnector,
    /// The pools so far, each with the runtime that owns it.
    pools: Box<[OnceLock<(Id, PoolPair)>]>,
    /// The pools of runtimes beyond that number.
    shared: PoolPair,
}

impl RuntimePools {
    /// Pools for a runtime on each core, and for the one that runs commands.
    pub(super) fn new(connector: UpstreamConnector) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let pools = (0..=cores).map(|_| OnceLock::new()).collect();
        Self { shared: PoolPair::new(&connector), pools, connector }
    }

    /// The pool of the runtime that runs the current task, of connections over this version of HTTP.
    pub(super) fn current(&self, version: HttpVersion) -> &UpstreamPool {
        let runtime = Handle::current().id();
        let pools = self.pools.iter().map(|slot| {
            let new = || (runtime, PoolPair::new(&self.connector));
            let (owner, pools) = slot.get_or_init(new);
            (*owner == runtime).then_some(pools)
        });
        let pools = pools.flatten().next().unwrap_or(&self.shared);
        match version {
            HttpVersion::Http1 => &pools.http1,
            HttpVersion::Http2 => &pools.http2,
        }
    }
}

impl PoolPair {
    fn new(connector: &UpstreamConnector) -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http1_read_buf_exact_size(READ_BUFFER)
            .http1_max_headers(MOST_HEADERS);
        let http1 = builder.build(connector.clone());
        let http2 = builder.http2_only(true).build(connector.for_version(HttpVersion::Http2));
        Self { http1, http2 }
    }
}
