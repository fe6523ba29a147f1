//! An accepted connection: the stream that a listener returns, and a handle through which a
//! response body can reset it.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::after_http::AfterHttpSlot;
use super::client_reset::ClientReset;
use super::half_close_state::HalfCloseState;
use super::unflushed_end::UnflushedEnd;

/// How long bytes of a client are still read after its connection was closed: unread bytes would
/// turn the close into a reset.
const LINGER: Duration = Duration::from_secs(2);

/// What response bodies can read and control of their connection.
#[derive(Debug, Default)]
pub struct ConnectionHandle {
    /// The number of requests whose head has arrived.
    begun: AtomicU64,
    /// The number of requests whose response is over.
    ended: AtomicU64,
    /// Whether the body of the last request is being read.
    reading: AtomicBool,
    reset: AtomicBool,
    /// Whether loomrec, not the client, ends the connection.
    cut: AtomicBool,
    /// Whether it ends because the run is over.
    ended_with_run: AtomicBool,
    /// The bytes that are sent after the last response.
    behind: Mutex<Option<Bytes>>,
    flushes: AtomicU64,
    /// The number of bytes that the system has accepted.
    taken: AtomicU64,
    /// Whether the system accepts no more bytes for now.
    full: AtomicBool,
    /// Whether the last request was for a text of loomrec's own.
    ours: AtomicBool,
    /// Whether the client has reset the connection, and what to do then.
    pub(super) client_reset: ClientReset,
    /// What is known of a client that has closed the side that it sends on.
    half_close: HalfCloseState,
    /// The end of the last answer, until it has gone to the system.
    last_end: UnflushedEnd,
    /// Notified when the connection must end at once.
    abandoned: Notify,
    waiting: Mutex<Option<Waker>>,
    /// What happens once HTTP has ended.
    after_http: AfterHttpSlot,
}

impl ConnectionHandle {
    /// Notes that the head of a request has arrived.
    pub fn note_request(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.client_reset.forget_callback();
    }

    /// Notes that the response to a request was sent, or never will be.
    pub fn note_response_end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.half_close.answer_over();
    }

    /// Returns the slot of what happens once HTTP has ended.
    pub(super) fn after_http(&self) -> &AfterHttpSlot {
        &self.after_http
    }

    /// Returns what is known of a client that has closed the side that it sends on.
    pub(super) fn half_close(&self) -> &HalfCloseState {
        &self.half_close
    }

    /// Returns the end of the last answer, until it has gone to the system.
    pub(super) fn last_end(&self) -> &UnflushedEnd {
        &self.last_end
    }

    /// Returns how many requests have arrived, if none is being answered.
    pub fn requests_if_idle(&self) -> Option<u64> {
        let ended = self.ended.load(Ordering::Relaxed);
        (self.begun.load(Ordering::Relaxed) == ended).then_some(ended)
    }

    /// Whether no request has arrived.
    pub fn is_unused(&self) -> bool {
        self.begun.load(Ordering::Relaxed) == 0
    }

    /// Sets whether the body of the last request is being read.
    pub fn set_reading(&self, reading: bool) {
        self.reading.store(reading, Ordering::Relaxed);
    }

    /// Whether a request has arrived in full, and its response has not been sent in full.
    pub fn is_answering(&self) -> bool {
        let is_open = self.requests_if_idle().is_none() && !self.reading.load(Ordering::Relaxed);
        is_open || self.is_full()
    }

    /// Sets whether the last request was for a text of loomrec's own, such as the metrics, which
    /// should not take long to read.
    pub fn set_own_response(&self, ours: bool) {
        self.ours.store(ours, Ordering::Relaxed);
    }

    /// Whether bytes wait until the client reads.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Returns how many bytes the client has accepted, if it does not read the rest of a text of
    /// loomrec's own.
    pub fn bytes_if_stuck(&self) -> Option<u64> {
        let stuck = self.is_full() && self.ours.load(Ordering::Relaxed);
        stuck.then(|| self.taken.load(Ordering::Relaxed))
    }

    /// Notes the result of a write.
    fn note_write(&self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            // Only one task writes, so nothing is added between these two lines.
            let taken = self.taken.load(Ordering::Relaxed);
            self.taken.store(taken + *bytes as u64, Ordering::Relaxed);
        }
        if let Poll::Ready(Err(error)) = written {
            self.client_reset.note_error(error);
        }
        self.full.store(written.is_pending(), Ordering::Relaxed);
    }

    /// Makes the connection end in a TCP reset instead of a close.
    pub fn reset_at_end(&self) {
        self.reset.store(true, Ordering::Release);
    }

    /// Notes that loomrec ends the connection.
    pub fn note_cut(&self) {
        self.cut.store(true, Ordering::Release);
    }

    /// Whether loomrec ended the connection.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }

    /// Notes that loomrec ends the connection because the run is over.
    pub fn end_with_run(&self) {
        self.ended_with_run.store(true, Ordering::Release);
        self.note_cut();
    }

    /// Whether the connection ends because the run is over.
    pub fn is_ended_with_run(&self) -> bool {
        self.ended_with_run.load(Ordering::Acquire)
    }

    /// Ends the connection at once, even if it is busy.
    pub fn end_at_once(&self) {
        self.abandoned.notify_one();
    }

    /// Returns once the connection must end at once.
    pub async fn wait_until_abandoned(&self) {
        self.abandoned.notified().await;
    }

    /// Has bytes sent after the last response, before the close.
    pub fn send_behind(&self, bytes: Bytes) {
        *self.behind.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    }

    /// Returns how often everything written so far has gone to the system.
    pub fn flush_count(&self) -> u64 {
        self.flushes.load(Ordering::Acquire)
    }

    /// Ready once [`ConnectionHandle::flush_count`] has gone past `since`.
    pub fn poll_flushed(&self, since: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.flush_count() > since {
            return Poll::Ready(());
        }
        *waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn note_flush(&self) {
        let waker = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            self.flushes.fetch_add(1, Ordering::AcqRel);
            waiting.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        self.last_end.release_turn();
    }
}

/// The byte stream of an accepted connection.
pub trait ClientStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Returns once there is something to read, or the peer has gone.
    ///
    /// # Errors
    /// The system's error for the connection.
    fn wait_until_readable(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// Makes the connection end in a TCP reset instead of a close, once this is dropped.
    fn reset_on_drop(&self);

    /// Returns the error that the system has noted for the connection and not reported yet.
    fn take_error(&self) -> Option<io::Error>;
}

impl ClientStream for TcpStream {
    async fn wait_until_readable(&mut self) -> io::Result<()> {
        // Not `TcpStream::readable`, which may return although there is nothing to read.
        self.peek(&mut [0]).await.map(drop)
    }

    fn reset_on_drop(&self) {
        // A linger time of zero makes the close a reset. If the system refuses, a plain close is
        // the next best cut.
        drop(socket2::SockRef::from(self).set_linger(Some(Duration::ZERO)));
    }

    fn take_error(&self) -> Option<io::Error> {
        Self::take_error(self).ok().flatten()
    }
}

/// Closes the side that sends, and reads until the client has closed, for a moment at most.
pub(super) async fn close_after_reading(stream: &mut TcpStream) {
    // If the client has left already, this close has no effect.
    drop(stream.shutdown().await);
    drop(tokio::time::timeout(LINGER, read_to_end(stream)).await);
}

/// Returns once the client has closed. What it sends is discarded.
pub(super) async fn read_to_end(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
}

/// One connection, as HTTP reads and writes it.
#[derive(Debug)]
pub struct ClientSocket<S: ClientStream> {
    stream: S,
    connection: Arc<ConnectionHandle>,
    /// Bytes that were read and put back.
    unread: Bytes,
    /// How often the end was put off since the last bytes.
    put_off: u8,
}

/// How often the end of what a client sends is put off while its request is being read. The
/// request may have arrived in full, and is read in the next turn of the same task.
const END_TURNS: u8 = 4;

impl<S: ClientStream> ClientSocket<S> {
    /// Wraps an accepted stream.
    pub fn new(stream: S) -> Self {
        Self { stream, connection: Arc::default(), unread: Bytes::new(), put_off: 0 }
    }

    /// Returns once there is something to read, or the peer has gone.
    ///
    /// # Errors
    /// The system's error for the socket.
    pub async fn wait_until_readable(&mut self) -> io::Result<()> {
        let readable = self.stream.wait_until_readable().await;
        readable.inspect_err(|error| self.connection.client_reset.note_error(error))
    }

    /// Puts bytes back, to be read again.
    pub fn put_back(&mut self, read: Bytes) {
        self.unread = read;
    }

    /// Returns the handle that each request of this connection carries.
    pub fn connection_handle(&self) -> Arc<ConnectionHandle> {
        Arc::clone(&self.connection)
    }
}

impl<S: ClientStream> Drop for ClientSocket<S> {
    fn drop(&mut self) {
        // A client that closed before it was answered shows no error to a reader.
        if let Some(error) = self.stream.take_error() {
            self.connection.client_reset.note_error(&error);
        }
        self.connection.last_end.note_closed();
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
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        read.inspect_err(|error| self.connection.client_reset.note_error(error))?;
        let is_end = buffer.filled().len() == before && buffer.remaining() > 0;
        if is_end && self.connection.is_answering() {
            // HTTP would take the end for the client's leave, and drop the answer.
            self.connection.half_close.note_closed(cx.waker());
            return Poll::Pending;
        }
        if is_end && self.connection.requests_if_idle().is_none() && self.put_off < END_TURNS {
            self.put_off += 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if !is_end {
            self.put_off = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: ClientStream> AsyncWrite for ClientSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.connection.note_write(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.connection.note_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.connection.note_flush();
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
