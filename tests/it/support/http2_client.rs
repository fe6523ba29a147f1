//! A client over HTTP/2, which knows before that the server speaks it, or asks for it by TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::client::Call;
use super::gate::PATIENCE;
use super::tls::Authority;

/// An answer over HTTP/2.
#[derive(Debug)]
pub(crate) struct StreamAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
    /// Why the stream was reset before its end.
    pub(crate) reset: Option<String>,
}

impl StreamAnswer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A call that is under way. The stream of a call that is dropped is reset.
pub(crate) struct OpenCall(JoinHandle<Result<StreamAnswer, String>>);

/// A connection over HTTP/2.
pub(crate) struct Http2Client {
    runtime: Runtime,
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Http2Client {
    /// Connects without TLS.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(address, TcpStream::connect(address))
    }

    /// Connects with TLS, and asks for these protocols. The server must choose HTTP/2.
    pub(crate) fn connect_tls(address: SocketAddr, authority: &Authority, offers: &[&str]) -> Self {
        let (connector, name) = tls_connector(authority, offers);
        Self::over(address, async move {
            let stream = connector.connect(name, TcpStream::connect(address).await?).await?;
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
            Ok(stream)
        })
    }

    fn over<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        address: SocketAddr,
        stream: impl Future<Output = std::io::Result<S>>,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let sender = runtime.block_on(async {
            let stream = TokioIo::new(stream.await.unwrap());
            let (sender, connection) = handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::spawn(connection);
            sender
        });
        Self { runtime, sender, authority: address.to_string() }
    }

    /// Sends a call on a stream of its own.
    pub(crate) fn start(&mut self, call: &Call) -> OpenCall {
        let head = call.head();
        let mut lines = head.lines();
        let mut words = lines.next().unwrap().split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let uri = format!("http://{}{target}", self.authority);
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            if !["host", "connection", "content-length"].contains(&&*name.to_ascii_lowercase()) {
                request = request.header(name, value);
            }
        }
        let body = Full::new(Bytes::copy_from_slice(call.body_bytes()));
        let request = request.body(body).unwrap();
        let mut sender = self.sender.clone();
        OpenCall(self.runtime.spawn(async move {
            sender.ready().await.map_err(|error| error.to_string())?;
            let response =
                sender.send_request(request).await.map_err(|error| format!("{error:?}"))?;
            Ok(collect(response).await)
        }))
    }

    /// Returns the answer of a call, or why its stream was reset before it.
    #[track_caller]
    pub(crate) fn finish(&self, call: OpenCall) -> Result<StreamAnswer, String> {
        let answer = async { tokio::time::timeout(PATIENCE, call.0).await };
        self.runtime.block_on(answer).expect("an answer in time").unwrap()
    }

    /// Makes a call, and returns its answer.
    #[track_caller]
    pub(crate) fn call(&mut self, call: &Call) -> StreamAnswer {
        let open = self.start(call);
        self.finish(open).unwrap()
    }

    /// Resets the stream of a call.
    pub(crate) fn leave(&self, call: &OpenCall) {
        call.0.abort();
        self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(1)).await });
    }

    /// Whether the connection can take calls.
    pub(crate) fn is_open(&mut self) -> bool {
        let sender = &mut self.sender;
        self.runtime.block_on(async { sender.ready().await.is_ok() }) && !self.sender.is_closed()
    }
}

impl OpenCall {
    /// Whether the answer has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_finished()
    }
}

/// Returns what makes TLS that trusts this authority, and offers these protocols.
fn tls_connector(
    authority: &Authority,
    offers: &[&str],
) -> (TlsConnector, rustls::pki_types::ServerName<'static>) {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = offers.iter().map(|name| name.as_bytes().to_vec()).collect();
    (TlsConnector::from(Arc::new(config)), "127.0.0.1".try_into().unwrap())
}

/// Returns the protocol that the server chooses of these.
pub(crate) fn chosen_protocol(
    address: SocketAddr,
    authority: &Authority,
    offers: &[&str],
) -> Option<String> {
    let (connector, name) = tls_connector(authority, offers);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = TcpStream::connect(address).await.unwrap();
        let stream = connector.connect(name, stream).await.unwrap();
        let chosen = stream.get_ref().1.alpn_protocol();
        chosen.map(|name| String::from_utf8_lossy(name).into_owned())
    })
}

async fn collect(response: http::Response<Incoming>) -> StreamAnswer {
    let (head, mut body) = response.into_parts();
    let (status, headers) = (head.status, head.headers);
    let mut answer =
        StreamAnswer { status, headers, body: Vec::new(), trailers: None, reset: None };
    while let Some(frame) = body.frame().await {
        match frame.map(|frame| frame.into_data().map_err(|frame| frame.into_trailers().ok())) {
            Ok(Ok(data)) => answer.body.extend(data),
            Ok(Err(trailers)) => answer.trailers = trailers,
            Err(error) => {
                answer.reset = Some(format!("{error:?}"));
                break;
            }
        }
    }
    answer
}
