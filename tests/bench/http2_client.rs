//! A connection of the load generator over HTTP/2, with one call at a time.

use std::io;
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::client::{Answer, mark};

/// An open connection.
pub struct Http2Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Http2Connection {
    /// Connects to a server that is known to speak HTTP/2.
    ///
    /// # Errors
    /// An error of the system or of the protocol.
    pub async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let opened = handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self { sender, authority: address.to_owned() })
    }

    /// Makes the call that these bytes are over HTTP/1.1.
    ///
    /// # Errors
    /// A stream that ends early.
    pub async fn call(
        &mut self,
        request: &[u8],
        mut keep: Option<&mut Vec<u8>>,
    ) -> io::Result<Answer> {
        let request = self.request(request)?;
        let start = Instant::now();
        let response = self.sender.send_request(request).await.map_err(io::Error::other)?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let (mut bytes, mut first) = (0, None);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(io::Error::other)?;
            let Some(data) = frame.data_ref() else { continue };
            first.get_or_insert_with(|| start.elapsed());
            bytes += data.len();
            if let Some(keep) = keep.as_deref_mut() {
                keep.extend_from_slice(data);
            }
        }
        let total = start.elapsed();
        // Frames are no chunks: their bounds may be others in each hop.
        let boundaries = mark(0, bytes);
        Ok(Answer { status, bytes, chunks: 1, boundaries, first: first.unwrap_or(total), total })
    }

    fn request(&self, bytes: &[u8]) -> io::Result<Request<Full<Bytes>>> {
        let split = memchr::memmem::find(bytes, b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
        let (head, body) = bytes.split_at(split);
        let head = str::from_utf8(head).map_err(io::Error::other)?;
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let uri = format!("http://{}{path}", self.authority);
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            if name != "host" {
                request = request.header(name, value);
            }
        }
        request.body(Full::new(Bytes::copy_from_slice(body))).map_err(io::Error::other)
    }
}
