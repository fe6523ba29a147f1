//! The collector of traces: accepts what a loomrec sends, and returns the number of spans.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;

use crate::child::{Launch, Server};
use crate::fault::Fault;
use crate::role::{self, Writes};

/// Its name in messages.
const NAME: &str = "a collector of traces";
/// The argument that makes this program a collector.
pub const WORD: &str = "collect";

/// Starts a collector in a process of its own.
///
/// # Errors
/// A process that does not start to serve.
pub fn start() -> Result<Server, Fault> {
    Server::start(Launch::own(NAME, [WORD])?)
}

/// Serves as a collector until stdin is closed. Spans are decoded only when somebody asks for their
/// number, which is never during a measurement.
///
/// # Errors
/// The errors of [`role::serve`].
pub fn run() -> Result<(), Fault> {
    let taken: Arc<Mutex<Vec<Bytes>>> = Arc::default();
    role::serve(None, Writes::Queued, None, move |request| {
        let taken = Arc::clone(&taken);
        async move {
            let sends = request.method() == Method::POST && request.uri().path() == "/v1/traces";
            let body = request.into_body().collect().await;
            let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
            let text = match body {
                Ok(body) if sends => {
                    taken.push(body.to_bytes());
                    Ok(String::new())
                }
                _ => count(std::mem::take(&mut *taken)).map(|spans| spans.to_string()),
            };
            answer(text)
        }
    })
}

/// Counts the spans.
fn count(bodies: Vec<Bytes>) -> Result<usize, prost::DecodeError> {
    let spans = bodies.into_iter().map(|body| {
        let request = ExportTraceServiceRequest::decode(body)?;
        let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
        Ok(scopes.map(|scope| scope.spans.len()).sum::<usize>())
    });
    spans.sum()
}

/// Returns an answer with this text, or an error if the spans could not be decoded.
fn answer(text: Result<String, prost::DecodeError>) -> Response<Full<Bytes>> {
    let (status, text) = match text {
        Ok(text) => (StatusCode::OK, text),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()),
    };
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response
}
