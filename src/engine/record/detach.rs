//! Finishes an exchange whose caller has stopped waiting for it.
//!
//! While the caller waits, the exchange is worked on in the caller's own task: no
//! other has to be woken between the upstream's head and the client's. A caller
//! that leaves drops its [`DetachOnDrop`], and a task of its own takes what is left.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Response;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::tee::{OpenedResponse, TeeBody};
use crate::upstream::UpstreamError;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What an exchange waits for until its response is there.
type Head = Boxed<Result<OpenedResponse, UpstreamError>>;

/// What it waits for then: a copy that is on disk, where all of it is there.
type Handing = Boxed<Response<TeeBody>>;

/// The response of an exchange, as a future that ends its work when it is dropped
/// in a task of its own.
pub(super) struct DetachOnDrop {
    stage: Stage,
    /// How long a head is awaited once the caller has left.
    drain: Duration,
}

enum Stage {
    Head(Head),
    Handing(Handing),
    Over,
}

impl DetachOnDrop {
    pub(super) fn new(
        head: impl Future<Output = Result<OpenedResponse, UpstreamError>> + Send + 'static,
        drain: Duration,
    ) -> Self {
        Self { stage: Stage::Head(Box::pin(head)), drain }
    }
}

impl Future for DetachOnDrop {
    type Output = Result<Response<TeeBody>, UpstreamError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Stage::Head(head) = &mut self.stage {
            let opened = ready!(head.as_mut().poll(cx));
            self.stage = Stage::Over;
            self.stage = Stage::Handing(Box::pin(opened?.hand_over()));
        }
        let Stage::Handing(handing) = &mut self.stage else { return Poll::Pending };
        let response = ready!(handing.as_mut().poll(cx));
        self.stage = Stage::Over;
        Poll::Ready(Ok(response))
    }
}

impl Drop for DetachOnDrop {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and nothing can be awaited.
        let Ok(runtime) = Handle::try_current() else { return };
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Head(head) => {
                let drain = self.drain;
                runtime.spawn(async move {
                    // The response's body goes with the response, and the pump drains the rest.
                    if let Ok(Ok(opened)) = timeout(drain, head).await {
                        drop(opened.hand_over().await);
                    }
                });
            }
            Stage::Handing(handing) => {
                runtime.spawn(handing);
            }
            Stage::Over => {}
        }
    }
}
