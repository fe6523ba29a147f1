//! The turns of a connection: HTTP is served until something else has to be done for it.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;

use super::side_poll::SidePoll;

/// How often the state of a connection is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The next thing to do for a connection.
pub(super) enum ConnectionTurn {
    /// The connection has ended, with an error if HTTP cannot read a request, if an answer is cut, or
    /// if the client has left.
    Over(hyper::Result<()>),
    /// The run is ending.
    Closing,
    /// It is time to check the state of the connection.
    Check,
}

/// Serves a connection until something else has to be done for it. The connection wakes its task
/// for each piece of a request or a response. The other futures are polled only when they wake it.
pub(super) async fn next_turn(
    http: &mut (impl Future<Output = hyper::Result<()>> + Unpin),
    closing: &mut watch::Receiver<bool>,
    is_closing: bool,
) -> ConnectionTurn {
    let mut stopping = pin!(wait_until_closing(closing));
    let mut check = pin!(tokio::time::sleep(CHECK_INTERVAL));
    let mut side = SidePoll::default();
    poll_fn(|cx| {
        if let Poll::Ready(ended) = Pin::new(&mut *http).poll(cx) {
            return Poll::Ready(ConnectionTurn::Over(ended));
        }
        side.poll(cx, |cx| {
            if !is_closing && stopping.as_mut().poll(cx).is_ready() {
                return Poll::Ready(ConnectionTurn::Closing);
            }
            check.as_mut().poll(cx).map(|()| ConnectionTurn::Check)
        })
    })
    .await
}

/// Returns once this is set: the run ends.
pub(super) async fn wait_until_closing(closing: &mut watch::Receiver<bool>) {
    // A dropped sender also means that the run has ended.
    drop(closing.wait_for(|closing| *closing).await.map(|closing| *closing));
}
