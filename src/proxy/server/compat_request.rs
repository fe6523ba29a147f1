//! The request of a call as the journal in another tool's shape keeps it.

use std::borrow::Cow;

use loomrec_dialect::compat::test_name::{LONGEST, REDACTED, is_shown, test_of};
use loomrec_engine::IncomingCall;
use loomrec_recording::redact::is_clean;
use loomrec_telemetry::journaled_request::JournaledRequest;

/// Returns the request of a call as the journal keeps it: what may be stored, and the headers that
/// are about chaos and tests.
pub(super) fn journaled_request(call: &IncomingCall) -> Box<JournaledRequest> {
    let observed = call.storable_request();
    let mut headers = observed.headers().to_vec();
    for name in observed.unstored_headers() {
        let value = call.headers.get(name).filter(|value| {
            is_shown(name) && is_clean(value.as_bytes(), call.secrets()) && value.len() <= LONGEST
        });
        let value = value.and_then(|value| value.to_str().ok()).unwrap_or(REDACTED);
        headers.push((name.to_owned(), value.to_owned()));
    }
    let test = test_of(&call.headers, observed.query()).filter(|name| name.len() <= LONGEST);
    Box::new(JournaledRequest {
        target: observed.path_and_query(),
        headers,
        body: observed.body().clone(),
        test: test.map(Cow::into_owned),
        chaos: None,
    })
}
