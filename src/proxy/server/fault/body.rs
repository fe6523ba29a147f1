//! The body of an answer as its fault changes it, while it is sent.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::super::response_control::{FlushMark, ResponseControl};
use super::FaultContext;
use super::active_fault::ActiveFault;
use super::no_response;
use super::settlement::FaultBodyEnd;
use loomrec_engine::AnswerBody;
use loomrec_fault::{BodyStep, BodyTransform, FaultObstacle};
use loomrec_recording::entry::RecordedCut;

type BodyWait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The body of an answer that a fault changes.
pub struct FaultBody {
    body: AnswerBody,
    faults: Arc<FaultContext>,
    control: ResponseControl,
    transform: BodyTransform,
    fault: ActiveFault,
    /// A step that was taken from the transform in advance.
    ahead: Option<BodyStep>,
    /// The announced length of the body, if the original body has an exact length.
    announced: Option<u64>,
    sent: u64,
    wait: Option<BodyWait>,
    /// Set until everything written so far has gone to the system. Nothing is sent before that.
    unflushed: Option<FlushMark>,
    /// How the engine's body ended.
    ended: Option<Result<(), RecordedCut>>,
    /// How this body ended.
    over: Option<Result<(), RecordedCut>>,
}

/// The result of one step.
enum StepResult {
    /// These bytes are sent.
    Data(Bytes),
    /// The body is over.
    End(Result<(), RecordedCut>),
    /// A step was done, or a wait has begun.
    Again,
    /// Everything that has arrived is processed.
    Nothing,
}

impl FaultBody {
    /// Creates a body that sends `body` as `transform` changes it.
    pub(super) fn new(
        body: AnswerBody,
        transform: BodyTransform,
        fault: ActiveFault,
        (faults, control): (Arc<FaultContext>, ResponseControl),
    ) -> Self {
        let announced = body.size_hint().exact();
        body.note_change();
        Self {
            body,
            faults,
            control,
            transform,
            fault,
            ahead: None,
            announced,
            sent: 0,
            wait: None,
            unflushed: None,
            ended: None,
            over: None,
        }
    }

    /// Returns the body that the fault changes.
    pub(in crate::server) fn changed_body(&self) -> &AnswerBody {
        &self.body
    }

    /// Takes the next step of the fault.
    fn take_step(&mut self) -> StepResult {
        let step = self.next_step();
        if let Some(BodyStep::Send(data)) = step {
            // A reader that knows the body's length does not poll beyond it.
            self.ahead = self.next_step();
            if let Some(BodyStep::Behind(_)) = self.ahead
                && let Some(BodyStep::Behind(data)) = self.ahead.take()
            {
                self.control.send_behind(data);
                self.ahead = self.next_step();
            }
            if let Some(BodyStep::End) = self.ahead {
                (self.ahead, self.over) = (None, Some(Ok(())));
            }
            return StepResult::Data(data);
        }
        match step {
            Some(BodyStep::Wait(ms)) => {
                let faults = Arc::clone(&self.faults);
                self.wait = Some(Box::pin(async move { faults.pass_time(ms).await }));
            }
            Some(BodyStep::Stall) => {
                let faults = Arc::clone(&self.faults);
                self.wait = Some(Box::pin(async move { faults.wait_until_left().await }));
                self.ahead = Some(BodyStep::Cut(loomrec_fault::ConnectionCut::Close));
            }
            Some(BodyStep::Behind(data)) => self.control.send_behind(data),
            Some(BodyStep::Cut(cut)) => {
                return StepResult::End(Err(no_response::to_recorded_cut(cut)));
            }
            Some(BodyStep::End) => return StepResult::End(Ok(())),
            Some(BodyStep::Send(_)) | None => return StepResult::Nothing,
        }
        StepResult::Again
    }

    fn next_step(&mut self) -> Option<BodyStep> {
        let step = self.ahead.take().or_else(|| self.transform.next_step());
        self.note_strike();
        step
    }

    /// Notes that the fault has happened, if it has.
    fn note_strike(&mut self) {
        if self.transform.has_struck() {
            self.fault.note_fired();
        }
    }

    /// Feeds a frame of the engine's body to the fault.
    fn feed_frame(&mut self, frame: Option<Result<Frame<Bytes>, RecordedCut>>) {
        match frame {
            Some(Ok(frame)) => {
                // Trailers are not part of the body.
                if let Ok(data) = frame.into_data() {
                    self.transform.feed(data);
                }
            }
            Some(Err(cut)) => {
                self.transform.send_held_bytes();
                self.ended = Some(Err(cut));
            }
            None => {
                self.transform.finish();
                self.ended = Some(Ok(()));
            }
        }
        self.note_strike();
    }

    /// Returns how the body ended. Called when it is over, or when its reader has gone.
    pub(in crate::server) fn finish_body(&mut self) -> FaultBodyEnd {
        let is_whole = matches!(self.over, Some(Ok(())))
            || self.announced.is_some_and(|announced| announced <= self.sent);
        let has_struck = self.transform.has_struck();
        if !has_struck {
            let has_ended = is_whole || self.ended.is_some();
            let why = if has_ended { self.transform.obstacle() } else { FaultObstacle::ClientLeft };
            self.fault.not_applied(why);
        }
        let is_changed = has_struck && !self.fault.decided.fault.only_delays();
        FaultBodyEnd { is_whole, is_changed }
    }
}

impl Body for FaultBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let this = &mut *self;
        loop {
            if let Some(wait) = &mut this.wait {
                ready!(wait.as_mut().poll(cx));
                this.wait = None;
            }
            if let Some(since) = this.unflushed {
                ready!(this.control.poll_flushed(since, cx));
                this.unflushed = None;
            }
            if this.over.is_some() {
                return Poll::Ready(None);
            }
            let next = match (this.take_step(), this.ended) {
                (StepResult::Nothing, Some(end)) => StepResult::End(end),
                (next, _) => next,
            };
            match next {
                StepResult::Data(data) => {
                    this.sent += data.len() as u64;
                    let is_paced = this.transform.is_paced();
                    this.unflushed = is_paced.then(|| this.control.flush_mark());
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                StepResult::End(end) => {
                    this.over = Some(end);
                    return Poll::Ready(end.err().map(Err));
                }
                StepResult::Again => continue,
                StepResult::Nothing => {}
            }
            let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
            this.feed_frame(frame);
            if this.ended.is_none() && this.body.is_end_stream() {
                // The last bytes are then known as such when they are sent.
                this.feed_frame(None);
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.over.is_some()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::new()
    }
}
