//! A collector of traces: takes what a loomrec sends it, and tells how many spans that were.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;

use crate::child::{Launch, Server};
use crate::fault::Fault;
use crate::role::{self, Writes};

/// What it is called.
const NAME: &str = "a collector of traces";
/// The word that makes this program one.
pub const WORD: &str = "collect";

/// Starts one, in a process of its own.
///
/// # Errors
/// A process that does not come to serve.
pub fn start() -> Result<Server, Fault> {
    Server::start(Launch::own(NAME, [WORD])?)
}

/// Serves as one until stdin is closed. What is sent is not looked at until somebody asks
/// how much it was: then nobody is measured.
///
/// # Errors
/// What [`role::serve`] fails for.
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

/// How many spans these are.
fn count(bodies: Vec<Bytes>) -> Result<usize, prost::DecodeError> {
    let spans = bodies.into_iter().map(|body| {
        let request = ExportTraceServiceRequest::decode(body)?;
        let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
        Ok(scopes.map(|scope| scope.spans.len()).sum::<usize>())
    });
    spans.sum()
}

/// An answer of that text; what is no span is an error.
fn answer(text: Result<String, prost::DecodeError>) -> Response<Full<Bytes>> {
    let (status, text) = match text {
        Ok(text) => (StatusCode::OK, text),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()),
    };
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response
}
