//! The bare pass-through: hyper in front, reqwest behind, nothing kept. The limit
//! for every recording proxy made of these two.

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::fault::Fault;
use crate::role;

/// Serves until stdin is closed.
///
/// # Errors
/// A client that cannot be built; what [`role::serve`] fails for.
pub fn run(origin: &str) -> Result<(), Fault> {
    let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).http1_only().build()?;
    let origin = origin.to_owned();
    role::serve(move |request| forward(client.clone(), origin.clone(), request))
}

/// Sends one request on, and its answer back as it comes.
async fn forward(
    client: reqwest::Client,
    origin: String,
    request: Request<Incoming>,
) -> Response<reqwest::Body> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{origin}{path}");
    for name in [HOST, CONNECTION, CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    let Ok(body) = body.collect().await else { return bad_gateway() };
    let request =
        client.request(parts.method, url).headers(parts.headers).body(body.to_bytes()).send();
    let Ok(response) = request.await else { return bad_gateway() };
    let mut response: Response<reqwest::Body> = response.into();
    for name in [CONNECTION, TRANSFER_ENCODING] {
        response.headers_mut().remove(name);
    }
    response
}

fn bad_gateway() -> Response<reqwest::Body> {
    let mut response = Response::new(reqwest::Body::from(""));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
