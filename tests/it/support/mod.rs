//! The common code of the tests: a scripted upstream, a raw client, the binary.

pub(crate) mod chance;
pub(crate) mod client;
pub(crate) mod conversation;
pub(crate) mod fleet;
pub(crate) mod gate;
pub(crate) mod http2_client;
pub(crate) mod ledger;
pub(crate) mod loomrec;
pub(crate) mod memory;
pub(crate) mod proxy;
pub(crate) mod pty;
pub(crate) mod route;
pub(crate) mod scene;
pub(crate) mod shape;
pub(crate) mod socket;
pub(crate) mod socks;
pub(crate) mod swarm;
pub(crate) mod tls;
pub(crate) mod tls_client;
pub(crate) mod tls_front;
pub(crate) mod upstream;
pub(crate) mod web_socket;
pub(crate) mod wire;

mod selftest;

pub(crate) use client::{Call, Client, End, Response};
pub(crate) use gate::Gate;
pub(crate) use loomrec::{Finished, Server, run};
pub(crate) use route::Route;
pub(crate) use scene::Scene;
pub(crate) use upstream::{Answer, Received, Upstream};
