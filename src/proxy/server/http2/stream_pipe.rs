//! The pipe between a stream of HTTP/2 and the connection that serves it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{
    AsyncBufRead as _, AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, DuplexStream,
    ReadBuf,
};

use super::super::socket::ClientStream;

/// How many bytes wait in a pipe for each side.
const CAPACITY: usize = 16 * 1024;

/// The end of a pipe that the server reads and writes.
#[derive(Debug)]
pub(in crate::server) struct StreamPipe {
    stream: BufReader<DuplexStream>,
    is_finished: Arc<AtomicBool>,
}

/// The end of a pipe that the stream reads and writes.
#[derive(Debug)]
pub(super) struct ClientPipe {
    stream: DuplexStream,
    /// Whether it has closed the side that it sends on, and is not just dropped.
    is_finished: Arc<AtomicBool>,
}

/// Makes a pipe.
pub(super) fn make_pipe() -> (ClientPipe, StreamPipe) {
    let (client, server) = tokio::io::duplex(CAPACITY);
    let is_finished = Arc::<AtomicBool>::default();
    let client = ClientPipe { stream: client, is_finished: Arc::clone(&is_finished) };
    (client, StreamPipe { stream: BufReader::new(server), is_finished })
}

impl StreamPipe {
    /// Returns the result of a read that found the end: a client that reset its stream is an error.
    fn check_end(&self) -> io::Result<()> {
        match self.is_finished.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }
}

impl ClientStream for StreamPipe {
    async fn wait_until_readable(&mut self) -> io::Result<()> {
        let is_end = self.stream.fill_buf().await?.is_empty();
        if is_end { self.check_end() } else { Ok(()) }
    }

    fn reset_on_drop(&self) {
        // The stream is reset whenever its answer is not whole.
    }

    fn take_error(&self) -> Option<io::Error> {
        None
    }
}

impl AsyncRead for StreamPipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let is_end = ready!(Pin::new(&mut self.stream).poll_fill_buf(cx))?.is_empty();
        if is_end {
            return Poll::Ready(self.check_end());
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for StreamPipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncRead for ClientPipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for ClientPipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_finished.store(true, Ordering::Release);
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn client_that_closes_is_at_its_end_and_one_that_is_dropped_has_reset() {
        let (mut client, mut server) = make_pipe();
        client.write_all(b"ab").await.unwrap();
        client.shutdown().await.unwrap();
        let mut read = Vec::new();
        assert_eq!((server.read_to_end(&mut read).await.unwrap(), &*read), (2, &b"ab"[..]));
        server.wait_until_readable().await.unwrap();

        let (mut client, mut server) = make_pipe();
        client.write_all(b"ab").await.unwrap();
        drop(client);
        server.wait_until_readable().await.unwrap();
        let error = server.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        let error = server.wait_until_readable().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
}
