//! The servers of tools that recordings hold calls of.

use std::collections::{BTreeSet, HashMap};

use loomrec_provider::{RecognisedCall, RpcKind};
use loomrec_recording::Entry;

/// The servers of tools that recordings hold calls of, by upstream and path.
#[derive(Debug, Default)]
pub struct RecordedServers {
    endpoints: HashMap<(String, String), RecordedEndpoint>,
    tools: BTreeSet<String>,
}

/// What is known of one endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct RecordedEndpoint {
    /// Whether a client connected as earlier versions of the protocol do.
    has_initialize: bool,
    /// Whether a client asked what the server is, as later versions do.
    has_discover: bool,
}

impl RecordedServers {
    /// Notes a recorded call.
    pub(super) fn note_call(&mut self, entry: &Entry, call: Option<&RecognisedCall>) {
        let Some(method) = call.and_then(|call| call.rpc.as_ref()) else { return };
        let Some((upstream, path)) = entry.upstream.as_ref().zip(entry.request_path()) else {
            return;
        };
        if !matches!(method.kind, RpcKind::Request | RpcKind::Notification) {
            return;
        }
        let place = (upstream.clone(), path.to_owned());
        let endpoint = self.endpoints.entry(place).or_default();
        endpoint.has_initialize |= method.is_initialize();
        endpoint.has_discover |= method.is_discover();
        self.tools.extend(method.tool.clone());
    }

    /// Whether there is a server at this path of an upstream.
    pub(crate) fn has_endpoint(&self, upstream: &str, path: &str) -> bool {
        self.endpoint(upstream, path).is_some()
    }

    /// Whether clients connected to the server there as in earlier versions of the protocol only.
    pub(crate) fn is_of_earlier_version(&self, upstream: &str, path: &str) -> bool {
        self.endpoint(upstream, path).is_some_and(|it| it.has_initialize && !it.has_discover)
    }

    /// Returns the tools that were called, in order.
    pub fn called_tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str)
    }

    fn endpoint(&self, upstream: &str, path: &str) -> Option<RecordedEndpoint> {
        self.endpoints.get(&(upstream.to_owned(), path.to_owned())).copied()
    }
}
