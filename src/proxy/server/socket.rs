//! One accepted connection as the server holds it: the stream that a listener gives, and a handle
//! through which a response body can have it reset.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// What response bodies may know and ask of their connection.
#[derive(Debug, Default)]
pub struct ConnectionHandle {
    /// Requests whose head has come.
    begun: AtomicU64,
    /// Requests whose response is over.
    ended: AtomicU64,
    reset: AtomicBool,
    /// It is not the client that ends it.
    cut: AtomicBool,
    /// What goes out behind the last response.
    behind: Mutex<Option<Bytes>>,
    flushes: AtomicU64,
    /// Bytes that the system has taken.
    taken: AtomicU64,
    /// Whether it takes no more for now.
    full: AtomicBool,
    /// Whether the last request was for a text of our own.
    ours: AtomicBool,
    /// Told when it is to end at once.
    abandoned: Notify,
    waiting: Mutex<Option<Waker>>,
}

impl ConnectionHandle {
    /// A request's head has come.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// A request's response has gone, or never will.
    pub fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests have come, if none is being answered.
    pub fn idle(&self) -> Option<u64> {
        let ended = self.ended.load(Ordering::Relaxed);
        (self.begun.load(Ordering::Relaxed) == ended).then_some(ended)
    }

    /// Says whether the last request was for a text of our own, such as the metrics: nobody
    /// takes long to read those.
    pub fn asks_for_ours(&self, ours: bool) {
        self.ours.store(ours, Ordering::Relaxed);
    }

    /// Whether something waits until the client takes it.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// How much the client has let us send of a text of our own, if it does not take the
    /// rest of it.
    pub fn stuck(&self) -> Option<u64> {
        let stuck = self.is_full() && self.ours.load(Ordering::Relaxed);
        stuck.then(|| self.taken.load(Ordering::Relaxed))
    }

    /// Notes what became of a write.
    fn wrote(&self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            // One task writes: nothing is added between these two.
            let taken = self.taken.load(Ordering::Relaxed);
            self.taken.store(taken + *bytes as u64, Ordering::Relaxed);
        }
        self.full.store(written.is_pending(), Ordering::Relaxed);
    }

    /// Makes the connection end in a TCP reset instead of a close.
    pub fn reset_at_end(&self) {
        self.reset.store(true, Ordering::Release);
    }

    /// It is ended by us.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }

    /// Whether it was ended by us.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }

    /// Ends it at once, whatever it is at.
    pub fn abandon(&self) {
        self.abandoned.notify_one();
    }

    /// Returns once it is to end at once.
    pub async fn abandoned(&self) {
        self.abandoned.notified().await;
    }

    /// Has bytes sent behind the last response, before the close.
    pub fn send_behind(&self, bytes: Bytes) {
        *self.behind.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    }

    /// How often everything written so far has gone to the system.
    pub fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Acquire)
    }

    /// Ready once [`ConnectionHandle::flushes`] has gone past `since`.
    pub fn poll_flushed(&self, since: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.flushes() > since {
            return Poll::Ready(());
        }
        *waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn flushed(&self) {
        let waker = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            self.flushes.fetch_add(1, Ordering::AcqRel);
            waiting.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The bytes of an accepted connection, as a listener gives them.
pub trait ClientStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Returns once there is something to read, or the other end is gone.
    ///
    /// # Errors
    /// What the system says of the connection.
    fn readable(&self) -> impl Future<Output = io::Result<()>> + Send;

    /// Has the connection end in a TCP reset, not in a close, once this is dropped.
    fn reset_on_drop(&self);
}

impl ClientStream for TcpStream {
    async fn readable(&self) -> io::Result<()> {
        // Not `TcpStream::readable`, which may return although there is nothing.
        self.peek(&mut [0]).await.map(drop)
    }

    fn reset_on_drop(&self) {
        // Lingering for no time makes the close a reset. Where the system refuses, a plain
        // close is the next best cut.
        drop(socket2::SockRef::from(self).set_linger(Some(Duration::ZERO)));
    }
}

/// One connection as HTTP reads and writes it.
#[derive(Debug)]
pub struct ClientSocket<S: ClientStream> {
    stream: S,
    connection: Arc<ConnectionHandle>,
    /// What was read of it and put back.
    unread: Bytes,
}

impl<S: ClientStream> ClientSocket<S> {
    /// Wraps an accepted stream.
    pub fn new(stream: S) -> Self {
        Self { stream, connection: Arc::default(), unread: Bytes::new() }
    }

    /// Returns once there is something to read, or the other end is gone.
    ///
    /// # Errors
    /// What the system says of the socket.
    pub async fn readable(&self) -> io::Result<()> {
        self.stream.readable().await
    }

    /// Has what was read of it read once more.
    pub fn put_back(&mut self, read: Bytes) {
        self.unread = read;
    }

    /// The handle that goes with every request of this connection.
    pub fn connection(&self) -> Arc<ConnectionHandle> {
        Arc::clone(&self.connection)
    }
}

impl<S: ClientStream> Drop for ClientSocket<S> {
    fn drop(&mut self) {
        if self.connection.reset.load(Ordering::Acquire) {
            self.stream.reset_on_drop();
        }
    }
}

impl<S: ClientStream> AsyncRead for ClientSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unread.is_empty() {
            let part = self.unread.len().min(buffer.remaining());
            buffer.put_slice(&self.unread.split_to(part));
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: ClientStream> AsyncWrite for ClientSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.connection.wrote(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.connection.wrote(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.connection.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.connection.reset.load(Ordering::Acquire) {
            // A shutdown would send the close first; dropping sends the reset.
            return Poll::Ready(Ok(()));
        }
        let this = &mut *self;
        let mut behind = this.connection.behind.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(bytes) = behind.as_mut().filter(|bytes| !bytes.is_empty()) {
            let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
            bytes.advance(written);
        }
        drop(behind);
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
