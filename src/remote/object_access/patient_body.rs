//! The body of an answer, which may take as long as it likes while something arrives.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::client::{HttpError, HttpResponseBody};
use tokio::time::{Instant, Sleep, sleep};

use super::request_room::RequestPlace;
use super::store_silence::{LONGEST_SILENCE, StoreSilence};

/// A body that fails when nothing has arrived for too long. It keeps the place of its request.
#[derive(Debug)]
pub(super) struct PatientBody {
    body: HttpResponseBody,
    place: Option<RequestPlace>,
    silence: Pin<Box<Sleep>>,
}

impl PatientBody {
    pub(super) fn new(body: HttpResponseBody, place: RequestPlace) -> Self {
        Self { body, place: Some(place), silence: Box::pin(sleep(LONGEST_SILENCE)) }
    }
}

impl Body for PatientBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending if self.silence.as_mut().poll(cx).is_pending() => Poll::Pending,
            Poll::Pending => {
                // What is sent instead needs the place.
                let had_others = self.place.take().is_some_and(|place| place.note_timeout());
                let silence = StoreSilence::new(LONGEST_SILENCE, had_others);
                Poll::Ready(Some(Err(silence.into_error())))
            }
            Poll::Ready(Some(Ok(frame))) => {
                self.silence.as_mut().reset(Instant::now() + LONGEST_SILENCE);
                Poll::Ready(Some(Ok(frame)))
            }
            ended => {
                self.place = None;
                ended
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_access::request_room::RequestRoom;
    use futures_util::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};
    use std::time::Duration;

    /// Returns a body whose bytes arrive one by one with these pauses.
    fn body(pauses: Vec<u64>) -> HttpResponseBody {
        let frames = stream::iter(pauses).then(|pause| async move {
            tokio::time::sleep(Duration::from_secs(pause)).await;
            Ok(Frame::data(Bytes::from_static(b"x")))
        });
        HttpResponseBody::new(StreamBody::new(Box::pin(frames)))
    }

    #[tokio::test(start_paused = true)]
    async fn slow_body_arrives_and_silent_one_fails() {
        let room = RequestRoom::new(1);
        let slow = PatientBody::new(body(vec![29; 20]), room.wait_for_place().await);
        assert_eq!(slow.collect().await.unwrap().to_bytes(), "x".repeat(20));
        let silent = PatientBody::new(body(vec![1, 31]), room.wait_for_place().await);
        let mut silent = Box::pin(silent);
        assert!(silent.frame().await.unwrap().is_ok());
        let error = silent.frame().await.unwrap().unwrap_err();
        assert!(error.to_string().ends_with("nothing arrived for 30 s"), "{error}");
        // The place is free although the body is still there.
        room.wait_for_place().await;
    }
}
