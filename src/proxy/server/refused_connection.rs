//! Refusal of connections above the limit: what their clients and the person at the terminal see.

use http::header::{CONNECTION, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use hyper::body::Incoming;

use super::request_body;
use super::respond::{self, ResponseBody};
use super::{Proxy, UserNotice};
use loomrec_provider::Provider;
use loomrec_telemetry::run_counters::RunCounters;

/// The most bytes of a request body that are read and discarded before the refusal is sent.
const LISTENED_TO: u64 = 1 << 20;

/// Refuses a request of a connection above the limit. The connection closes after that.
pub(super) async fn turn_away(
    proxy: &Proxy,
    parts: &Parts,
    body: Incoming,
) -> Response<ResponseBody> {
    count_excess(proxy);
    // A client that is still sending would see a reset, and no answer.
    request_body::discard_body(body, LISTENED_TO, proxy.config.client_timeout).await;
    let place = proxy.routes.find_route(&parts.method, &parts.uri, &parts.headers);
    let provider = place.map_or(Provider::UNKNOWN, |place| place.provider);
    let most = proxy.connections.most_connections();
    let message = format!("loomrec has reached its limit of {most} connections; see ulimit -n");
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let mut response = respond::provider_error(provider, status, "TooManyConnections", &message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Counts a connection above the limit, and sends a notice for the first one.
pub(super) fn count_excess(proxy: &Proxy) {
    RunCounters::add_one(&proxy.telemetry.counters.refused);
    if proxy.connections.is_first_excess() {
        let most = proxy.connections.most_connections();
        let text = format!(
            "there are {most} connections already: further ones are refused with 503; the limit on \
             open files (ulimit -n) decides"
        );
        (proxy.notify)(UserNotice::Refused(&text));
    }
}
