//! The completion of exchanges whose client has stopped waiting.
//!
//! While the client waits, the exchange runs in the client's own task, so no other task has to be
//! woken between the upstream's head and the client's. When the client leaves, its [`DetachOnDrop`]
//! is dropped, and a new task finishes the work.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Response;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::delivery_gauge::DeliveryGauge;
use super::tee::{OpenedResponse, TeeBody};
use crate::upstream::UpstreamError;

type BoxedStage<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The first stage: waits for the head of the response.
type HeadStage = BoxedStage<Result<OpenedResponse, UpstreamError>>;

/// The second stage: stores the response if all of it has arrived, and hands it to the client.
type HandOverStage = BoxedStage<Response<TeeBody>>;

/// The response of an exchange, as a future. If it is dropped early, a new task finishes its work.
pub(super) struct DetachOnDrop {
    stage: DetachStage,
    /// How long to wait for a head after the client has left.
    drain: Duration,
    delivery: Arc<DeliveryGauge>,
}

enum DetachStage {
    Head(HeadStage),
    Handing(HandOverStage),
    Over,
}

impl DetachOnDrop {
    pub(super) fn new(
        head: impl Future<Output = Result<OpenedResponse, UpstreamError>> + Send + 'static,
        drain: Duration,
        delivery: Arc<DeliveryGauge>,
    ) -> Self {
        Self { stage: DetachStage::Head(Box::pin(head)), drain, delivery }
    }
}

impl Future for DetachOnDrop {
    type Output = Result<Response<TeeBody>, UpstreamError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let DetachStage::Head(head) = &mut self.stage {
            let opened = ready!(head.as_mut().poll(cx));
            self.stage = DetachStage::Over;
            self.stage = DetachStage::Handing(Box::pin(opened?.hand_over()));
        }
        let DetachStage::Handing(handing) = &mut self.stage else { return Poll::Pending };
        let response = ready!(handing.as_mut().poll(cx));
        self.stage = DetachStage::Over;
        Poll::Ready(Ok(response))
    }
}

impl Drop for DetachOnDrop {
    fn drop(&mut self) {
        if matches!(self.stage, DetachStage::Over) {
            return;
        }
        self.delivery.mark_client_left();
        // Without a runtime the process is ending, and nothing can be awaited.
        let Ok(runtime) = Handle::try_current() else { return };
        match std::mem::replace(&mut self.stage, DetachStage::Over) {
            DetachStage::Head(head) => {
                let drain = self.drain;
                runtime.spawn(async move {
                    // Dropping the response drops its body too, and the pump drains the rest.
                    if let Ok(Ok(opened)) = timeout(drain, head).await {
                        drop(opened.hand_over().await);
                    }
                });
            }
            DetachStage::Handing(handing) => {
                runtime.spawn(handing);
            }
            DetachStage::Over => {}
        }
    }
}
