//! The bare pass-through: a hyper server and a reqwest client that keep nothing. It is the limit
//! for every recording proxy made of these two. It can also append the exchanges to a file, which
//! is the least that a recorder does.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::fault::Fault;
use crate::role::{self, Writes};

/// The file to which exchanges are appended.
type Kept = Option<Arc<Mutex<File>>>;

/// Serves until stdin is closed. Appends exchanges to `file` if it is given.
///
/// # Errors
/// A client that cannot be built; a file that cannot be opened; the errors of [`role::serve`].
pub fn run(origin: &str, file: Option<&Path>) -> Result<(), Fault> {
    // An installed provider serves as well.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).http1_only().build()?;
    let origin = origin.to_owned();
    let open = |path| File::options().append(true).create(true).open(path);
    let kept = file.map(open).transpose();
    let kept = kept.map_err(|source| Fault::Io { what: "open the tee's file", source })?;
    let kept = kept.map(|file| Arc::new(Mutex::new(file)));
    role::serve(None, Writes::Queued, None, move |request| {
        forward(client.clone(), origin.clone(), kept.clone(), request)
    })
}

/// Forwards one request, and passes its answer back as it arrives.
async fn forward(
    client: reqwest::Client,
    origin: String,
    kept: Kept,
    request: Request<Incoming>,
) -> Response<Tee> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{origin}{path}");
    for name in [HOST, CONNECTION, CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    let Ok(body) = body.collect().await else { return bad_gateway() };
    let body = body.to_bytes();
    let copy = if kept.is_some() { body.to_vec() } else { Vec::new() };
    let request = client.request(parts.method, url).headers(parts.headers).body(body).send();
    let Ok(response) = request.await else { return bad_gateway() };
    let response: Response<reqwest::Body> = response.into();
    let mut response = response.map(|body| Tee { body, kept, copy });
    for name in [CONNECTION, TRANSFER_ENCODING] {
        response.headers_mut().remove(name);
    }
    response
}

fn bad_gateway() -> Response<Tee> {
    let body = Tee { body: reqwest::Body::from(""), kept: None, copy: Vec::new() };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}

/// A body that is copied while it passes, and appended to the file before its end is sent.
struct Tee {
    body: reqwest::Body,
    kept: Kept,
    copy: Vec<u8>,
}

impl Body for Tee {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if self.kept.is_some()
            && let Some(Ok(frame)) = &frame
        {
            self.copy.extend(frame.data_ref().into_iter().flatten());
        }
        // With an announced length, the body is not polled after the last frame.
        let over = frame.is_none() || self.body.is_end_stream();
        if over && let Some(Ok(mut file)) = self.kept.take().as_deref().map(Mutex::lock) {
            // Real recorders have to handle a failed write. This one does the minimum.
            drop(file.write_all(&self.copy));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
