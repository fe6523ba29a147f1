//! The HTTP client: sends a request to an upstream exactly as it was asked to,
//! and tells how a connection ended.
//!
//! Nothing is decompressed, redirected or retried here: what the upstream said
//! is what the caller gets. Only `record` builds a [`UpstreamClient`]; replay has none.

mod body;
mod client;
mod connect;
mod error;
mod framing;
mod pools;
mod proxy;
mod request;
mod stream;
mod target;
mod tls;
mod tls_error;

pub use body::UpstreamBody;
pub use client::UpstreamClient;
pub use error::UpstreamError;
pub use framing::AmbiguousFraming;
pub use request::UpstreamRequest;
pub use tls::install_crypto_provider;
