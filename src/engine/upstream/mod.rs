//! The HTTP client: sends a request to an upstream unchanged, and reports how the connection ended.
//!
//! It does not decompress, redirect or retry: the caller gets what the upstream sent. A replay has
//! an [`UpstreamClient`] only under `--on-miss forward`. A [`TunnelConnector`] makes connections for
//! a program whose proxy loomrec is.

mod aws;
mod body;
mod client;
mod connect;
mod error;
mod framing;
mod pools;
mod proxy;
mod request;
mod root_certificates;
mod socket_address;
mod stream;
mod target;
mod tls;
mod tls_error;
mod tunnel;

pub use aws::{AwsScope, SignatureError};
pub use body::UpstreamBody;
pub use client::{UpstreamClient, is_grpc};
pub use error::UpstreamError;
pub use framing::AmbiguousFraming;
pub use request::UpstreamRequest;
pub use root_certificates::root_certificates;
pub use socket_address::{origin_words, recorded_origin, socket_url};
pub use stream::UpstreamStream;
pub use tls::{TlsSetupError, install_crypto_provider};
pub use tunnel::{TunnelConnector, TunnelError, TunnelScope, is_this_machine};
