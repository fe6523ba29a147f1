//! Construction of the requests that go upstream.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use http::header::{ACCEPT_ENCODING, AUTHORIZATION};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::incoming_call::IncomingCall;
use super::route::RouteTable;
use super::trailer;
use crate::record::remove_hop_by_hop;
use crate::upstream::{AwsScope, UpstreamRequest};
use crate::websocket::handshake;
use loomrec_dialect::compat::header_chaos::CHAOS_PREFIX;
use loomrec_provider::directory;
use loomrec_recording::redact::Redactor;

/// Makes the requests that go upstream.
#[derive(Clone)]
pub struct Forwarding {
    /// The addresses of the upstreams.
    pub routes: Arc<RouteTable>,
    /// Removes credentials from error messages.
    pub redactor: Arc<Redactor>,
}

impl Forwarding {
    /// Returns the request as it goes upstream; `None` if the upstream's address is not known.
    pub(super) fn upstream_request(&self, call: &IncomingCall) -> Option<UpstreamRequest> {
        let mut headers = call.headers.clone();
        remove_hop_by_hop(&mut headers);
        if trailer::accepts_trailers(&call.headers) {
            trailer::ask_for_trailers(&mut headers);
        }
        let is_ours = |name: &&HeaderName| {
            let name = name.as_str();
            name.starts_with("x-loomrec-") || name.starts_with(CHAOS_PREFIX)
        };
        let ours: Vec<_> = headers.keys().filter(is_ours).cloned().collect();
        for name in ours {
            headers.remove(name);
        }
        for name in ["host", "content-length", "expect"] {
            headers.remove(name);
        }
        if handshake::is_offered(&call.method, &call.headers) {
            handshake::add_offer(&mut headers);
        }
        // Recordings can then be read, whatever the client can decode.
        if !is_signed(&headers, &ACCEPT_ENCODING) {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let route = call.route();
        let target = call.signed_target.as_deref();
        let aws = target.and_then(|target| AwsScope::of_call(&call.headers, target));
        let public = || aws.as_ref().and_then(AwsScope::public_address).map(Cow::Owned);
        let base = self.routes.upstream_address(route).map(Cow::Borrowed).or_else(public)?;
        Some(UpstreamRequest {
            upstream: route.upstream.clone(),
            method: call.method.clone(),
            path: directory::sent_path(&route.upstream, &route.path, base.path()),
            base: base.into_owned(),
            query: route.query.clone(),
            headers,
            body: call.body.clone(),
            aws: aws.map(Box::new),
            turn: call.turn.clone(),
        })
    }

    /// Returns the message of an error, without the call's credentials.
    pub(super) fn error_message(&self, call: &IncomingCall, error: &impl Display) -> String {
        self.redactor.redact_text(&format!("failed to {error}"), call.secrets()).into_owned()
    }
}

/// Whether AWS refuses the call if this header changes: its signature is over the header.
fn is_signed(headers: &HeaderMap, name: &HeaderName) -> bool {
    let signature = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let signature = signature.filter(|text| text.starts_with("AWS4-"));
    let names = signature.and_then(|text| text.split_once("SignedHeaders=")).map(|(_, rest)| rest);
    let names = names.and_then(|rest| rest.split([',', ' ']).next()).unwrap_or_default();
    names.split(';').any(|signed| signed.eq_ignore_ascii_case(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_signed_if_the_signature_of_aws_names_it() {
        let is_signed_by = |authorization: &'static str| {
            let headers = [(AUTHORIZATION, HeaderValue::from_static(authorization))];
            is_signed(&headers.into_iter().collect(), &ACCEPT_ENCODING)
        };
        for signed in ["Accept-Encoding;host", "accept-encoding", "a;accept-encoding"] {
            let text =
                format!("AWS4-HMAC-SHA256 Credential=K/s, SignedHeaders={signed}, Signature=1");
            assert!(is_signed_by(text.leak()), "{signed}");
        }
        for other in [
            "AWS4-HMAC-SHA256 Credential=K/s, SignedHeaders=host;x-accept-encoding, Signature=1",
            "AWS4-HMAC-SHA256 Credential=K/s, Signature=accept-encoding",
            "Bearer SignedHeaders=accept-encoding",
            "",
        ] {
            assert!(!is_signed_by(other), "{other}");
        }
        assert!(!is_signed(&HeaderMap::new(), &ACCEPT_ENCODING));
    }
}
