//! The server of the bare systems: hyper with nothing around it, configured as in loomrec.

use std::convert::Infallible;
use std::io::{Read as _, Write as _};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::fault::Fault;

/// The text that a process writes to stderr once it accepts connections, before its address.
pub const LISTENING: &str = "listening on http://";

/// How a connection writes the bytes that are ready to the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// As hyper chooses: a queue of buffers, of which some are written at a time.
    Queued,
    /// All bytes that are ready are copied together and written at once.
    Flat,
}

/// Serves `answer` until stdin is closed, on this port or a free one, and over TLS if `tls` is
/// given.
///
/// # Errors
/// The system refuses a thread or a socket.
pub fn serve<F, R, B>(
    port: Option<u16>,
    writes: Writes,
    tls: Option<TlsAcceptor>,
    answer: F,
) -> Result<(), Fault>
where
    F: Fn(Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<B>> + Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let failed = |source| Fault::Io { what: "serve", source };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    runtime.spawn(async move {
        let served = accept(port, writes, tls, answer).await;
        if let Err(error) = served {
            crate::say(&format!("bench: failed to serve: {error}"));
            std::process::exit(1);
        }
    });
    // The benchmark holds the other end of stdin. When the benchmark ends, so does this process.
    std::io::stdin().read_to_end(&mut Vec::new()).map_err(failed)?;
    runtime.shutdown_background();
    Ok(())
}

async fn accept<F, R, B>(
    port: Option<u16>,
    writes: Writes,
    tls: Option<TlsAcceptor>,
    answer: F,
) -> std::io::Result<()>
where
    F: Fn(Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<B>> + Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await?;
    let address = listener.local_addr()?;
    writeln!(std::io::stderr(), "{LISTENING}{address}")?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (tls, answer) = (tls.clone(), answer.clone());
        tokio::spawn(async move {
            let Some(tls) = tls else { return converse(stream, writes, answer).await };
            // A client that refuses the certificate reports that itself.
            if let Ok(stream) = tls.accept(stream).await {
                converse(stream, writes, answer).await;
            }
        });
    }
}

/// Answers the requests of one connection.
async fn converse<I, F, R, B>(stream: I, writes: Writes, answer: F)
where
    I: AsyncRead + AsyncWrite + Unpin,
    F: Fn(Request<Incoming>) -> R,
    R: Future<Output = Response<B>>,
    B: Body<Data = Bytes> + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let service = service_fn(move |request| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let mut builder = http1::Builder::new();
    if writes == Writes::Flat {
        builder.writev(false);
    }
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    // A client that leaves ends its connection. No other error matters here.
    drop(serving.await);
}
